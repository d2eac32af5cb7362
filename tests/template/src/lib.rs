//! template.yaml held to the code: each module is one comparison, a function from a template to its faults in words.
//!
//! Called by `tests/agreement.rs` with the template as it is, which must have no fault, and by `tests/mutations.rs` with
//! one thing in it changed, which must be named. Nothing here but [`alarm_table`] knows a number or a name of its own:
//! what is right comes from `protocol`, from the functions' settings and binaries, from the running local system, and from
//! the documents.

pub mod alarm_table;
pub mod alarms;
pub mod binary;
pub mod commands;
pub mod logs;
pub mod loops;
pub mod policy;
pub mod read;
pub mod readme;
pub mod resolve;
pub mod router;
pub mod routes;
pub mod runbook;
pub mod settings;
pub mod source;
pub mod timing;
pub mod wiring;
pub mod yaml;

/// What is wrong, one sentence each.
pub type Faults = Vec<String>;

/// A fault unless the two are equal.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(faults: &mut Faults, what: &str, is: T, must: T) {
    if is != must {
        faults.push(format!("{what} is {is:?} and must be {must:?}"));
    }
}
