//! Loops through queues. Lambda follows a message from invocation to invocation and, after some 16 rounds through the
//! same function, takes it for a runaway loop and stops invoking it (AWS Lambda Developer Guide, "Use Lambda recursive loop
//! detection"); the SDK hands the trace on by which it knows. Where a round is meant, the function must say so; everywhere
//! else the protection stays on.

use crate::{
    Faults, equal,
    policy::list,
    read::{Function, events, functions, named, of_function, of_type},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The queues that a function takes events from.
fn consumed<'a>(function: Function<'a>) -> impl Iterator<Item = &'a str> {
    events(function, "SQS").filter_map(|event| named(&event["Queue"]))
}

/// The queues that a function may send to.
fn sends(template: &Value, function: Function<'_>) -> BTreeSet<String> {
    let role = named(&function.properties["Role"]).unwrap_or_default();
    let mut queues = BTreeSet::new();
    for policy in list(&template["Resources"][role]["Properties"]["Policies"]) {
        for statement in list(&policy["PolicyDocument"]["Statement"]) {
            if list(&statement["Action"]).contains(&json!("sqs:SendMessage")) {
                queues.extend(list(&statement["Resource"]).iter().filter_map(named).map(str::to_owned));
            }
        }
    }
    queues
}

/// Whether what a function sends can come back to it, by way of dead-letter queues and other functions too.
fn loops(template: &Value, function: Function<'_>) -> bool {
    let (mut ahead, mut seen) = (sends(template, function), BTreeSet::new());
    while let Some(queue) = ahead.pop_first() {
        if !seen.insert(queue.clone()) {
            continue;
        }
        let declared = of_type(template, "AWS::SQS::Queue").find(|(name, _)| *name == queue);
        let dead = declared.and_then(|(_, queue)| named(&queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]));
        ahead.extend(dead.map(str::to_owned));
        for next in functions(template).into_iter().filter(|next| consumed(*next).any(|consumed| consumed == queue)) {
            ahead.extend(sends(template, next));
        }
    }
    consumed(function).any(|queue| seen.contains(queue))
}

/// What is wrong with who may be invoked in a loop.
#[must_use]
pub fn faults(template: &Value) -> Faults {
    let mut faults = Faults::new();
    for function in functions(template) {
        let must = if loops(template, function) { json!("Allow") } else { Value::Null };
        let is = of_function(template, function, "RecursiveLoop");
        equal(&mut faults, &format!("RecursiveLoop of {}", function.name), is, &must);
    }
    faults
}
