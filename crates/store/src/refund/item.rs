//! A refund as an item, and back.
//!
//! Whoever approves, stamps and records is charged for the whole item, so it is kept within one write unit (1 KB) for
//! a refund of ordinary size; a test shows it. A line of the trail is therefore one short text, with what is known of its
//! payout beside it.

use crate::{
    StoreError,
    attr::{Item, b, get_bytes, get_list, get_n, get_s, n, s},
    names::{
        ACCEPTED, AMOUNT, CALLER, CREATED_BY, CURRENCY, DECIDED_AT, DECIDED_BY, DECISION, DUE, EVENT_RANK, EVENT_TIME,
        EVENTS, FAILED_AT, FIRST_CALL, HASH, HASH_VERSION, ID, INDEX_PK, INDEX_SK, KEY, NOTE, ORDER, PAYMENT,
        PAYOUT_AMOUNT, PAYOUT_CALLS, PAYOUT_ID, PAYOUT_NUMBER, PAYOUT_STATE, PK, PROJECT, REASON_CODE, REASON_DETAIL,
        REFERENCE, REFUND_SK, SK, STATUS, TRAIL, VERSION, WHY, WRITER, refund_pk, refunds_pk, refunds_sk,
    },
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    answer::Reason,
    fingerprint::Fingerprint,
    ids::{Nonce, OwnerToken},
    refund::{
        Refund, Status,
        decide::{Decision, Verdict},
        id::{PayoutId, RefundId},
        payout::{Payout, State},
        request::{RefundRequest, Why},
        trail::{About, By, Line, Trail, What},
        webhook::Order,
    },
};

/// Attributes that a refund may lack: its note, its decision, its payout, and what has not happened to the payout.
const OPTIONAL: [&str; 21] = [
    NOTE,
    DECIDED_BY,
    DECIDED_AT,
    DECISION,
    PAYOUT_NUMBER,
    PAYOUT_ID,
    PAYOUT_AMOUNT,
    PAYOUT_STATE,
    DUE,
    FIRST_CALL,
    PAYOUT_CALLS,
    CALLER,
    FAILED_AT,
    REFERENCE,
    REASON_CODE,
    REASON_DETAIL,
    EVENT_TIME,
    EVENT_RANK,
    EVENTS,
    TRAIL,
    WRITER,
];

/// The members of a line that is about a payout: its text, the payout's number, the provider's id of it, why, and when the
/// provider made the event, in s.
const LINE_TEXT: &str = "l";
const LINE_PAYOUT: &str = "n";
const LINE_REFERENCE: &str = "r";
const LINE_CODE: &str = "c";
const LINE_TIME: &str = "t";

/// One line: when, what, and who (`a` an actor, `e` an event, each with its name; `p` the payout function). A text, as
/// all lines were at first; a map with that text where the line is about a payout.
pub(super) fn line(line: &Line) -> AttributeValue {
    let by = match &line.by {
        By::Actor(name) => format!("a{name}"),
        By::Payout => "p".to_owned(),
        By::Event(id) => format!("e{id}"),
    };
    let text = s(format!("{} {} {by}", line.at_ms, line.what.as_str()));
    let about = [
        (LINE_PAYOUT, line.about.payout.map(n)),
        (LINE_REFERENCE, line.about.reference.as_ref().map(s)),
        (LINE_CODE, line.about.code.as_ref().map(s)),
        (LINE_TIME, line.about.created_s.map(n)),
    ];
    let mut members: Item = about.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if members.is_empty() {
        return text;
    }
    members.insert(LINE_TEXT.to_owned(), text);
    AttributeValue::M(members)
}

fn read_line(value: &AttributeValue) -> Option<Line> {
    let (text, about) = match value {
        AttributeValue::M(members) => {
            let about = About {
                payout: maybe_n(members, LINE_PAYOUT).ok()?,
                reference: opt_s(members, LINE_REFERENCE).ok()?,
                code: opt_s(members, LINE_CODE).ok()?,
                created_s: maybe_n(members, LINE_TIME).ok()?,
            };
            (members.get(LINE_TEXT)?, about)
        }
        text => (text, About::default()),
    };
    let mut parts = text.as_s().ok()?.splitn(3, ' ');
    let (at_ms, what, by) = (parts.next()?.parse().ok()?, What::parse(parts.next()?)?, parts.next()?);
    let by = match by.split_at_checked(1)? {
        ("a", name) => By::Actor(name.to_owned()),
        ("p", "") => By::Payout,
        ("e", id) => By::Event(id.to_owned()),
        _ => return None,
    };
    Some(Line { at_ms, what, by, about })
}

fn decision(item: &mut Item, decision: &Decision) {
    item.extend([
        (DECIDED_BY.to_owned(), s(&decision.by)),
        (DECIDED_AT.to_owned(), n(decision.at_ms)),
        (DECISION.to_owned(), b(&decision.nonce.0)),
    ]);
}

fn payout(item: &mut Item, id: PayoutId, payout: &Payout) {
    item.extend([
        (PAYOUT_NUMBER.to_owned(), n(payout.number)),
        (PAYOUT_ID.to_owned(), s(id.to_string())),
        (PAYOUT_AMOUNT.to_owned(), n(payout.amount)),
        (PAYOUT_STATE.to_owned(), s(payout.state.as_str())),
        (DUE.to_owned(), n(payout.due_ms)),
    ]);
    let optional = [
        (FIRST_CALL, payout.first_call_ms.map(n)),
        (PAYOUT_CALLS, Some(payout.calls).filter(|calls| *calls > 0).map(n)),
        (CALLER, payout.caller.map(|caller| b(&caller.0))),
        (FAILED_AT, payout.failed_ms.map(n)),
        (REFERENCE, payout.reference.as_ref().map(s)),
        (REASON_CODE, payout.reason.as_ref().map(|reason| s(&reason.code))),
        (REASON_DETAIL, payout.reason.as_ref().map(|reason| s(&reason.detail))),
        (EVENT_TIME, payout.applied.map(|order| n(order.created_s))),
        (EVENT_RANK, payout.applied.map(|order| n(order.rank))),
    ];
    item.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
}

/// The item.
pub(crate) fn encode(refund: &Refund) -> Item {
    let mut item = Item::from([
        (PK.to_owned(), s(refund_pk(refund.id.key))),
        (SK.to_owned(), s(REFUND_SK)),
        (INDEX_PK.to_owned(), s(refunds_pk(&refund.project, refund.status()))),
        (INDEX_SK.to_owned(), s(refunds_sk(refund.at_ms, refund.id))),
        (ID.to_owned(), s(refund.id.to_string())),
        (HASH.to_owned(), b(&refund.fingerprint.hash)),
        (HASH_VERSION.to_owned(), n(refund.fingerprint.version)),
        (PROJECT.to_owned(), s(&refund.project)),
        (KEY.to_owned(), s(&refund.key)),
        (ACCEPTED.to_owned(), n(refund.at_ms)),
        (STATUS.to_owned(), s(refund.status().as_str())),
        (CREATED_BY.to_owned(), s(&refund.created_by)),
        (AMOUNT.to_owned(), n(refund.request.amount)),
        (CURRENCY.to_owned(), s(&refund.request.currency)),
        (ORDER.to_owned(), s(&refund.request.order)),
        (PAYMENT.to_owned(), s(&refund.request.payment)),
        (WHY.to_owned(), s(refund.request.reason.as_str())),
        (VERSION.to_owned(), n(refund.version)),
    ]);
    if let Some(writer) = &refund.writer {
        item.insert(WRITER.to_owned(), b(&writer.0));
    }
    if let Some(note) = &refund.request.note {
        item.insert(NOTE.to_owned(), s(note));
    }
    if let Some(decided) = &refund.decision {
        decision(&mut item, decided);
    }
    if let (Some(id), Some(current)) = (refund.payout_id(), &refund.payout) {
        payout(&mut item, id, current);
    }
    let lists =
        [(EVENTS, refund.events.iter().map(s).collect::<Vec<_>>()), (TRAIL, refund.trail.0.iter().map(line).collect())];
    for (name, list) in lists {
        if !list.is_empty() {
            item.insert(name.to_owned(), AttributeValue::L(list));
        }
    }
    item
}

/// The attributes that `item` does not have, of those that a refund may lack.
pub(super) fn absent(item: &Item) -> Vec<&'static str> {
    OPTIONAL.into_iter().filter(|name| !item.contains_key(*name)).collect()
}

pub(super) fn id(item: &Item) -> Result<RefundId, StoreError> {
    RefundId::parse(get_s(item, ID)?).ok_or_else(|| StoreError::corrupt("attribute id is no refund id"))
}

pub(super) fn fingerprint(item: &Item) -> Result<Fingerprint, StoreError> {
    Ok(Fingerprint { version: get_n(item, HASH_VERSION)?, hash: get_bytes(item, HASH)? })
}

fn opt_s(item: &Item, name: &str) -> Result<Option<String>, StoreError> {
    item.contains_key(name).then(|| get_s(item, name).map(str::to_owned)).transpose()
}

/// A number that may be missing, but not unreadable.
fn maybe_n<T: std::str::FromStr>(item: &Item, name: &str) -> Result<Option<T>, StoreError> {
    item.contains_key(name).then(|| get_n(item, name)).transpose()
}

fn list<'a, T>(
    item: &'a Item,
    name: &str,
    read: impl Fn(&'a AttributeValue) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    if !item.contains_key(name) {
        return Ok(Vec::new());
    }
    let read: Option<Vec<T>> = get_list(item, name)?.iter().map(read).collect();
    read.ok_or_else(|| StoreError::corrupt(format!("attribute {name} holds what this code does not know")))
}

fn read_decision(item: &Item) -> Result<Option<Decision>, StoreError> {
    let status = Status::parse(get_s(item, STATUS)?);
    let verdict = match status.ok_or_else(|| StoreError::corrupt("attribute st is no status"))? {
        Status::Pending => return Ok(None),
        Status::Approved => Verdict::Approve,
        Status::Rejected => Verdict::Reject,
    };
    Ok(Some(Decision {
        verdict,
        by: get_s(item, DECIDED_BY)?.to_owned(),
        at_ms: get_n(item, DECIDED_AT)?,
        nonce: Nonce(get_bytes(item, DECISION)?),
    }))
}

fn read_reason(item: &Item) -> Result<Option<Reason>, StoreError> {
    let (code, detail) = (opt_s(item, REASON_CODE)?, opt_s(item, REASON_DETAIL)?);
    Ok(code.map(|code| Reason { code, detail: detail.unwrap_or_default() }))
}

/// Calls of a payout that was stamped before they were counted: more than one, since nobody knows.
const CALLS_NOT_COUNTED: u32 = 2;

/// The current payout. Money hangs on it, so whatever does not fit together is an error, not a guess.
fn read_payout(item: &Item, id: RefundId, approved: bool) -> Result<Option<Payout>, StoreError> {
    if approved != item.contains_key(PAYOUT_ID) {
        return Err(StoreError::corrupt("a refund has a payout exactly when it is approved"));
    }
    if !approved {
        return Ok(None);
    }
    let number = get_n(item, PAYOUT_NUMBER)?;
    if PayoutId::parse(get_s(item, PAYOUT_ID)?) != Some(PayoutId { refund: id, number }) {
        return Err(StoreError::corrupt("attribute po is not the payout of its refund and number"));
    }
    let state = State::parse(get_s(item, PAYOUT_STATE)?)
        .ok_or_else(|| StoreError::corrupt("attribute pst holds a state this code does not know"))?;
    let applied = match (maybe_n(item, EVENT_TIME)?, maybe_n(item, EVENT_RANK)?) {
        (Some(created_s), Some(rank)) => Some(Order { created_s, rank }),
        (None, None) => None,
        _ => return Err(StoreError::corrupt("attributes pet and per belong together")),
    };
    let first_call_ms = maybe_n(item, FIRST_CALL)?;
    let calls = match first_call_ms {
        Some(_) => maybe_n(item, PAYOUT_CALLS)?.unwrap_or(CALLS_NOT_COUNTED),
        None => 0,
    };
    Ok(Some(Payout {
        number,
        amount: get_n(item, PAYOUT_AMOUNT)?,
        state,
        due_ms: get_n(item, DUE)?,
        first_call_ms,
        calls,
        caller: owner(item, CALLER)?,
        failed_ms: maybe_n(item, FAILED_AT)?,
        reference: opt_s(item, REFERENCE)?,
        reason: read_reason(item)?,
        applied,
    }))
}

fn read_request(item: &Item) -> Result<RefundRequest, StoreError> {
    Ok(RefundRequest {
        order: get_s(item, ORDER)?.to_owned(),
        payment: get_s(item, PAYMENT)?.to_owned(),
        amount: get_n(item, AMOUNT)?,
        currency: get_s(item, CURRENCY)?.to_owned(),
        reason: Why::parse(get_s(item, WHY)?)
            .ok_or_else(|| StoreError::corrupt("attribute rs holds a reason this code does not know"))?,
        note: opt_s(item, NOTE)?,
    })
}

fn owner(item: &Item, name: &str) -> Result<Option<OwnerToken>, StoreError> {
    Ok(item.contains_key(name).then(|| get_bytes(item, name)).transpose()?.map(OwnerToken))
}

/// Reads a refund item, from the table or from a stream image.
pub(crate) fn decode(item: &Item) -> Result<Refund, StoreError> {
    let id = id(item)?;
    let decision = read_decision(item)?;
    let approved = decision.as_ref().is_some_and(|decision| decision.verdict == Verdict::Approve);
    Ok(Refund {
        id,
        fingerprint: fingerprint(item)?,
        project: get_s(item, PROJECT)?.to_owned(),
        key: get_s(item, KEY)?.to_owned(),
        at_ms: get_n(item, ACCEPTED)?,
        created_by: get_s(item, CREATED_BY)?.to_owned(),
        request: read_request(item)?,
        payout: read_payout(item, id, approved)?,
        decision,
        events: list(item, EVENTS, |value| value.as_s().ok().cloned())?,
        trail: Trail(list(item, TRAIL, read_line)?),
        writer: owner(item, WRITER)?,
        version: get_n(item, VERSION)?,
    })
}
