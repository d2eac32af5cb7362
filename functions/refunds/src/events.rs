//! The audit trail of a refund, as GET shows it.

use platform::rfc3339_ms;
use protocol::refund::{Refund, trail::By};
use serde::Serialize;

/// Who did what, when.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    at: String,
    what: &'static str,
    /// The name of an API key, `payout` for what the payout function heard from the provider, or the provider's id of an
    /// event. No key is given a name that could be taken for one of the others.
    by: &'a str,
    /// The number of the payout that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<u16>,
    /// The provider's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    /// Why it failed or is in review.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
}

/// The trail, oldest first.
pub(crate) fn events(refund: &Refund) -> Vec<Event<'_>> {
    let lines = refund.trail.0.iter().map(|line| Event {
        at: rfc3339_ms(line.at_ms),
        what: line.what.as_str(),
        by: match &line.by {
            By::Actor(name) => name,
            By::Payout => "payout",
            By::Event(id) => id,
        },
        payout: line.about.payout,
        reference: line.about.reference.as_deref(),
        code: line.about.code.as_deref(),
    });
    lines.collect()
}
