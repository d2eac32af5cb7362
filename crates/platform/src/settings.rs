//! Settings come from the environment, are read once at start, and every bad or missing one is named in one message.
//!
//! Each function has a typed struct of its own and fills it through [`EnvReader`]; endpoints of AWS services are the
//! SDK's own variables and are not read here.

use protocol::timing::Timing;
use std::{
    fmt::{self, Display},
    str::FromStr,
};

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
                self.faults.push(format!("{name} must be {allowed}, not {text:?}"));
                default
            }
        }
    }

    /// `TABLE_NAME`: the DynamoDB table.
    pub fn table(&mut self) -> String {
        self.required("TABLE_NAME", "the name of the DynamoDB table")
    }

    /// `DELIVERIES_QUEUE_URL`: the queue of chunks to deliver.
    pub fn deliveries_queue(&mut self) -> String {
        self.required("DELIVERIES_QUEUE_URL", "the URL of the deliveries queue")
    }

    /// `PAYOUTS_QUEUE_URL`: the queue of payouts to bring to their end.
    pub fn payouts_queue(&mut self) -> String {
        self.required("PAYOUTS_QUEUE_URL", "the URL of the payouts queue")
    }

    /// `PARKING_QUEUE_URL`: the queue of what nobody could process.
    pub fn parking_queue(&mut self) -> String {
        self.required("PARKING_QUEUE_URL", "the URL of the parking queue")
    }

    /// `TIMING`: the deployment's durations, `production` (default) or `short`, held to their inequalities.
    pub fn timing(&mut self) -> Timing {
        let name =
            self.or("TIMING", "production".to_owned(), "production or short", |name| Timing::named(name).is_some());
        let timing = Timing::named(&name).unwrap_or(Timing::PRODUCTION);
        self.faults.extend(timing.violations());
        timing
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_named_at_once() {
        let mut env = EnvReader::from_source(|name| (name == "KEY_VALID_DAYS").then(|| "900".to_owned()));
        env.required("TABLE_NAME", "the DynamoDB table");
        let days: u32 = env.or("KEY_VALID_DAYS", 30, "4 to 365", |d| (4..=365).contains(d));
        let err = env.finish(days).unwrap_err().to_string();
        assert!(err.contains("TABLE_NAME is missing") && err.contains("KEY_VALID_DAYS must be 4 to 365"), "{err}");
    }
}
