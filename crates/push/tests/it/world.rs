//! A sandbox, a table and a `Push` between them.

use aws_sdk_secretsmanager::Client;
use platform::{AwsTimeouts, Clock, aws_config_at};
use protocol::{
    answer::Answer,
    content::{Content, Notification, Priority},
    timing::Timing,
};
use push::{Push, PushSettings};
use sandbox::{Outcome, Sandbox};
use serde_json::Value;
use std::collections::BTreeMap;
use store::Store;
use tokio::{net::TcpListener, sync::watch};

pub(crate) const TIMING: Timing = Timing { token: 2_000, call: 500, ..Timing::SHORT };

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) clock: Clock,
    pub(crate) secrets: Client,
    pub(crate) store: Store,
    pub(crate) push: Push,
    pub(crate) timing: Timing,
    _running: watch::Sender<bool>,
}

pub(crate) async fn world() -> World {
    world_with(TIMING).await
}

pub(crate) async fn world_with(timing: Timing) -> World {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let clock = Clock::system();
    let sandbox = Sandbox::new(clock.clone(), base_url.clone()).unwrap();
    sandbox.seed_project("acme").unwrap();
    let (running, stop) = watch::channel(false);
    let served = sandbox.clone();
    tokio::spawn(async move { served.serve(listener, Default::default(), stop).await });
    let limits = AwsTimeouts::within(10_000);
    let secrets = Client::new(&aws_config_at(limits, &base_url).await);
    let table = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let table_url = format!("http://{}", table.local_addr().unwrap());
    tokio::spawn(dynoxide::server::serve_on(table, dynoxide::Database::memory().unwrap()));
    let store = Store::new(aws_sdk_dynamodb::Client::new(&aws_config_at(limits, &table_url).await), "sendonce");
    store.create_table().await.unwrap();
    let push = Push::new(PushSettings::default(), secrets.clone(), store.clone(), clock.clone(), timing);
    World { sandbox, clock, secrets, store, push, timing, _running: running }
}

impl World {
    /// One more instance of the service, with nothing in memory.
    pub(crate) fn instance(&self) -> Push {
        let (secrets, store, clock) = (self.secrets.clone(), self.store.clone(), self.clock.clone());
        Push::new(PushSettings::default(), secrets, store, clock, self.timing)
    }

    pub(crate) async fn secret(&self, name: &str) -> Value {
        let secret = self.secrets.get_secret_value().secret_id(name).send().await.unwrap();
        serde_json::from_str(secret.secret_string().unwrap()).unwrap()
    }

    pub(crate) async fn put_secret(&self, name: &str, value: &Value) {
        self.secrets.create_secret().name(name).secret_string(value.to_string()).send().await.unwrap();
    }
}

pub(crate) fn content() -> Content {
    let notification = Some(Notification { title: "Shipped".to_owned(), body: "On its way".to_owned(), image: None });
    Content { notification, data: BTreeMap::new(), collapse_key: None, app: None, priority: Priority::High }
}

pub(crate) fn answer(status: u16, reason: Option<&str>, retry_after: Option<u64>) -> Outcome {
    Outcome::Answer { status, reason: reason.map(str::to_owned), retry_after, timestamp: None }
}

pub(crate) fn code(answer: &Answer) -> &str {
    answer.reason().map_or("", |reason| &reason.code)
}
