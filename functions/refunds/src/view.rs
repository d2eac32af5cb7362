//! Answers: a refund as GET shows it, and what came of each change.

use crate::events::{Event, events};
use platform::rfc3339_ms;
use protocol::refund::{
    Refund,
    decide::{Decision, Verdict},
    id::{PayoutId, RefundId},
    payout::Payout,
};
use serde::Serialize;

/// The answer to a create.
#[derive(Debug, Serialize)]
pub(crate) struct Created {
    status: &'static str,
    id: String,
}

impl Created {
    /// `status` is `pending` or `duplicate_ignored`.
    pub(crate) fn new(status: &'static str, id: RefundId) -> Self {
        Self { status, id: id.to_string() }
    }
}

/// The answer to a decision.
#[derive(Debug, Serialize)]
pub(crate) struct Decided<'a> {
    status: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout_id: Option<String>,
    result: &'static str,
    decided_by: &'a str,
    decided_at: String,
}

impl<'a> Decided<'a> {
    /// The stored decision, and whether another request made it before.
    pub(crate) fn new(id: RefundId, decision: &'a Decision, payout: Option<PayoutId>, already: bool) -> Self {
        let (status, result) = match (decision.verdict, already) {
            (Verdict::Approve, false) => ("approved", "approved"),
            (Verdict::Approve, true) => ("approved", "already_approved"),
            (Verdict::Reject, false) => ("rejected", "rejected"),
            (Verdict::Reject, true) => ("rejected", "already_rejected"),
        };
        Self {
            status,
            id: id.to_string(),
            payout_id: payout.map(|payout| payout.to_string()),
            result,
            decided_by: &decision.by,
            decided_at: rfc3339_ms(decision.at_ms),
        }
    }
}

/// The answer to a retry.
#[derive(Debug, Serialize)]
pub(crate) struct Retried {
    id: String,
    payout_id: String,
    retry_of: String,
    result: &'static str,
}

impl Retried {
    /// The successor of a failed payout, and whether another request made it before.
    pub(crate) fn new(failed: PayoutId, successor: PayoutId, already: bool) -> Self {
        Self {
            id: failed.refund.to_string(),
            payout_id: successor.to_string(),
            retry_of: failed.to_string(),
            result: if already { "already_retried" } else { "retried" },
        }
    }
}

/// The answer to a resolve.
#[derive(Debug, Serialize)]
pub(crate) struct Resolved {
    id: String,
    payout_status: &'static str,
    result: &'static str,
}

impl Resolved {
    /// How the payout stands now, and whether it did before.
    pub(crate) fn new(id: RefundId, payout_status: &'static str, already: bool) -> Self {
        let result = if already { "already_resolved" } else { "resolved" };
        Self { id: id.to_string(), payout_status, result }
    }
}

/// A refund, its members in the order in which people read them.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    id: String,
    idempotency_key: &'a str,
    request_hash: String,
    status: &'static str,
    order_id: &'a str,
    payment_id: &'a str,
    amount: u64,
    currency: &'a str,
    reason: &'static str,
    note: Option<&'a str>,
    created_at: String,
    created_by: &'a str,
    decided_at: Option<String>,
    decided_by: Option<&'a str>,
    payout: Option<ShownPayout<'a>>,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<Event<'a>>>,
}

#[derive(Debug, Serialize)]
struct ShownPayout<'a> {
    id: String,
    number: u16,
    status: &'static str,
    provider_id: Option<&'a str>,
    reason: Option<ShownReason<'a>>,
    first_call_at: Option<String>,
    calls: u32,
}

#[derive(Debug, Serialize)]
struct ShownReason<'a> {
    code: &'a str,
    detail: &'a str,
}

/// A page of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Page<'a> {
    pub(crate) refunds: Vec<Shown<'a>>,
    pub(crate) next_cursor: Option<String>,
}

fn payout(id: RefundId, payout: &Payout) -> ShownPayout<'_> {
    ShownPayout {
        id: PayoutId { refund: id, number: payout.number }.to_string(),
        number: payout.number,
        status: payout.state.as_str(),
        provider_id: payout.reference.as_deref(),
        reason: payout.reason.as_ref().map(|reason| ShownReason { code: &reason.code, detail: &reason.detail }),
        first_call_at: payout.first_call_ms.map(rfc3339_ms),
        calls: payout.calls,
    }
}

impl<'a> Shown<'a> {
    /// A row of a list.
    pub(crate) fn row(refund: &'a Refund) -> Self {
        let (request, decision) = (&refund.request, refund.decision.as_ref());
        Self {
            id: refund.id.to_string(),
            idempotency_key: &refund.key,
            request_hash: refund.fingerprint.to_string(),
            status: refund.status().as_str(),
            order_id: &request.order,
            payment_id: &request.payment,
            amount: request.amount,
            currency: &request.currency,
            reason: request.reason.as_str(),
            note: request.note.as_deref(),
            created_at: rfc3339_ms(refund.at_ms),
            created_by: &refund.created_by,
            decided_at: decision.map(|decision| rfc3339_ms(decision.at_ms)),
            decided_by: decision.map(|decision| decision.by.as_str()),
            payout: refund.payout.as_ref().map(|current| payout(refund.id, current)),
            events: None,
        }
    }

    /// The refund with its trail.
    pub(crate) fn whole(refund: &'a Refund) -> Self {
        Self { events: Some(events(refund)), ..Self::row(refund) }
    }
}
