//! A template with its parameters filled in, as CloudFormation does before it makes anything: `Ref` to a parameter,
//! `Fn::FindInMap`, `Fn::If`. What only AWS knows (a resource's name, an attribute) stays as it is written.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Parameters by name; those that are not named have their defaults.
pub type Parameters<'a> = BTreeMap<&'a str, &'a str>;

/// The template as it is for these parameters. Anything that it refers to and does not have becomes null.
#[must_use]
pub fn resolve(template: &Value, parameters: &Parameters<'_>) -> Value {
    let values = template["Parameters"].as_object().into_iter().flatten().map(|(name, declared)| {
        let given = parameters.get(name.as_str()).map(|value| Value::from(*value));
        (name.clone(), given.unwrap_or_else(|| declared["Default"].clone()))
    });
    Resolver { template, values: values.collect() }.value(template)
}

struct Resolver<'a> {
    template: &'a Value,
    values: BTreeMap<String, Value>,
}

impl Resolver<'_> {
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => self.object(object),
            _ => value.clone(),
        }
    }

    fn object(&self, object: &Map<String, Value>) -> Value {
        if let (1, Some((name, argument))) = (object.len(), object.iter().next()) {
            match name.as_str() {
                "Ref" => {
                    if let Some(value) = argument.as_str().and_then(|parameter| self.values.get(parameter)) {
                        return value.clone();
                    }
                }
                "Fn::FindInMap" => return self.find_in_map(&self.value(argument)),
                "Fn::If" => {
                    let branch = if self.condition(&argument[0]) { 1 } else { 2 };
                    return self.value(&argument[branch]);
                }
                _ => {}
            }
        }
        object.iter().map(|(name, value)| (name.clone(), self.value(value))).collect::<Map<_, _>>().into()
    }

    fn find_in_map(&self, path: &Value) -> Value {
        let key = |at: usize| path[at].as_str().unwrap_or_default();
        self.template["Mappings"][key(0)][key(1)][key(2)].clone()
    }

    fn condition(&self, name: &Value) -> bool {
        self.holds(&self.template["Conditions"][name.as_str().unwrap_or_default()])
    }

    fn holds(&self, condition: &Value) -> bool {
        if let Some(sides) = condition["Fn::Equals"].as_array() {
            return matches!(sides.as_slice(), [left, right] if self.value(left) == self.value(right));
        }
        condition["Fn::Not"].as_array().is_some_and(|inner| inner.first().is_some_and(|inner| !self.holds(inner)))
    }
}
