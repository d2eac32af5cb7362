//! Refunds: each decision over its whole table, and each machine step by step.

mod decisions;
mod ids;
mod machines;
mod objects;
mod payout;
mod person;
mod terms;
mod webhook;
mod words;

use protocol::{
    answer::Reason,
    ids::{Nonce, OwnerToken},
    refund::{
        Refund,
        decide::{Decision, Verdict, decided},
        id::PayoutId,
        payout::{Finding, State},
        request::{RefundRequest, Why},
    },
    timing::Timing,
};

pub(crate) const TIMING: Timing = Timing::PRODUCTION;
pub(crate) const NOW: u64 = 1_000_000;
/// The token of the receive that is looked at, and another one's.
pub(crate) const ME: OwnerToken = OwnerToken([1; 16]);
pub(crate) const OTHER: OwnerToken = OwnerToken([2; 16]);

pub(crate) fn request() -> RefundRequest {
    RefundRequest {
        order: "order-1042".into(),
        payment: "pi_1".into(),
        amount: 4_200,
        currency: "usd".into(),
        reason: Why::RequestedByCustomer,
        note: None,
    }
}

pub(crate) fn pending() -> Refund {
    Refund::new("acme", "k", "shop", Nonce([7; 5]), request(), 1)
}

pub(crate) fn decision(verdict: Verdict, nonce: u8) -> Decision {
    Decision { verdict, by: format!("admin {nonce}"), at_ms: NOW, nonce: Nonce([nonce; 5]) }
}

pub(crate) fn approved() -> Refund {
    decided(&pending(), &decision(Verdict::Approve, 1))
}

/// An approved refund whose payout is as `change` makes it.
pub(crate) fn with(change: impl FnOnce(&mut protocol::refund::payout::Payout)) -> Refund {
    let mut refund = approved();
    change(refund.payout.as_mut().unwrap());
    refund
}

/// Its payout was called for once.
pub(crate) fn in_state(state: State) -> Refund {
    with(|payout| {
        payout.state = state;
        payout.first_call_ms = Some(NOW);
        payout.calls = 1;
        payout.failed_ms = (state == State::Failed).then_some(NOW);
    })
}

/// Due, and called for so often.
pub(crate) fn called(calls: u32) -> Refund {
    let mut refund = in_state(State::Due);
    refund.payout.as_mut().unwrap().calls = calls;
    refund
}

/// The same with the mark of a refusal, made now.
pub(crate) fn marked(calls: u32) -> Refund {
    let mut refund = called(calls);
    refund.payout = refund.payout.unwrap().marked(&reason("charge_disputed"), NOW);
    refund
}

pub(crate) fn payout(number: u16) -> PayoutId {
    PayoutId { refund: pending().id, number }
}

pub(crate) fn reason(code: &str) -> Reason {
    Reason { code: code.into(), detail: format!("the provider said {code}") }
}

pub(crate) fn succeeded() -> Finding {
    Finding::Succeeded { reference: "re_1".into() }
}

pub(crate) fn waits() -> Finding {
    Finding::Pending { reference: "re_1".into() }
}

pub(crate) fn failed() -> Finding {
    Finding::Failed { reference: "re_1".into(), reason: reason("declined") }
}

pub(crate) fn refused() -> Finding {
    Finding::Refused(reason("charge_disputed"))
}

pub(crate) fn unclear() -> Finding {
    Finding::Unclear { reference: None, reason: reason("not_found") }
}
