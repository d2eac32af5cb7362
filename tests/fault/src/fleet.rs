//! The processes of all functions: started when work comes, as Lambda starts environments, and again after a death.
//!
//! Its handlers stand behind `local::Functions::Elsewhere`, so the pollers and the API's front invoke it. It guarantees
//! that a process has one event at a time (requests to the api run side by side), that an invocation which ran out of
//! its time takes its process with it, and that a point is used up by exactly one death.

use crate::{
    function::{ANSWERING, FUNCTIONS},
    http::HttpClient,
    journal::{End, Invoked, Journal},
    kill::Point,
    process::{Process, Program},
    wait::within,
};
use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use http_body_util::Full;
use local::{
    elsewhere::Elsewhere,
    invoke::{Handler, Invocation},
};
use platform::Clock;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Largest body of a request that is passed on, in bytes: API Gateway's own limit.
const BODY_MAX: usize = 10 * 1_024 * 1_024;

/// A handle on the fleet. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Fleet(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: Program,
    environment: OnceLock<BTreeMap<String, String>>,
    ahead_ms: AtomicU64,
    pools: BTreeMap<&'static str, Pool>,
    points: Mutex<Vec<Armed>>,
    /// Points that nobody died or stood still at so far; those of running invocations too.
    open: watch::Sender<usize>,
    /// Processes so far.
    started: AtomicUsize,
    deaths: Arc<AtomicUsize>,
    lose: Mutex<Vec<String>>,
    journal: Journal,
    http: HttpClient,
}

/// The processes of one function.
#[derive(Debug)]
struct Pool {
    function: &'static str,
    slots: Vec<Slot>,
    free: Mutex<Vec<usize>>,
    permits: Arc<Semaphore>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Slot {
    skew_ms: i64,
    process: tokio::sync::Mutex<Option<Arc<Process>>>,
}

/// A point that waits for an invocation.
#[derive(Clone, Debug)]
struct Armed {
    function: String,
    point: Point,
    held: Arc<watch::Sender<Option<Arc<Process>>>>,
}

/// A process that nobody else is given work for, until this is dropped.
#[derive(Debug)]
pub struct Apart {
    fleet: Fleet,
    function: &'static str,
    slot: usize,
    process: Arc<Process>,
    _permit: OwnedSemaphorePermit,
}

impl Apart {
    /// The process.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        locked(&self.fleet.0.pools[self.function].free).push(self.slot);
    }
}

/// A process that is to stand still.
#[derive(Clone, Debug)]
pub struct Hold(Arc<watch::Sender<Option<Arc<Process>>>>);

impl Hold {
    /// The process, once it stands still.
    pub async fn process(&self) -> Arc<Process> {
        let mut held = self.0.subscribe();
        let held = within("a process is held", held.wait_for(Option::is_some)).await;
        held.unwrap().clone().unwrap()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    /// For every function, the skew of each of its processes in ms.
    #[must_use]
    pub fn new(program: Program, skews_ms: &BTreeMap<&'static str, Vec<i64>>) -> Self {
        let pool = |function: &'static str| {
            let skews = skews_ms.get(function).cloned().unwrap_or_else(|| vec![0]);
            let slots: Vec<Slot> =
                skews.into_iter().map(|skew_ms| Slot { skew_ms, process: tokio::sync::Mutex::new(None) }).collect();
            let free = Mutex::new((0..slots.len()).rev().collect());
            let permits = Arc::new(Semaphore::new(slots.len()));
            (function, Pool { function, slots, free, permits, next: AtomicUsize::new(0) })
        };
        Self(Arc::new(Inner {
            program,
            environment: OnceLock::new(),
            started: AtomicUsize::new(0),
            ahead_ms: AtomicU64::new(0),
            pools: FUNCTIONS.into_iter().map(pool).collect(),
            points: Mutex::default(),
            open: watch::Sender::new(0),
            deaths: Arc::default(),
            lose: Mutex::default(),
            journal: Journal::default(),
            http: HttpClient::default(),
        }))
    }

    /// The variables of its processes. Said once, before anything is invoked.
    pub fn set_environment(&self, environment: BTreeMap<String, String>) {
        self.0.environment.set(environment).expect("said once");
    }

    /// The clock by which invocations are dated. Said once.
    pub(crate) fn set_clock(&self, clock: Clock) {
        self.0.journal.set_clock(clock);
    }

    /// The invocations with events that ended since this was last asked.
    #[must_use]
    pub fn take_invoked(&self) -> Vec<Invoked> {
        self.0.journal.take()
    }

    /// Takes one process of a function out of the pollers' reach, once it is free.
    pub async fn apart(&self, function: &str) -> Apart {
        let pool = &self.0.pools[function];
        let permit = within("a process is free", pool.permits.clone().acquire_owned()).await.unwrap();
        let slot = locked(&pool.free).pop().expect("a permit is a free slot");
        let process = self.alive(pool, slot).await;
        Apart { fleet: self.clone(), function: pool.function, slot, process, _permit: permit }
    }

    /// The functions, as the local system takes them.
    #[must_use]
    pub fn elsewhere(&self) -> Elsewhere {
        let router = |function: &'static str| {
            let fleet = self.clone();
            Router::new().fallback(move |request: Request| {
                let fleet = fleet.clone();
                async move { fleet.request(function, request).await }
            })
        };
        let handler = |function: &'static str| -> Handler {
            let fleet = self.clone();
            Arc::new(move |event, invocation| {
                let fleet = fleet.clone();
                Box::pin(async move { fleet.invoke(function, &event, &invocation).await })
            })
        };
        Elsewhere {
            api: router("api"),
            refunds: router("refunds"),
            deliver: handler("deliver"),
            payout: handler("payout"),
            relay: handler("relay"),
            dead_letter: handler("dead_letter"),
            audit: handler("audit"),
        }
    }

    /// How many invocations have ended so far.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.0.journal.count()
    }

    /// The next invocation of `function` that gets to its `nth` boundary after `effect` dies there.
    pub fn kill_after(&self, function: &str, effect: &str, nth: u32) {
        self.arm(function, effect, nth, false);
    }

    /// The same, but it stands still until [`Process::release`].
    #[must_use]
    pub fn hold_after(&self, function: &str, effect: &str, nth: u32) -> Hold {
        Hold(self.arm(function, effect, nth, true))
    }

    fn arm(&self, function: &str, effect: &str, nth: u32, hold: bool) -> Arc<watch::Sender<Option<Arc<Process>>>> {
        assert!(self.0.pools.contains_key(function) && nth > 0, "{function} {nth}");
        let point = Point { hold, effect: effect.to_owned(), nth };
        let held = Arc::new(watch::Sender::new(None));
        let armed = Armed { function: function.to_owned(), point, held: held.clone() };
        self.0.open.send_modify(|open| *open += 1);
        locked(&self.0.points).push(armed);
        held
    }

    /// Resolves once every point that was set has been reached.
    pub async fn reached(&self) {
        let mut open = self.0.open.subscribe();
        let _ = within("every point is reached", open.wait_for(|open| *open == 0)).await;
    }

    /// Takes back every point that nobody reached, and every answer that is still to be lost; says of which functions
    /// the points were.
    pub fn disarm(&self) -> Vec<String> {
        let left = std::mem::take(&mut *locked(&self.0.points));
        let to_lose = std::mem::take(&mut *locked(&self.0.lose)).len();
        self.0.open.send_modify(|open| *open -= left.len() + to_lose);
        left.into_iter().map(|armed| armed.function).collect()
    }

    /// The next invocation of `function` ends well, and nobody hears of it: its process dies with the answer.
    pub fn lose_answer(&self, function: &str) {
        self.0.open.send_modify(|open| *open += 1);
        locked(&self.0.lose).push(function.to_owned());
    }

    /// How many processes died so far, whatever of.
    #[must_use]
    pub fn deaths(&self) -> usize {
        self.0.deaths.load(Ordering::SeqCst)
    }

    /// Whether no invocation is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.pools.values().all(|pool| pool.permits.available_permits() == pool.slots.len())
    }

    /// The process in a slot of a function, started if it is not there.
    pub async fn process(&self, function: &str, slot: usize) -> Arc<Process> {
        let pool = &self.0.pools[function];
        self.alive(pool, slot).await
    }

    /// Moves the clocks of all processes that run.
    pub async fn set_ahead(&self, ahead_ms: u64) {
        self.0.ahead_ms.store(ahead_ms, Ordering::SeqCst);
        for pool in self.0.pools.values() {
            for slot in &pool.slots {
                let process = slot.process.lock().await.clone();
                if let Some(process) = process.filter(|process| !process.is_dead()) {
                    process.set_ahead(ahead_ms).await;
                }
            }
        }
    }

    /// Hands copies or records to one process of the fleet, as its own invocation, past the pollers and their timeout.
    ///
    /// # Errors
    /// When the process dies or answers with an error.
    pub async fn hand(&self, process: &Process, event: &Value, deadline_ms: u64) -> Result<Value, String> {
        self.hand_with(process, event, deadline_ms, None).await
    }

    /// The same with a point where it is held. Resolve [`Process::holds`] to know that it is.
    ///
    /// # Errors
    /// When the process dies or answers with an error.
    pub async fn hand_and_hold(
        &self,
        process: &Process,
        event: &Value,
        deadline_ms: u64,
        effect: &str,
    ) -> Result<Value, String> {
        let point = Point { hold: true, effect: effect.to_owned(), nth: 1 };
        self.hand_with(process, event, deadline_ms, Some(&point)).await
    }

    async fn hand_with(
        &self,
        process: &Process,
        event: &Value,
        deadline_ms: u64,
        point: Option<&Point>,
    ) -> Result<Value, String> {
        let invocation = Invocation { deadline_ms, request_id: String::new() };
        let from_ms = self.0.journal.now_ms();
        let answer = process.invoke(event, &invocation, self.ahead_ms(), point).await;
        let end = if answer.is_err() { End::Broke } else { End::Returned };
        self.0.journal.ended(process, from_ms, end, event);
        answer
    }

    fn ahead_ms(&self) -> u64 {
        self.0.ahead_ms.load(Ordering::SeqCst)
    }

    async fn alive(&self, pool: &Pool, number: usize) -> Arc<Process> {
        let slot = &pool.slots[number];
        let mut process = slot.process.lock().await;
        if let Some(alive) = process.as_ref().filter(|process| !process.is_dead()) {
            return alive.clone();
        }
        let environment = self.0.environment.get().expect("the environment is set first");
        let name = format!("{}.{number}.{}", pool.function, self.0.started.fetch_add(1, Ordering::SeqCst));
        let deaths = self.0.deaths.clone();
        let program = &self.0.program;
        let started = Process::start(program, (pool.function, name), environment, slot.skew_ms, deaths).await;
        let started = Arc::new(started);
        *process = Some(started.clone());
        started
    }

    fn take_point(&self, function: &str) -> Option<Armed> {
        let mut points = locked(&self.0.points);
        let at = points.iter().position(|armed| armed.function == function)?;
        Some(points.remove(at))
    }

    fn loses(&self, function: &str) -> bool {
        let mut lose = locked(&self.0.lose);
        let at = lose.iter().position(|name| name == function);
        at.map(|at| lose.remove(at)).is_some()
    }

    fn settle(&self) {
        self.0.open.send_modify(|open| *open -= 1);
    }

    async fn invoke(&self, function: &'static str, event: &Value, invocation: &Invocation) -> Result<Value, String> {
        let pool = &self.0.pools[function];
        let permit = pool.permits.clone().acquire_owned().await.map_err(|_| "the fleet ends".to_owned())?;
        let slot = locked(&pool.free).pop().expect("a permit is a free slot");
        let mut running = Running { fleet: self, pool, slot, process: None, armed: None, invoked: None, ended: None };
        let process = self.alive(pool, slot).await;
        running.invoked = Some((event, self.0.journal.now_ms()));
        running.process = Some(process.clone());
        running.armed = self.take_point(function);
        let point = running.armed.as_ref().map(|armed| armed.point.clone());
        let held = running.armed.as_ref().filter(|armed| armed.point.hold).map(|armed| armed.held.clone());
        let stands = async {
            match held {
                Some(held) => {
                    process.holds(1).await;
                    held.send_replace(Some(process.clone()));
                }
                None => std::future::pending().await,
            }
        };
        let answer = process.invoke(event, invocation, self.ahead_ms(), point.as_ref());
        let mut answer = std::pin::pin!(answer);
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer,
            () = stands => {
                running.armed = None;
                self.settle();
                answer.await
            }
        };
        if answer.is_err() && point.is_some() {
            // The connection broke first; the process is gone a moment later.
            within("a process that broke off is dead", process.dies()).await;
        }
        running.ended = Some(if answer.is_err() { End::Broke } else { End::Returned });
        drop(running);
        drop(permit);
        if answer.is_ok() && self.loses(function) {
            process.kill().await;
            self.settle();
            return Err("the answer was lost".to_owned());
        }
        answer
    }

    /// One request to a function that answers requests, by the next of its processes.
    async fn request(&self, function: &str, request: Request) -> Response {
        let pool = &self.0.pools[function];
        let slot = pool.next.fetch_add(1, Ordering::Relaxed) % pool.slots.len();
        let process = self.alive(pool, slot).await;
        let mut running = Running {
            fleet: self,
            pool,
            slot,
            process: None,
            armed: self.take_point(function),
            invoked: None,
            ended: None,
        };
        let point = running.armed.as_ref().map(|armed| armed.point.clone());
        let held = running.armed.as_ref().filter(|armed| armed.point.hold).map(|armed| armed.held.clone());
        let passed = async {
            let (mut head, body) = request.into_parts();
            let body = to_bytes(body, BODY_MAX).await.map_err(|error| error.to_string())?;
            let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
            head.uri = format!("{}{path}", process.url()).parse().map_err(|error| format!("{error}"))?;
            head.headers.extend(process.headers(self.ahead_ms(), point.as_ref()));
            let request = http::Request::from_parts(head, Full::new(body));
            self.0.http.request(request).await.map_err(|error| error.to_string())
        };
        let stands = async {
            match held {
                Some(held) => {
                    process.holds(1).await;
                    held.send_replace(Some(process.clone()));
                }
                None => std::future::pending().await,
            }
        };
        let mut passed = std::pin::pin!(passed);
        let answer = tokio::select! {
            biased;
            answer = &mut passed => answer,
            () = stands => {
                running.armed = None;
                self.settle();
                passed.await
            }
        };
        if answer.is_err() {
            // A broken connection to a process is its death; nothing else stands between.
            within("a process that broke off is dead", process.dies()).await;
        }
        running.process = Some(process.clone());
        running.ended = Some(End::Returned);
        drop(running);
        let lost = answer.is_ok() && self.loses(function);
        if lost {
            self.settle();
        }
        match answer {
            Ok(answer) if !lost => {
                let mut response = Response::new(Body::from(answer.bytes));
                *response.status_mut() = answer.status;
                *response.headers_mut() = answer.headers;
                response
            }
            _ => (StatusCode::BAD_GATEWAY, Json(json!({"message": "Internal Server Error"}))).into_response(),
        }
    }
}

/// An invocation of a process. Dropped before its end, it takes the process along, as Lambda does.
struct Running<'a> {
    fleet: &'a Fleet,
    pool: &'a Pool,
    slot: usize,
    process: Option<Arc<Process>>,
    armed: Option<Armed>,
    /// The event, and when it was handed over.
    invoked: Option<(&'a Value, u64)>,
    ended: Option<End>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let dead = self.process.as_ref().is_some_and(|process| process.is_dead());
        if let Some(armed) = self.armed.take() {
            if dead && self.ended.is_some() {
                self.fleet.settle();
            } else {
                locked(&self.fleet.0.points).insert(0, armed);
            }
        }
        if ANSWERING.contains(&self.pool.function) {
            return;
        }
        if let Some(process) = self.process.take() {
            if let Some((event, from_ms)) = self.invoked {
                self.fleet.0.journal.ended(&process, from_ms, self.ended.unwrap_or(End::TimedOut), event);
            }
            if self.ended.is_none() {
                process.kill_now();
            }
        }
        locked(&self.pool.free).push(self.slot);
    }
}
