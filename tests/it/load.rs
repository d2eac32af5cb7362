//! Many sends from many callers: every device is called exactly once, and the figures are printed.

use crate::support::{TestApp, push, tokens};
use futures_util::{StreamExt, stream};
use protocol::timing::Timing;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::time::Instant;

const SENDS: usize = 2_000;
const AT_ONCE: usize = 16;
/// The short durations, but production's limits for everything that a busy machine makes slow. With a second for each
/// write, a machine that is busy enough loses records, and a lost record may cost a second call, as the design says.
pub(crate) const PATIENT: Timing = Timing {
    token: Timing::PRODUCTION.token,
    call: Timing::PRODUCTION.call,
    record: Timing::PRODUCTION.record,
    margin: Timing::PRODUCTION.margin,
    function: Timing::PRODUCTION.function,
    lease: Timing::PRODUCTION.lease,
    visibility: Timing::PRODUCTION.visibility,
    ..Timing::SHORT
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_sends_call_every_device_once() {
    let app = TestApp::start_with(PATIENT).await;
    let devices = tokens("load", SENDS);
    let asked_again = AtomicUsize::new(0);
    let begun = Instant::now();
    stream::iter(&devices)
        .for_each_concurrent(AT_ONCE, |token| {
            let (app, asked_again) = (&app, &asked_again);
            async move {
                let body = push(token, token).to_string();
                // As the contract tells callers: after a 503 the same request with the same key.
                loop {
                    let answer = app.post("acme", &[], body.clone()).await;
                    if answer.status != 503 {
                        answer.expect(202);
                        return;
                    }
                    asked_again.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
        .await;
    let sent = begun.elapsed().as_secs_f64();
    app.queues_empty().await;
    let delivered = begun.elapsed().as_secs_f64();
    app.drained().await;

    let mut calls: HashMap<String, usize> = HashMap::new();
    for entry in app.system.sandbox().ledger(None) {
        *calls.entry(entry.token.unwrap()).or_default() += 1;
    }
    for token in &devices {
        if calls.get(token) != Some(&1) {
            let message = app.get(&format!("/v1/messages?idempotency_key={token}"), 200).await.text;
            panic!("{token} was not called once: {:#?}\n{message}", app.calls(token));
        }
    }
    for token in devices.iter().step_by(200) {
        assert_eq!(app.get(&format!("/v1/messages?idempotency_key={token}"), 200).await.body["status"], "sent");
    }
    let rate = |seconds: f64| f64::from(u32::try_from(SENDS).unwrap()) / seconds;
    println!(
        "{SENDS} sends, {AT_ONCE} at a time: {:.0} sends/s, {:.0} deliveries/s, {} answered 503 and asked again",
        rate(sent),
        rate(delivered),
        asked_again.into_inner()
    );
    app.stop().await;
}
