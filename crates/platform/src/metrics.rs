//! Metrics, written as lines in CloudWatch's embedded metric format, which CloudWatch Logs turns into metrics without
//! any call of ours.
//!
//! Called by [`crate::events`]. A main chooses the writer once: on Lambda stdout, where each line becomes a log event
//! of its own beside the log lines on stderr; the local system chooses none, since its stdout carries one ready line
//! and nothing else. Source: Amazon CloudWatch User Guide, "Specification: Embedded metric format".
//!
//! Every set of dimensions is a metric of its own that is paid for, so dimensions are closed sets of words: route
//! templates, methods, providers, classes, codes of ours. No project and no id is one; those are fields of the log.

use serde_json::{Map, Value, json};
use std::{
    io::Write,
    sync::{Mutex, OnceLock, PoisonError},
};

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Sendonce";

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Requests answered.
    Requests,
    /// Those refused.
    ClientErrors,
    /// Those that failed.
    ServerErrors,
    /// Time to answer.
    RequestLatency,
    /// Provider calls.
    Calls,
    /// Those not accepted.
    CallErrors,
    /// Time of a call.
    CallLatency,
    /// Device outcomes.
    Devices,
    /// Devices that ended without a call, too late.
    DevicesExpired,
    /// Devices of whose end nobody knows.
    DevicesUnknown,
    /// Holds that began.
    HoldsBegun,
    /// Copies that cannot be delivered now.
    WaitingCopies,
    /// Chunks enqueued by the relay.
    RelayEnqueued,
    /// Records parked by the relay.
    RelayParked,
    /// Dead letters.
    DeadLetters,
    /// Chunks that the audit enqueued again.
    AuditFound,
    /// What it could not repair.
    AuditNotRepaired,
    /// Invocations of it that stopped.
    AuditFailed,
    /// Calls of the payment provider.
    PayoutCalls,
    /// States of payouts.
    PayoutStates,
    /// Receives after which a payout waits.
    PayoutsWaiting,
    /// Webhooks.
    Webhooks,
    /// Payouts of which the provider lists more than one refund.
    PayoutsDoubled,
    /// Payouts in review that the audit met.
    PayoutsInReview,
}

/// What the table says of a metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricRow {
    /// Its name in CloudWatch.
    pub name: &'static str,
    /// Its unit, one of CloudWatch's (API reference, MetricDatum).
    pub unit: &'static str,
    /// What it is published by; none: one series.
    pub dimensions: &'static [&'static str],
    /// What it counts.
    pub means: &'static str,
}

const fn row(
    name: &'static str,
    unit: &'static str,
    dimensions: &'static [&'static str],
    means: &'static str,
) -> MetricRow {
    MetricRow { name, unit, dimensions, means }
}

const BY_ROUTE: &[&str] = &["route", "method"];
const BY_PROVIDER: &[&str] = &["provider"];

/// The table, in the order of [`Metric`].
pub const METRICS: [MetricRow; 24] = [
    row("Requests", "Count", BY_ROUTE, "HTTP requests answered."),
    row("ClientErrors", "Count", BY_ROUTE, "Those answered with 4xx: 0 or 1 for each, so the average is a rate."),
    row("ServerErrors", "Count", BY_ROUTE, "Those answered with 5xx, likewise."),
    row("RequestLatency", "Milliseconds", BY_ROUTE, "`latency_ms` of the request."),
    row("Calls", "Count", BY_PROVIDER, "Provider calls that came to an end."),
    row(
        "CallErrors",
        "Count",
        BY_PROVIDER,
        "Those of any class but `accepted` (of payouts: `succeeded`, `pending`, `listed`): 0 or 1 for each.",
    ),
    row("CallLatency", "Milliseconds", BY_PROVIDER, "`latency_ms` of the call."),
    row("Devices", "Count", &["provider", "class"], "Device outcomes."),
    row("DevicesExpired", "Count", &[], "Devices that ended `expired`: `expired` of `settled`."),
    row(
        "DevicesUnknown",
        "Count",
        &[],
        "Devices of chunks that ended without a call, and ended `unknown`: `unknown` of `settled`.",
    ),
    row("HoldsBegun", "Count", BY_PROVIDER, "Holds that began: 1 for each, and 0 where one ends. Expected: 0."),
    row("WaitingCopies", "Count", &["code"], "Copies for whose project no call could be made, at each receive."),
    row(
        "RelayEnqueued",
        "Count",
        &[],
        "Chunks that the relay enqueued. A few are normal; many mean that inline sends fail.",
    ),
    row("RelayParked", "Count", &[], "Stream records that nobody can process. Expected: 0."),
    row("DeadLetters", "Count", &["outcome"], "Dead letters handled. Expected: 0."),
    row("AuditFound", "Count", &[], "Chunks that the audit enqueued again. Expected: 0."),
    row("AuditNotRepaired", "Count", &[], "What the audit found and could not repair. Expected: 0."),
    row(
        "AuditFailed",
        "Count",
        &[],
        "Invocations of the audit that stopped because the table or a queue did not answer: 0 or 1 for each. Expected: 0.",
    ),
    row(
        "PayoutCalls",
        "Count",
        &["call", "class"],
        "Calls of the payment provider that came to an end. Expected of `mismatch`: 0.",
    ),
    row("PayoutStates", "Count", &["state"], "Payouts that got a new state. Expected of `review`: 0."),
    row(
        "PayoutsWaiting",
        "Count",
        &[],
        "Receives that leave a payout to be asked for again: no credentials, or an answer that decides nothing (`in_progress`, `not_now`, `rate_limited`, `credentials`, `not_sent`, `ambiguous`, `lost`); 0 for any other answer.",
    ),
    row("Webhooks", "Count", &["outcome"], "Webhooks of the payment provider. Expected of `given_up`: 0."),
    row(
        "PayoutsDoubled",
        "Count",
        &[],
        "Listings and webhooks that tell of more than one refund of one payout, of two payouts of one refund that are paid or may be, or of another one than a person named. Expected: none; written only where there is one.",
    ),
    row("PayoutsInReview", "Count", &[], "Payouts in review that an invocation of the audit met. Expected: 0."),
];

impl Metric {
    const fn row(self) -> &'static MetricRow {
        &METRICS[self as usize]
    }
}

type Sink = Mutex<Box<dyn Write + Send>>;

static SINK: OnceLock<Sink> = OnceLock::new();

/// From now on metrics go to `writer`, one line each. Without it there are none. A second call changes nothing.
pub fn init_metrics(writer: impl Write + Send + 'static) {
    let _ = SINK.set(Mutex::new(Box::new(writer)));
}

/// Writes one document, if anybody wants it. `dimensions` holds a value for each dimension of the metrics.
pub(crate) fn publish(now_ms: u64, dimensions: &[(&'static str, &str)], values: &[(Metric, u64)]) {
    let Some(sink) = SINK.get() else { return };
    let mut line = document(now_ms, dimensions, values).to_string();
    line.push('\n');
    let mut writer = sink.lock().unwrap_or_else(PoisonError::into_inner);
    // A metric that cannot be written is no reason to fail a delivery.
    let _ = writer.write_all(line.as_bytes()).and_then(|()| writer.flush());
}

/// The document: a directive for each set of dimensions, and every value at the root, where directives refer to it.
fn document(now_ms: u64, dimensions: &[(&'static str, &str)], values: &[(Metric, u64)]) -> Value {
    let mut directives: Vec<(&[&str], Vec<Value>)> = Vec::new();
    let mut root = Map::new();
    for (metric, value) in values {
        let row = metric.row();
        let definition = json!({"Name": row.name, "Unit": row.unit});
        match directives.iter_mut().find(|(set, _)| *set == row.dimensions) {
            Some((_, definitions)) => definitions.push(definition),
            None => directives.push((row.dimensions, vec![definition])),
        }
        root.insert(row.name.to_owned(), json!(value));
    }
    for (name, value) in dimensions {
        root.insert((*name).to_owned(), json!(value));
    }
    let directives: Vec<Value> = directives
        .into_iter()
        .map(|(set, metrics)| json!({"Namespace": NAMESPACE, "Dimensions": [set], "Metrics": metrics}))
        .collect();
    root.insert("_aws".to_owned(), json!({"Timestamp": now_ms, "CloudWatchMetrics": directives}));
    Value::Object(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_directive_for_each_set_of_dimensions() {
        let dimensions = [("provider", "fcm"), ("class", "accepted")];
        let values = [(Metric::Calls, 1), (Metric::CallLatency, 12), (Metric::Devices, 1)];
        let expected = json!({
            "_aws": {"Timestamp": 1_700_000_000_123_u64, "CloudWatchMetrics": [
                {"Namespace": "Sendonce", "Dimensions": [["provider"]],
                 "Metrics": [{"Name": "Calls", "Unit": "Count"}, {"Name": "CallLatency", "Unit": "Milliseconds"}]},
                {"Namespace": "Sendonce", "Dimensions": [["provider", "class"]],
                 "Metrics": [{"Name": "Devices", "Unit": "Count"}]},
            ]},
            "provider": "fcm", "class": "accepted", "Calls": 1, "CallLatency": 12, "Devices": 1,
        });
        assert_eq!(document(1_700_000_000_123, &dimensions, &values), expected);
    }

    #[test]
    fn a_metric_without_dimensions_has_the_empty_set() {
        let document = document(1, &[], &[(Metric::RelayParked, 2)]);
        assert_eq!(document["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
        assert_eq!(document["RelayParked"], 2);
    }

    #[test]
    fn every_metric_stands_in_its_own_row() {
        assert_eq!(Metric::Requests.row().name, "Requests");
        assert_eq!(Metric::DeadLetters.row().name, "DeadLetters");
        assert_eq!(Metric::Devices.row().dimensions, ["provider", "class"]);
        assert_eq!(Metric::DevicesExpired.row().name, "DevicesExpired");
        assert_eq!(Metric::DevicesUnknown.row().name, "DevicesUnknown");
        assert_eq!(Metric::HoldsBegun.row().name, "HoldsBegun");
        assert_eq!(Metric::AuditNotRepaired.row().name, "AuditNotRepaired");
        assert_eq!(Metric::AuditFailed.row().name, "AuditFailed");
        assert_eq!(Metric::PayoutsWaiting.row().name, "PayoutsWaiting");
        assert_eq!(Metric::PayoutsInReview as usize + 1, METRICS.len());
        assert_eq!(Metric::Webhooks.row().name, "Webhooks");
    }
}
