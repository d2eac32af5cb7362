//! Schedule 25: a refund that several people decide at once, while answers are lost, functions die, and the provider pays
//! without saying so (G7).

use crate::setup;
use aws_sdk_dynamodb::types::AttributeValue;
use fault::{Action, Rule, World, canaries::states_told, proxy::Failure, wait::eventually};
use futures_util::future::join_all;
use http::Method;
use protocol::machine::{decide_refund, payout::EFFECTS};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Longer than the provider's key lives, in ms.
const TWENTY_FIVE_HOURS: u64 = 90_000_000;

fn first_payout(id: &str) -> String {
    format!("payout_{id}_1")
}

/// The part of a refund's id that is in its item's key.
fn item(id: &str) -> &str {
    &id[3..35]
}

/// The end: paid once, of the amount that was approved, under the payout's id.
async fn paid_once(world: &World, id: &str, payment: &str, what: &str) {
    world.payout_becomes(id, "paid").await;
    world.drained().await;
    assert_eq!(world.paid(payment), [(first_payout(id), 1_250)], "{what}");
    assert_eq!(world.refund(id).await["payout"]["status"], "paid", "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_of_two_approvers_and_a_rejecter_whose_answers_are_lost_one_decides() {
    let world = World::start(setup().processes("refunds", 3)).await;
    let mut met = BTreeSet::new();
    for round in 0..6 {
        let payment = format!("pi_s25_{round}");
        let id = world.asked_back(&format!("s25-{round}"), &payment).await;
        let asked = [("acme", "reject"), ("acme", "approve"), ("acme_second", "approve")];
        let lost_answers = || Rule::new("UpdateItem", Action::DropResponse).key(item(&id)).times(2);
        let answers = match round {
            // The rejecter is the first. Two answers are lost each time: the SDK tries three times, and one may meet both.
            0 => {
                let lost = world.rule(lost_answers());
                let first = world.decide(asked[0].0, &id, asked[0].1).await;
                lost.hit_times(2).await;
                let lost = world.rule(lost_answers());
                let others = join_all(asked[1..].iter().map(|(key, what)| world.decide(key, &id, what))).await;
                lost.hit_times(2).await;
                [vec![first], others].concat()
            }
            1 => {
                let lost = world.rule(lost_answers());
                let answers = join_all(asked.map(|(key, what)| world.decide(key, &id, what))).await;
                lost.hit_times(2).await;
                answers
            }
            // All three stand at the table before one of them is let in; then each of them loses its answer, too.
            _ => {
                let let_in = if round < 4 { Action::Hold } else { Action::HoldDropResponse };
                let barrier = world.rule(Rule::new("UpdateItem", let_in).key(item(&id)).times(3));
                let opens = async {
                    barrier.hit_times(3).await;
                    barrier.release();
                };
                tokio::join!(join_all(asked.map(|(key, what)| world.decide(key, &id, what))), opens).0
            }
        };
        let refund = world.refund(&id).await;
        let decided = |answer: &Value| (answer["decided_by"].clone(), answer["decided_at"].clone());
        let approved = refund["status"] == "approved";
        for ((_, what), answer) in asked.iter().zip(&answers) {
            let same = (*what == "approve") == approved;
            assert_eq!(answer.status.as_u16(), if same { 200 } else { 409 }, "{what}: {}", answer.body);
            assert_eq!(decided(&answer.body), decided(&refund), "all are told who decided, and when");
            if same && approved {
                assert_eq!(answer.body["payout_id"], first_payout(&id));
            }
        }
        let won =
            answers.iter().filter(|answer| ["approved", "rejected"].map(Value::from).contains(&answer.body["result"]));
        assert_eq!(won.count(), 1, "the one that decided knows it, though its answer was lost");
        met.insert(approved);
        if approved {
            paid_once(&world, &id, &payment, "approved").await;
        } else {
            world.drained().await;
            assert!(world.calls(&payment).is_empty(), "nothing is paid that was not approved");
        }
    }
    assert!(met.contains(&false), "a rejection won at least once");
    world.stop().await;
}

/// What is paid was frozen at the approval, whatever becomes of the refund's own amount.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_an_amount_that_is_edited_after_the_approval_is_not_what_is_paid() {
    let world = World::start(setup()).await;
    world.control(&json!({"payout": "pause"}));
    let id = world.asked_back("edited", "pi_edited").await;
    world.decide("acme", &id, "approve").await.expect(200);
    let text = |text: String| AttributeValue::S(text);
    let client = world.table().await;
    #[expect(clippy::disallowed_methods, reason = "a hand that is not ours edits an item")]
    let edit = client.update_item().table_name("sendonce");
    let edit = edit.key("pk", text(format!("R#{}", item(&id)))).key("sk", text("R".to_owned()));
    let edit = edit.update_expression("SET #am = :am").expression_attribute_names("#am", "am");
    edit.expression_attribute_values(":am", AttributeValue::N("999999".to_owned())).send().await.unwrap();
    world.control(&json!({"payout": "resume"}));
    paid_once(&world, &id, "pi_edited", "the amount of the approval").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_an_approval_whose_enqueue_is_lost_while_the_relay_is_down_is_paid_once() {
    let world = World::start(setup()).await;
    world.control(&json!({"relay": "pause"}));
    let id = world.asked_back("down", "pi_down").await;
    let lost = world.rule(Rule::new("SendMessageBatch", Action::DropRequest).key(item(&id)).times(u32::MAX));
    world.decide("acme", &id, "approve").await.expect(200);
    lost.hit().await;
    world.pass(world.timing.grace + world.timing.window).await;
    assert!(world.calls("pi_down").is_empty(), "there is no copy");
    lost.remove();
    world.control(&json!({"relay": "resume"}));
    world.pass(world.timing.grace + world.timing.window).await;
    paid_once(&world, &id, "pi_down", "the relay is back").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_an_approval_that_dies_anywhere_is_paid_once() {
    for effect in decide_refund::EFFECTS {
        let world = World::start(setup()).await;
        let id = world.asked_back("dies", "pi_dies").await;
        world.fleet.kill_after("refunds", effect, 1);
        world.decide("acme", &id, "approve").await.expect(502);
        world.fleet.reached().await;
        let again = world.decide("acme_second", &id, "approve").await.expect(200);
        assert_eq!(again.body["result"], "already_approved");
        world.pass(world.timing.grace + world.timing.window).await;
        paid_once(&world, &id, "pi_dies", effect).await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_a_payout_that_dies_anywhere_is_paid_once() {
    for effect in EFFECTS {
        let world = World::start(setup()).await;
        if ["look", "release"].contains(&effect) {
            world.script("pi_dies", &json!(["pending"])).await;
        }
        if effect == "withdraw" {
            world.script("pi_dies", &json!([{"status": 429, "kept": false}])).await;
        }
        world.fleet.kill_after("payout", effect, 1);
        let id = world.asked_back("dies", "pi_dies").await;
        world.decide("acme", &id, "approve").await.expect(200);
        world.fleet.reached().await;
        if ["look", "release"].contains(&effect) {
            world.system.sandbox().settle("pi_dies", "succeeded", None).unwrap();
        }
        world.worn_copies_return().await;
        paid_once(&world, &id, "pi_dies", effect).await;
        assert_eq!(world.fleet.deaths(), 1, "{effect}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_every_answer_of_every_write_and_call_is_lost_once() {
    let world = World::start(setup().processes("payout", 2)).await;
    world.control(&json!({"copies": "twice"}));
    let id = world.asked_back("lost", "pi_lost").await;
    // The decision, the stamp and the record, and the call between them.
    let writes: Vec<_> =
        [1, 3, 5].map(|nth| world.rule(Rule::new("UpdateItem", Action::DropResponse).key(item(&id)).nth(nth))).into();
    let call = world.rule(Rule::new("stripe", Action::DropResponse).key("pi_lost"));
    world.decide("acme", &id, "approve").await.expect(200);
    call.hit().await;
    writes[0].hit().await;
    world.worn_copies_return().await;
    paid_once(&world, &id, "pi_lost", "lost answers").await;
    assert!(world.calls("pi_lost").len() >= 2, "it was asked again, under the same key");
    for write in &writes {
        write.hit().await;
    }
    world.stop().await;
}

/// A state is told by whoever stored it, also where the answer of the write was lost and its repeat met the item: nobody
/// else would tell that a person must look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_a_state_whose_write_lost_its_answer_is_told_all_the_same() {
    let world = World::start(setup()).await;
    let id = world.asked_back("told", "pi_told").await;
    let payout = first_payout(&id);
    let told = async |expected: &[(&str, &str)]| {
        eventually(&format!("{expected:?} is told"), async || {
            let told = states_told(&payout);
            let told: Vec<(&str, &str)> = told.iter().map(|(state, by)| (state.as_str(), by.as_str())).collect();
            assert!(told.len() <= expected.len(), "{told:?}");
            (told == expected).then_some(())
        })
        .await;
    };
    world.script("pi_told", &json!([{"status": 400, "reason": "idempotency_error"}])).await;
    // The decision, the stamp, and the record.
    let lost = world.rule(Rule::new("UpdateItem", Action::DropResponse).key(item(&id)).nth(3));
    world.decide("acme", &id, "approve").await.expect(200);
    world.payout_becomes(&id, "review").await;
    lost.hit().await;
    told(&[("review", "payout")]).await;
    world.drained().await;
    let lost = world.rule(Rule::new("UpdateItem", Action::DropResponse).key(item(&id)));
    let body = json!({"payout_id": payout, "outcome": "paid", "reference": "re_seen"}).to_string();
    let resolved =
        world.request(&Method::POST, &format!("/v1/refunds/{id}/payout/resolve"), "acme", body).await.expect(200);
    lost.hit().await;
    assert_eq!(resolved.body["result"], "resolved", "done by this request, whose first try it was");
    told(&[("review", "payout"), ("paid", "person")]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_a_payout_whose_key_is_forgotten_is_found_or_left_to_a_person() {
    for (listings, status) in [("current", "paid"), ("lag", "review")] {
        let world = World::start(setup()).await;
        world.control(&json!({"listings": listings}));
        let id = world.asked_back("forgotten", "pi_forgotten").await;
        world.fleet.kill_after("payout", "call", 1);
        world.decide("acme", &id, "approve").await.expect(200);
        world.fleet.reached().await;
        // At once, while its copy is hidden: nobody calls again while the key is alive.
        world.advance_ms(TWENTY_FIVE_HOURS).await;
        world.worn_copies_return().await;
        world.payout_becomes(&id, status).await;
        world.drained().await;
        assert_eq!(world.paid("pi_forgotten"), [(first_payout(&id), 1_250)], "{listings}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_a_call_that_arrives_after_its_caller_is_gone_pays_once() {
    let world = World::start(setup()).await;
    let id = world.asked_back("late", "pi_late").await;
    // The first call stands still on its way; its caller gives up and asks again, and is paid.
    let late = world.rule(Rule::new("stripe", Action::Hold).key("pi_late"));
    world.decide("acme", &id, "approve").await.expect(200);
    late.hit().await;
    world.worn_copies_return().await;
    world.payout_becomes(&id, "paid").await;
    late.release();
    eventually("the late call arrives", async || (world.calls("pi_late").len() >= 2).then_some(())).await;
    paid_once(&world, &id, "pi_late", "the late call is a replay").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_25_an_event_that_nobody_could_store_is_sent_again_and_counts_once() {
    let world = World::start(setup()).await;
    world.script("pi_event", &json!(["pending"])).await;
    let id = world.asked_back("event", "pi_event").await;
    world.decide("acme", &id, "approve").await.expect(200);
    world.payout_becomes(&id, "submitted").await;
    world.control(&json!({"payout": "pause"}));
    let event = world.system.sandbox().settle("pi_event", "succeeded", None).unwrap();
    let refuse = Action::Fail(Failure::InternalServerError);
    for operation in ["GetItem", "UpdateItem"] {
        let broken = world.rule(Rule::new(operation, refuse.clone()).key(item(&id)).times(u32::MAX));
        let answer = world.webhook(&event).await.expect(503);
        assert!(answer.headers.contains_key("retry-after"), "{operation}");
        broken.remove();
        assert_eq!(world.refund(&id).await["payout"]["status"], "submitted", "{operation}");
    }
    // Stored, but the answer of the write is lost; then stored for good, and the provider asks once more.
    let lost = world.rule(Rule::new("UpdateItem", Action::DropResponse).key(item(&id)));
    assert_eq!(world.webhook(&event).await.expect(200).body["result"], "applied", "by this very request");
    lost.hit().await;
    assert_eq!(world.webhook(&event).await.expect(200).body["result"], "repeated");
    let refund = world.refund(&id).await;
    let applied = refund["events"].as_array().unwrap().iter().filter(|line| line["by"] == event.id.as_str());
    assert_eq!((refund["payout"]["status"].as_str(), applied.count()), (Some("paid"), 1));
    world.control(&json!({"payout": "resume"}));
    paid_once(&world, &id, "pi_event", "one event").await;
    world.stop().await;
}
