//! The decision, as one update of an item that nobody has read.
//!
//! What a decision makes of a pending refund is said once, by `protocol::refund::decide::decided`. Here it is applied
//! to an outline of the refund, and whatever it changes there is what the update sets, so that the two cannot differ.
//! Only what the outline cannot know comes from the stored item itself: the amount, which is copied, and the trail,
//! which is added to.

use super::{RefundWrite, item, key};
use crate::{
    Store,
    attr::Item,
    condition::{Condition, render},
    names::{AMOUNT, ID, PAYOUT_AMOUNT, PROJECT, TRAIL},
    write::{Set, Value},
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    expect::Expect,
    fingerprint::Fingerprint,
    refund::{
        Refund,
        decide::{Decision, decided},
        id::RefundId,
        request::{RefundRequest, Why},
        trail::Trail,
    },
};

/// A pending refund of which only the project and the id are known. Its version is that of every pending refund.
fn outline(project: &str, id: RefundId) -> Refund {
    let request = RefundRequest {
        order: String::new(),
        payment: String::new(),
        amount: 0,
        currency: String::new(),
        reason: Why::Other,
        note: None,
    };
    let mut outline = Refund::new(project, "", "", id.nonce, request, 0);
    outline.id = id;
    outline.fingerprint = Fingerprint { version: 0, hash: [0; 32] };
    outline.trail = Trail::default();
    outline
}

/// What an update must set for `after` to be stored where `before` is.
fn changes(before: &Item, after: Item) -> Vec<Set> {
    let changed = after.into_iter().filter(|(name, value)| before.get(name) != Some(value));
    changed
        .map(|(name, value)| {
            let value = match name.as_str() {
                PAYOUT_AMOUNT => Value::CopyOf(AMOUNT),
                TRAIL => Value::Appended(value),
                _ => Value::Is(value),
            };
            Set { name, value }
        })
        .collect()
}

/// Pending, and this refund of this project: an id is what a caller says it is.
fn condition(project: &str, id: RefundId) -> Condition {
    let mut condition = render(Expect::RefundPending);
    condition.expression = "#c_st = :c_st AND #c_id = :c_id AND #c_pj = :c_pj";
    condition.names.extend([("#c_id", ID), ("#c_pj", PROJECT)]);
    let text = |text: String| AttributeValue::S(text);
    condition.values.extend([(":c_id", text(id.to_string())), (":c_pj", text(project.to_owned()))]);
    condition
}

impl Store {
    /// Stores the decision, with the first payout if it is to approve, if the refund waits for one and is this one of
    /// this project. On a conflict the stored refund may be another project's: `protocol` looks.
    pub async fn decide_refund(&self, project: &str, id: RefundId, decision: &Decision) -> RefundWrite {
        let pending = outline(project, id);
        let sets = changes(&item::encode(&pending), item::encode(&decided(&pending, decision)));
        RefundWrite::of(self.change_if(key(id), sets, &[], condition(project, id)).await)
    }
}
