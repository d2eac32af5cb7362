//! Everything that this process logs, read while it is written: nothing secret is in it, and every event keeps to its
//! table.
//!
//! Installed by the first [`super::TestApp`], for the whole test binary: lines of our crates down to `trace`, those of
//! others as [`platform::log_layer`] lets them through, and every line of metrics. What a test sends (keys, device
//! tokens, titles, bodies, data; orders, payments, notes) is remembered as [`secret`], so each existing test is a search for leaks too; stopping
//! a system fails if anybody's was found. `RUST_LOG` shows the lines on stderr as well.

use platform::events::{EVENTS, TARGET};
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt};

/// Our own lines down to `trace`. Dynoxide warns of every refused condition, as it does in `cargo run`.
const ALL: &str = "trace,dynoxide=error";
/// Fields that every line has.
const COMMON: [&str; 4] = ["timestamp", "level", "target", "event"];
/// What a private key, a JWT and one of Google's access tokens look like, whoever made it.
const MARKS: [&str; 4] = ["PRIVATE KEY", "eyJhbGciOi", "ya29.", "Bearer "];
/// Shorter texts are words that may stand in any line ("Shipped"); this many bytes of a secret find it.
const WINDOW: usize = 8;

/// Texts that no line may hold, by their first bytes.
static SECRETS: RwLock<Option<HashMap<[u8; WINDOW], Vec<String>>>> = RwLock::new(None);
/// What was wrong so far.
static FAULTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LINES: AtomicUsize = AtomicUsize::new(0);
/// Lines that hold [`MARKER`].
static MARKED: AtomicUsize = AtomicUsize::new(0);
/// What the test of this module logs.
const MARKER: &str = "is anybody listening";
/// Who wrote it, and what.
static METRICS: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// No line may hold this text from now on.
pub(crate) fn secret(text: &str) {
    let escaped = serde_json::to_string(text).unwrap();
    let forms = [text, escaped.trim_matches('"')];
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    let by_start = secrets.get_or_insert_default();
    for form in forms {
        let Some(start) = form.as_bytes().first_chunk::<WINDOW>() else { continue };
        let known = by_start.entry(*start).or_default();
        if !known.iter().any(|other| other == form) {
            known.push(form.to_owned());
        }
    }
}

/// The same for everything in a send or a refund that is nobody's business.
pub(crate) fn secrets_of(body: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
    let tokens = body["to"].as_array().into_iter().flatten().map(|to| &to["token"]);
    let data = body["data"].as_object().into_iter().flat_map(serde_json::Map::values);
    let shown = ["title", "body", "image"].into_iter().map(|name| &body["notification"][name]);
    let own = ["idempotency_key", "order_id", "payment_id", "note"].into_iter().map(|name| &body[name]);
    for text in tokens.chain(data).chain(shown).chain(own).filter_map(Value::as_str) {
        secret(text);
        secret(&text.to_ascii_lowercase());
    }
}

/// The secret that a line holds.
fn leaked(line: &str) -> Option<String> {
    if let Some(mark) = MARKS.iter().find(|mark| line.contains(**mark)) {
        return Some((*mark).to_owned());
    }
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let by_start = secrets.as_ref()?;
    line.as_bytes().windows(WINDOW).enumerate().find_map(|(at, start)| {
        let start: &[u8; WINDOW] = start.try_into().unwrap();
        by_start.get(start)?.iter().find(|secret| line.as_bytes()[at..].starts_with(secret.as_bytes())).cloned()
    })
}

/// How an event breaks its table.
fn misshapen(line: &str) -> Option<String> {
    let line: Value = match serde_json::from_str(line) {
        Ok(line) => line,
        Err(error) => return Some(format!("it is not JSON: {error}")),
    };
    if line["target"] != TARGET {
        return None;
    }
    let Some(table) = EVENTS.iter().find(|table| line["event"] == table.word) else {
        return Some("no table has this event".to_owned());
    };
    let members = line.as_object()?;
    for (name, value) in members.iter().filter(|(name, _)| !COMMON.contains(&name.as_str())) {
        let Some(row) = table.fields.iter().find(|row| row.name == name) else {
            return Some(format!("its table has no field {name}"));
        };
        let kind = match value {
            Value::String(_) => "text",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            _ => "none",
        };
        if kind != row.kind {
            return Some(format!("{name} is no {}", row.kind));
        }
    }
    let missing = table.fields.iter().find(|row| row.there == "always" && !members.contains_key(row.name));
    missing.map(|row| format!("{} is missing", row.name))
}

fn look(line: &str) {
    LINES.fetch_add(1, Ordering::Relaxed);
    if line.contains(MARKER) {
        MARKED.fetch_add(1, Ordering::Relaxed);
    }
    let leak = leaked(line).map(|secret| format!("{secret:?} leaked: {line}"));
    let fault = leak.or_else(|| misshapen(line).map(|why| format!("{why}: {line}")));
    if let Some(fault) = fault {
        FAULTS.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }
}

/// Looks at each line, and keeps it where somebody wants to read it.
#[derive(Clone, Default)]
struct Looking(Option<Arc<Mutex<Vec<String>>>>);

impl Write for Looking {
    /// The subscriber writes each line at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        look(line.trim_end());
        if let Some(kept) = &self.0 {
            kept.lock().unwrap().push(line.trim_end().to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same for metrics, which are all kept.
struct Counting;

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes).trim_end().to_owned();
        if let Some(secret) = leaked(&line) {
            FAULTS.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{secret:?} leaked: {line}"));
        }
        METRICS.lock().unwrap_or_else(PoisonError::into_inner).push((thread::current().id(), line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Looks at everything from now on. A second call changes nothing.
pub(crate) fn install() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("off"));
        let shown = platform::log_layer(filter, io::stderr);
        let looking = platform::log_layer(EnvFilter::new(ALL), Looking::default);
        let subscriber = tracing_subscriber::registry().with(looking).with(shown);
        tracing::subscriber::set_global_default(subscriber).expect("nobody else installs one in this binary");
        platform::init_metrics(Counting);
    });
}

/// Looks for secrets in what another process logged. Its last line may be cut; lines for people are no log.
#[track_caller]
pub(crate) fn read(said: &str) {
    let leak = said.lines().filter(|line| line.starts_with('{')).find_map(|line| Some((leaked(line)?, line)));
    assert!(leak.is_none(), "a process leaked {leak:?}");
}

/// Fails if any line so far was not as it should be.
#[track_caller]
pub(crate) fn clean() {
    let faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(faults.is_empty(), "{} lines of the log are wrong, among them\n{}", faults.len(), faults[0]);
}

/// How many lines were looked at.
pub(crate) fn lines_seen() -> usize {
    LINES.load(Ordering::Relaxed)
}

/// All lines of metrics so far, everybody's.
pub(crate) fn metrics() -> Vec<Value> {
    let lines = METRICS.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().map(|(_, line)| document(line)).collect()
}

fn document(line: &str) -> Value {
    serde_json::from_str(line).expect("a line of metrics is JSON")
}

/// What this thread logs, to be read by its test. Its systems must run on this thread, as `#[tokio::test]` has it.
pub(crate) struct Own {
    kept: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Own {
    pub(crate) fn start() -> Self {
        install();
        let kept: Arc<Mutex<Vec<String>>> = Arc::default();
        let looking = Looking(Some(Arc::clone(&kept)));
        let layer = platform::log_layer(EnvFilter::new(ALL), move || looking.clone());
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        Self { kept, _guard }
    }

    /// The events of one kind, oldest first.
    pub(crate) fn events(&self, word: &str) -> Vec<Value> {
        let lines = self.kept.lock().unwrap();
        let lines = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["target"] == TARGET && line["event"] == word).collect()
    }

    /// The documents of metrics that hold this one, oldest first: this thread's, which runs one test.
    pub(crate) fn metrics(&self, name: &str) -> Vec<Value> {
        let (me, lines) = (thread::current().id(), METRICS.lock().unwrap_or_else(PoisonError::into_inner));
        let mine = lines.iter().filter(|(thread, _)| *thread == me).map(|(_, line)| document(line));
        mine.filter(|document| document.get(name).is_some()).collect()
    }

    /// All lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.kept.lock().unwrap().clone()
    }
}

#[test]
fn a_leak_and_a_misshapen_event_are_noticed() {
    secret("kept-from-everybody \"é\"");
    for line in [
        r#"{"message":"a kept-from-everybody \"é\" b"}"#,
        "panicked: kept-from-everybody \"é\"",
        r#"{"jwt":"eyJhbGciOiJFUzI1NiJ9.e30.c2ln"}"#,
        "-----BEGIN PRIVATE KEY-----",
    ] {
        assert!(leaked(line).is_some(), "{line}");
    }
    assert_eq!(leaked(r#"{"message":"kept-from-others"}"#), None);
    let good =
        r#"{"timestamp":"t","level":"INFO","target":"sendonce","event":"relay","records":1,"enqueued":1,"parked":0}"#;
    assert_eq!(misshapen(good), None);
    for (from, to) in [
        ("\"parked\":0", "\"parked\":\"0\""),
        (",\"parked\":0", ""),
        ("\"parked\":0", "\"parked\":0,\"token\":\"t\""),
        ("\"relay\"", "\"rely\""),
        ("{", ""),
    ] {
        assert!(misshapen(&good.replacen(from, to, 1)).is_some(), "{from} {to}");
    }
    assert_eq!(misshapen(r#"{"target":"api","message":"any"}"#), None);
}

/// Whoever logs, on whatever thread: tests on several threads have no listener of their own.
#[test]
fn everything_of_ours_is_listened_to_down_to_trace() {
    install();
    thread::spawn(|| {
        tracing::trace!(target: "deliver::receive", "{MARKER}?");
        tracing::debug!(target: "store", "{MARKER}?");
        tracing::info!(target: "hyper", "{MARKER}?");
        tracing::debug!(target: "hyper", "{MARKER}: others are heard at info and above");
    })
    .join()
    .unwrap();
    assert_eq!(MARKED.load(Ordering::Relaxed), 3);
}
