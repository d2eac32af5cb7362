//! A deployed function of the local system: a handler with Lambda's surroundings.
//!
//! Called by the pollers (`pollers/`) and, through [`Function::run`], by the HTTP front. It guarantees that an
//! invocation ends at the function's timeout or at an injected crash by being dropped where it stands, as Lambda
//! freezes and discards an environment: nothing of the handler runs afterwards. It also guarantees that a panic fails
//! only its own invocation. It keeps no result: what an ended invocation leaves undone is the caller's to repeat.

use crate::crash::{self, Signal};
use futures_util::{FutureExt, future::BoxFuture};
use platform::Clock;
use serde_json::Value;
use std::{
    fmt,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// What a handler is told about its invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// When the invocation will be dropped, in ms of the local clock since the Unix epoch.
    pub deadline_ms: u64,
    /// For logs only: the function's name and a number that counts its invocations.
    pub request_id: String,
}

/// A function's code: takes the event, gives the answer or the text of its error.
pub type Handler = Arc<dyn Fn(Value, Invocation) -> BoxFuture<'static, Result<Value, String>> + Send + Sync + 'static>;

/// Why an invocation gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The timeout passed; the handler was dropped.
    #[error("timed out")]
    TimedOut,
    /// A crash was asked for; the handler was dropped at that point.
    #[error("crashed")]
    Crashed,
    /// The handler returned an error or panicked.
    #[error("failed: {0}")]
    Failed(String),
}

/// A deployed function. Clones are the same function.
#[derive(Clone)]
pub struct Function {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    timeout_ms: u64,
    clock: Clock,
    handler: Option<Handler>,
    paused: watch::Sender<bool>,
    invocations: AtomicU64,
    running: AtomicU64,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.inner.name)
            .field("timeout_ms", &self.inner.timeout_ms)
            .field("paused", &self.is_paused())
            .finish_non_exhaustive()
    }
}

impl Function {
    /// A function that pollers invoke with events. `timeout_ms` is in the local clock's time.
    #[must_use]
    pub fn new(name: impl Into<String>, timeout_ms: u64, clock: Clock, handler: Handler) -> Self {
        Self::build(name.into(), timeout_ms, clock, Some(handler))
    }

    /// A function without a JSON handler, used only through [`Function::run`], such as the HTTP API.
    #[must_use]
    pub fn front(name: impl Into<String>, timeout_ms: u64, clock: Clock) -> Self {
        Self::build(name.into(), timeout_ms, clock, None)
    }

    fn build(name: String, timeout_ms: u64, clock: Clock, handler: Option<Handler>) -> Self {
        let paused = watch::Sender::new(false);
        Self {
            inner: Arc::new(Inner {
                name,
                timeout_ms,
                clock,
                handler,
                paused,
                invocations: AtomicU64::new(0),
                running: AtomicU64::new(0),
            }),
        }
    }

    /// The name under which crashes and pauses address it: "api", "deliver", "relay", "dead_letter", ….
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// How many invocations were started so far.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.inner.invocations.load(Ordering::Relaxed)
    }

    /// Whether an invocation runs at this moment.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.inner.running.load(Ordering::SeqCst) > 0
    }

    /// From now on pollers take no work for it; running invocations go on.
    pub fn pause(&self) {
        self.inner.paused.send_replace(true);
    }

    /// Lets pollers go on.
    pub fn resume(&self) {
        self.inner.paused.send_replace(false);
    }

    /// Whether it is paused at this moment.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        *self.inner.paused.borrow()
    }

    /// Resolves as soon as it is not paused. Pollers await it before they take work.
    pub async fn running(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.inner.paused.subscribe().wait_for(|paused| !paused).await;
    }

    /// Invokes the handler with `event`. A pause does not hold it back: that is for pollers.
    ///
    /// # Errors
    /// See [`InvokeError`].
    pub async fn invoke(&self, event: Value) -> Result<Value, InvokeError> {
        let Some(handler) = self.inner.handler.clone() else {
            return Err(InvokeError::Failed(format!("{} takes no events", self.inner.name)));
        };
        // The handler is called inside the future, so that a panic in its first lines is caught as well.
        self.run(|invocation| async move { handler(event, invocation).await }).await?.map_err(InvokeError::Failed)
    }

    /// Runs `work` as an invocation of this function, with its timeout and its crash points, whatever it gives.
    ///
    /// # Errors
    /// See [`InvokeError`]; `Failed` only for a panic.
    pub async fn run<F>(&self, work: impl FnOnce(Invocation) -> F) -> Result<F::Output, InvokeError>
    where
        F: Future,
    {
        let Inner { name, timeout_ms, clock, invocations, running, .. } = &*self.inner;
        let _running = Running::new(running);
        let number = invocations.fetch_add(1, Ordering::Relaxed) + 1;
        let deadline_ms = clock.now_ms().saturating_add(*timeout_ms);
        let work = work(Invocation { deadline_ms, request_id: format!("{name}-{number}") });
        let signal = Signal::new(name.clone());
        let work = crash::within(signal.clone(), AssertUnwindSafe(work).catch_unwind());
        // Whichever branch wins, the others are dropped before `ended` is looked at: this is the end of the handler.
        let ended = tokio::select! {
            biased;
            output = work => output.map_err(|panic| InvokeError::Failed(format!("panicked: {}", panic_text(&*panic)))),
            () = signal.raised() => Err(InvokeError::Crashed),
            () = clock.sleep_until(deadline_ms) => Err(InvokeError::TimedOut),
        };
        // One effect's boundary crashed while, in the same poll, another let the handler finish: a crash all the same.
        if signal.is_raised() { Err(InvokeError::Crashed) } else { ended }
    }
}

/// Counts an invocation from here until it is dropped.
struct Running<'a>(&'a AtomicU64);

impl<'a> Running<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::{sync::atomic::AtomicBool, time::Duration};

    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn answers_and_errors_pass_through() {
        let clock = Clock::system();
        let handler: Handler = Arc::new(|event, invocation: Invocation| {
            Box::pin(async move {
                assert!(invocation.request_id.starts_with("deliver-"));
                if event == json!("bad") { Err("no".to_owned()) } else { Ok(event) }
            })
        });
        let before = clock.now_ms();
        let function = Function::new("deliver", 60_000, clock, handler);
        assert_eq!(function.invoke(json!({"a": 1})).await, Ok(json!({"a": 1})));
        assert_eq!(function.invoke(json!("bad")).await, Err(InvokeError::Failed("no".into())));
        assert_eq!(function.invocations(), 2);
        let deadline = function.run(|i| async move { i.deadline_ms }).await.unwrap();
        assert!(deadline >= before + 60_000);
    }

    #[tokio::test]
    async fn timeout_drops_the_handler_when_the_local_clock_passes_it() {
        let clock = Clock::system();
        let dropped = Arc::new(AtomicBool::new(false));
        let seen = dropped.clone();
        let handler: Handler = Arc::new(move |_, _| {
            let guard = OnDrop(seen.clone());
            Box::pin(async move {
                let _guard = guard;
                std::future::pending().await
            })
        });
        let function = Function::new("deliver", 3_600_000, clock.clone(), handler);
        let running = tokio::spawn({
            let function = function.clone();
            async move { function.invoke(Value::Null).await }
        });
        while function.invocations() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(!running.is_finished() && !dropped.load(Ordering::SeqCst));
        clock.advance(Duration::from_secs(3_601));
        assert_eq!(running.await.unwrap(), Err(InvokeError::TimedOut));
        assert!(dropped.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_invocation() {
        let handler: Handler =
            Arc::new(|event, _| if event.is_null() { panic!("early") } else { Box::pin(async { panic!("late") }) });
        let function = Function::new("relay", 1_000, Clock::system(), handler);
        assert_eq!(function.invoke(Value::Null).await, Err(InvokeError::Failed("panicked: early".into())));
        assert_eq!(function.invoke(json!(1)).await, Err(InvokeError::Failed("panicked: late".into())));
    }

    #[tokio::test]
    async fn pause_holds_waiters_until_resume() {
        let function = Function::front("api", 1_000, Clock::system());
        function.running().await;
        function.pause();
        assert!(function.is_paused());
        assert!(function.running().now_or_never().is_none());
        let waiter = tokio::spawn({
            let function = function.clone();
            async move { function.running().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        function.resume();
        waiter.await.unwrap();
        assert!(matches!(function.invoke(Value::Null).await, Err(InvokeError::Failed(_))));
    }
}
