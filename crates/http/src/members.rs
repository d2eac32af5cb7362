//! What every validation of a body does: unknown members, optional ones, and all faults together.

use crate::{
    Code, Fault, Problem, Rule,
    strict::{Json, Object, escape},
};

/// Faults reported at most. Two for each of 500 devices fit, and the answer stays far below the 6 MB that a Lambda
/// function may answer (AWS Lambda quotas, invocation payload).
const FAULTS_MAX: usize = 1_024;

/// Refuses the first member of an object, in the order of the text, that is none of `known`. `at` is the object's place.
///
/// # Errors
/// 400 unknown_member.
pub fn known_members(object: &Object<'_>, at: &str, known: &[&str]) -> Result<(), Problem> {
    match object.iter().find(|(name, _)| !known.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(unknown(at, name, known)),
    }
}

/// 400 unknown_member.
#[must_use]
pub fn unknown(at: &str, name: &str, known: &[&str]) -> Problem {
    let fault = Fault::at(format!("{at}/{}", escape(name)), format!("Known members: {}.", known.join(", ")));
    let detail = "A member has no meaning here; a typo must not be ignored.";
    Problem::at(Code::UnknownMember, detail, vec![fault])
}

/// All faults together, up to a bound: what a hostile body repeats is not worth an answer of megabytes.
#[must_use]
pub fn refuse(mut faults: Vec<Fault>) -> Problem {
    if faults.len() > FAULTS_MAX {
        let more = faults.len() - FAULTS_MAX;
        faults.truncate(FAULTS_MAX);
        faults.push(Fault::at("", format!("And {more} more.")));
    }
    Problem::validation_failed(faults)
}

/// An optional member: absent, read, or a broken rule.
pub fn optional<T>(
    value: Option<&Json<'_>>,
    rule: &Rule,
    faults: &mut Vec<Fault>,
    read: impl Fn(&Json<'_>) -> Option<T>,
) -> Option<T> {
    let found = read(value?);
    if found.is_none() {
        faults.push(rule.broken_here());
    }
    found
}
