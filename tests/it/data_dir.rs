//! `--data DIR`: `kill -9` at any time and start again loses nothing that was acknowledged (G4), repeats no call that
//! the kill does not explain (G5), and keeps every key (G1).

use crate::{
    process::{DataDir, Process, Ready},
    support::{DEAD, DEADLINE, DELIVERIES, eventually, logs, push},
};
use http::Method;
use platform::{Clock, Random};
use protocol::timing::Timing;
use serde_json::Value;
use std::{
    collections::HashMap,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

const SENDS: usize = 200;
/// Clients that send at the same time.
const SENDERS: usize = 8;
/// Kills while clients send. Every third of them comes while the program starts.
const KILLS: usize = 6;
/// A kill comes at most so long after the ready line or, in a start, after the spawn.
const KILL_WITHIN_MS: u64 = 600;
/// Longer than the production timing hides a copy or leases a chunk.
const HIDDEN_SECONDS: u64 = 400;
/// The production timing: its calls may take 20 s, so a slow machine alone loses no answer.
const TIMING: &str = "production";

/// Random moments that a failed run can be repeated with: SENDONCE_SEED=… in its environment.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let given = std::env::var("SENDONCE_SEED").ok().map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or_else(|| u64::from_be_bytes(Random::system().bytes().unwrap()));
        eprintln!("SENDONCE_SEED={seed}");
        Self(seed)
    }

    /// A time within [`KILL_WITHIN_MS`] (splitmix64).
    fn moment(&mut self) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_millis((mixed ^ (mixed >> 31)) % KILL_WITHIN_MS)
    }
}

/// What may part a call from its record: from when to when, on the system's clock in ms.
struct Interruption {
    start: u64,
    end: u64,
}

impl Interruption {
    /// Whether it explains that a device was called at `first` and again at `second`: the first call's invocation was
    /// running when it came, so the call was at most one invocation old, and the second call is from after it.
    fn explains(&self, first: u64, second: u64) -> bool {
        first <= self.end && self.start <= second && self.start.saturating_sub(first) <= Timing::PRODUCTION.function
    }
}

/// Kills, restarts and moves of the clock, written down.
struct World {
    dir: DataDir,
    dice: Dice,
    clock: Clock,
    interruptions: Vec<Interruption>,
}

impl World {
    async fn kill(&mut self, process: Process) {
        let start = self.clock.now_ms();
        process.kill().await;
        self.interruptions.push(Interruption { start, end: self.clock.now_ms() });
    }

    /// Moving the clock while a call is on its way is a stall: its lease is over.
    async fn advance(&mut self, ready: &Ready, seconds: u64) {
        let start = self.clock.now_ms();
        ready.advance(seconds).await;
        self.clock.advance(Duration::from_secs(seconds));
        self.interruptions.push(Interruption { start, end: self.clock.now_ms() });
    }
}

fn token(number: usize) -> String {
    format!("device-of-send-{number:06}")
}

async fn try_send(ready: &Ready, number: usize) -> Option<Value> {
    let headers = ready.headers();
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (url, body) = (format!("{}/v1/messages", ready.url("api")), push(&format!("send-{number}"), &token(number)));
    // A client cannot tell why there was no answer. It asks again with the same key.
    let body = body.to_string();
    logs::secrets_of(body.as_bytes());
    let answer = ready.http.try_send(&Method::POST, &url, &headers, body).await.ok()?;
    if answer.status.is_server_error() { None } else { Some(answer.expect(202).body) }
}

/// Sends until the send is acknowledged. The message's id.
async fn send(mut running: watch::Receiver<Option<Ready>>, number: usize) -> String {
    let started = Instant::now();
    loop {
        let ready = running.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        if let Some(body) = try_send(&ready, number).await {
            return body["id"].as_str().unwrap().to_owned();
        }
        assert!(started.elapsed() < Duration::from_secs(120), "send {number} is never acknowledged");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_at_any_moment_lose_nothing_that_was_acknowledged() {
    let (dir, dice, clock) = (DataDir::new(), Dice::new(), Clock::system());
    let mut world = World { dir, dice, clock, interruptions: Vec::new() };
    let (running, watch) = watch::channel(None);
    let (starts, senders) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(SENDERS)));
    let mut sends = JoinSet::new();
    for number in 0..SENDS {
        let (watch, starts, senders) = (watch.clone(), starts.clone(), senders.clone());
        sends.spawn(async move {
            starts.acquire().await.unwrap().forget();
            let _sender = senders.acquire().await.unwrap();
            (number, send(watch, number).await)
        });
    }

    // Each life gets its part of the sends.
    for kill in 0..KILLS {
        let mut process = Process::spawn(&world.dir, TIMING);
        if kill % 3 != 1 {
            running.send_replace(Some(process.ready().await));
            starts.add_permits(SENDS / KILLS);
        }
        sleep(world.dice.moment()).await;
        world.kill(process).await;
        running.send_replace(None);
    }
    let mut process = Process::spawn(&world.dir, TIMING);
    let mut ready = process.ready().await;
    running.send_replace(Some(ready.clone()));
    starts.add_permits(SENDS);
    let acknowledged: HashMap<usize, String> = sends.join_all().await.into_iter().collect();
    assert_eq!(acknowledged.len(), SENDS);

    // What the killed processes had received is hidden for minutes. Time passes, and one more kill hits while all of it
    // is delivered. A device is hit twice at most, and after two lost answers Sendonce still asks again.
    for last in [false, true] {
        eventually("what can be delivered now is delivered", async || {
            (ready.queue(DELIVERIES, "ApproximateNumberOfMessages").await == 0).then_some(())
        })
        .await;
        // Only for speed: the relay's window has begun before the clock moves past it.
        sleep(Duration::from_secs(1)).await;
        world.advance(&ready, HIDDEN_SECONDS).await;
        if !last {
            sleep(world.dice.moment()).await;
            world.kill(process).await;
            process = Process::spawn(&world.dir, TIMING);
            ready = process.ready().await;
        }
    }
    for (number, id) in &acknowledged {
        eventually(&format!("send {number} becomes sent"), async || {
            let message = ready.message(id).await;
            assert!(message["counts"]["unknown"] == 0 && message["counts"]["failed"] == 0, "{message}");
            (message["status"] == "sent").then_some(())
        })
        .await;
        let again = try_send(&ready, *number).await.expect("nobody kills any more");
        assert_eq!((&again["status"], again["id"].as_str()), (&"duplicate_ignored".into(), Some(id.as_str())));
    }
    // Every device is final, so no call can follow. The copies that are left are only put away.
    let ledger = ready.ledger().await;
    ready.advance(HIDDEN_SECONDS).await;
    eventually("the queues run empty", async || {
        for queue in [DELIVERIES, DEAD] {
            for state in ["", "NotVisible", "Delayed"] {
                if ready.queue(queue, &format!("ApproximateNumberOfMessages{state}")).await > 0 {
                    return None;
                }
            }
        }
        Some(())
    })
    .await;
    assert_eq!(ready.ledger().await, ledger);
    check(&ledger, &world.interruptions);
    process.kill().await;
}

/// Every device was called once, or again for a reason; nothing else was called.
fn check(ledger: &[Value], interruptions: &[Interruption]) {
    let mut calls: HashMap<&str, Vec<u64>> = HashMap::new();
    for (entry, seq) in ledger.iter().zip(1..) {
        assert_eq!((entry["seq"].as_u64(), &entry["accepted"]), (Some(seq), &true.into()), "{entry}");
        calls.entry(entry["token"].as_str().unwrap()).or_default().push(entry["at"].as_u64().unwrap());
    }
    let mut repeats = 0;
    for number in 0..SENDS {
        let token = token(number);
        let at = calls.remove(token.as_str()).unwrap_or_else(|| panic!("{token} was acknowledged and never called"));
        for pair in at.windows(2) {
            let reason = interruptions.iter().find(|interruption| interruption.explains(pair[0], pair[1]));
            assert!(reason.is_some(), "{token} was called at {at:?}, which no kill explains");
            repeats += 1;
        }
        // Between any two calls one interruption, and each hit at most one call of the device.
        assert!(at.len() <= 1 + interruptions.len(), "{token}: {at:?}");
    }
    assert!(calls.is_empty(), "{calls:?}");
    eprintln!("{SENDS} sends, {} interruptions, {repeats} repeated calls", interruptions.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_has_one_system_whose_time_goes_on_and_whose_timing_may_change() {
    let dir = DataDir::new();
    let mut first = Process::spawn(&dir, "short");
    let ready = first.ready().await;
    ready.advance(3_600).await;
    let id = try_send(&ready, 0).await.unwrap()["id"].as_str().unwrap().to_owned();
    let before = ready.message(&id).await;
    assert_eq!(ready.queue(DELIVERIES, "VisibilityTimeout").await, Timing::SHORT.visibility / 1_000);

    let mut second = Process::spawn(&dir, "short");
    assert!(!second.child.wait().await.unwrap().success());
    assert!(dir.said().contains("another running system uses this folder"), "{}", dir.said());
    assert!(dir.said().contains(dir.data().to_str().unwrap()), "{}", dir.said());

    first.kill().await;
    let mut third = Process::spawn(&dir, TIMING);
    let ready = third.ready().await;
    assert_eq!(ready.queue(DELIVERIES, "VisibilityTimeout").await, Timing::PRODUCTION.visibility / 1_000);
    assert_eq!(ready.message(&id).await["created_at"], before["created_at"]);
    let next = try_send(&ready, 1).await.unwrap()["id"].as_str().unwrap().to_owned();
    let after = ready.message(&next).await;
    // Both are RFC 3339 in UTC with milliseconds, so their order is that of text.
    assert!(after["created_at"].as_str() > before["created_at"].as_str(), "{after} {before}");
    third.kill().await;
}

/// A file that was taken away or damaged is named, and nothing starts without it as if it had never been.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_or_damaged_file_is_refused_by_its_name() {
    let dir = DataDir::new();
    let mut first = Process::spawn(&dir, "short");
    let ready = first.ready().await;
    ready.advance(5).await;
    try_send(&ready, 0).await.unwrap();
    first.kill().await;
    let damage: &[u8] = &b"neither JSON nor a database, and long enough to be taken for one. ".repeat(100);
    let gone = "is missing or empty";
    for (name, content, told) in [
        ("dynamodb.sqlite", None, gone),
        ("sqs.sqlite", None, gone),
        ("ledger.jsonl", None, gone),
        ("clock.json", None, gone),
        ("sqs.sqlite", Some(&b""[..]), gone),
        ("dynamodb.sqlite", Some(damage), "cannot be used"),
        ("sqs.sqlite", Some(damage), "cannot be used"),
        ("ledger.jsonl", Some(damage), "cannot be used"),
        ("checkpoints.json", Some(damage), "cannot be used"),
        ("clock.json", Some(damage), "clock.json"),
        ("made.json", Some(damage), "made.json"),
    ] {
        let copy = DataDir::new();
        fs::create_dir_all(copy.data()).unwrap();
        for file in fs::read_dir(dir.data()).unwrap().map(Result::unwrap) {
            // A database may still be whole in its log of writes, whatever became of the rest.
            if file.file_name() != *format!("{name}-wal") {
                fs::copy(file.path(), copy.data().join(file.file_name())).unwrap();
            }
        }
        let path = copy.data().join(name);
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let mut next = Process::spawn(&copy, "short");
        let ended = timeout(DEADLINE, next.child.wait()).await.expect("it does not end").unwrap();
        let said = copy.said();
        assert!(!ended.success(), "{name}: {said}");
        assert!(said.contains(name) && said.contains(copy.data().to_str().unwrap()), "{name}: {said}");
        assert!(said.contains(told), "{name}: {said}");
        assert_eq!(fs::read(&path).ok().as_deref(), content, "it is left as it is");
    }
    // The folder itself is as good as ever.
    let mut last = Process::spawn(&dir, "short");
    let ready = last.ready().await;
    assert_eq!(try_send(&ready, 0).await.unwrap()["status"], "duplicate_ignored");
    last.kill().await;
}
