//! The functions: each is held to its own reading of its settings, so that what is said here is what its start would say.

use super::{
    Findings, Lambda, Queues,
    permission::{self, Invoker},
};
use crate::{failure::Failure, place::Place};
use platform::{EnvReader, SettingsError};
use protocol::{audit::INVOCATION_MAX, timing::Timing};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeSet};

/// What the template's LogLevel may be.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
/// A function's least memory, in MB: the template's MemorySize, with which README reckons the costs. A function has processor
/// time in proportion to it (AWS Lambda developer guide, "Configure Lambda function memory").
const MEMORY_MB: u64 = 512;
/// Levels at which Lambda, told to write its log in JSON, lets our lines pass: one without a level, as a metric is, counts as
/// INFO (AWS Lambda developer guide, "Log-level filtering"; docs/OBSERVABILITY.md, "Where they go").
const LAMBDA_LEVELS: [&str; 3] = ["TRACE", "DEBUG", "INFO"];

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
    secret_name: Option<String>,
    stripe_url: Option<String>,
    /// The origins of CORS, in order.
    cors: Option<String>,
    timing: Timing,
}

impl Wired {
    fn new(table: String, timing: Timing) -> Self {
        let (deliveries, payouts, parking, secret_name, stripe_url, cors) = (None, None, None, None, None, None);
        Self { table, deliveries, payouts, parking, secret_name, stripe_url, cors, timing }
    }
}

/// Origins as one text, the same whatever order they were written in.
fn in_order(cors: &[http::HeaderValue]) -> String {
    let origins: BTreeSet<_> = cors.iter().map(|origin| String::from_utf8_lossy(origin.as_bytes())).collect();
    origins.into_iter().collect::<Vec<_>>().join(",")
}

/// What must be the same in all functions: what the stack was made with, as far as that is known, or else what the first
/// of them says.
pub(super) struct Same {
    secret_name: Option<String>,
    stripe_url: String,
    architecture: Option<String>,
    cors: Option<String>,
}

impl Same {
    pub(super) fn of(place: &Place) -> Self {
        Self {
            secret_name: place.setting("SECRET_NAME"),
            // The template's own default.
            stripe_url: place.setting("STRIPE_URL").unwrap_or_else(|| payments::STRIPE_URL.to_owned()),
            architecture: place.output("Architecture"),
            cors: None,
        }
    }
}

/// A function of the service.
pub(super) struct Function {
    /// Its kind, which is its binary's name.
    pub(super) name: &'static str,
    /// The stack's output that names it.
    pub(super) output: &'static str,
    /// None: HTTP, or a schedule.
    pub(super) events: &'static [Source],
    /// Who invokes it, where that is not an event source mapping.
    invoked_by: Option<Invoker>,
    /// What it sends can come back to it, round after round, as it is meant to.
    loops: bool,
    /// When Lambda must end it, in ms.
    timeout_ms: fn(&Timing) -> u64,
    read: fn(EnvReader<'_>) -> Result<Wired, SettingsError>,
}

fn api(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::api::Settings::read(env)?;
    let cors = Some(in_order(&read.cors));
    Ok(Wired { deliveries: Some(read.deliveries_url), cors, ..Wired::new(read.table, read.timing) })
}

fn deliver(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::deliver::Settings::read(env)?;
    let secret_name = Some(read.push.secret_name);
    Ok(Wired { deliveries: Some(read.deliveries_url), secret_name, ..Wired::new(read.table, read.timing) })
}

fn relay(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::relay::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), Some(read.payouts_url), Some(read.parking_url));
    Ok(Wired { deliveries, payouts, parking, ..Wired::new(read.table, read.timing) })
}

fn dead_letter(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::dead_letter::Settings::read(env)?;
    let (deliveries, payouts, parking) = (Some(read.deliveries_url), Some(read.payouts_url), Some(read.parking_url));
    Ok(Wired { deliveries, payouts, parking, ..Wired::new(read.table, read.timing) })
}

fn refunds(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::refunds::Settings::read(env)?;
    let (secret_name, stripe_url) = (Some(read.payments.secret_name), Some(read.payments.base_url));
    let (payouts, cors) = (Some(read.payouts_url), Some(in_order(&read.cors)));
    Ok(Wired { payouts, secret_name, stripe_url, cors, ..Wired::new(read.table, read.timing) })
}

fn payout(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::payout::Settings::read(env)?;
    let (secret_name, stripe_url) = (Some(read.payments.secret_name), Some(read.payments.base_url));
    Ok(Wired { payouts: Some(read.payouts_url), secret_name, stripe_url, ..Wired::new(read.table, read.timing) })
}

fn audit(env: EnvReader<'_>) -> Result<Wired, SettingsError> {
    let read = ::audit::Settings::read(env)?;
    let (deliveries, payouts) = (Some(read.deliveries_url), Some(read.payouts_url));
    Ok(Wired { deliveries, payouts, ..Wired::new(read.table, read.timing) })
}

/// All of them.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "api",
        output: "ApiFunction",
        events: &[],
        invoked_by: Some(Invoker::HttpApi),
        loops: false,
        timeout_ms: |t| t.api_total,
        read: api,
    },
    Function {
        name: "refunds",
        output: "RefundsFunction",
        events: &[],
        invoked_by: Some(Invoker::HttpApi),
        loops: false,
        timeout_ms: |t| t.api_total,
        read: refunds,
    },
    Function {
        name: "deliver",
        output: "DeliverFunction",
        events: &[Source::Deliveries],
        invoked_by: None,
        loops: true,
        timeout_ms: |t| t.function,
        read: deliver,
    },
    Function {
        name: "payout",
        output: "PayoutFunction",
        events: &[Source::Payouts],
        invoked_by: None,
        loops: false,
        timeout_ms: |t| t.function,
        read: payout,
    },
    Function {
        name: "relay",
        output: "RelayFunction",
        events: &[Source::Stream],
        invoked_by: None,
        loops: false,
        timeout_ms: |t| t.function,
        read: relay,
    },
    Function {
        name: "dead-letter",
        output: "DeadLetterFunction",
        events: &[Source::DeadLetters, Source::DeadPayouts],
        invoked_by: None,
        loops: true,
        timeout_ms: |t| t.function,
        read: dead_letter,
    },
    Function {
        name: "audit",
        output: "AuditFunction",
        events: &[],
        invoked_by: Some(Invoker::Schedule),
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
    same: &mut Same,
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
    let handler = found["Handler"].as_str().unwrap_or("none");
    findings.equal(part, "Handler", handler, "bootstrap");
    let listed = found["Architectures"].as_array().map(Vec::as_slice).unwrap_or_default();
    let listed: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
    let architecture = listed.join(" ");
    let all = same.architecture.get_or_insert_with(|| architecture.clone());
    let holds = ["arm64", "x86_64"].contains(&architecture.as_str()) && architecture == *all;
    findings.must(part, "Architectures", &architecture, holds, format!("the same in all functions, {all}"));
    // An emulator may not tell.
    let state = found["State"].as_str().unwrap_or("Active");
    findings.must(part, "State", state, matches!(state, "Active" | "Inactive"), "Active");
    let update = found["LastUpdateStatus"].as_str().unwrap_or("Successful");
    findings.equal(part, "LastUpdateStatus", update, "Successful");
    let memory = &found["MemorySize"];
    let enough = memory.as_u64().is_some_and(|memory| memory >= MEMORY_MB);
    findings.must(part, "MemorySize", memory, enough, format!("{MEMORY_MB} or more"));
    logs(place, function, part, name, &found["LoggingConfig"], findings);
    let policy = lambda.policy(name).await?.unwrap_or_default();
    permission::look(place, function.invoked_by, part, &found["FunctionArn"], &policy, findings);
    let urls = lambda.urls(name).await?;
    let listed = urls.iter().map(|url| url["FunctionUrl"].as_str().unwrap_or("one"));
    let is = listed.collect::<Vec<_>>().join(", ");
    // It leads past API Gateway: its throttling, its log, and for what is not called by HTTP at all, every rule there is.
    findings.must(part, "FunctionUrl", is, urls.is_empty(), "none");
    if function.loops {
        // After some 16 rounds Lambda stops a loop that it was not told of, and what is in it goes no further.
        if let Some(loops) = lambda.recursive_loop(name).await? {
            findings.equal(part, "RecursiveLoop", loops, "Allow");
        }
    }
    settings(place, function, part, &found["Environment"]["Variables"], queues, same, findings)?;
    Ok(true)
}

/// Holds where a function's lines go to what its role may write to, the log group that the template makes for it. Lines that
/// go elsewhere are lost without a word, and with them every metric, which is a line like any other.
fn logs(place: &Place, function: &Function, part: &str, name: &str, config: &Value, findings: &mut Findings) {
    // An emulator may not tell.
    if let Some(group) = config["LogGroup"].as_str() {
        match place.output(&function.output.replace("Function", "Logs")) {
            Some(own) => findings.equal(part, "LoggingConfig.LogGroup", group, own),
            // Whoever does not know the stack's own knows what it is not.
            None => {
                let default = format!("/aws/lambda/{name}");
                let must_be = "the log group of the stack's that its role may write to, not Lambda's own";
                findings.must(part, "LoggingConfig.LogGroup", group, group != default, must_be);
            }
        }
    }
    let level = config["ApplicationLogLevel"].as_str();
    let passes = level.is_none_or(|level| LAMBDA_LEVELS.contains(&level));
    let must_be = format!("none, or one of {}", LAMBDA_LEVELS.join(", "));
    findings.must(part, "LoggingConfig.ApplicationLogLevel", level.unwrap_or("none"), passes, must_be);
}

/// Holds a function's own limit to what its mappings may ask for at the same time: batches that are turned away count as
/// receives, and in the end as dead letters (AWS Lambda developer guide, "Configuring maximum concurrency for Amazon SQS
/// event sources").
pub(super) async fn look_at_limit(
    lambda: &Lambda,
    function: &Function,
    name: &str,
    used: u64,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let limit = lambda.concurrency(name).await?;
    let least = used.max(1);
    let is = limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    let must_be = format!("none, or at least {least}, as many as its mappings may use");
    let part = format!("function {}", function.name);
    findings.must(&part, "ReservedConcurrentExecutions", is, limit.is_none_or(|limit| limit >= least), must_be);
    Ok(())
}

fn settings(
    place: &Place,
    function: &Function,
    part: &str,
    variables: &Value,
    queues: &Queues,
    same: &mut Same,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let asked = RefCell::new(BTreeSet::new());
    let read = (function.read)(EnvReader::from_source(|name| {
        asked.borrow_mut().insert(name.to_owned());
        variables[name].as_str().map(str::to_owned)
    }));
    let asked = asked.into_inner();
    for name in variables.as_object().into_iter().flatten().map(|(name, _)| name) {
        if !asked.contains(name) {
            // One of the SDK's own, such as an endpoint, would lead what is sent somewhere else. Its value may be a secret.
            findings.must(part, name, "set", false, "not set: no setting of this function has the name");
        }
    }
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
    let level = variables["RUST_LOG"].as_str().unwrap_or("info");
    // Without our lines the runbook's queries find nothing, most of all when money is looked for.
    findings.must(part, "RUST_LOG", level, LEVELS.contains(&level), format!("one of {}", LEVELS.join(", ")));
    if let Some(deliveries) = wired.deliveries {
        findings.equal(part, "DELIVERIES_QUEUE_URL", deliveries, &queues.deliveries.url);
    }
    if let Some(payouts) = wired.payouts {
        findings.equal(part, "PAYOUTS_QUEUE_URL", payouts, &queues.payouts.url);
    }
    if let (Some(parking), Some(found)) = (wired.parking, &queues.parking_url) {
        findings.equal(part, "PARKING_QUEUE_URL", parking, found);
    }
    if let Some(name) = wired.secret_name {
        let all = same.secret_name.get_or_insert_with(|| name.clone());
        findings.equal(part, "SECRET_NAME", name, all);
    }
    if let Some(url) = wired.stripe_url {
        // A payout's calls at two places have two sets of idempotency keys.
        findings.equal(part, "STRIPE_URL", url, &same.stripe_url);
    }
    if let Some(cors) = wired.cors {
        // A page that may send and not ask for refunds, or the other way round, was forgotten in one of the two.
        let all = same.cors.get_or_insert_with(|| cors.clone());
        let must_be = if all.is_empty() { "none, as in api".to_owned() } else { format!("as in api, {all}") };
        findings.must(part, "CORS_ORIGINS", &cors, cors == *all, must_be);
    }
    let timing = if wired.timing == place.timing { "the same" } else { "other durations than --timing" };
    findings.equal(part, "TIMING", timing, "the same");
    Ok(())
}
