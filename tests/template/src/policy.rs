//! The functions' policies: the actions of the operations in each binary and of its event source mappings, on the
//! resources that its variables and mappings name, and nothing besides.

use crate::{
    Faults,
    binary::Operations,
    equal,
    read::{Function, events, functions, named},
    resolve::resolve,
    settings::variables,
};
use protocol::hold::{PROVIDERS, Provider};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Actions by the resource that they are allowed on, which is written as the template has it.
type Allowed = BTreeMap<String, BTreeSet<String>>;

fn allow(allowed: &mut Allowed, resource: &Value, action: impl Into<String>) {
    allowed.entry(resource.to_string()).or_default().insert(action.into());
}

fn arn(resource: &str) -> Value {
    json!({"Fn::GetAtt": [resource, "Arn"]})
}

/// What a function's code needs, given the operations in its binary.
fn needed(
    template: &Value,
    function: Function<'_>,
    operations: &BTreeSet<(String, String)>,
) -> Result<Allowed, String> {
    let mut needed = Allowed::new();
    let logs = named(&function.properties["LoggingConfig"]["LogGroup"]).unwrap_or_default();
    for action in ["logs:CreateLogStream", "logs:PutLogEvents"] {
        allow(&mut needed, &arn(logs), action);
    }
    let set = variables(template, function.properties);
    let queues: Vec<Value> =
        set.iter().filter(|(name, _)| name.ends_with("_QUEUE_URL")).filter_map(|(_, v)| named(v)).map(arn).collect();
    let consumed: Vec<Value> = events(function, "SQS").map(|event| event["Queue"].clone()).collect();
    for (service, operation) in operations {
        match (service.as_str(), operation.as_str()) {
            // The refunds function lists by its index; nobody reads an index and the table's own collections both.
            ("dynamodb", "Query") if function.binary == "refunds" => {
                allow(&mut needed, &json!({"Fn::Sub": "${Table.Arn}/index/refunds"}), "dynamodb:Query");
            }
            // The api function lists dead tokens by theirs, and reads messages of the table itself.
            ("dynamodb", "Query") if function.binary == "api" => {
                allow(&mut needed, &arn("Table"), "dynamodb:Query");
                allow(&mut needed, &json!({"Fn::Sub": "${Table.Arn}/index/listed"}), "dynamodb:Query");
            }
            ("dynamodb", operation) => allow(&mut needed, &arn("Table"), format!("dynamodb:{operation}")),
            // The batch has no action of its own (Amazon SQS Developer Guide, "Amazon SQS API permissions").
            ("sqs", "SendMessage" | "SendMessageBatch") => {
                queues.iter().for_each(|queue| allow(&mut needed, queue, "sqs:SendMessage"));
            }
            // A receipt handle is of the queue that the function consumes.
            ("sqs", "ChangeMessageVisibility" | "ChangeMessageVisibilityBatch") => {
                consumed.iter().for_each(|queue| allow(&mut needed, queue, "sqs:ChangeMessageVisibility"));
            }
            ("secretsmanager", operation) => {
                let form = set.get("SECRET_NAME").map(|name| &name["Fn::Sub"]).unwrap_or(&Value::Null);
                for provider in providers(function) {
                    let name = form[0].as_str().unwrap_or_default().replace("{project}", "*");
                    let name = name.replace("{provider}", provider);
                    // Secrets Manager ends the ARN of a secret with a hyphen and six characters of its own.
                    let arn = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:";
                    let secrets = json!({"Fn::Sub": [format!("{arn}{name}-??????"), form[1]]});
                    allow(&mut needed, &secrets, format!("secretsmanager:{operation}"));
                }
            }
            // The SDK's chain of credentials knows roles to take; on Lambda credentials come from the environment.
            ("sts", _) => {}
            _ => return Err(format!("{}: nothing here knows what {service}'s {operation} is done to", function.name)),
        }
    }
    // What Lambda does in the function's name: its developer guide, "Execution role permissions" of each source.
    for queue in consumed {
        for action in ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"] {
            allow(&mut needed, &queue, action);
        }
    }
    for event in events(function, "DynamoDB") {
        for action in ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"] {
            allow(&mut needed, &event["Stream"], action);
        }
        allow(&mut needed, &json!("*"), "dynamodb:ListStreams");
    }
    Ok(needed)
}

/// The providers that a function calls, whose secrets it reads.
fn providers(function: Function<'_>) -> Vec<&'static str> {
    match function.binary {
        "deliver" => PROVIDERS.map(Provider::as_str).to_vec(),
        _ => vec![payments::PROVIDER],
    }
}

/// A member that may be one thing or a list of them.
pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// What a role allows.
fn granted(role: &Value, name: &str, faults: &mut Faults) -> Allowed {
    let mut granted = Allowed::new();
    let properties = &role["Properties"];
    if !properties["ManagedPolicyArns"].is_null() {
        faults.push(format!("{name} has managed policies, which allow more than its function needs"));
    }
    let service = &properties["AssumeRolePolicyDocument"]["Statement"][0]["Principal"];
    equal(faults, &format!("who may take {name}"), service, &json!({"Service": "lambda.amazonaws.com"}));
    for policy in list(&properties["Policies"]) {
        for statement in list(&policy["PolicyDocument"]["Statement"]) {
            equal(faults, &format!("a statement's effect in {name}"), &statement["Effect"], &json!("Allow"));
            for resource in list(&statement["Resource"]) {
                for action in list(&statement["Action"]) {
                    allow(&mut granted, &resource, action.as_str().unwrap_or_default());
                }
            }
        }
    }
    granted
}

/// What would allow something beside the roles' own policies, where nobody here looks.
fn elsewhere(template: &Value, faults: &mut Faults) {
    for (name, resource) in template["Resources"].as_object().into_iter().flatten() {
        let kind = resource["Type"].as_str().unwrap_or_default();
        if kind.starts_with("AWS::IAM::") && kind != "AWS::IAM::Role" {
            faults.push(format!("{name} is {kind}, which allows what no function's own role says"));
        }
        if kind == "AWS::Serverless::Connector" || !resource["Connectors"].is_null() {
            faults.push(format!("{name} has a connector, which writes policies of SAM's own"));
        }
    }
    let places = functions(template).into_iter().map(|function| (function.name, function.properties));
    for (name, properties) in places.chain([("Globals", &template["Globals"]["Function"])]) {
        if !properties["Policies"].is_null() {
            faults.push(format!("{name} has Policies, which SAM makes a role of"));
        }
    }
}

/// What is allowed without need, or needed without being allowed.
#[must_use]
pub fn faults(template: &Value, operations: &Operations) -> Faults {
    let template = &resolve(template, &[].into());
    let mut faults = Faults::new();
    elsewhere(template, &mut faults);
    let mut roles = BTreeSet::new();
    for function in functions(template) {
        let Some(role) = named(&function.properties["Role"]) else {
            faults.push(format!("{} has no role of its own", function.name));
            continue;
        };
        if !roles.insert(role.to_owned()) {
            faults.push(format!("{role} is the role of two functions"));
        }
        let Some(used) = operations.get(function.binary) else {
            faults.push(format!("{} has no binary {:?}", function.name, function.binary));
            continue;
        };
        let granted = granted(&template["Resources"][role], role, &mut faults);
        match needed(template, function, used) {
            Ok(needed) => {
                let empty = BTreeSet::new();
                let resources: BTreeSet<&String> = needed.keys().chain(granted.keys()).collect();
                for resource in resources {
                    let (needs, has) =
                        (needed.get(resource).unwrap_or(&empty), granted.get(resource).unwrap_or(&empty));
                    for action in needs.difference(has) {
                        faults.push(format!("{role} lacks {action} on {resource}"));
                    }
                    for action in has.difference(needs) {
                        faults.push(format!("{role} allows {action} on {resource} without need"));
                    }
                }
            }
            Err(unknown) => faults.push(unknown),
        }
    }
    faults
}
