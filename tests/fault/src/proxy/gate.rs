//! A gate through which every effect of every machine passes one by one, as somebody decides.
//!
//! Closed by the replay of a trace. It knows an effect by its request: who asks (the SDK tells its app name), which
//! operation, and what is written. While it is closed, rules do not count.

use super::{
    BoxError, Cut, Failure, Shared, edit,
    exchange::Request,
    locked,
    wire::{Answer, Upstream},
};
use crate::wait::within;
use protocol::refund::payout::State;
use std::{collections::HashSet, sync::Mutex};
use tokio::sync::{mpsc, oneshot};

/// The attributes of a refund that say when its payout was called for first, and when a call of it was refused.
const FIRST_CALL: &str = "fca";
const REFUSED_AT: &str = "fat";

/// What becomes of a request at the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It arrives and is answered.
    Apply,
    /// It arrives; the answer is lost.
    ApplyDropResponse,
    /// It never arrives.
    DropRequest,
    /// It never arrives, and is answered with an error.
    Fail(Failure),
    /// It arrives, and is answered with an error that does not say so.
    ApplyAndFail(Failure),
    /// A query is answered as if nothing were there yet.
    ReadNothing,
}

/// A request at the gate.
pub struct Held {
    /// The function that asks.
    pub function: String,
    /// The slot of its process, where that is known.
    pub slot: Option<usize>,
    /// The effect's name.
    pub effect: &'static str,
    /// The request's body as JSON.
    pub body: serde_json::Value,
    decide: oneshot::Sender<(Decision, oneshot::Sender<Option<u16>>)>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} in slot {:?}", self.effect, self.function, self.slot)
    }
}

impl Held {
    /// Decides, and waits until it is done; the status that the service answered with, if it was asked.
    pub async fn decide(self, decision: Decision) -> Option<u16> {
        let (done, ended) = oneshot::channel();
        let _ = self.decide.send((decision, done));
        within("a request ends", ended).await.unwrap_or_default()
    }
}

/// A test's side. Dropped, it lets everything pass.
#[derive(Debug)]
pub struct Gate(mpsc::UnboundedReceiver<Held>);

impl Gate {
    /// The requests that have come to the gate by now.
    pub fn come(&mut self) -> Vec<Held> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }

    /// The next request that comes to the gate. `what` is waited for, for the text of a failure.
    pub async fn next(&mut self, what: &str) -> Held {
        within(what, self.0.recv()).await.expect("the proxy runs")
    }
}

#[derive(Default)]
pub(super) struct Door {
    gate: Mutex<Option<mpsc::UnboundedSender<Held>>>,
    /// Items under a claim of a slot: what it writes over them next is a record.
    claimed: Mutex<HashSet<(usize, String)>>,
}

pub(super) struct Asked(oneshot::Receiver<(Decision, oneshot::Sender<Option<u16>>)>);

impl Door {
    pub(super) fn close(&self) -> Gate {
        let (sender, receiver) = mpsc::unbounded_channel();
        *locked(&self.gate) = Some(sender);
        Gate(receiver)
    }

    /// A new invocation begins in this slot: nothing is under its claim yet.
    pub(super) fn begins(&self, slot: usize) {
        locked(&self.claimed).retain(|(claimer, _)| *claimer != slot);
    }

    /// Brings an effect to the gate, if there is one.
    pub(super) fn ask(&self, request: &Request) -> Option<Asked> {
        let mut gate = locked(&self.gate);
        let sender = gate.as_ref()?;
        let (function, slot, effect) = self.effect(request)?;
        let (decide, decided) = oneshot::channel();
        let held = Held { function, slot, effect, body: request.json(), decide };
        if sender.send(held).is_err() {
            *gate = None;
            return None;
        }
        Some(Asked(decided))
    }

    fn effect(&self, request: &Request) -> Option<(String, Option<usize>, &'static str)> {
        if request.operation() == "fcm" || request.operation() == "apns" {
            return Some(("deliver".to_owned(), None, "call"));
        }
        if request.operation() == "stripe" {
            let effect = if request.method() == http::Method::POST { "call" } else { "look" };
            return Some(("payout".to_owned(), None, effect));
        }
        let (function, slot) = request.asker()?;
        let effect = match (function, request.operation()) {
            ("api", "PutItem") => "put",
            ("refunds", "UpdateItem") => "decide",
            ("payout", "UpdateItem") => kept(&request.json()),
            ("relay", "SendMessageBatch") if request.holds("-parking") => "park",
            ("api" | "refunds" | "relay", "SendMessageBatch") => "send",
            ("relay", "Query") => "look",
            ("deliver", "SendMessageBatch") => "successor",
            ("deliver", "ChangeMessageVisibility") => "release",
            ("deliver" | "dead_letter", "GetItem") if request.holds("D#") => "read",
            ("dead_letter", "SendMessageBatch") if !request.holds("-parking") => "redrive",
            ("dead_letter", "UpdateItem") => "settle",
            ("deliver", "UpdateItem") => self.write(slot, &request.json())?,
            _ => return None,
        };
        Some((function.to_owned(), Some(slot), effect))
    }

    fn write(&self, slot: usize, body: &serde_json::Value) -> Option<&'static str> {
        let key = (slot, body["Key"].to_string());
        let values = body["ExpressionAttributeValues"].as_object()?;
        let has = |state: &str| values.values().any(|value| value["S"] == state);
        let mut claimed = locked(&self.claimed);
        // The letters of a chunk are "I", "R" or "D" never: they are other capitals.
        if has("I") {
            claimed.insert(key);
            return Some("claim");
        }
        let record = has("R") || claimed.contains(&key);
        Some(if record { "record" } else { "settle" })
    }
}

/// A consumer's write of a refund. Its payout stays due if a call is announced; if an announcement is taken back, after
/// which there is no first call; and if one was refused and others are waited for, which has the time of that.
fn kept(body: &serde_json::Value) -> &'static str {
    let values = body["ExpressionAttributeValues"].as_object();
    let due = values.is_some_and(|values| values.values().any(|value| value["S"] == State::Due.as_str()));
    // What an item does not have is removed.
    let has = |attribute: &str| {
        let removed = |(place, name): (&String, &serde_json::Value)| place.starts_with("#r") && name == attribute;
        !body["ExpressionAttributeNames"].as_object().is_some_and(|names| names.iter().any(removed))
    };
    match (due && !has(REFUSED_AT), has(FIRST_CALL)) {
        (false, _) => "record",
        (true, true) => "stamp",
        (true, false) => "withdraw",
    }
}

impl Asked {
    pub(super) async fn follow(
        self,
        shared: &Shared,
        request: &Request,
        upstream: &Upstream,
    ) -> Result<Answer, BoxError> {
        // Nobody decides any more: everything passes.
        let Ok((decision, done)) = self.0.await else { return shared.pass(request, upstream).await };
        let asked = !matches!(decision, Decision::DropRequest | Decision::Fail(_) | Decision::ReadNothing);
        let answer = if asked { Some(shared.pass(request, upstream).await) } else { None };
        let status = answer.as_ref().and_then(|answer| answer.as_ref().ok()).map(|answer| answer.status().as_u16());
        let answer = match (decision, answer) {
            (Decision::Apply, Some(answer)) => answer,
            (Decision::Fail(failure) | Decision::ApplyAndFail(failure), _) => Ok(failure.answer(request)),
            (Decision::ReadNothing, _) => Ok(edit::nothing()),
            // Its status, if it arrived, is told to whoever decided.
            _ => Err(Cut(None).into()),
        };
        let _ = done.send(status);
        answer
    }
}
