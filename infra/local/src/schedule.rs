//! A schedule of EventBridge: invokes a function every so often of the local clock.
//!
//! Called by the local system for the audit. As in AWS, an invocation that fails is not made up for here: the function
//! itself goes on with what is left at the next one. A clock that is moved far costs one invocation, not many.

use crate::{
    invoke::Function,
    pollers::{Stop, stopped},
};
use platform::Clock;
use serde_json::json;

/// Invokes `function` every `every_ms` until pollers are to stop, not while it is paused.
pub(crate) async fn run(function: Function, every_ms: u64, clock: Clock, stop: Stop) {
    let mut next = clock.now_ms().saturating_add(every_ms);
    loop {
        let due = async {
            clock.sleep_until(next).await;
            function.running().await;
        };
        tokio::select! {
            biased;
            () = stopped(&stop) => return,
            () = due => {}
        }
        // Counted from here, so that time which passes while the function runs is not lost.
        next = clock.now_ms().saturating_add(every_ms);
        if let Err(error) = function.invoke(json!({"detail-type": "Scheduled Event"})).await {
            tracing::warn!(function = function.name(), error = %error, "a scheduled invocation failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invoke::Handler;
    use serde_json::Value;
    use std::{sync::Arc, time::Duration};
    use tokio::sync::{mpsc, watch};

    #[tokio::test]
    async fn it_comes_by_the_local_clock_and_not_while_paused_and_ends() {
        let clock = Clock::system();
        let (invoked, mut invocations) = mpsc::unbounded_channel();
        let handler: Handler = Arc::new(move |event: Value, _| {
            invoked.send(event).unwrap();
            // The schedule outlives a failure.
            Box::pin(async { Err("no".to_owned()) })
        });
        let function = Function::new("audit", 60_000, clock.clone(), handler);
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(run(function.clone(), 3_600_000, clock.clone(), stopping));
        tokio::task::yield_now().await;
        for _ in 0..3 {
            assert!(invocations.try_recv().is_err(), "not before its time");
            clock.advance(Duration::from_secs(86_400));
            assert!(invocations.recv().await.unwrap()["run"].is_null());
            // The next wait has begun once the invocation is over and this task comes round again.
            tokio::task::yield_now().await;
        }
        function.pause();
        clock.advance(Duration::from_secs(86_400));
        tokio::task::yield_now().await;
        assert!(invocations.try_recv().is_err());
        function.resume();
        invocations.recv().await.unwrap();
        stop.send_replace(true);
        task.await.unwrap();
    }
}
