//! The audit: what was purged and deleted by hand is found, counted and sent; what is well is left alone (G4).
//!
//! It is the net below everything else, so each story takes away by hand what nothing else may lose.

use crate::{
    process::built,
    support::{DEAD, DELIVERIES, Gate, PAYOUTS, Table, TestApp, eventually, push, push_to, tokens},
};
use ::audit::{Audit, EXIT_FAILED, EXIT_FOUND, EXIT_NOTHING_FOUND};
use ::http::Method;
use futures_util::future::BoxFuture;
use platform::{Boundary, NoBoundary};
use protocol::{
    audit::{INVOCATION_MAX, PAGE_RESERVE},
    machine::audit::{Asked, EFFECTS, Ended, Report},
    timing::Timing,
};
use queue::Queue;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{process::Command, sync::watch};

/// Longer than grace, window and visibility timeout, and than a lease and a visibility timeout, in seconds.
const OLD: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;

/// A system whose consumers and relay rest; nothing but the audit can enqueue anything.
async fn resting() -> TestApp {
    let app = TestApp::start().await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    app
}

fn wake(app: &TestApp) {
    app.control(&json!({"deliver": "resume", "relay": "resume", "dead_letter": "resume"}));
}

/// Takes every copy away, wherever it is.
async fn purge(app: &TestApp) {
    for queue in [DELIVERIES, DEAD] {
        app.queues.client.purge_queue().queue_url(app.queues.url(queue).await).send().await.unwrap();
        assert_eq!(app.queues.left(queue).await, 0);
    }
}

/// POST /control {"audit": "run"}: the report.
async fn run(app: &TestApp) -> Value {
    let url = format!("{}/control", app.system.ready().sandbox);
    app.http.send(&Method::POST, &url, &[], json!({"audit": "run"}).to_string()).await.expect(200).body
}

/// The counts by reason, in the order no_delivery_item, stuck_in_flight, stuck_retry, of a whole audit without faults.
#[track_caller]
fn enqueued(report: &Value) -> [u64; 3] {
    assert_eq!((&report["finished"], &report["not_repaired"]), (&json!(true), &json!(0)), "{report}");
    ["no_delivery_item", "stuck_in_flight", "stuck_retry"].map(|reason| report["enqueued"][reason].as_u64().unwrap())
}

/// An instance of its own, with pages of this size.
async fn instance(app: &TestApp, page_items: u32, boundary: Arc<dyn Boundary>) -> Audit {
    let deliveries = Queue::new(app.queues.client.clone(), app.queues.url(DELIVERIES).await);
    let payouts = Queue::new(app.queues.client.clone(), app.queues.url(PAYOUTS).await);
    let (store, clock) = (app.system.store().clone(), app.system.clock().clone());
    Audit { page_items, ..Audit::new(store, deliveries, payouts, clock, Timing::SHORT, boundary) }
}

/// Holds an invocation for ever after the nth time of an effect, and says so: where a process is killed.
#[derive(Debug)]
struct Kill {
    after: &'static str,
    left: AtomicUsize,
    there: watch::Sender<bool>,
}

impl Kill {
    fn after(effect: &'static str, times: usize) -> Arc<Self> {
        Arc::new(Self { after: effect, left: AtomicUsize::new(times), there: watch::Sender::new(false) })
    }

    /// Runs an invocation up to that point and drops it there.
    async fn kills(&self, audit: &Audit, asked: Asked) {
        let mut there = self.there.subscribe();
        tokio::select! {
            report = audit.run(asked, None) => panic!("it came to its end: {report:?}"),
            reached = there.wait_for(|there| *there) => assert!(reached.is_ok()),
        }
    }
}

impl Boundary for Kill {
    fn after<'a>(&'a self, effect: &'static str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if effect == self.after && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.there.send_replace(true);
                std::future::pending::<()>().await;
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_all_is_well_nothing_is_found() {
    let app = TestApp::start().await;
    let devices = tokens("well", 25);
    let sent = app.queued(&push_to("well", &devices)).await;
    app.script("device-of-unwell", &json!([{"status": 404, "reason": "UNREGISTERED"}])).await;
    let failed = app.queued(&push("unwell", "device-of-unwell")).await;
    app.reaches(&sent, "sent").await;
    app.reaches(&failed, "failed").await;
    app.drained().await;
    app.advance(OLD);
    let report = run(&app).await;
    assert_eq!(enqueued(&report), [0, 0, 0]);
    // These two, and the one that drained; their four delivery items and whatever else there is are read too.
    assert_eq!(report["messages"], 3);
    assert!(report["scanned"].as_u64().unwrap() >= 7, "{report}");
    assert_eq!(app.queues.left(DELIVERIES).await, 0);
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_were_purged_before_any_claim_are_enqueued_again_and_sent_once() {
    let app = resting().await;
    let devices = tokens("purged", 45);
    let id = app.queued(&push_to("purged", &devices)).await;
    purge(&app).await;
    app.advance(OLD);
    assert_eq!(enqueued(&run(&app).await), [3, 0, 0]);
    assert_eq!(app.queues.left(DELIVERIES).await, 3);
    wake(&app);
    let message = app.reaches(&id, "sent").await;
    assert_eq!(message["counts"]["sent"], 45);
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    assert_eq!(enqueued(&run(&app).await), [0, 0, 0]);
    app.stop().await;
}

/// It is none for whoever delivers, and must not keep an audit from all that stands behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_cannot_be_read_holds_nothing_up() {
    let app = resting().await;
    let devices = tokens("spoilt", 21);
    let id = app.queued(&push_to("spoilt", &devices)).await;
    Table::of(&app).await.spoil_hold("acme", "fcm").await;
    purge(&app).await;
    app.advance(OLD);
    assert_eq!(enqueued(&run(&app).await), [2, 0, 0]);
    wake(&app);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

/// What was purged after its deadline is not sent, but ends in the table as it reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purged_message_past_its_deadline_is_settled() {
    let app = resting().await;
    let mut body = push("purged-late", "device-of-purged-late");
    body["ttl_seconds"] = json!(120);
    let id = app.queued(&body).await;
    purge(&app).await;
    app.advance(200);
    assert_eq!(app.message(&id).await["status"], "expired", "by the clock alone");
    assert_eq!(enqueued(&run(&app).await), [1, 0, 0]);
    wake(&app);
    app.drained().await;
    let table = Table::of(&app).await;
    assert_eq!(table.delivery_state(&id, 0).await.as_deref(), Some("D"));
    assert_eq!(app.message(&id).await["status"], "expired");
    assert!(app.calls("device-of-purged-late").is_empty());
    app.stop().await;
}

/// The delivery item was all that told a device that was called from one that was not. Nothing else is possible than to
/// send again; at_most_once holds only as long as nobody deletes items.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_delivery_item_was_deleted_after_it_was_sent_is_sent_again() {
    let app = TestApp::start().await;
    let id = app.queued(&push("forgotten", "device-of-forgotten")).await;
    let other = app.queued(&push("remembered", "device-of-remembered")).await;
    app.reaches(&id, "sent").await;
    app.reaches(&other, "sent").await;
    app.drained().await;
    Table::of(&app).await.delete_delivery(&id, 0).await;
    assert_eq!(app.message(&id).await["status"], "queued");
    app.advance(OLD);
    assert_eq!(enqueued(&run(&app).await), [1, 0, 0]);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!((app.calls("device-of-forgotten").len(), app.calls("device-of-remembered").len()), (2, 1));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_consumer_and_copy_are_gone_is_taken_up_again() {
    let app = resting().await;
    let id = app.queued(&push("in-flight", "device-of-in-flight")).await;
    app.crash("deliver", "after_claim");
    app.control(&json!({"deliver": "resume"}));
    app.crashed().await;
    app.control(&json!({"deliver": "pause"}));
    purge(&app).await;
    let table = Table::of(&app).await;
    assert_eq!(table.delivery_state(&id, 0).await.as_deref(), Some("I"));
    // The lease is over, but a copy might still come back.
    app.advance(40);
    assert_eq!(enqueued(&run(&app).await), [0, 0, 0]);
    app.advance(20);
    assert_eq!(enqueued(&run(&app).await), [0, 1, 0]);
    wake(&app);
    let message = app.reaches(&id, "sent").await;
    assert_eq!(message["deliveries"][0]["attempts"], 2, "the crash may have come after a call");
    app.drained().await;
    assert_eq!(app.calls("device-of-in-flight").len(), 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_whose_copy_is_gone_is_taken_up_again() {
    let app = TestApp::start().await;
    app.control(&json!({"relay": "pause"}));
    app.script("device-of-retry", &json!([{"status": 429, "retry_after": 30}])).await;
    let id = app.queued(&push("retry", "device-of-retry")).await;
    app.called("device-of-retry", 1).await;
    app.only_a_successor_waits().await;
    app.control(&json!({"deliver": "pause"}));
    purge(&app).await;
    let table = Table::of(&app).await;
    assert_eq!(table.delivery_state(&id, 0).await.as_deref(), Some("R"));
    // 30 s of waiting and 48 s of visibility, from a few moments ago.
    app.advance(50);
    assert_eq!(enqueued(&run(&app).await), [0, 0, 0]);
    app.advance(40);
    assert_eq!(enqueued(&run(&app).await), [0, 0, 1]);
    wake(&app);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-retry").len(), 2);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_too_young_or_too_old_is_left_alone() {
    let app = resting().await;
    // The schedule's own audits would come in between.
    app.control(&json!({"audit": "pause"}));
    let mut body = push("aging", "device-of-aging");
    body["ttl_seconds"] = json!(HOUR);
    app.queued(&body).await;
    purge(&app).await;
    // Grace, window and visibility timeout are 51 s; the message ages by real time too.
    app.advance(30);
    let report = run(&app).await;
    assert_eq!((enqueued(&report), &report["messages"]), ([0, 0, 0], &json!(0)));
    app.advance(OLD);
    assert_eq!(enqueued(&run(&app).await), [1, 0, 0]);
    purge(&app).await;
    app.advance(HOUR + DAY - 200);
    assert_eq!(enqueued(&run(&app).await), [1, 0, 0], "still within a day of its deadline");
    purge(&app).await;
    app.advance(200);
    let report = run(&app).await;
    assert_eq!((enqueued(&report), &report["messages"]), ([0, 0, 0], &json!(0)));
    assert_eq!(app.queues.left(DELIVERIES).await, 0);
    app.stop().await;
}

/// Copies that only wait are not seen by the audit. It adds one to each chunk and doubles nothing, and a chunk is still
/// called for once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_gains_one_copy_per_pass_and_is_sent_once() {
    let app = resting().await;
    let devices = tokens("backlog", 12);
    for token in &devices {
        app.queued(&push(token, token)).await;
    }
    app.advance(OLD);
    for pass in 1..=3 {
        assert_eq!(enqueued(&run(&app).await), [12, 0, 0]);
        assert_eq!(app.queues.left(DELIVERIES).await, 12 * (1 + pass));
    }
    wake(&app);
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

/// Dies after `effect`; the schedule's next invocation goes on, without anybody's hand.
async fn dies_after(effect: &str) {
    let app = resting().await;
    let devices = tokens(&format!("audit-{effect}"), 3);
    let mut ids = Vec::new();
    for token in &devices {
        ids.push(app.queued(&push(token, token)).await);
    }
    purge(&app).await;
    app.advance(OLD);
    app.crash("audit", &format!("after_{effect}"));
    let url = format!("{}/control", app.system.ready().sandbox);
    let answer = app.http.send(&Method::POST, &url, &[], json!({"audit": "run"}).to_string()).await.expect(502);
    assert!(answer.text.contains("crashed"), "{}", answer.text);
    // The copies of the page in hand, if it came so far, are sent once more: one page at most is repeated.
    let before = app.queues.left(DELIVERIES).await;
    assert_eq!(before, if effect == "send" { 3 } else { 0 });
    app.advance(HOUR);
    eventually("the next invocation goes on", async || (app.queues.left(DELIVERIES).await == before + 3).then_some(()))
        .await;
    wake(&app);
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    assert!(devices.iter().all(|token| app.calls(token).len() == 1));
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_that_dies_anywhere_is_gone_on_with() {
    for effect in EFFECTS {
        dies_after(effect).await;
    }
}

/// The schedule begins a pass a day, and nothing more until the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_later_it_runs_by_itself() {
    let app = resting().await;
    let mut body = push("daily", "device-of-daily");
    body["ttl_seconds"] = json!(3 * DAY);
    let id = app.queued(&body).await;
    purge(&app).await;
    app.advance(DAY);
    eventually("the audit enqueues", async || (app.queues.left(DELIVERIES).await == 1).then_some(())).await;
    // Its pass is finished once it says so; until then the next is not due, but for another reason.
    let other = instance(&app, 500, Arc::new(NoBoundary)).await;
    eventually("the day's pass is over", async || {
        let report = other.run(Asked::Due, None).await.unwrap();
        assert_eq!(report.enqueued(), 0);
        (report.ended == Ended::NotDue).then_some(())
    })
    .await;
    app.advance(DAY);
    eventually("the next day too", async || (app.queues.left(DELIVERIES).await == 2).then_some(())).await;
    wake(&app);
    app.reaches(&id, "sent").await;
    app.drained().await;
    assert_eq!(app.calls("device-of-daily").len(), 1);
    app.stop().await;
}

/// Five messages that were sent, each of three items, and one delivery item of each deleted.
async fn five_with_a_gap(app: &TestApp, name: &str) -> Vec<String> {
    let table = Table::of(app).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let name = format!("{name}-{number}");
        ids.push(app.queued(&push_to(&name, &tokens(&name, 21))).await);
    }
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    app.control(&json!({"deliver": "pause"}));
    for id in &ids {
        table.delete_delivery(id, 1).await;
    }
    app.advance(OLD);
    ids
}

/// However pages split the messages, each gap is found once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_end_in_the_middle_of_a_message_find_each_gap_once() {
    let app = TestApp::start().await;
    five_with_a_gap(&app, "split").await;
    for (pass, page_items) in [1, 2, 3, 7].into_iter().enumerate() {
        let report = instance(&app, page_items, Arc::new(NoBoundary)).await.run(Asked::Now, None).await.unwrap();
        // The sixth message is the one that drained.
        assert_eq!((report.no_delivery_item, report.enqueued(), report.messages), (5, 5, 6), "pages of {page_items}");
        assert_eq!((report.ended, app.queues.left(DELIVERIES).await), (Ended::Finished, 5 * (pass + 1)));
    }
    app.stop().await;
}

/// Killed in the middle of its pages, again and again: whoever goes on begins at the page that was not passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_of_many_pages_survives_being_killed_again_and_again() {
    let app = TestApp::start().await;
    app.control(&json!({"audit": "pause"}));
    let ids = five_with_a_gap(&app, "killed").await;
    let mut asked = Asked::Now;
    // Behind a page that was passed, in the middle of one, and after sending what was not passed yet.
    for (effect, times) in [("save", 4), ("scan", 3), ("look", 1), ("send", 1)] {
        let kill = Kill::after(effect, times);
        kill.kills(&instance(&app, 2, kill.clone()).await, asked).await;
        asked = Asked::Due;
        app.advance(INVOCATION_MAX / 1_000);
    }
    let rest: Report = instance(&app, 2, Arc::new(NoBoundary)).await.run(Asked::Due, None).await.unwrap();
    assert_eq!(rest.ended, Ended::Finished);
    // Two items hold one gap at most, so one page that is repeated is one copy too many.
    assert_eq!(app.queues.left(DELIVERIES).await, 6);
    let whole = instance(&app, 2, Arc::new(NoBoundary)).await.run(Asked::Now, None).await.unwrap();
    assert!(rest.scanned < whole.scanned && rest.messages < whole.messages, "{rest:?} of {whole:?}");
    wake(&app);
    for id in &ids {
        app.reaches(id, "sent").await;
    }
    app.drained().await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invocation_without_time_leaves_the_pass_to_the_next() {
    let app = resting().await;
    app.queued(&push("no-time", "device-of-no-time")).await;
    purge(&app).await;
    app.advance(OLD);
    let audit = instance(&app, 500, Arc::new(NoBoundary)).await;
    let report = audit.handle(&json!({"run": "now"}), app.system.clock().now_ms() + PAGE_RESERVE).await.unwrap();
    assert_eq!((&report["finished"], &report["ended"]), (&json!(false), &json!("out_of_time")));
    assert_eq!((&report["scanned"], app.queues.left(DELIVERIES).await), (&json!(0), 0));
    let due = async || audit.handle(&json!({}), u64::MAX).await.unwrap();
    assert_eq!(due().await["ended"], "elsewhere", "it might still be at it");
    app.advance(INVOCATION_MAX / 1_000);
    assert_eq!(enqueued(&due().await), [1, 0, 0]);
    assert_eq!(due().await["ended"], "not_due");
    app.stop().await;
}

/// Two at once: the one that began later takes the pass, the other stops where it stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_audits_that_meet_one_stops() {
    let app = resting().await;
    app.queued(&push("meeting", "device-of-meeting")).await;
    purge(&app).await;
    app.advance(OLD);
    let gate = Gate::after("scan");
    let (first, second) = (instance(&app, 1, gate.clone()).await, instance(&app, 1, Arc::new(NoBoundary)).await);
    let meanwhile = async {
        gate.holds().await;
        let report = second.run(Asked::Now, None).await.unwrap();
        assert_eq!((report.ended, report.no_delivery_item), (Ended::Finished, 1));
        gate.open();
    };
    let (report, ()) = tokio::join!(first.run(Asked::Now, None), meanwhile);
    assert_eq!(report.unwrap().ended, Ended::Elsewhere);
    app.stop().await;
}

/// The command, as a process with the settings in its environment: its one line on stdout and its exit code. Its clock is
/// the machine's own.
async fn command(program: &Path, app: &TestApp, url: &str) -> (Option<i32>, Value) {
    let ready = app.system.ready();
    let mut command = Command::new(program);
    command.env_remove("AWS_LAMBDA_RUNTIME_API").env("RUST_LOG", "off").env("TIMING", "short");
    command.env("AWS_REGION", "us-east-1").env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local");
    command.env("AWS_ENDPOINT_URL_DYNAMODB", url).env("AWS_ENDPOINT_URL_SQS", &ready.sqs);
    command.env("TABLE_NAME", &app.table).env("DELIVERIES_QUEUE_URL", app.queues.url(DELIVERIES).await);
    command.env("PAYOUTS_QUEUE_URL", app.queues.url(PAYOUTS).await);
    let output = command.output().await.unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    (output.status.code(), serde_json::from_str(&line).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_says_by_its_exit_code_what_it_did() {
    let program = tokio::task::spawn_blocking(|| built("audit")).await.unwrap();
    let app = resting().await;
    let url = &app.system.ready().dynamodb;
    let (code, report) = command(&program, &app, url).await;
    assert_eq!((code, enqueued(&report)), (Some(i32::from(EXIT_NOTHING_FOUND)), [0, 0, 0]));
    // Accepted an hour ago, by the clock of the machine: the system's own only goes forward.
    let id = app.queued(&push("command", "device-of-command")).await;
    purge(&app).await;
    Table::of(&app).await.accepted_earlier(&id, HOUR * 1_000).await;
    let (code, report) = command(&program, &app, url).await;
    assert_eq!((code, enqueued(&report)), (Some(i32::from(EXIT_FOUND)), [1, 0, 0]));
    assert_eq!(app.queues.left(DELIVERIES).await, 1);
    // Nobody answers there.
    let (code, report) = command(&program, &app, "http://127.0.0.1:9").await;
    assert_eq!((code, &report["ended"]), (Some(i32::from(EXIT_FAILED)), &json!("failed")));
    wake(&app);
    app.reaches(&id, "sent").await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_says_what_an_audit_can_be_told() {
    let app = TestApp::start().await;
    let url = format!("{}/control", app.system.ready().sandbox);
    let order = async |order: Value| app.http.send(&Method::POST, &url, &[], order.to_string()).await;
    for good in [json!({"audit": "pause"}), json!({"audit": "resume"})] {
        order(good).await.expect(204);
    }
    for (bad, said) in [
        (json!({"audit": "stop"}), "/audit: give run, pause or resume"),
        (json!({"audit": "run", "inline_send": "maybe"}), "/inline_send"),
        (json!({"crash": "audit", "at": "after_put"}), "read, save, scan, look, send"),
    ] {
        let answer = order(bad).await.expect(400);
        assert!(answer.text.contains(said), "{}", answer.text);
    }
    assert_eq!(order(json!({"audit": "run", "advance_seconds": 5})).await.expect(200).body["ended"], "finished");
    app.stop().await;
}
