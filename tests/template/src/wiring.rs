//! The table, the queues and the event source mappings: as the local system has them, and as the design demands.

use crate::{
    Faults, equal,
    read::{Function, events, functions, named, number, of_type},
    resolve::resolve,
    source::Local,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The template's name of a queue of the local system.
fn queue_resource(local: &str) -> String {
    let words = local.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect::<String>() + "Queue"
}

/// What differs from the local system that was started with this profile.
#[must_use]
pub fn faults(template: &Value, profile: &str, local: &Local) -> Faults {
    let template = resolve(template, &[("Timing", profile)].into());
    let mut faults = Vec::new();
    queues(&template, local, &mut faults);
    table(&template, local, &mut faults);
    stream(&template, &mut faults);
    faults
}

fn queues(template: &Value, local: &Local, faults: &mut Faults) {
    let declared: BTreeMap<&str, &Value> = of_type(template, "AWS::SQS::Queue").collect();
    let names: BTreeSet<String> = declared.keys().map(|name| (*name).to_owned()).collect();
    equal(faults, "the set of queues", names, local.queues.keys().map(|name| queue_resource(name)).collect());
    let mut consumers: BTreeMap<&str, Vec<(Function<'_>, &Value)>> = BTreeMap::new();
    for function in functions(template) {
        for event in events(function, "SQS") {
            consumers.entry(named(&event["Queue"]).unwrap_or_default()).or_default().push((function, event));
        }
    }
    for (name, queue) in &local.queues {
        let resource = queue_resource(name);
        let Some(declared) = declared.get(resource.as_str()).map(|queue| &queue["Properties"]) else { continue };
        let members: BTreeSet<&str> = declared.as_object().into_iter().flatten().map(|(m, _)| m.as_str()).collect();
        let mut must = BTreeSet::from(["MessageRetentionPeriod", "VisibilityTimeout"]);
        must.extend(queue.redrive.as_ref().map(|_| "RedrivePolicy"));
        equal(faults, &format!("the set of attributes of {resource}"), members, must);
        let is = number(&declared["VisibilityTimeout"]);
        equal(faults, &format!("the visibility of {resource}"), is, Some(queue.visibility));
        let is = number(&declared["MessageRetentionPeriod"]);
        equal(faults, &format!("the retention of {resource}"), is, Some(queue.retention));
        let policy = &declared["RedrivePolicy"];
        let target = named(&policy["deadLetterTargetArn"]).map(str::to_owned);
        let must = queue.redrive.as_ref().map(|(target, _)| queue_resource(target));
        equal(faults, &format!("the dead-letter queue of {resource}"), target, must);
        let must = queue.redrive.as_ref().map(|(_, receives)| *receives);
        equal(faults, &format!("the receives of {resource}"), number(&policy["maxReceiveCount"]), must);
        let consumers = consumers.remove(resource.as_str()).unwrap_or_default();
        let binaries: Vec<&str> = consumers.iter().map(|(function, _)| function.binary).collect();
        equal(faults, &format!("the consumers of {resource}"), binaries, queue.consumer.iter().map(|c| &**c).collect());
        for (function, event) in consumers {
            mapping(template, function, event, faults);
        }
    }
    for (queue, consumers) in consumers {
        faults.push(format!("{queue} is consumed by {} and is no queue of ours", consumers.len()));
    }
}

/// A mapping has these attributes and no others: it is looked at whole, so that nothing that nobody thought of slips in.
fn closed<const N: usize>(name: &str, event: &Value, must: [&str; N], faults: &mut Faults) {
    let members: BTreeSet<&str> = event.as_object().into_iter().flatten().map(|(member, _)| member.as_str()).collect();
    equal(faults, &format!("the set of attributes of the mapping of {name}"), members, BTreeSet::from(must));
}

/// A queue's mapping.
fn mapping(template: &Value, function: Function<'_>, event: &Value, faults: &mut Faults) {
    let name = function.name;
    closed(name, event, ["BatchSize", "FunctionResponseTypes", "Queue", "ScalingConfig"], faults);
    let batch = u64::try_from(local::pollers::sqs::BATCH).ok();
    equal(faults, &format!("the batch of {name}"), number(&event["BatchSize"]), batch);
    reports(name, event, faults);
    let most = number(&event["ScalingConfig"]["MaximumConcurrency"]);
    // AWS::Lambda::EventSourceMapping ScalingConfig: 2 to 1,000.
    let allowed = most.is_some_and(|most| (2..=1_000).contains(&most));
    equal(faults, &format!("that the concurrency of {name} is 2 to 1000"), allowed, true);
    let parameter = &template["Parameters"]["DeliverConcurrency"];
    let bounds = (number(&parameter["MinValue"]), number(&parameter["MaxValue"]));
    equal(faults, "the bounds of DeliverConcurrency", bounds, (Some(2), Some(1_000)));
}

/// A function that answers which items failed must be listened to, or a failed one would be deleted.
fn reports(name: &str, event: &Value, faults: &mut Faults) {
    let must = Value::from(vec!["ReportBatchItemFailures"]);
    equal(faults, &format!("the response types of {name}"), &event["FunctionResponseTypes"], &must);
}

fn table(template: &Value, local: &Local, faults: &mut Faults) {
    let tables: Vec<(&str, &Value)> = of_type(template, "AWS::DynamoDB::Table").collect();
    let [(_, table)] = tables.as_slice() else {
        return faults.push(format!("there are {} tables and must be one", tables.len()));
    };
    let mut declared = table["Properties"].clone();
    if let Some(attributes) = declared["AttributeDefinitions"].as_array_mut() {
        attributes.sort_by_key(Value::to_string);
    }
    for (member, must) in local.table.as_object().into_iter().flatten() {
        equal(faults, &format!("{member} of the table"), &declared[member], must);
    }
    let more: BTreeSet<&str> = declared
        .as_object()
        .into_iter()
        .flatten()
        .map(|(member, _)| member.as_str())
        .filter(|member| local.table.get(member).is_none())
        .collect();
    let must = BTreeSet::from(["DeletionProtectionEnabled", "PointInTimeRecoverySpecification"]);
    equal(faults, "what else is said of the table", more, must);
}

fn stream(template: &Value, faults: &mut Faults) {
    let streams: Vec<(Function<'_>, &Value)> = functions(template)
        .into_iter()
        .flat_map(|function| events(function, "DynamoDB").map(move |event| (function, event)))
        .collect();
    let [(function, event)] = streams.as_slice() else {
        return faults.push(format!("the stream has {} readers and must have one", streams.len()));
    };
    equal(faults, "the stream's reader", function.binary, "relay");
    // How long a batch is waited for is a duration: `timing` compares it.
    let members = [
        "BatchSize",
        "BisectBatchOnFunctionError",
        "FilterCriteria",
        "FunctionResponseTypes",
        "MaximumBatchingWindowInSeconds",
        "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts",
        "StartingPosition",
        "Stream",
    ];
    closed(function.name, event, members, faults);
    reports(function.name, event, faults);
    let pattern: Value = serde_json::from_str(relay::EVENT_FILTER).unwrap_or_default();
    let filters = event["FilterCriteria"]["Filters"].as_array().cloned().unwrap_or_default();
    let patterns: Vec<Value> = filters
        .iter()
        .map(|filter| serde_json::from_str(filter["Pattern"].as_str().unwrap_or_default()).unwrap_or_default())
        .collect();
    equal(faults, "the stream's filter", patterns, vec![pattern]);
    equal(faults, "the stream's batch", number(&event["BatchSize"]), u64::try_from(local::stream::BATCH).ok());
    for (member, must) in [
        ("StartingPosition", Value::from("TRIM_HORIZON")),
        ("BisectBatchOnFunctionError", Value::from(true)),
        ("MaximumRetryAttempts", Value::from(-1)),
        ("MaximumRecordAgeInSeconds", Value::from(-1)),
    ] {
        equal(faults, &format!("{member} of the stream's mapping"), &event[member], &must);
    }
    equal(faults, "the stream's table", &event["Stream"], &serde_json::json!({"Fn::GetAtt": ["Table", "StreamArn"]}));
}

/// Days that DynamoDB can restore a table over (Amazon DynamoDB Developer Guide, "Point-in-time backups").
const RESTORED_OVER: u64 = 35;

/// What goes on with the stack's own table when another one was restored in its place, and what nobody could look up then.
#[must_use]
pub fn restored(template: &Value) -> Faults {
    let resolved = resolve(template, &[("RestoredTable", "restored"), ("RestoredStreamArn", "restored/stream")].into());
    let mut faults = Vec::new();
    let resources = resolved["Resources"].as_object().into_iter().flatten().filter(|(name, _)| *name != "Table");
    let places = resources.map(|(name, resource)| (name.as_str(), resource));
    for (name, place) in places.chain([("Globals", &resolved["Globals"]), ("Outputs", &resolved["Outputs"])]) {
        let text = place.to_string();
        if [r#"{"Ref":"Table"}"#, r#"["Table","#, "${Table.", "${Table}"].iter().any(|form| text.contains(form)) {
            faults.push(format!("{name} goes on with the stack's own table"));
        }
    }
    // The rule keeps the two together; linters and emulators that know no rules must not meet an empty ARN.
    let alone = resolve(template, &[("RestoredTable", "restored")].into());
    let relay = &alone["Resources"]["RelayFunction"]["Properties"];
    let stream = &relay["Events"]["Stream"]["Properties"]["Stream"];
    if stream == "" {
        faults.push("RestoredStreamArn is used though it is empty".to_owned());
    }
    let kept = number(&template["Parameters"]["LogRetentionDays"]["Default"]);
    let longer = kept.is_some_and(|days| days > RESTORED_OVER);
    equal(&mut faults, &format!("that LogRetentionDays are more than {RESTORED_OVER} by default"), longer, true);
    faults
}

/// What is wrong with how a stage keeps the table.
#[must_use]
pub fn kept(template: &Value) -> Faults {
    let mut faults = Vec::new();
    for (stage, kept) in [("production", true), ("test", false)] {
        let resolved = resolve(template, &[("Stage", stage)].into());
        let table = &resolved["Resources"]["Table"];
        let policy = Value::from(if kept { "Retain" } else { "Delete" });
        equal(&mut faults, &format!("{stage}: DeletionPolicy"), &table["DeletionPolicy"], &policy);
        equal(&mut faults, &format!("{stage}: UpdateReplacePolicy"), &table["UpdateReplacePolicy"], &policy);
        let recovery = &table["Properties"]["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
        equal(&mut faults, &format!("{stage}: point-in-time recovery"), recovery.as_bool(), Some(kept));
        let protected = &table["Properties"]["DeletionProtectionEnabled"];
        equal(&mut faults, &format!("{stage}: deletion protection"), protected.as_bool(), Some(kept));
    }
    equal(&mut faults, "the default of Stage", template["Parameters"]["Stage"]["Default"].as_str(), Some("production"));
    faults
}
