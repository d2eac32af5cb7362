//! A consumer of the deliveries queue that stops where a test wants it to, and goes on when the test says so.
//!
//! It is the deliver function itself with the system's endpoints. The boundary between two effects, where the local
//! system crashes an invocation, holds it here: a process that stands still at the worst moment.

use super::{DELIVERIES, TestApp};
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use aws_sdk_sqs::types::Message;
use deliver::{Deliver, Holds, Tokens};
use futures_util::future::BoxFuture;
use platform::{AwsTimeouts, Boundary, NoBoundary, Random, aws_config_at};
use protocol::timing::Timing;
use push::{Push, PushSettings};
use queue::Queue;
use std::sync::Arc;
use store::Store;
use tokio::sync::watch;

/// Holds an invocation after one effect.
#[derive(Debug)]
pub(crate) struct Gate {
    after: &'static str,
    held: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn after(effect: &'static str) -> Arc<Self> {
        Arc::new(Self { after: effect, held: watch::Sender::new(false), open: watch::Sender::new(false) })
    }

    /// Resolves once something is held.
    pub(crate) async fn holds(&self) {
        self.held.subscribe().wait_for(|held| *held).await.unwrap();
    }

    /// Lets it go on.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }
}

impl Boundary for Gate {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if effect == self.after {
                self.held.send_replace(true);
                self.open.subscribe().wait_for(|open| *open).await.unwrap();
            }
        })
    }
}

/// One more instance of the deliver function.
pub(crate) struct Consumer(Deliver);

impl Consumer {
    pub(crate) async fn new(app: &TestApp) -> Self {
        Self::with(app, Arc::new(NoBoundary)).await
    }

    /// One whose holds are in this table.
    pub(crate) async fn holding(app: &TestApp, holds: Store) -> Self {
        let mut function = Self::new(app).await.0;
        let (push, clock) = (function.push.clone(), function.clock.clone());
        function.holds = Holds::new(holds, push, clock, Random::system(), Timing::SHORT);
        Self(function)
    }

    pub(crate) async fn with(app: &TestApp, boundary: Arc<dyn Boundary>) -> Self {
        let ready = app.system.ready();
        let secrets = aws_config_at(AwsTimeouts::within(5_000), &ready.sandbox).await;
        let secrets = aws_sdk_secretsmanager::Client::new(&secrets);
        let clock = app.system.clock().clone();
        let store = app.system.store().clone();
        let push = Push::new(PushSettings::default(), secrets, store.clone(), clock.clone(), Timing::SHORT);
        Self(Deliver {
            store: store.clone(),
            deliveries: Queue::new(app.queues.client.clone(), app.queues.url(DELIVERIES).await),
            tokens: Tokens::new(store.clone(), clock.clone(), Timing::SHORT),
            holds: Holds::new(store, push.clone(), clock.clone(), Random::system(), Timing::SHORT),
            push,
            clock,
            random: Random::system(),
            timing: Timing::SHORT,
            boundary,
        })
    }

    /// Handles copies as one invocation with its full time; says which of them it wants deleted.
    pub(crate) async fn handle(&self, copies: &[Message]) -> Vec<bool> {
        let mut event = SqsEvent::default();
        event.records = copies.iter().map(record).collect();
        let ends_ms = self.0.clock.now_ms() + Timing::SHORT.function;
        let failures = self.0.handle(event, ends_ms).await.batch_item_failures;
        let kept = |copy: &Message| failures.iter().any(|f| Some(f.item_identifier.as_str()) == copy.message_id());
        copies.iter().map(|copy| !kept(copy)).collect()
    }
}

fn record(copy: &Message) -> SqsMessage {
    let mut record = SqsMessage::default();
    record.message_id.clone_from(&copy.message_id);
    record.receipt_handle.clone_from(&copy.receipt_handle);
    record.body.clone_from(&copy.body);
    let attributes = copy.attributes.iter().flatten();
    record.attributes = attributes.map(|(name, value)| (name.as_str().to_owned(), value.clone())).collect();
    record
}
