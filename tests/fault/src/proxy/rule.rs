//! Rules: which request meets which fault, how often, and how a test learns of it.

use super::{Failure, exchange::Request, locked};
use crate::wait::within;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;

/// What happens to a request that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It never arrives, and the client's connection ends.
    DropRequest,
    /// It arrives and is done; the answer is lost with the client's connection.
    DropResponse,
    /// It arrives so many ms of real time later.
    Delay(u64),
    /// It arrives twice; the client gets the first answer.
    Duplicate,
    /// It arrives once the test releases it, even if the client has gone by then.
    Hold,
    /// It never arrives; the client learns of that once the test releases it.
    HoldThenDrop,
    /// It arrives once the test releases it, and is done; the answer is lost with the client's connection.
    HoldDropResponse,
    /// It arrives and is done; the answer is passed on once the test releases it.
    HoldResponse,
    /// It never arrives; the client gets this error.
    Fail(Failure),
    /// These entries of a batch, counted from 0, fail in SQS; the others arrive.
    FailEntries(Vec<usize>),
    /// These entries of a batch never arrive, and the answer names them nowhere; the others arrive.
    ForgetEntries(Vec<usize>),
    /// SQS refuses these entries of a batch as their sender's fault; the others arrive.
    RefuseEntries(Vec<usize>),
    /// The first answer that the same request ever got, or that nothing is there yet: a read that is behind. Only
    /// eventually consistent reads match.
    Stale,
}

impl Action {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::DropRequest => "drop_request",
            Self::DropResponse => "apply_drop_response",
            Self::Delay(_) => "delay",
            Self::Duplicate => "duplicate",
            Self::Hold => "hold",
            Self::HoldThenDrop => "hold_then_drop",
            Self::HoldDropResponse => "hold_then_apply_drop_response",
            Self::HoldResponse => "hold_response",
            Self::Fail(_) => "error",
            Self::FailEntries(_) => "fail_entries",
            Self::ForgetEntries(_) => "forget_entries",
            Self::RefuseEntries(_) => "refuse_entries",
            Self::Stale => "stale",
        }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    operation: String,
    keys: Vec<String>,
    from: u32,
    times: u32,
    action: Action,
}

impl Rule {
    /// For the next request of this operation: the last part of `X-Amz-Target`, or "apns", "fcm", "oauth", "stripe".
    #[must_use]
    pub fn new(operation: &str, action: Action) -> Self {
        Self { operation: operation.to_owned(), keys: Vec::new(), from: 1, times: 1, action }
    }

    /// Only requests whose path or body holds this text; said twice, both.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.keys.push(key.to_owned());
        self
    }

    /// Only from the `nth` matching request on, from 1.
    #[must_use]
    pub fn nth(mut self, nth: u32) -> Self {
        self.from = nth;
        self
    }

    /// So many matching requests in a row.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }
}

/// A test's side of a rule.
#[derive(Clone, Debug)]
pub struct Handle(Arc<State>);

#[derive(Debug)]
struct State {
    rule: Rule,
    /// Matching requests so far.
    matched: Mutex<u32>,
    removed: AtomicBool,
    hits: watch::Sender<u32>,
    released: watch::Sender<bool>,
}

impl State {
    fn is_used_up(&self) -> bool {
        let matched = *locked(&self.matched);
        matched >= self.rule.from && matched - self.rule.from >= self.rule.times.saturating_sub(1)
    }
}

impl Handle {
    /// Resolves once the rule was followed at least once: a held request is there, a dropped answer was an answer.
    pub async fn hit(&self) {
        self.hit_times(1).await;
    }

    /// The same, `times` times.
    pub async fn hit_times(&self, times: u32) {
        let mut hits = self.0.hits.subscribe();
        let wait = hits.wait_for(|hits| *hits >= times);
        let _ = within(&format!("{:?} is hit {times} times", self.0.rule), wait).await;
    }

    /// How often it was followed.
    #[must_use]
    pub fn hits(&self) -> u32 {
        *self.0.hits.borrow()
    }

    /// Lets everything go that it holds or will hold.
    pub fn release(&self) {
        self.0.released.send_replace(true);
    }

    /// From now on it matches nothing.
    pub fn remove(&self) {
        self.0.removed.store(true, Ordering::SeqCst);
        self.release();
    }
}

#[derive(Default)]
pub(super) struct Rules(Mutex<Vec<Arc<State>>>);

/// A rule that a request met.
pub(super) struct Placed(Arc<State>, bool);

impl Rules {
    pub(super) fn place(&self, rule: Rule) -> Handle {
        let (hits, released) = (watch::Sender::new(0), watch::Sender::new(false));
        let state = Arc::new(State { rule, matched: Mutex::new(0), removed: AtomicBool::new(false), hits, released });
        locked(&self.0).push(state.clone());
        Handle(state)
    }

    /// The first rule that says something of this request. Each that it matches counts it.
    pub(super) fn find(&self, request: &Request) -> Option<Placed> {
        let mut rules = locked(&self.0);
        // What is used up matches nobody any more.
        rules.retain(|state| !state.removed.load(Ordering::SeqCst) && !state.is_used_up());
        let mut found = None;
        for state in rules.iter() {
            let rule = &state.rule;
            if request.operation() != rule.operation
                || (rule.action == Action::Stale && !request.reads_stale())
                || !rule.keys.iter().all(|key| request.holds(key))
            {
                continue;
            }
            let mut matched = locked(&state.matched);
            *matched = matched.saturating_add(1);
            let due = *matched >= rule.from && *matched - rule.from < rule.times;
            if due && found.is_none() {
                let holds = matches!(
                    rule.action,
                    Action::Hold | Action::HoldThenDrop | Action::HoldDropResponse | Action::HoldResponse
                );
                found = Some(Placed(state.clone(), holds));
            }
        }
        found
    }
}

impl Placed {
    pub(super) fn action(&self) -> &Action {
        &self.0.rule.action
    }

    /// Waits for the test.
    pub(super) async fn hold(&self) {
        let mut released = self.0.released.subscribe();
        self.0.hits.send_modify(|hits| *hits += 1);
        let _ = released.wait_for(|released| *released).await;
    }

    /// The exchange is over and in the log.
    pub(super) fn done(self) {
        if !self.1 {
            self.0.hits.send_modify(|hits| *hits += 1);
        }
    }
}
