//! Many refunds, each approved by four clients, while functions die and answers are lost: what the ledger says was paid is
//! what the refunds say, one payment each, of the amount that was approved (G7). `PAYOUTS=100` makes it quick.

use crate::support::{Answer, PAYOUTS, TestApp, eventually, first_payout, refund};
use futures_util::{StreamExt, future::join_all, stream};
use protocol::timing::Timing;
use sandbox::Outcome;
use serde_json::json;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Refunds, unless `PAYOUTS` says otherwise.
const REFUNDS: u64 = 1_000;
const CLIENTS: usize = 4;
/// Longer than the provider's key lives, in seconds.
const TWENTY_FIVE_HOURS: u64 = 90_000;
const AT_ONCE: usize = 16;
/// Copies that an invocation takes at most (template.yaml, BatchSize).
const BATCH: usize = 10;
/// Real time for the whole test on a busy machine, for each refund; on an idle one it takes a tenth.
const LIMIT_EACH: Duration = Duration::from_secs(1);
/// The short durations, with production's limits for what a busy machine makes slow; a call that hangs takes two seconds.
const PATIENT: Timing = Timing {
    token: Timing::PRODUCTION.token,
    record: Timing::PRODUCTION.record,
    margin: Timing::PRODUCTION.margin,
    function: Timing::PRODUCTION.function,
    lease: Timing::PRODUCTION.lease,
    visibility: Timing::PRODUCTION.visibility,
    ..Timing::SHORT
};

fn payment(n: u64) -> String {
    format!("pi_crowd_{n}")
}

/// What goes wrong with the first calls, for three refunds of four. What is paid and answered with an error is so for as long
/// as the key lives, so that only a listing tells; and what is pending, only the provider's later word.
fn fault(n: u64) -> Option<Vec<Outcome>> {
    let answer = |status, reason: Option<&str>| Outcome::Answer {
        status,
        reason: reason.map(str::to_owned),
        retry_after: None,
        timestamp: None,
    };
    Some(match n % 12 {
        0 => vec![Outcome::DropAfterAccept],
        1 => vec![Outcome::DropAfterAccept, Outcome::DropAfterAccept],
        2 => vec![Outcome::Reset],
        3 => vec![Outcome::GoawayAfterAccept],
        4 => vec![Outcome::RefusedStream],
        5 => vec![answer(429, None), Outcome::DropAfterAccept],
        6 => vec![answer(409, Some("idempotency_key_in_use"))],
        7 if n % 10 == 7 => vec![Outcome::HangAfterAccept],
        8 => vec![Outcome::ErrorAfterAccept],
        9 => vec![Outcome::Pending],
        _ => return None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_that_four_clients_approve_are_paid_once_each_whatever_fails() {
    let refunds = std::env::var("PAYOUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(REFUNDS);
    let begun = Instant::now();
    let limit = LIMIT_EACH * u32::try_from(refunds).unwrap();
    tokio::time::timeout(limit, crowd(refunds)).await.expect("too slow");
    println!(
        "{refunds} refunds, approved by {CLIENTS} clients each, with faults: {:.0} s",
        begun.elapsed().as_secs_f64()
    );
}

async fn crowd(count: u64) {
    let app = TestApp::start_with(PATIENT).await;
    app.control(&json!({"copies": "twice"}));
    for n in 0..count {
        if let Some(outcomes) = fault(n) {
            app.system.sandbox().script(&payment(n), outcomes).unwrap();
        }
    }
    for point in ["after_stamp", "after_call", "after_record", "after_read"] {
        for _ in 0..3 {
            app.crash("payout", point);
        }
    }
    for _ in 0..10 {
        app.crash("refunds", "after_decide");
    }
    app.crash("relay", "after_send");
    let refunds: BTreeMap<u64, String> =
        stream::iter(0..count).map(|n| approved(&app, n)).buffer_unordered(AT_ONCE).collect().await;
    // Copies of functions that died are hidden until their time is over.
    let mut open: Vec<u64> = refunds.keys().copied().collect();
    while !open.is_empty() {
        worked_on(&app).await;
        let mut left = Vec::new();
        for n in open {
            if app.stored_refund(&refunds[&n]).await.payout.is_none_or(|payout| payout.state.is_open()) {
                left.push(n);
            }
        }
        open = left;
        for n in open.iter().filter(|n| fault(**n) == Some(vec![Outcome::Pending])) {
            decides(&app, &payment(*n)).await;
        }
        // Those that are answered with an error wait for the end of their keys, which must not come before the others'.
        let errors = open.iter().all(|n| fault(*n) == Some(vec![Outcome::ErrorAfterAccept]));
        app.advance(if errors { TWENTY_FIVE_HOURS } else { Timing::PRODUCTION.visibility / 1_000 + 1 });
        app.control(&json!({"payout": "resume"}));
    }
    app.control(&json!({"copies": "once"}));

    let mut paid: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for call in app.system.sandbox().ledger(None).into_iter().filter(|call| call.accepted) {
        let of = (call.idempotency_key.unwrap(), call.amount.unwrap());
        paid.entry(call.token.unwrap()).or_default().push(of);
    }
    let says = |n: &u64, id: &String| (payment(*n), vec![(first_payout(id), 1_000 + n)]);
    let expected: BTreeMap<_, _> = refunds.iter().map(|(n, id)| says(n, id)).collect();
    assert_eq!(paid, expected);
    for id in refunds.values() {
        let stored = app.stored_refund(id).await;
        assert_eq!(stored.payout.unwrap().state, protocol::refund::payout::State::Paid, "{id}");
    }
    assert!(app.system.control().armed().iter().all(|(function, _)| function == "relay"), "every crash happened");
    app.stop().await;
}

/// Lets about as many copies be worked on as wait now, or all until none waits; then nobody works. What waits for the end of its
/// key or for the provider's word comes back every few seconds, and on a slow machine the queue is never empty for it.
async fn worked_on(app: &TestApp) {
    let control = app.system.control();
    let (begun, waiting) = (control.invocations("payout"), app.queues.counts(PAYOUTS).await.visible);
    for more in 1..=waiting.div_ceil(BATCH) as u64 {
        let none_waits = eventually("a payout is worked on, or none waits", async || {
            if control.invocations("payout") >= begun + more {
                return Some(false);
            }
            let visible = app.queues.counts(PAYOUTS).await.visible;
            (visible == 0 && !control.is_busy("payout")).then_some(true)
        });
        if none_waits.await {
            break;
        }
    }
    app.payouts_stop().await;
}

/// The provider decides about a payment that it has, and says so.
async fn decides(app: &TestApp, payment: &str) {
    // It may not have it yet: its copy is hidden.
    if let Ok(event) = app.system.sandbox().settle(payment, "succeeded", None) {
        told(async || app.webhook("acme", &event.signature, &event.body).await).await.expect(200);
    }
}

/// As the contract tells callers: after a 502 or 503 the same request.
async fn told(ask: impl AsyncFn() -> Answer) -> Answer {
    loop {
        let answer = ask().await;
        if ![502, 503].contains(&answer.status.as_u16()) {
            return answer;
        }
    }
}

/// Creates a refund and lets four clients approve it at once, each as often as it takes to be told.
async fn approved(app: &TestApp, n: u64) -> (u64, String) {
    let mut body = refund(&format!("crowd-{n}"), &payment(n));
    body["amount"] = json!(1_000 + n);
    let created = told(async || app.post_to("/v1/refunds", "acme", &body).await).await;
    // 200 where the first answer was lost, and a busy machine loses some.
    assert!([200, 201].contains(&created.status.as_u16()), "{}", created.text);
    let id = created.id();
    let clients = ["acme", "acme_second"].into_iter().cycle().take(CLIENTS);
    let (app, id) = (&app, &id);
    let asked = clients.map(async |key| told(async || app.decide(key, id, "approve").await).await.expect(200).body);
    let told = join_all(asked).await;
    let decided =
        |body: &serde_json::Value| (body["payout_id"].clone(), body["decided_by"].clone(), body["decided_at"].clone());
    assert!(told.iter().all(|body| decided(body) == decided(&told[0])), "{told:?}");
    assert!(told.iter().filter(|body| body["result"] == "approved").count() <= 1, "{told:?}");
    (n, id.clone())
}
