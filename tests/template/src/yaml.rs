//! Reads a CloudFormation template, with the short forms of its functions (`!Ref`, `!GetAtt`, …) spelled out as JSON
//! has them. Used by everything here.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use serde_yaml_ng::Value as Yaml;
use std::path::{Path, PathBuf};

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Reads a template by its path below the root.
///
/// # Errors
/// When it is not there, no YAML, or holds what CloudFormation's JSON form could not.
pub fn load(path: &str) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(root().join(path)).with_context(|| format!("{path} cannot be read"))?;
    let yaml = serde_yaml_ng::from_str(&text).with_context(|| format!("{path} is no YAML"))?;
    json_of(yaml).with_context(|| format!("{path} is no template"))
}

fn json_of(yaml: Yaml) -> anyhow::Result<Value> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => value.into(),
        Yaml::Number(number) => serde_json::to_value(number)?,
        Yaml::String(text) => text.into(),
        Yaml::Sequence(items) => items.into_iter().map(json_of).collect::<Result<_, _>>()?,
        Yaml::Mapping(members) => {
            let mut object = Map::new();
            for (name, value) in members {
                let Yaml::String(name) = name else { bail!("a member's name is no text: {name:?}") };
                object.insert(name, json_of(value)?);
            }
            object.into()
        }
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let function = tag.trim_start_matches('!');
            match (function, json_of(tagged.value)?) {
                ("Ref" | "Condition", value) => json!({ function: value }),
                // `!GetAtt Table.Arn` means the same as `[Table, Arn]`.
                ("GetAtt", Value::String(path)) => {
                    let (resource, attribute) = path.split_once('.').context("!GetAtt without an attribute")?;
                    json!({"Fn::GetAtt": [resource, attribute]})
                }
                (function, value) => json!({ format!("Fn::{function}"): value }),
            }
        }
    })
}
