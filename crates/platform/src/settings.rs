//! Settings come from the environment, are read once at start, and every bad or missing one is named in one message.
//!
//! Each function has a typed struct of its own and fills it through [`EnvReader`]; endpoints of AWS services are the
//! SDK's own variables and are not read here.

use crate::Address;
use protocol::timing::Timing;
use std::{
    fmt::{self, Display},
    str::FromStr,
};
use tracing_subscriber::EnvFilter;

/// Everything that is wrong with the environment, one line each. `Debug` is the same text: a main that returns it
/// prints that.
#[derive(thiserror::Error)]
#[error("bad settings:\n{}", .0.join("\n"))]
pub struct SettingsError(pub Vec<String>);

impl fmt::Debug for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

type Source<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// Reads variables and collects what is wrong with them.
pub struct EnvReader<'a> {
    get: Source<'a>,
    faults: Vec<String>,
}

impl fmt::Debug for EnvReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvReader").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl<'a> EnvReader<'a> {
    /// Reads the process's environment.
    #[must_use]
    pub fn process() -> Self {
        Self::from_source(|name| std::env::var(name).ok())
    }

    /// Reads from `get`, for tests and for the local system.
    pub fn from_source(get: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self { get: Box::new(get), faults: Vec::new() }
    }

    /// A variable that must be there and not empty.
    pub fn required(&mut self, name: &str, what: &str) -> String {
        match (self.get)(name).filter(|value| !value.is_empty()) {
            Some(value) => value,
            None => {
                self.faults.push(format!("{name} is missing: {what}"));
                String::new()
            }
        }
    }

    /// A variable with a default. `allowed` says in words what is allowed and `check` decides it.
    pub fn or<T: FromStr>(&mut self, name: &str, default: T, allowed: impl Display, check: impl Fn(&T) -> bool) -> T {
        let Some(text) = (self.get)(name).filter(|value| !value.is_empty()) else { return default };
        match text.parse::<T>() {
            Ok(value) if check(&value) => value,
            _ => {
                self.faults.push(format!("{name} must be {allowed}, not {:?}", shown(&text)));
                default
            }
        }
    }

    /// A variable that must be there and keep to a rule, which `allowed` says in words.
    fn held(&mut self, name: &str, what: &str, allowed: &str, check: impl Fn(&str) -> bool) -> String {
        let text = self.required(name, what);
        if !text.is_empty() && !check(&text) {
            self.faults.push(format!("{name} must be {allowed}, not {:?}", shown(&text)));
        }
        text
    }

    fn queue(&mut self, name: &str, what: &str) -> String {
        self.held(
            name,
            what,
            "the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/ACCOUNT/NAME",
            is_queue_url,
        )
    }

    /// `TABLE_NAME`: the DynamoDB table.
    pub fn table(&mut self) -> String {
        let allowed = "the name of a DynamoDB table: letters, digits, '_', '-' and '.'";
        self.held("TABLE_NAME", "the name of the DynamoDB table", allowed, is_table)
    }

    /// `DELIVERIES_QUEUE_URL`: the queue of chunks to deliver.
    pub fn deliveries_queue(&mut self) -> String {
        self.queue("DELIVERIES_QUEUE_URL", "the URL of the deliveries queue")
    }

    /// `PAYOUTS_QUEUE_URL`: the queue of payouts to bring to their end.
    pub fn payouts_queue(&mut self) -> String {
        self.queue("PAYOUTS_QUEUE_URL", "the URL of the payouts queue")
    }

    /// `PARKING_QUEUE_URL`: the queue of what nobody could process.
    pub fn parking_queue(&mut self) -> String {
        self.queue("PARKING_QUEUE_URL", "the URL of the parking queue")
    }

    /// `TIMING`: the deployment's durations, `production` (default) or `short`, held to their inequalities.
    pub fn timing(&mut self) -> Timing {
        let name =
            self.or("TIMING", "production".to_owned(), "production or short", |name| Timing::named(name).is_some());
        let timing = Timing::named(&name).unwrap_or(Timing::PRODUCTION);
        self.faults.extend(timing.violations());
        timing
    }

    /// `RUST_LOG`: which lines are logged. Read by [`crate::init_logs`], which has nobody to tell what is wrong with it.
    pub fn logs(&mut self) {
        let allowed = "a level (error, warn, info, debug, trace), or directives such as info,deliver=debug";
        self.or("RUST_LOG", String::new(), allowed, |text: &String| is_log_filter(text));
    }

    /// Adds a fault that concerns several variables.
    pub fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// The value, if nothing was wrong.
    ///
    /// # Errors
    /// Every fault found so far.
    pub fn finish<T>(self, value: T) -> Result<T, SettingsError> {
        if self.faults.is_empty() { Ok(value) } else { Err(SettingsError(self.faults)) }
    }
}

/// What a message may show of a value: an address's user and password are somebody's.
fn shown(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}…{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}

/// An ARN may stand for a name too (DynamoDB API reference, GetItem, TableName).
fn is_table(text: &str) -> bool {
    text.len() <= 1_024 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte))
}

/// Directives with a level each. The reader takes a word that is no level for a crate's name, and no level at all for the
/// highest: a slip of the pen, and nothing of ours is logged.
fn is_log_filter(text: &str) -> bool {
    let level = |word: &str| {
        ["off", "error", "warn", "info", "debug", "trace"].iter().any(|level| word.eq_ignore_ascii_case(level))
    };
    let directive = |text: &str| match text.rsplit_once('=') {
        Some((target, word)) => !target.is_empty() && level(word),
        None => level(text),
    };
    text.split(',').all(|text| directive(text.trim())) && EnvFilter::try_new(text).is_ok()
}

/// As SQS gives it: an address with the queue's path and nothing after it. Emulators have neither https nor AWS's host.
fn is_queue_url(text: &str) -> bool {
    Address::of(text).is_some_and(|address| {
        let path = address.rest.len() > 1 && address.rest.bytes().all(|byte| byte.is_ascii_graphic());
        matches!(address.scheme, "https" | "http") && path && !address.rest.contains(['?', '#'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_call_could_use_is_named_with_everything_else() {
        let set = [
            ("TABLE_NAME", "a table"),
            ("DELIVERIES_QUEUE_URL", "x"),
            ("PAYOUTS_QUEUE_URL", "https://sqs.example:99999/0/payouts"),
            ("PARKING_QUEUE_URL", "https://user:word@sqs.example/0/parking"),
            ("RUST_LOG", "nonsense="),
            ("TIMING", "slow"),
        ];
        let mut env =
            EnvReader::from_source(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()));
        env.table();
        env.deliveries_queue();
        env.payouts_queue();
        env.parking_queue();
        env.logs();
        env.timing();
        let SettingsError(faults) = env.finish(()).unwrap_err();
        assert_eq!(faults.len(), set.len(), "{faults:?}");
        for ((name, _), fault) in set.iter().zip(&faults) {
            assert!(fault.starts_with(name), "{fault}");
            assert!(!fault.contains("word"), "{fault}");
        }
    }

    #[test]
    fn what_a_call_can_use_is_taken() {
        for queue in [
            "https://sqs.eu-west-1.amazonaws.com/123456789012/acme-DeliveriesQueue-1A",
            "http://127.0.0.1:9324/000000000000/deliveries",
            "http://emulator:4566/q",
        ] {
            assert!(is_queue_url(queue), "{queue}");
        }
        for queue in
            ["https://sqs.example", "https://sqs.example/", "ftp://sqs.example/q", "https://a.example/q?x", "/q"]
        {
            assert!(!is_queue_url(queue), "{queue}");
        }
        assert!(is_table("t") && is_table("arn:aws:dynamodb:us-east-1:1:table/acme-Table.1_x") && !is_table("t\n"));
        for level in ["nonsense=", "inof", "info,", "deliver", "=info", "info,deliver=loud"] {
            assert!(!is_log_filter(level), "{level}");
        }
        for level in ["info", "WARN", "info,dynoxide=error", "off", "info,deliver=debug", "deliver[span]=trace"] {
            let mut env = EnvReader::from_source(|_| Some(level.to_owned()));
            env.logs();
            assert!(env.finish(()).is_ok(), "{level}");
        }
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let mut env = EnvReader::from_source(|name| (name == "KEY_VALID_DAYS").then(|| "900".to_owned()));
        env.required("TABLE_NAME", "the DynamoDB table");
        let days: u32 = env.or("KEY_VALID_DAYS", 30, "4 to 365", |d| (4..=365).contains(d));
        let err = env.finish(days).unwrap_err().to_string();
        assert!(err.contains("TABLE_NAME is missing") && err.contains("KEY_VALID_DAYS must be 4 to 365"), "{err}");
    }
}
