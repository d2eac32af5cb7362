//! The functions: each is held to its own reading of its settings, so that what is said here is what its start would say.

use super::{Findings, Lambda, Queues};
use crate::{failure::Failure, place::Place};
use platform::{EnvReader, SettingsError};
use protocol::{audit::INVOCATION_MAX, timing::Timing};
use serde_json::Value;

/// What a function takes its events from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The deliveries queue.
    Deliveries,
    /// The payouts queue.
    Payouts,
    /// The deliveries' dead-letter queue.
    DeadLetters,
    /// The payouts' dead-letter queue.
    DeadPayouts,
    /// The table's stream.
    Stream,
}

/// What its settings say where it writes to.
struct Wired {
    table: String,
    deliveries: Option<String>,
    payouts: Option<String>,
    parking: Option<String>,
    timing: Timing,
}

/// A function of the service.
pub(super) struct Function {
    /// Its kind, which is its binary's name.
    pub(super) name: &'static str,
    /// The stack's output that names it.
    pub(super) output: &'static str,
    /// None: HTTP, or a schedule.
    pub(super) events: &'static [Source],
    /// What it sends can come back to it, round after round, as it is meant to.
    loops: bool,
    /// When Lambda must end it, in ms.
    timeout_ms: fn(&Timing) -> u64,
    read: fn(EnvReader<'_>) -> Result<Wired, SettingsError>,
}

fn api(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::api::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), None, None);
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn deliver(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::deliver::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), None, None);
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn relay(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::relay::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), Some(read.payouts_url), Some(read.parking_url));
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn dead_letter(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::dead_letter::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), Some(read.payouts_url), Some(read.parking_url));
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn refunds(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::refunds::Settings::read(env)?;
    let (deliveries, payouts, parking) = (None, Some(read.payouts_url), None);
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn payout(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::payout::Settings::read(env)?;
    let (deliveries, payouts, parking) = (None, Some(read.payouts_url), None);
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

fn audit(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::audit::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), Some(read.payouts_url), None);
    Ok(Wired { table: read.table, deliveries, payouts, parking, timing: read.timing })
}

/// All of them.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "api", output: "ApiFunction", events: &[], loops: false, timeout_ms: |t| t.api_total, read: api },
    Function {
        name: "refunds",
        output: "RefundsFunction",
        events: &[],
        loops: false,
        timeout_ms: |t| t.api_total,
        read: refunds,
    },
    Function {
        name: "deliver",
        output: "DeliverFunction",
        events: &[Source::Deliveries],
        loops: true,
        timeout_ms: |t| t.function,
        read: deliver,
    },
    Function {
        name: "payout",
        output: "PayoutFunction",
        events: &[Source::Payouts],
        loops: false,
        timeout_ms: |t| t.function,
        read: payout,
    },
    Function {
        name: "relay",
        output: "RelayFunction",
        events: &[Source::Stream],
        loops: false,
        timeout_ms: |t| t.function,
        read: relay,
    },
    Function {
        name: "dead-letter",
        output: "DeadLetterFunction",
        events: &[Source::DeadLetters, Source::DeadPayouts],
        loops: true,
        timeout_ms: |t| t.function,
        read: dead_letter,
    },
    Function {
        name: "audit",
        output: "AuditFunction",
        events: &[],
        loops: false,
        timeout_ms: |_| INVOCATION_MAX,
        read: audit,
    },
];

impl Source {
    /// The source's ARN, as far as it was found.
    pub(super) fn arn<'a>(self, queues: &'a Queues, stream: Option<&'a str>) -> Option<&'a str> {
        match self {
            Self::Deliveries => queues.deliveries.arn.as_deref(),
            Self::Payouts => queues.payouts.arn.as_deref(),
            Self::DeadLetters => queues.deliveries.dead_arn.as_deref(),
            Self::DeadPayouts => queues.payouts.dead_arn.as_deref(),
            Self::Stream => stream,
        }
    }
}

/// Holds a function to what it must be; whether it is there at all.
pub(super) async fn look(
    place: &Place,
    lambda: &Lambda,
    function: &Function,
    name: &str,
    queues: &Queues,
    findings: &mut Findings,
) -> Result<bool, Failure> {
    let part = format!("function {}", function.name);
    let part = part.as_str();
    let Some(found) = lambda.function(name).await? else {
        findings.must(part, "FunctionName", format!("{name}, which is not there"), false, "a function");
        return Ok(false);
    };
    findings.equal(part, "Timeout", &found["Timeout"], (function.timeout_ms)(&place.timing) / 1_000);
    let runtime = found["Runtime"].as_str().unwrap_or("none");
    findings.equal(part, "Runtime", runtime, "provided.al2023");
    // An emulator may not tell.
    let state = found["State"].as_str().unwrap_or("Active");
    findings.must(part, "State", state, matches!(state, "Active" | "Inactive"), "Active");
    let update = found["LastUpdateStatus"].as_str().unwrap_or("Successful");
    findings.equal(part, "LastUpdateStatus", update, "Successful");
    let limit = lambda.concurrency(name).await?;
    findings.must(part, "ReservedConcurrentExecutions", 0, limit != Some(0), "none, or at least 1");
    if function.loops {
        // After some 16 rounds Lambda stops a loop that it was not told of, and what is in it goes no further.
        if let Some(loops) = lambda.recursive_loop(name).await? {
            findings.equal(part, "RecursiveLoop", loops, "Allow");
        }
    }
    settings(place, function, part, &found["Environment"]["Variables"], queues, findings)?;
    Ok(true)
}

fn settings(
    place: &Place,
    function: &Function,
    part: &str,
    variables: &Value,
    queues: &Queues,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let read = (function.read)(EnvReader::from_source(|name| variables[name].as_str().map(str::to_owned)));
    let wired = match read {
        Ok(wired) => wired,
        Err(SettingsError(faults)) => {
            for fault in faults {
                // Each fault begins with the variable that it is about.
                let name = fault.split(' ').next().unwrap_or_default().to_owned();
                findings.must(part, &name, &fault, false, "what the function's start accepts");
            }
            return Ok(());
        }
    };
    findings.equal(part, "TABLE_NAME", wired.table, place.table()?);
    if let Some(deliveries) = wired.deliveries {
        findings.equal(part, "DELIVERIES_QUEUE_URL", deliveries, &queues.deliveries.url);
    }
    if let Some(payouts) = wired.payouts {
        findings.equal(part, "PAYOUTS_QUEUE_URL", payouts, &queues.payouts.url);
    }
    if let (Some(parking), Some(found)) = (wired.parking, &queues.parking_url) {
        findings.equal(part, "PARKING_QUEUE_URL", parking, found);
    }
    let timing = if wired.timing == place.timing { "the same" } else { "other durations than --timing" };
    findings.equal(part, "TIMING", timing, "the same");
    Ok(())
}
