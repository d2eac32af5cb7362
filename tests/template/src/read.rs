//! Looking things up in a template: resources by type, functions by their binary, numbers, names that are referred to.

use serde_json::Value;

/// Resources of a type, by their logical name.
pub fn of_type<'a>(template: &'a Value, kind: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let resources = template["Resources"].as_object().into_iter().flatten();
    resources.filter(move |(_, resource)| resource["Type"] == kind).map(|(name, resource)| (name.as_str(), resource))
}

/// A function of the template.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its logical name.
    pub name: &'a str,
    /// Its binary, which is its crate's name too.
    pub binary: &'a str,
    /// Its properties.
    pub properties: &'a Value,
}

/// All functions.
#[must_use]
pub fn functions(template: &Value) -> Vec<Function<'_>> {
    of_type(template, "AWS::Serverless::Function")
        .map(|(name, resource)| Function {
            name,
            binary: resource["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap_or_default(),
            properties: &resource["Properties"],
        })
        .collect()
}

/// The function of a binary.
#[must_use]
pub fn function<'a>(template: &'a Value, binary: &str) -> Option<Function<'a>> {
    functions(template).into_iter().find(|function| function.binary == binary)
}

/// A function's events of a type, with their properties.
pub fn events<'a>(function: Function<'a>, kind: &str) -> impl Iterator<Item = &'a Value> {
    let events = function.properties["Events"].as_object().into_iter().flatten();
    events.filter(move |(_, event)| event["Type"] == kind).map(|(_, event)| &event["Properties"])
}

/// A property of a function, or what all functions have in its place.
#[must_use]
pub fn of_function<'a>(template: &'a Value, function: Function<'a>, property: &str) -> &'a Value {
    let own = &function.properties[property];
    if own.is_null() { &template["Globals"]["Function"][property] } else { own }
}

/// A number, also one that is written as text; parameters are.
#[must_use]
pub fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The resource that a `Ref` or a `Fn::GetAtt` names.
#[must_use]
pub fn named(value: &Value) -> Option<&str> {
    value["Ref"].as_str().or_else(|| value["Fn::GetAtt"][0].as_str())
}
