//! Crashes on request (`POST /control {"crash": …, "at": …}`): an invocation stops between two of its effects.
//!
//! Called by the control endpoint ([`Crashes::arm`]), by `platform::drive` ([`Boundary::after`]) and by
//! `invoke::Function::run`, which drops the handler once its [`Signal`] is raised. It guarantees that the effect before
//! the point was performed, and that its outcome reached nobody. A crash is used up by the first matching invocation.
//! It relies on handlers not spawning tasks: the current invocation is known by a task-local value.

use futures_util::future::BoxFuture;
use platform::Boundary;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

tokio::task_local! {
    static CURRENT: Signal;
}

/// Tells an invocation that it crashed. Made by `Function::run`, raised by [`Crashes`].
#[derive(Clone, Debug)]
pub struct Signal {
    function: Arc<str>,
    raised: Arc<watch::Sender<bool>>,
}

impl Signal {
    /// For one invocation of the function so named.
    #[must_use]
    pub fn new(function: String) -> Self {
        Self { function: function.into(), raised: Arc::new(watch::Sender::new(false)) }
    }

    /// Whether the invocation crashed.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        *self.raised.borrow()
    }

    /// Resolves once the invocation crashed.
    pub async fn raised(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.raised.subscribe().wait_for(|raised| *raised).await;
    }
}

/// Runs `work` as the invocation that `signal` belongs to.
pub fn within<F: Future>(signal: Signal, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(signal, work)
}

/// The crashes that were asked for and not used up yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Crashes {
    armed: Arc<Mutex<Vec<(String, String)>>>,
}

impl Crashes {
    /// The next invocation of `function` ("api", "deliver", …) that reaches `point` ("after_" and the effect's name)
    /// crashes there. Armed twice, the next two do.
    pub fn arm(&self, function: impl Into<String>, point: impl Into<String>) {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).push((function.into(), point.into()));
    }

    /// What is armed and not used up: (function, point), oldest first.
    #[must_use]
    pub fn armed(&self) -> Vec<(String, String)> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, function: &str, effect: &str) -> bool {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = armed.iter().position(|(f, point)| f == function && point.strip_prefix("after_") == Some(effect));
        found.map(|at| armed.remove(at)).is_some()
    }
}

impl Boundary for Crashes {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Outside an invocation (a test that drives a machine by itself) there is nothing to crash.
            let Ok(signal) = CURRENT.try_with(Clone::clone) else { return };
            // After the crash, effects that were running beside it must not be heard of either.
            if signal.is_raised() || self.take(&signal.function, effect) {
                signal.raised.send_replace(true);
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoke::{Function, Handler, InvokeError};
    use futures_util::{StreamExt, stream::FuturesUnordered};
    use platform::Clock;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A handler of two effects, "claim" then "call", that counts what it performed and what it heard of.
    fn function(name: &str, crashes: &Crashes, performed: &Arc<AtomicU32>) -> Function {
        let (crashes, performed) = (crashes.clone(), performed.clone());
        let handler: Handler = Arc::new(move |_, _| {
            let (crashes, performed) = (crashes.clone(), performed.clone());
            Box::pin(async move {
                for effect in ["claim", "call"] {
                    performed.fetch_add(1, Ordering::SeqCst);
                    let mut running = FuturesUnordered::new();
                    running.push(crashes.after(effect));
                    running.next().await;
                }
                Ok(json!("done"))
            })
        });
        Function::new(name, 60_000, Clock::system(), handler)
    }

    #[tokio::test]
    async fn stops_the_next_matching_invocation_after_the_effect_and_only_that() {
        let (crashes, performed) = (Crashes::default(), Arc::new(AtomicU32::new(0)));
        let deliver = function("deliver", &crashes, &performed);
        let relay = function("relay", &crashes, &performed);
        crashes.arm("deliver", "after_claim");
        assert_eq!(relay.invoke(Value::Null).await, Ok(json!("done")));
        assert_eq!(performed.swap(0, Ordering::SeqCst), 2);
        assert_eq!(deliver.invoke(Value::Null).await, Err(InvokeError::Crashed));
        assert_eq!(performed.swap(0, Ordering::SeqCst), 1);
        assert!(crashes.armed().is_empty());
        assert_eq!(deliver.invoke(Value::Null).await, Ok(json!("done")));
    }

    #[tokio::test]
    async fn points_that_no_effect_reaches_stay_armed() {
        let (crashes, performed) = (Crashes::default(), Arc::new(AtomicU32::new(0)));
        let deliver = function("deliver", &crashes, &performed);
        crashes.arm("deliver", "after_put");
        crashes.arm("deliver", "claim");
        assert_eq!(deliver.invoke(Value::Null).await, Ok(json!("done")));
        assert_eq!(crashes.armed().len(), 2);
    }

    #[tokio::test]
    async fn effects_beside_the_crash_are_not_heard_of() {
        let crashes = Crashes::default();
        crashes.arm("api", "after_put");
        let heard = Arc::new(AtomicU32::new(0));
        let ended = Function::front("api", 60_000, Clock::system())
            .run(|_| async {
                let after = |effect| {
                    let (crashes, heard) = (crashes.clone(), heard.clone());
                    async move {
                        crashes.after(effect).await;
                        heard.fetch_add(1, Ordering::SeqCst);
                    }
                };
                tokio::join!(after("put"), after("send"));
            })
            .await;
        assert_eq!((ended, heard.load(Ordering::SeqCst)), (Err(InvokeError::Crashed), 0));
    }

    #[tokio::test]
    async fn no_invocation_no_crash() {
        let crashes = Crashes::default();
        crashes.arm("api", "after_put");
        crashes.after("put").await;
        assert_eq!(crashes.armed().len(), 1);
    }
}
