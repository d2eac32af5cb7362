//! Refunds to store.

use crate::{RefundCreate, RefundWrite, Store};
use protocol::{
    ids::{Nonce, OwnerToken},
    refund::{
        Refund,
        decide::{Decision, Verdict},
        request::{RefundRequest, Why},
    },
};

pub(super) const NOW: u64 = 1_790_000_000_000;
/// Who announces calls here.
pub(super) const ME: OwnerToken = OwnerToken([1; 16]);

pub(super) fn request(amount: u64) -> RefundRequest {
    RefundRequest {
        order: "order-1042".into(),
        payment: "pi_3MtwBwLkdIwHu7ix28a3tqPa".into(),
        amount,
        currency: "usd".into(),
        reason: Why::RequestedByCustomer,
        note: Some("The parcel came back unopened; the customer asked twice by mail.".into()),
    }
}

pub(super) fn pending(key: &str, nonce: u8) -> Refund {
    Refund::new("acme", key, "shop backend", Nonce([nonce; 5]), request(4_200), NOW)
}

pub(super) fn decision(verdict: Verdict, nonce: u8) -> Decision {
    Decision { verdict, by: format!("admin {nonce}"), at_ms: NOW + 60_000, nonce: Nonce([nonce; 5]) }
}

pub(super) async fn create(store: &Store, refund: &Refund) {
    let created = store.create_refund(refund).await;
    assert!(matches!(created, RefundCreate::Created { .. }), "{created:?}");
}

/// The units of a write that happened.
pub(super) fn written(wrote: &RefundWrite) -> f64 {
    match wrote {
        RefundWrite::Written { units: Some(units) } => *units,
        other => panic!("{other:?}"),
    }
}

pub(super) fn conflict(wrote: RefundWrite) -> Option<Refund> {
    match wrote {
        RefundWrite::Conflict(stored) => stored.map(|stored| *stored),
        other => panic!("{other:?}"),
    }
}
