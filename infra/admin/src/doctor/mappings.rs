//! The event source mappings: the consumers rely on partial failures being read, the relay on nothing being given up.

use super::{
    Findings, Lambda, Queues,
    functions::{Function, Source},
};
use crate::{failure::Failure, place::Place};
use serde_json::Value;
use std::collections::BTreeMap;

/// Copies in a batch at most: Lambda's own most for a queue without a batching window.
const QUEUE_BATCH: u64 = 10;
/// Records in a batch at most.
const STREAM_BATCH: u64 = 1_000;
/// Lambda's least and most for a queue's maximum concurrency (AWS Lambda API reference, ScalingConfig).
const CONCURRENCY: std::ops::RangeInclusive<u64> = 2..=1_000;

/// How the result of a mapping's last attempt begins if it failed: "PROBLEM: Function call failed" (AWS Lambda API reference,
/// EventSourceMappingConfiguration, which has no list of the results).
const PROBLEM: &str = "PROBLEM";

/// What a mapping's finding is called that is about where it takes events from.
const SOURCE: &str = "EventSourceArn";

/// The relay's filter: messages and refunds that are there afterwards.
fn stream_pattern() -> Value {
    serde_json::from_str(relay::EVENT_FILTER).unwrap_or_default()
}

/// Holds a function's mappings to what they must be. How many instances of it they may use at the same time.
pub(super) async fn look(
    place: &Place,
    lambda: &Lambda,
    function: &Function,
    name: &str,
    sources: &[(Source, Option<&str>)],
    findings: &mut Findings,
) -> Result<u64, Failure> {
    let mut mappings = lambda.mappings(name).await?;
    // One that goes may stand beside the one that takes its place.
    mappings.retain(|mapping| mapping["State"] != "Deleting");
    let before = findings.found.len();
    for (kind, source) in sources {
        // Without its source there is nothing to compare, and the source's absence was named.
        if let Some(source) = source {
            expected(place, &mappings, function, (*kind, *source), findings);
        }
    }
    let arn = |mapping: &Value| mapping["EventSourceArn"].as_str().unwrap_or_default().to_owned();
    let known = |mapping: &&Value| sources.iter().any(|(_, source)| *source == Some(arn(mapping).as_str()));
    let missing = findings.found[before..].iter().any(|finding| finding.setting == SOURCE);
    // What stands in the place of one that is missing was shown with it; what belongs to a queue that is gone, too.
    if !missing && sources.iter().all(|(_, source)| source.is_some()) {
        let others: Vec<_> = mappings.iter().filter(|mapping| !known(mapping)).map(arn).collect();
        let part = format!("mapping {}", function.name);
        findings.must(&part, SOURCE, others.join(", "), others.is_empty(), "no other than those of the design");
    }
    let most = |mapping: &Value| match mapping["ScalingConfig"]["MaximumConcurrency"].as_u64() {
        Some(most) => most,
        None if arn(mapping).contains(":sqs:") => *CONCURRENCY.start(),
        None => 1,
    };
    Ok(mappings.iter().filter(known).map(most).sum())
}

/// Names each consumer of our sources that nobody expects: a copy that it receives is one that ours does not, and counts.
pub(super) async fn strangers(
    lambda: &Lambda,
    queues: &Queues,
    stream: Option<&str>,
    names: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let of = |source: Source| source.arn(queues, stream);
    for (part, source, consumer) in [
        ("queue deliveries", of(Source::Deliveries), "deliver"),
        ("queue payouts", of(Source::Payouts), "payout"),
        ("queue deliveries dead letters", of(Source::DeadLetters), "dead-letter"),
        ("queue payouts dead letters", of(Source::DeadPayouts), "dead-letter"),
        ("queue parking", queues.parking_arn.as_deref(), "nobody"),
        ("table", of(Source::Stream), "relay"),
    ] {
        let Some(source) = source else { continue };
        let mappings = lambda.consumers(source).await?;
        let others = mappings.iter().filter(|mapping| mapping["State"] != "Deleting").filter_map(|mapping| {
            let function = function_of(mapping["FunctionArn"].as_str()?);
            // What one of ours consumes is named as its mapping.
            names.values().all(|name| function_of(name) != function).then_some(function)
        });
        let others: Vec<_> = others.collect();
        findings.must(part, "Consumer", others.join(", "), others.is_empty(), consumer);
    }
    Ok(())
}

/// The name of a function, and its qualifier if it has one, of its ARN, or of a name.
fn function_of(arn: &str) -> &str {
    arn.split_once(":function:").map_or(arn, |(_, name)| name)
}

/// Holds one mapping to what it must be.
fn expected(
    place: &Place,
    mappings: &[Value],
    function: &Function,
    (kind, source): (Source, &str),
    findings: &mut Findings,
) {
    let of = if kind == Source::DeadPayouts { " of payouts" } else { "" };
    let part = format!("mapping {}{of}", function.name);
    let part = part.as_str();
    let mapping = mappings.iter().find(|mapping| mapping["EventSourceArn"] == source);
    let others: Vec<_> = mappings.iter().filter_map(|mapping| mapping["EventSourceArn"].as_str()).collect();
    let is = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    findings.must(part, SOURCE, is, mapping.is_some(), source);
    let Some(mapping) = mapping else { return };

    let state = mapping["State"].as_str().unwrap_or("none");
    findings.must(part, "Enabled", state, matches!(state, "Enabled" | "Enabling" | "Updating" | "Creating"), "Enabled");
    let last = mapping["LastProcessingResult"].as_str().unwrap_or("none");
    // What keeps a mapping from its work though it is on, a role without a right for one.
    findings.must(part, "LastProcessingResult", last, !last.starts_with(PROBLEM), "no problem");
    let types = &mapping["FunctionResponseTypes"];
    let partial = types.as_array().is_some_and(|types| types.iter().any(|word| word == "ReportBatchItemFailures"));
    findings.must(part, "FunctionResponseTypes", types, partial, r#"["ReportBatchItemFailures"]"#);
    // What is sent elsewhere after a failure is gone from here: nothing is given up, so nothing is to be sent.
    let failed = mapping["DestinationConfig"]["OnFailure"]["Destination"].as_str().unwrap_or("none");
    findings.equal(part, "DestinationConfig.OnFailure", failed, "none");
    let window = mapping["MaximumBatchingWindowInSeconds"].as_u64().unwrap_or(0);
    if kind == Source::Stream {
        findings.equal(part, "BatchSize", &mapping["BatchSize"], STREAM_BATCH);
        findings.equal(part, "MaximumBatchingWindowInSeconds", window, place.timing.window / 1_000);
        stream(part, mapping, findings);
    } else {
        findings.equal(part, "BatchSize", &mapping["BatchSize"], QUEUE_BATCH);
        findings.equal(part, "MaximumBatchingWindowInSeconds", window, 0);
        let most = &mapping["ScalingConfig"]["MaximumConcurrency"];
        let bounded = most.as_u64().is_some_and(|most| CONCURRENCY.contains(&most));
        // Without a bound a backlog takes all of the account's concurrency, the API's share too.
        findings.must(part, "ScalingConfig.MaximumConcurrency", most, bounded, "2 to 1000");
        // A filter would delete what it does not let through.
        findings.must(part, "FilterCriteria", filters(mapping).len(), filters(mapping).is_empty(), "no filter");
    }
}

fn filters(mapping: &Value) -> &[Value] {
    mapping["FilterCriteria"]["Filters"].as_array().map_or(&[], Vec::as_slice)
}

fn stream(part: &str, mapping: &Value, findings: &mut Findings) {
    let start = mapping["StartingPosition"].as_str().unwrap_or("none");
    findings.equal(part, "StartingPosition", start, "TRIM_HORIZON");
    findings.equal(part, "BisectBatchOnFunctionError", &mapping["BisectBatchOnFunctionError"], true);
    // Batches of one shard at the same time would hand a checkpoint past another's failure; a window changes what an
    // invocation is asked and what its answer means.
    findings.equal(part, "ParallelizationFactor", mapping["ParallelizationFactor"].as_u64().unwrap_or(1), 1);
    findings.equal(part, "TumblingWindowInSeconds", mapping["TumblingWindowInSeconds"].as_u64().unwrap_or(0), 0);
    // -1: a record is tried until it is handled; the function itself parks what cannot be.
    for name in ["MaximumRetryAttempts", "MaximumRecordAgeInSeconds"] {
        findings.equal(part, name, mapping[name].as_i64().unwrap_or(-1), -1);
    }
    let patterns = filters(mapping).iter().map(|filter| filter["Pattern"].as_str().unwrap_or_default());
    let patterns: Vec<&str> = patterns.collect();
    let read: Vec<Value> = patterns.iter().map(|pattern| serde_json::from_str(pattern).unwrap_or_default()).collect();
    let is = if patterns.is_empty() { "no filter".to_owned() } else { patterns.join(" ") };
    findings.must(part, "FilterCriteria", is, read == [stream_pattern()], stream_pattern());
}
