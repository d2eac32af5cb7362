//! A stack's outputs, from a file: what a deployment is called without asking CloudFormation.

use crate::failure::{Failure, said};
use serde_json::Value;
use std::{collections::BTreeMap, io::Read, path::Path};

/// Reads a file, or stdin for "-".
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let file = |source| Failure::File { path: path.to_owned(), source };
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(file)?;
        text
    } else {
        std::fs::read_to_string(path).map_err(file)?
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| said(format!("--outputs: the file is no JSON: {error}")))?;
    let mut outputs = BTreeMap::new();
    collect(&value, &mut outputs);
    if outputs.is_empty() {
        return Err(said(
            "--outputs: the file holds no outputs of a stack: OutputKey and OutputValue, or names and texts",
        ));
    }
    Ok(outputs)
}

/// A list of {OutputKey, OutputValue}, however deep it lies; else an object of names and texts.
fn collect(value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| collect(one, into)),
        Value::Object(members) => match (members.get("OutputKey"), members.get("OutputValue")) {
            (Some(Value::String(name)), Some(Value::String(value))) => {
                into.insert(name.clone(), value.clone());
            }
            _ => {
                for name in ["Stacks", "Outputs"] {
                    if let Some(inner) = members.get(name) {
                        return collect(inner, into);
                    }
                }
                let texts = members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
                into.extend(texts);
            }
        },
        _ => {}
    }
}

/// The output that names the same as a variable: DELIVERIES_QUEUE_URL is DeliveriesQueueUrl.
pub(crate) fn of_variable(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            format!("{}{}", first.to_ascii_uppercase(), rest.to_ascii_lowercase())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_tool_s_form_is_read() {
        let list = json!([{"OutputKey": "TableName", "OutputValue": "t", "Description": "d"}]);
        for form in [list.clone(), json!({"Stacks": [{"StackName": "s", "Outputs": list}]}), json!({"TableName": "t"})]
        {
            let mut outputs = BTreeMap::new();
            collect(&form, &mut outputs);
            assert_eq!(outputs, BTreeMap::from([("TableName".to_owned(), "t".to_owned())]), "{form}");
        }
        assert_eq!(of_variable("DELIVERIES_QUEUE_URL"), "DeliveriesQueueUrl");
    }
}
