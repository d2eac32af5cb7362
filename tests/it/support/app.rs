//! One system per test, and what tests do with it.

use super::{DEAD, DEADLINE, DELIVERIES, HttpClient, Queues, eventually, http::Answer, logs, push};
use ::http::Method;
use api::contract::ROUTES;
use bytes::Bytes;
use local::{Options, System};
use local_sqs::Counts;
use protocol::timing::Timing;
use sandbox::{Entry, Outcome};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// A running system on free ports, with the short durations.
pub(crate) struct TestApp {
    pub(crate) system: System,
    pub(crate) http: HttpClient,
    pub(crate) queues: Queues,
    /// The table's name.
    pub(crate) table: String,
    barriers: AtomicU32,
}

impl TestApp {
    pub(crate) async fn start() -> Self {
        Self::start_with(Timing::SHORT).await
    }

    /// With the services that the environment names, as `cargo run` would use them; the built-in ones without. A
    /// service that is not built in is shared by all tests, so the table and the queues have names of their own.
    pub(crate) async fn start_with(timing: Timing) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Silent, unless RUST_LOG asks for the system's side of the story; but always listened to.
        logs::install();
        let url = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
        let (dynamodb_url, sqs_url) = (url("AWS_ENDPOINT_URL_DYNAMODB"), url("AWS_ENDPOINT_URL_SQS"));
        let name = if dynamodb_url.is_none() && sqs_url.is_none() {
            Options::NAME.to_owned()
        } else {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            // An earlier process may have had the same number, so the time goes with it.
            format!("it-{}-{}-{next}", platform::Clock::system().now_ms(), std::process::id())
        };
        let options = Options { dynamodb_url, sqs_url, name: name.clone(), timing, ..Options::free_ports() };
        let system = System::start(options.clone()).await.unwrap();
        system.ready().api_keys.values().for_each(|key| logs::secret(key));
        system.ready().webhook_secrets.values().for_each(|secret| logs::secret(secret));
        // The sandbox's keys and secrets of all projects begin so.
        ["sk_test_sandbox_", "whsec_sandbox_"].into_iter().for_each(logs::secret);
        // A test that met the built-in ones after all would say nothing new.
        assert!(options.dynamodb_url.is_none_or(|url| system.ready().dynamodb == url));
        assert!(options.sqs_url.is_none_or(|url| system.ready().sqs == url && system.sqs().is_none()));
        let queues = Queues::new(&system.ready().sqs, system.sqs().is_some(), name.clone()).await;
        Self { system, http: HttpClient::new(), queues, table: name, barriers: AtomicU32::new(0) }
    }

    /// Lets time pass that the queues see too: the short profile's, so real seconds where the clock is not ours.
    pub(crate) async fn pass(&self, seconds: u64) {
        if self.queues.built_in {
            self.advance(seconds);
        } else {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
    }

    /// Ends the system, which must end cleanly, and have logged nothing secret.
    pub(crate) async fn stop(self) {
        tokio::time::timeout(DEADLINE, self.system.stop()).await.expect("the system does not stop").unwrap();
        logs::clean();
    }

    /// The API key of a name in the ready line.
    pub(crate) fn api_key(&self, name: &str) -> &str {
        &self.system.ready().api_keys[name]
    }

    /// POST /control, without the detour.
    #[track_caller]
    pub(crate) fn control(&self, order: &Value) {
        self.system.control().obey(order.as_object().unwrap()).unwrap();
    }

    /// Moves the whole system's clock.
    pub(crate) fn advance(&self, seconds: u64) {
        self.control(&json!({"advance_seconds": seconds}));
    }

    /// Moves the clock while the deliver function rests between two receives: it would end one in the middle, and a claim
    /// without a record counts as a call.
    pub(crate) async fn advance_at_rest(&self, seconds: u64) {
        self.control(&json!({"deliver": "pause"}));
        eventually("the consumers rest", async || (self.queues.counts(DELIVERIES).await.in_flight == 0).then_some(()))
            .await;
        self.advance(seconds);
        self.control(&json!({"deliver": "resume"}));
    }

    /// Crashes the next invocation of `function` that gets to `at`.
    #[track_caller]
    pub(crate) fn crash(&self, function: &str, at: &str) {
        self.control(&json!({"crash": function, "at": at}));
    }

    /// Waits until every crash that was asked for has happened.
    pub(crate) async fn crashed(&self) {
        let control = self.system.control();
        eventually("the crash happens", async || control.armed().is_empty().then_some(())).await;
    }

    /// What happens to the next requests for a device, as PUT /scripts takes it.
    pub(crate) async fn script(&self, token: &str, outcomes: &Value) {
        let url = format!("{}/scripts/{token}", self.system.ready().sandbox);
        self.http.send(&Method::PUT, &url, &[], outcomes.to_string()).await.expect(204);
    }

    /// The same for many devices at once.
    pub(crate) fn script_all(&self, tokens: &[String], outcome: &Outcome) {
        for token in tokens {
            self.system.sandbox().script(token, vec![outcome.clone()]).unwrap();
        }
    }

    /// A request to the API with the API key of this name.
    pub(crate) async fn request(
        &self,
        method: &Method,
        path: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let body = body.into();
        logs::secrets_of(&body);
        headers.iter().filter(|(name, _)| *name == "idempotency-key").for_each(|(_, key)| logs::secret(key));
        let authorization = format!("Bearer {}", self.api_key(key));
        let mut all = vec![("authorization", authorization.as_str())];
        all.extend(headers);
        let answer = self.http.send(method, &format!("{}{path}", self.system.ready().api), &all, body).await;
        promised(method, path, &answer);
        answer
    }

    /// POST /v1/messages with this text.
    pub(crate) async fn post(&self, key: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.request(&Method::POST, "/v1/messages", key, &all, body).await
    }

    /// POST /v1/messages as acme, which must be answered with this status.
    pub(crate) async fn send(&self, body: &Value, status: u16) -> Answer {
        self.post("acme", &[], body.to_string()).await.expect(status)
    }

    /// A send that must be the first of its key; its id.
    pub(crate) async fn queued(&self, body: &Value) -> String {
        let answer = self.send(body, 202).await;
        assert_eq!(answer.body["status"], "queued", "{}", answer.text);
        answer.id()
    }

    /// A send that must be a repeat of the message `id`.
    pub(crate) async fn duplicate(&self, body: &Value, id: &str) {
        let answer = self.send(body, 202).await;
        assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}));
        assert_eq!(answer.header("idempotent-replayed"), "true");
        assert_eq!(answer.header("location"), format!("/v1/messages/{id}"));
    }

    /// GET of any path as acme, which must be answered with this status.
    pub(crate) async fn get(&self, path: &str, status: u16) -> Answer {
        self.request(&Method::GET, path, "acme", &[], String::new()).await.expect(status)
    }

    /// The message as it reads now.
    pub(crate) async fn message(&self, id: &str) -> Value {
        self.get(&format!("/v1/messages/{id}"), 200).await.body
    }

    /// The message, once it has this status.
    pub(crate) async fn reaches(&self, id: &str, status: &str) -> Value {
        eventually(&format!("{id} becomes {status}"), async || {
            let message = self.message(id).await;
            (message["status"] == status).then_some(message)
        })
        .await
    }

    /// What reached the provider for a device, oldest first.
    pub(crate) fn calls(&self, token: &str) -> Vec<Entry> {
        self.system.sandbox().ledger(Some(token))
    }

    /// The calls, once there are so many.
    pub(crate) async fn called(&self, token: &str, times: usize) -> Vec<Entry> {
        eventually(&format!("{token} is called {times} times"), async || {
            let calls = self.calls(token);
            (calls.len() >= times).then_some(calls)
        })
        .await
    }

    /// Waits until no copy waits for anything, neither for delivery nor as a dead letter.
    pub(crate) async fn queues_empty(&self) {
        eventually("the queues run empty", async || {
            (self.queues.left(DELIVERIES).await == 0 && self.queues.left(DEAD).await == 0).then_some(())
        })
        .await;
    }

    /// Waits until a delayed successor is the only copy that is left: its predecessor's consumer is done.
    pub(crate) async fn only_a_successor_waits(&self) {
        eventually("a successor waits", async || {
            (self.queues.counts(DELIVERIES).await == Counts { visible: 0, in_flight: 0, delayed: 1 }).then_some(())
        })
        .await;
    }

    /// Passes visibility timeouts until the queues are empty, when all messages have ended: of two copies with one
    /// message id in one batch, a failure of either keeps both, as in AWS.
    pub(crate) async fn worn_copies_return(&self) {
        for _ in 0..20 {
            let empty = tokio::time::timeout(Duration::from_secs(1), self.queues_empty()).await;
            if empty.is_ok() {
                return;
            }
            self.advance(49);
        }
        self.queues_empty().await;
    }

    /// Waits until nothing that was accepted so far can cause another call: the relay has passed every record of it,
    /// and the queues are empty. The relay reads in order, so it is done with all of them once it delivers a message
    /// that was accepted after them and that nobody else delivers.
    pub(crate) async fn drained(&self) {
        self.queues_empty().await;
        let name = format!("barrier-{}", self.barriers.fetch_add(1, Ordering::Relaxed));
        self.control(&json!({"inline_send": "fail"}));
        self.post("globex", &[], push(&name, &name).to_string()).await.expect(202);
        self.control(&json!({"inline_send": "work"}));
        // The stream's window and the grace that is left to inline sends. Nothing runs, so nothing loses its time.
        self.advance(3);
        self.called(&name, 1).await;
        self.queues_empty().await;
    }
}

/// A route refuses with no code that its row of the contract does not promise.
#[track_caller]
fn promised(method: &Method, path: &str, answer: &Answer) {
    let Some(code) = answer.body["code"].as_str().filter(|_| answer.header("content-type").contains("problem")) else {
        return;
    };
    let plain = path.split('?').next().unwrap();
    let row = ROUTES.iter().find(|row| {
        let (pattern, given): (Vec<&str>, Vec<&str>) = (row.path.split('/').collect(), plain.split('/').collect());
        let fits = |(part, given): (&&str, &&str)| part == given || (part.starts_with('{') && !given.is_empty());
        let matches = pattern.len() == given.len() && pattern.iter().zip(&given).all(fits);
        matches && row.method.eq_ignore_ascii_case(method.as_str())
    });
    if let Some(row) = row {
        let promised = row.codes.iter().any(|promised| promised.word() == code);
        assert!(promised, "{} refused with {code}, which its row in crates/http/src/contract does not promise", row.id);
    }
}
