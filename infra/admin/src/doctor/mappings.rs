//! The event source mappings: the consumers rely on partial failures being read, the relay on nothing being given up.

use super::{
    Findings, Lambda,
    functions::{Function, Source},
};
use crate::{failure::Failure, place::Place};
use serde_json::Value;

/// Copies in a batch at most: Lambda's own most for a queue without a batching window.
const QUEUE_BATCH: u64 = 10;
/// Records in a batch at most.
const STREAM_BATCH: u64 = 1_000;
/// Lambda's least and most for a queue's maximum concurrency (AWS Lambda API reference, ScalingConfig).
const CONCURRENCY: std::ops::RangeInclusive<u64> = 2..=1_000;

/// The relay's filter: messages and refunds that are there afterwards.
fn stream_pattern() -> Value {
    serde_json::from_str(relay::EVENT_FILTER).unwrap_or_default()
}

/// Holds a function's mapping to what it must be.
pub(super) async fn look(
    place: &Place,
    lambda: &Lambda,
    function: &Function,
    name: &str,
    (kind, source): (Source, Option<&str>),
    findings: &mut Findings,
) -> Result<(), Failure> {
    // Without its source there is nothing to compare, and the source's absence was named.
    let Some(source) = source else { return Ok(()) };
    let of = if kind == Source::DeadPayouts { " of payouts" } else { "" };
    let part = format!("mapping {}{of}", function.name);
    let part = part.as_str();
    let mappings = lambda.mappings(name).await?;
    let mapping = mappings.iter().find(|mapping| mapping["EventSourceArn"] == source);
    let others: Vec<_> = mappings.iter().filter_map(|mapping| mapping["EventSourceArn"].as_str()).collect();
    let is = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    findings.must(part, "EventSourceArn", is, mapping.is_some(), source);
    let Some(mapping) = mapping else { return Ok(()) };

    let state = mapping["State"].as_str().unwrap_or("none");
    findings.must(part, "Enabled", state, matches!(state, "Enabled" | "Enabling" | "Updating" | "Creating"), "Enabled");
    let types = &mapping["FunctionResponseTypes"];
    let partial = types.as_array().is_some_and(|types| types.iter().any(|word| word == "ReportBatchItemFailures"));
    findings.must(part, "FunctionResponseTypes", types, partial, r#"["ReportBatchItemFailures"]"#);
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
    Ok(())
}

fn filters(mapping: &Value) -> &[Value] {
    mapping["FilterCriteria"]["Filters"].as_array().map_or(&[], Vec::as_slice)
}

fn stream(part: &str, mapping: &Value, findings: &mut Findings) {
    let start = mapping["StartingPosition"].as_str().unwrap_or("none");
    findings.equal(part, "StartingPosition", start, "TRIM_HORIZON");
    findings.equal(part, "BisectBatchOnFunctionError", &mapping["BisectBatchOnFunctionError"], true);
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
