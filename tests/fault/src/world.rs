//! One whole system for one test: services, proxy, processes, and what a test asks of them.

use crate::{
    Fleet, Proxy, Rule,
    body::push,
    canaries,
    http::{Answer, HttpClient},
    process::{Process, Program},
    proxy::{Action, Side},
    queues::{DEAD, DELIVERIES, PAYOUTS, PAYOUTS_DEAD, Queues, event, kept},
    wait::{DEADLINE, eventually, eventually_behind},
};
use aws_sdk_sqs::types::Message;
use http::Method;
use local::{Functions, Options, System};
use platform::{AwsTimeouts, aws_config_at};
use protocol::{
    delivery::Delivery,
    ids::{KeyHash, MessageId, Operation},
    timing::Timing,
};
use sandbox::Entry;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How far all clocks are ahead of the machine's from the start, in ms: room for a clock that is behind the others.
const AHEAD_AT_START: u64 = 60_000;

/// The queues in which work waits.
const QUEUES: [&str; 4] = [DELIVERIES, DEAD, PAYOUTS, PAYOUTS_DEAD];
/// Most visibility timeouts that are passed until the queues must be empty: more than SQS receives a copy.
const PASSES_MAX: u32 = 24;
/// Looks in a row that must find nobody at work.
const LOOKS_AT_REST: u32 = 6;
/// Steps in which a time passes.
const STEPS: u64 = 10;

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How processes are started.
    pub program: Program,
    /// The durations.
    pub timing: Timing,
    /// The skew of each process of a function, in ms; one process without skew where none is named.
    pub skews_ms: BTreeMap<&'static str, Vec<i64>>,
    /// Whether the providers are behind the proxy too. Frame-level faults of the sandbox need it to be away.
    pub proxied_providers: bool,
}

impl Setup {
    /// The short durations, one process for each function, everything behind the proxy.
    #[must_use]
    pub fn new(program: Program) -> Self {
        Self { program, timing: Timing::SHORT, skews_ms: BTreeMap::new(), proxied_providers: true }
    }

    /// With so many processes of a function.
    #[must_use]
    pub fn processes(self, function: &'static str, count: usize) -> Self {
        self.skewed(function, vec![0; count])
    }

    /// With processes of a function whose clocks are so many ms ahead.
    #[must_use]
    pub fn skewed(mut self, function: &'static str, skews_ms: Vec<i64>) -> Self {
        self.skews_ms.insert(function, skews_ms);
        self
    }

    /// With the durations of production.
    #[must_use]
    pub fn production(mut self) -> Self {
        self.timing = Timing::PRODUCTION;
        self
    }
}

/// A move of all clocks: the times just before and just after it, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The last moment before it.
    pub from_ms: u64,
    /// The first moment after it.
    pub to_ms: u64,
}

/// Worlds at a time, at least: a test may look at one beside another.
const WORLDS_MIN: usize = 2;

/// As many worlds at a time as there are cores, however many tests run at once: each is many processes, and its invocations
/// have real seconds.
async fn turn() -> OwnedSemaphorePermit {
    static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
        let cores = std::thread::available_parallelism().map_or(WORLDS_MIN, NonZero::get);
        Arc::new(Semaphore::new(cores.max(WORLDS_MIN)))
    });
    TURNS.clone().acquire_owned().await.expect("never closed")
}

/// A running system whose functions are processes.
#[derive(Debug)]
pub struct World {
    /// The services, the pollers and the API's front.
    pub system: System,
    /// What stands between them and the processes.
    pub proxy: Proxy,
    /// The processes.
    pub fleet: Fleet,
    /// The queues, past the proxy.
    pub queues: Queues,
    /// The durations.
    pub timing: Timing,
    http: HttpClient,
    ahead_ms: Mutex<u64>,
    jumps: Mutex<Vec<Jump>>,
    barriers: AtomicU32,
    _turn: OwnedSemaphorePermit,
}

impl World {
    /// Starts one.
    pub async fn start(setup: Setup) -> Self {
        // Silent, unless RUST_LOG asks for the system's side of the story.
        platform::init_logs("off");
        let turn = turn().await;
        let proxy = Proxy::start().await;
        let fleet = Fleet::new(setup.program, &setup.skews_ms);
        let timing = setup.timing;
        let provider_url = setup.proxied_providers.then(|| proxy.url(Side::Providers));
        let functions = Functions::Elsewhere(fleet.elsewhere());
        let system = System::start(Options { timing, functions, provider_url, ..Options::free_ports() }).await.unwrap();
        let ready = system.ready();
        let keys = ready.api_keys.values().chain(ready.webhook_secrets.values()).map(String::as_str);
        // The sandbox's keys and secrets of all projects begin so.
        keys.chain(["sk_test_sandbox_", "whsec_sandbox_"]).for_each(canaries::plant);
        let sides = [(Side::DynamoDb, &ready.dynamodb), (Side::Sqs, &ready.sqs), (Side::Providers, &ready.sandbox)];
        for (side, url) in sides {
            proxy.forward_to(side, url);
        }
        let mut environment: BTreeMap<String, String> =
            system.environment().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let name = if timing == Timing::SHORT { "short" } else { "production" };
        environment.extend([
            ("TIMING".to_owned(), name.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), proxy.url(Side::DynamoDb)),
            ("AWS_ENDPOINT_URL_SQS".to_owned(), proxy.url(Side::Sqs)),
        ]);
        if setup.proxied_providers {
            environment.insert("AWS_ENDPOINT_URL_SECRETS_MANAGER".to_owned(), proxy.url(Side::Providers));
        }
        fleet.set_environment(environment);
        proxy.set_clock(system.clock().clone());
        fleet.set_clock(system.clock().clone());
        let queues = Queues::new(&ready.sqs, system.sqs().unwrap().clone()).await;
        let (http, ahead_ms, jumps) = (HttpClient::default(), Mutex::new(0), Mutex::default());
        let world = Self {
            system,
            proxy,
            fleet,
            queues,
            timing,
            http,
            ahead_ms,
            jumps,
            barriers: AtomicU32::new(0),
            _turn: turn,
        };
        world.advance_ms(AHEAD_AT_START).await;
        world
    }

    /// Ends it, which must end cleanly, and its processes must have logged nothing secret.
    pub async fn stop(self) {
        tokio::time::timeout(DEADLINE, self.system.stop()).await.expect("the system does not stop").unwrap();
        self.proxy.stop().await;
        canaries::clean();
    }

    /// `POST /control`, without the detour.
    #[track_caller]
    pub fn control(&self, order: &Value) {
        self.system.control().obey(order.as_object().unwrap()).unwrap();
    }

    /// Lets the audit walk over the whole table now; its report.
    pub async fn audited(&self) -> Value {
        self.system.control().run_audit().await.unwrap()
    }

    /// Moves every clock by so many seconds.
    pub async fn advance(&self, seconds: u64) {
        self.advance_ms(seconds * 1_000).await;
    }

    /// Moves every clock: the processes' first, so that none is invoked with an old one.
    pub async fn advance_ms(&self, ms: u64) {
        let ahead = {
            let mut ahead = self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner);
            *ahead += ms;
            *ahead
        };
        let from_ms = self.system.clock().now_ms();
        self.fleet.set_ahead(ahead).await;
        self.system.clock().advance(std::time::Duration::from_millis(ms));
        let jump = Jump { from_ms, to_ms: self.system.clock().now_ms() };
        self.jumps.lock().unwrap_or_else(PoisonError::into_inner).push(jump);
    }

    /// Every move of the clocks so far.
    #[must_use]
    pub fn jumps(&self) -> Vec<Jump> {
        self.jumps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far all clocks are ahead of the machine's, in ms.
    #[must_use]
    pub fn ahead_ms(&self) -> u64 {
        *self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands copies to one process as an invocation with its full time, past the pollers; whether each is to be kept.
    ///
    /// # Errors
    /// When the process dies or fails.
    pub async fn hand(&self, process: &Process, copies: &[Message]) -> Result<Vec<bool>, String> {
        let ends_ms = self.system.clock().now_ms() + self.timing.function;
        let answer = self.fleet.hand(process, &event(copies), ends_ms).await?;
        Ok(kept(&answer, copies))
    }

    /// The same, and the process stands still after this effect until it is released.
    ///
    /// # Errors
    /// When the process dies or fails.
    pub async fn hand_and_hold(
        &self,
        process: &Process,
        copies: &[Message],
        effect: &str,
    ) -> Result<Vec<bool>, String> {
        let ends_ms = self.system.clock().now_ms() + self.timing.function;
        let answer = self.fleet.hand_and_hold(process, &event(copies), ends_ms, effect).await?;
        Ok(kept(&answer, copies))
    }

    /// So many copies of the deliveries queue, hidden from everybody else for ten minutes.
    pub async fn copies(&self, count: usize) -> Vec<Message> {
        let mut copies = Vec::new();
        eventually("the copies are there", async || {
            copies.extend(self.queues.take(DELIVERIES, 600).await);
            (copies.len() >= count).then_some(())
        })
        .await;
        assert_eq!(copies.len(), count);
        copies
    }

    /// Receives without ever handling until SQS gives up on every copy of the deliveries queue. The consumers must be
    /// paused.
    pub async fn wear_out(&self, copies: usize) {
        self.worn_out((DELIVERIES, DEAD), copies).await;
    }

    /// The same of the payouts queue.
    pub async fn wear_out_payouts(&self, copies: usize) {
        self.worn_out((PAYOUTS, PAYOUTS_DEAD), copies).await;
    }

    async fn worn_out(&self, (queue, dead): (&str, &str), copies: usize) {
        eventually("SQS moves the copies to the dead-letter queue", async || {
            self.queues.take(queue, 0).await;
            (self.queues.held(dead) == copies && self.queues.held(queue) == 0).then_some(())
        })
        .await;
    }

    /// The table, past the proxy and past the service's own code: for what nobody of it would write.
    pub async fn table(&self) -> aws_sdk_dynamodb::Client {
        let config = aws_config_at(AwsTimeouts::within(20_000), &self.system.ready().dynamodb).await;
        aws_sdk_dynamodb::Client::new(&config)
    }

    /// The partition key of a message of acme.
    #[must_use]
    pub fn pk(key: &str) -> String {
        format!("K#{}", KeyHash::of(Operation::Message, "acme", key).to_base32())
    }

    /// Past a lease and past the visibility timeout: whatever died with its consumer is seen again.
    pub async fn seen_again(&self) {
        self.advance_ms(self.timing.visibility + 1_000).await;
    }

    /// Places a rule.
    pub fn rule(&self, rule: Rule) -> crate::proxy::Handle {
        self.proxy.rule(rule)
    }

    /// The next inline send of a message that holds `key` never arrives, so that only the relay delivers it.
    pub fn no_inline_send(&self, key: &str) -> crate::proxy::Handle {
        self.rule(Rule::new("SendMessageBatch", Action::DropRequest).key(key))
    }

    /// What happens to the next requests for a device, as `PUT /scripts` takes it.
    pub async fn script(&self, token: &str, outcomes: &Value) {
        let url = format!("{}/scripts/{token}", self.system.ready().sandbox);
        self.http.send(&Method::PUT, &url, &[], outcomes.to_string()).await.unwrap().expect(204);
    }

    /// A request to the API with the API key of this name.
    pub async fn request(&self, method: &Method, path: &str, key: &str, body: String) -> Answer {
        canaries::plant_all(&body);
        let url = format!("{}{path}", self.system.ready().api);
        let authorization = format!("Bearer {}", self.system.ready().api_keys[key]);
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        self.http.send(method, &url, &headers, body).await.unwrap()
    }

    /// POST /v1/messages as acme.
    pub async fn post(&self, body: &Value) -> Answer {
        self.request(&Method::POST, "/v1/messages", "acme", body.to_string()).await
    }

    /// A send that must be the first of its key; its id.
    pub async fn queued(&self, body: &Value) -> String {
        let answer = self.post(body).await.expect(202);
        assert_eq!(answer.said(), "queued", "{}", answer.body);
        answer.id()
    }

    /// A send that must be a repeat of the message `id`.
    pub async fn duplicate(&self, body: &Value, id: &str) {
        let answer = self.post(body).await.expect(202);
        assert_eq!(answer.body, json!({"status": "duplicate_ignored", "id": id}));
    }

    /// A client that repeats its request until it is answered with 202, as clients do; the answer.
    pub async fn until_accepted(&self, body: &Value) -> Answer {
        eventually("the API accepts", async || {
            let answer = self.post(body).await;
            (answer.status == 202).then_some(answer)
        })
        .await
    }

    /// GET of any path as acme.
    pub async fn get(&self, path: &str) -> Answer {
        self.request(&Method::GET, path, "acme", String::new()).await
    }

    /// The message as it reads now.
    pub async fn message(&self, id: &str) -> Value {
        self.get(&format!("/v1/messages/{id}")).await.expect(200).body
    }

    /// The message, once it has this status.
    pub async fn reaches(&self, id: &str, status: &str) -> Value {
        eventually(&format!("{id} becomes {status}"), async || {
            let message = self.message(id).await;
            (message["status"] == status).then_some(message)
        })
        .await
    }

    /// The message, once nothing of it is open any more.
    pub async fn ends(&self, id: &str) -> Value {
        eventually_behind(
            &format!("{id} ends"),
            || self.fleet.ended(),
            async || {
                let message = self.message(id).await;
                (message["status"] != "queued" && message["status"] != "sending").then_some(message)
            },
        )
        .await
    }

    /// What reached the provider for a device, oldest first.
    #[must_use]
    pub fn calls(&self, token: &str) -> Vec<Entry> {
        self.system.sandbox().ledger(Some(token))
    }

    /// The calls, once there are so many.
    pub async fn called(&self, token: &str, times: usize) -> Vec<Entry> {
        eventually(&format!("{token} is called {times} times"), async || {
            let calls = self.calls(token);
            (calls.len() >= times).then_some(calls)
        })
        .await
    }

    /// A stored delivery item.
    pub async fn delivery(&self, id: &str, chunk: u16) -> Option<Delivery> {
        self.system.store().delivery(MessageId::parse(id).unwrap(), chunk).await.unwrap()
    }

    /// A refund of 12.50 for a payment, created and not decided; its id.
    pub async fn asked_back(&self, key: &str, payment: &str) -> String {
        let body = json!({"idempotency_key": key, "order_id": format!("order of {key}"), "payment_id": payment,
            "amount": 1_250, "currency": "eur", "reason": "other", "note": format!("A word about {key}.")});
        self.request(&Method::POST, "/v1/refunds", "acme", body.to_string()).await.expect(201).id()
    }

    /// POST of a decision, or of another change of a refund.
    pub async fn decide(&self, key: &str, id: &str, what: &str) -> Answer {
        self.request(&Method::POST, &format!("/v1/refunds/{id}/{what}"), key, String::new()).await
    }

    /// The refund as it reads now.
    pub async fn refund(&self, id: &str) -> Value {
        self.get(&format!("/v1/refunds/{id}")).await.expect(200).body
    }

    /// The refund, once its payout has this status.
    pub async fn payout_becomes(&self, id: &str, status: &str) -> Value {
        eventually(&format!("the payout of {id} becomes {status}"), async || {
            let refund = self.refund(id).await;
            (refund["payout"]["status"] == status).then_some(refund)
        })
        .await
    }

    /// The provider's webhook, as it sends it.
    pub async fn webhook(&self, event: &sandbox::Webhook) -> Answer {
        let url = format!("{}/v1/webhooks/payments/{}", self.system.ready().api, event.project);
        let headers = [("stripe-signature", event.signature.as_str())];
        self.http.send(&Method::POST, &url, &headers, event.body.clone()).await.unwrap()
    }

    /// The amounts that the provider paid for a payment, each with its key.
    #[must_use]
    pub fn paid(&self, payment: &str) -> Vec<(String, u64)> {
        let accepted = self.calls(payment).into_iter().filter(|call| call.accepted);
        accepted.map(|call| (call.idempotency_key.unwrap_or_default(), call.amount.unwrap_or_default())).collect()
    }

    /// Waits until no copy waits for anything, neither for delivery nor as a dead letter.
    pub async fn queues_empty(&self) {
        eventually_behind(
            "the queues run empty",
            || self.fleet.ended(),
            async || QUEUES.iter().all(|queue| self.queues.held(queue) == 0).then_some(()),
        )
        .await;
    }

    /// Passes visibility timeouts until the queues are empty. Time passes only while nobody is at work, so no
    /// invocation loses its own.
    pub async fn worn_copies_return(&self) {
        for _ in 0..PASSES_MAX {
            if self.at_rest().await {
                return;
            }
            self.seen_again().await;
        }
        self.queues_empty().await;
    }

    /// Lets so many ms pass on every clock in some steps, each of them while nobody is at work, so that no invocation
    /// loses its time and the pollers notice what is due.
    pub async fn pass(&self, ms: u64) {
        for step in 1..=STEPS {
            self.nobody_works().await;
            self.advance_ms(ms * step / STEPS - ms * (step - 1) / STEPS).await;
        }
    }

    /// Lets time pass on every clock in some steps, as [`World::pass`] does, until it is `to_ms` and no later.
    pub async fn pass_until(&self, to_ms: u64) {
        for left in (1..=STEPS).rev() {
            self.nobody_works().await;
            let missing_ms = to_ms.saturating_sub(self.system.clock().now_ms());
            self.advance_ms(missing_ms / left).await;
        }
    }

    /// Waits until no invocation is under way, in several looks: a poller may be on its way.
    pub async fn nobody_works(&self) {
        let mut quiet = 0;
        eventually_behind(
            "nobody works",
            || self.fleet.ended(),
            async || {
                quiet = if self.fleet.is_idle() { quiet + 1 } else { 0 };
                (quiet == LOOKS_AT_REST).then_some(())
            },
        )
        .await;
    }

    /// Waits until the queues are empty (true), or all that they hold is hidden and nobody is at work (false).
    async fn at_rest(&self) -> bool {
        let mut quiet = 0;
        eventually_behind(
            "everybody is at rest",
            || self.fleet.ended(),
            async || {
                if QUEUES.iter().all(|queue| self.queues.held(queue) == 0) {
                    return Some(true);
                }
                let rests = self.fleet.is_idle() && QUEUES.iter().all(|queue| self.queues.visible(queue) == 0);
                quiet = if rests { quiet + 1 } else { 0 };
                // A poller may be between its queue and its function: one look is not enough.
                (quiet == LOOKS_AT_REST).then_some(false)
            },
        )
        .await
    }

    /// Waits until nothing that was accepted so far can cause another call: the relay has passed every record of it,
    /// and the queues are empty. The relay reads in order, so it is done with all of them once it delivers a message
    /// that was accepted after them and that nobody else delivers.
    pub async fn drained(&self) {
        self.worn_copies_return().await;
        let name = format!("barrier-{}", self.barriers.fetch_add(1, Ordering::Relaxed));
        let inline = self.no_inline_send(&name);
        let body = push(&name, &name).to_string();
        self.request(&Method::POST, "/v1/messages", "globex", body).await.expect(202);
        inline.hit().await;
        // The stream's window, which begins when a poller notices, and the grace that is left to inline sends.
        eventually_behind(
            "the relay has passed everything",
            || self.fleet.ended(),
            async || {
                self.nobody_works().await;
                self.advance_ms(self.timing.window.max(self.timing.grace)).await;
                (!self.calls(&name).is_empty()).then_some(())
            },
        )
        .await;
        self.worn_copies_return().await;
    }
}
