//! One deliver process: how fast it is beside a bare loop over the same client library, what it keeps in memory, and how
//! many connections it opens. Rates and processor time are printed and judged by bounds that noise does not cross: they
//! are the machine's as much as the program's. Memory and connections are asserted.
//!
//! The services run in this process, the function in its own. The bare loop is hyper with the connection settings of
//! `push`'s pool, one connection, as many calls at once as the function makes, and nothing else: it builds its requests
//! beforehand, reads no answer but its status, and writes nothing down. So what it need not pay is the function's work:
//! reading the event, a claim and a record for each twenty devices, payloads, answers, lines of log and metrics.

use super::{
    process::built,
    support::{DEADLINE, Table, TestApp, eventually},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use local::{elsewhere::Invoker, invoke::Invocation};
use protocol::{
    content::{Content, Device, Notification, Platform, Policy, Priority, Token},
    ids::{KeyHash, MessageId, Nonce, Operation},
    timing::Timing,
};
use queue::{DeliverV1, Envelope, Origin};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, timeout},
};

/// Devices of a copy, and copies of an invocation: SQS hands out ten.
const CHUNK: usize = 20;
const COPIES: usize = 10;
/// Devices of an invocation, which are called at once.
const AT_ONCE: usize = CHUNK * COPIES;
/// Devices through one process, of both providers in turns, before anything is measured.
const DEVICES: usize = 10_000;
/// Devices of a measurement. The system counts processor time in hundredths of a second, and an optimised build takes
/// some tens of µs for a device.
const MEASURED: usize = if cfg!(debug_assertions) { 1_000 } else { 4_000 };
/// Measurements of each kind, in turns; the better one counts.
const ROUNDS: usize = 3;
/// The function's connections to the sandbox: to APNs, to FCM, to Google's token endpoint and to Secrets Manager.
const CONNECTIONS: u64 = 4;
/// Reads of the two secrets that the SDK may try again on another connection, where a busy machine does not answer within
/// two seconds: two for each.
const TRIES: u64 = 4;
/// Connections that two invocations at once may open besides: one for each provider (`outbound::transport::Transport::http2`).
const OF_TWO: u64 = 2;
const PLATFORMS: [Platform; 2] = [Platform::Ios, Platform::Android];
/// What memory may grow by between the first devices and the last, in KiB. A process that kept 700 bytes of each device,
/// less than its call alone takes, would grow by more; one that keeps nothing grows by what its allocator rounds up.
const GROWTH_MAX_KIB: u64 = 6 * 1_024;
/// Below this share of the bare loop's rate something waits that should not: calls one after the other make some
/// hundredths. An optimised build makes 0.64.
const RATE_SHARE_MIN: f64 = if cfg!(debug_assertions) { 0.2 } else { 0.4 };
/// How long an answer travels in the second measurement: a sandbox on the same two cores has none of the way that a provider
/// has, and what a process does while others wait for theirs is what is asked for.
const FAR: Duration = Duration::from_millis(100);
/// The same share where answers travel. An optimised build makes 0.76.
const FAR_SHARE_MIN: f64 = if cfg!(debug_assertions) { 0.2 } else { 0.5 };
/// What the loop and the services take of the processors for a device, as a share of what the function and the services
/// take. Where all of them share the processors and none waits, it is the share of the rate that can be reached; other
/// programs on the machine change it little.
const WORK_SHARE_MIN: f64 = 0.3;

/// The function in a process of its own.
struct Function {
    child: Child,
    url: String,
    invoker: Invoker,
    sent: usize,
}

fn device(platform: Platform, number: usize) -> Device {
    let token = match platform {
        Platform::Ios => format!("{number:064x}"),
        Platform::Android | Platform::Web => format!("device-of-figures-{number:06}"),
    };
    Device { platform, token: Token(token) }
}

fn content() -> Content {
    let (title, body) = ("Shipped".to_owned(), "Order 1042 is on its way.".to_owned());
    let notification = Some(Notification { title, body, image: None });
    Content { notification, data: BTreeMap::new(), collapse_key: None, app: None, priority: Priority::High }
}

impl Function {
    async fn start(app: &TestApp) -> Self {
        let mut command = Command::new(built("function"));
        command.arg("deliver").envs(app.system.environment()).env("TIMING", "production").env("RUST_LOG", "off");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(DEADLINE, lines.next_line()).await.expect("it does not start").unwrap();
        let url = line.as_deref().and_then(|line| line.strip_prefix("ready ")).expect("it does not start").to_owned();
        Self { child, url, invoker: Invoker::default(), sent: 0 }
    }

    /// The next invocation's event, as text: ten chunks of twenty devices.
    fn event(&mut self, platform: Platform) -> Bytes {
        let now_ms = now_ms();
        let records = (0..COPIES).map(|_| {
            let first = self.sent;
            self.sent += CHUNK;
            let id = MessageId {
                key: KeyHash::of(Operation::Message, "acme", &format!("figures-{first}")),
                nonce: Nonce([7; 5]),
            };
            let copy = Envelope::Deliver(DeliverV1 {
                id,
                project: "acme".to_owned(),
                chunk: 0,
                at: now_ms,
                deliver_by: now_ms + 3_600_000,
                expires_at: now_ms + 3_600_000,
                valid_until: now_ms / 1_000 + 86_400 * 30,
                policy: Policy::AtLeastOnce,
                devices: (first..first + CHUNK).map(|number| device(platform, number)).collect(),
                content: content(),
                origin: Origin::Inline,
            });
            json!({"messageId": format!("copy-{first}"), "receiptHandle": "none", "body": copy.to_body().unwrap(),
                "attributes": {"ApproximateReceiveCount": "1"}})
        });
        json!({"Records": records.collect::<Vec<Value>>()}).to_string().into()
    }

    fn events(&mut self, platform: Platform, devices: usize) -> Vec<Bytes> {
        (0..devices / AT_ONCE).map(|_| self.event(platform)).collect()
    }

    /// Delivers to so many devices, this many invocations at once.
    async fn delivers(&mut self, platform: Platform, devices: usize, invocations: usize) {
        let events = self.events(platform, devices);
        self.invoke(events, invocations).await;
    }

    /// Invokes the function with all of them; devices per second.
    async fn invoke(&self, events: Vec<Bytes>, invocations: usize) -> f64 {
        let devices = events.len() * AT_ONCE;
        let invoke = async |event: Bytes| {
            let deadline_ms = now_ms() + Timing::PRODUCTION.function;
            let invocation = Invocation { deadline_ms, request_id: String::new() };
            let answer = self.invoker.invoke_text(&self.url, "function", event, &invocation, HeaderMap::new()).await;
            assert_eq!(answer.unwrap()["batchItemFailures"], json!([]), "every copy is done with");
        };
        let begun = Instant::now();
        stream::iter(events).for_each_concurrent(invocations, invoke).await;
        rate(devices, begun)
    }

    fn status(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id().unwrap())).unwrap()
    }

    /// Resident memory, in KiB.
    fn resident_kib(&self) -> u64 {
        let status = self.status("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Processor time so far, in ms: its own, and that of this process.
    fn cpu_ms(&self) -> [u64; 2] {
        [cpu_ms(&self.status("stat")), cpu_ms(&fs::read_to_string("/proc/self/stat").unwrap())]
    }
}

/// What came of a measurement.
#[derive(Clone, Copy)]
struct Figure {
    /// Devices per second.
    rate: f64,
    /// Processor time for each device, in µs: of who calls, and of the services.
    own_us: u64,
    services_us: u64,
}

impl Figure {
    const NONE: Self = Self { rate: 0.0, own_us: u64::MAX, services_us: u64::MAX };

    fn new(rate: f64, own_ms: u64, services_ms: u64) -> Self {
        let each = |ms: u64| ms * 1_000 / u64::try_from(MEASURED).unwrap();
        Self { rate, own_us: each(own_ms), services_us: each(services_ms) }
    }

    /// Processor time for each device in all, in µs.
    fn work_us(self) -> f64 {
        let work_us = self.own_us.saturating_add(self.services_us);
        f64::from(u32::try_from(work_us).unwrap_or(u32::MAX))
    }

    /// The better of two, each number by itself.
    fn or(self, other: Self) -> Self {
        Self {
            rate: self.rate.max(other.rate),
            own_us: self.own_us.min(other.own_us),
            services_us: self.services_us.min(other.services_us),
        }
    }
}

/// proc(5): user and system time in ticks, a hundred a second.
fn cpu_ms(stat: &str) -> u64 {
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}

/// Of this thread alone.
fn thread_cpu_ms() -> u64 {
    cpu_ms(&fs::read_to_string("/proc/thread-self/stat").unwrap())
}

fn now_ms() -> u64 {
    platform::Clock::system().now_ms()
}

fn rate(devices: usize, begun: Instant) -> f64 {
    f64::from(u32::try_from(devices).unwrap()) / begun.elapsed().as_secs_f64()
}

/// The bare loop on a thread of its own, whose processor time is the loop's.
async fn bare(function: &Function, sandbox: String, jwt: String) -> Figure {
    let [_, before] = function.cpu_ms();
    let looped = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let before = thread_cpu_ms();
        (runtime.block_on(calls(&sandbox, &jwt)), thread_cpu_ms() - before)
    });
    let ((rate, own_ms), thread_ms) = looped.await.unwrap();
    let [_, after] = function.cpu_ms();
    Figure::new(rate, own_ms, after - before - thread_ms)
}

/// One invocation after the other, or two at once.
async fn whole(function: &mut Function, invocations: usize) -> Figure {
    // What builds the events is no service.
    let events = function.events(Platform::Ios, MEASURED);
    let [own, services] = function.cpu_ms();
    let rate = function.invoke(events, invocations).await;
    let [own_after, services_after] = function.cpu_ms();
    Figure::new(rate, own_after - own, services_after - services)
}

/// The bare loop, then the function with one invocation at a time, which is what an environment on Lambda has, and with
/// two, of which one calls while the other writes.
async fn measured(app: &TestApp, function: &mut Function, jwt: &str) -> [Figure; 3] {
    let mut figures = [Figure::NONE; 3];
    for _ in 0..ROUNDS {
        figures[0] = figures[0].or(bare(function, app.system.ready().sandbox.clone(), jwt.to_owned()).await);
        figures[1] = figures[1].or(whole(function, 1).await);
        figures[2] = figures[2].or(whole(function, 2).await);
    }
    figures
}

fn table(far: Duration, figures: &[Figure; 3]) -> String {
    let mut lines = format!(
        "answers travel {far:<12?}  devices/s  of the loop  µs for each device: its own, the services', both: the loop's share"
    );
    for (what, figure) in ["bare hyper loop", "one deliver process", "… two invocations at once"].iter().zip(figures)
    {
        let Figure { rate, own_us, services_us } = figure;
        let [of_rate, of_work] = [rate / figures[0].rate, figures[0].work_us() / figure.work_us()];
        let line = format!("{what:<28} {rate:>9.0} {of_rate:>12.2} {own_us:>28} {services_us:>13} {of_work:>23.2}");
        lines = format!("{lines}\n{line}");
    }
    lines
}

/// The loop; devices per second, and the processor time that its calls took.
async fn calls(sandbox: &str, jwt: &str) -> (f64, u64) {
    let (devices, address) = (MEASURED, sandbox.strip_prefix("http://").unwrap().to_owned());
    let stream = TcpStream::connect(&address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).initial_max_send_streams(1);
    builder.keep_alive_interval(Duration::from_secs(5)).keep_alive_timeout(Duration::from_secs(5));
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = json!({"aps": {"alert": {"title": "Shipped", "body": "Order 1042 is on its way."}, "sound": "default"},
        "message_id": "msg_jza5lmydvnfrlm5ltvtqg4afl5v3qfssbd2zxbm4"})
    .to_string();
    // The headers of the product's own calls, the token as it is there: sent whole each time, as a secret is.
    let mut authorization = HeaderValue::from_str(&format!("bearer {jwt}")).unwrap();
    authorization.set_sensitive(true);
    let expiration = now_ms() / 1_000 + 3_600;
    let body = Bytes::from(body);
    let requests: Vec<Request<Full<Bytes>>> = (0..devices)
        .map(|number| {
            let token = device(Platform::Ios, 1_000_000 + number).token.0;
            Request::post(format!("http://{address}/3/device/{token}"))
                .header("authorization", authorization.clone())
                .header("apns-id", format!("5a3f6c1e-0000-5000-8000-{number:012x}"))
                .header("apns-expiration", expiration)
                .header("apns-topic", "com.example.acme")
                .header("apns-push-type", "alert")
                .header("apns-priority", "10")
                .header("apns-collapse-id", "msg_jza5lmydvnfrlm5ltvtqg4afl5v3qfssbd2zxbm4")
                .body(Full::new(body.clone()))
                .unwrap()
        })
        .collect();
    let mut requests = requests.into_iter();
    let call = async |request: Request<Full<Bytes>>| {
        let answer = sender.clone().send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.unwrap();
    };
    // The first goes alone, as APNs wants it.
    call(requests.next().unwrap()).await;
    let (begun, before) = (Instant::now(), thread_cpu_ms());
    stream::iter(requests).for_each_concurrent(AT_ONCE, call).await;
    (rate(devices - 1, begun), thread_cpu_ms() - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_of_one_deliver_process() {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause"}));
    let sandbox = app.system.sandbox();
    let nobodys = sandbox.connections();
    let mut function = Function::start(&app).await;
    // The first invocation of each provider is alone, as on Lambda: of two on two threads, one may look for a connection
    // before the other's is there and ask for one after that, and then it opens a second, which is not kept (hyper-util's
    // `one_connection_for`). Of 1,000 pairs of crowds 25 did; of 1,000 after a first call alone, none.
    for platform in PLATFORMS {
        function.delivers(platform, AT_ONCE, 1).await;
    }
    // Each has carried a call, so each has been accepted and counted.
    let connections = sandbox.connections();
    let first = connections - nobodys;
    // Buffers for two are there after these. Of two on two threads one may still open a connection of its own, which is not
    // kept: in one of ten runs on idle cores it came a second after the others, in the pair of FCM.
    for platform in PLATFORMS {
        function.delivers(platform, AT_ONCE * 2, 2).await;
    }
    let connections_of_two = sandbox.connections();
    let of_two = connections_of_two - connections;
    let resident_kib = function.resident_kib();
    while function.sent < DEVICES {
        // In turns, so that no connection is unused for so long that it is not used again.
        let platform = if function.sent.is_multiple_of(2 * AT_ONCE) { Platform::Ios } else { Platform::Android };
        function.delivers(platform, AT_ONCE, 1).await;
    }
    let grown_kib = function.resident_kib().saturating_sub(resident_kib);
    let more = sandbox.connections() - connections_of_two;
    println!(
        "{} devices: {first} connections, {of_two} more of two at once, {resident_kib} KiB resident, grown by {grown_kib} KiB",
        function.sent
    );
    assert!((CONNECTIONS..=CONNECTIONS + TRIES).contains(&first), "{first} connections for the first calls");
    assert!(of_two <= OF_TWO, "{of_two} connections of two invocations at once");
    assert_eq!(more, 0, "one connection to each, whatever goes over it");
    assert!(grown_kib < GROWTH_MAX_KIB, "memory grew by {grown_kib} KiB");

    let jwt = Table::of(&app).await.provider_token().await["jwt"].as_s().unwrap().clone();
    let mut shares = Vec::new();
    for far in [Duration::ZERO, FAR] {
        sandbox.delay_answers(far);
        let figures = measured(&app, &mut function, &jwt).await;
        println!("{}", table(far, &figures));
        shares.push((figures[1].rate / figures[0].rate, figures[0].work_us() / figures[1].work_us()));
    }
    let accepted = sandbox.ledger(None).iter().filter(|entry| entry.accepted).count();
    assert_eq!(accepted, function.sent + 2 * ROUNDS * MEASURED, "each device once, and the loop's");
    let [(near, work_share), (far, _)] = shares[..] else { unreachable!("two of them") };
    assert!(near > RATE_SHARE_MIN, "one deliver process makes {near:.2} of a bare loop");
    assert!(far > FAR_SHARE_MIN, "where answers travel, one deliver process makes {far:.2} of a bare loop");
    assert!(work_share > WORK_SHARE_MIN, "a bare loop takes {work_share:.2} of what one deliver process takes");
    drop(function.child.stdin.take());
    eventually("the process ends", async || function.child.try_wait().unwrap()).await;
    app.stop().await;
}
