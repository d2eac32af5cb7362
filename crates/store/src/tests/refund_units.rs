//! Write units of a refund of ordinary size (design: "Units to reach"). The index takes its own share: one unit for a
//! new entry, two for one that moves, none for a write that leaves its keys alone.

use super::{
    refund_support::{ME, NOW, conflict, create, decision, pending, written},
    support::{Proxy, database, store_at},
};
use crate::RefundCreate;
use protocol::{
    refund::{
        decide::Verdict,
        id::PayoutId,
        payout::Finding,
        step::{Next, next, record},
        terms::Terms,
        trail::{About, By, Line, What},
        webhook::{Apply, Event, apply},
    },
    timing::Timing,
};

fn is(units: f64, expected: f64) -> bool {
    (units - expected).abs() < f64::EPSILON
}

#[tokio::test]
async fn create_decide_stamp_record_and_event_take_one_unit_each_and_a_repeated_call_one_more() {
    let (_, store) = database().await;
    for (key, verdict) in [("order-1042-refund", Verdict::Approve), ("order-1043-refund", Verdict::Reject)] {
        let refund = pending(key, 1);
        let RefundCreate::Created { units: Some(units) } = store.create_refund(&refund).await else { panic!("taken") };
        assert!(is(units, 1.0 + 1.0), "create took {units}");
        let units = written(&store.decide_refund("acme", refund.id, &decision(verdict, 1)).await);
        assert!(is(units, 1.0 + 2.0), "{verdict:?} took {units}");
    }
    let id = pending("order-1042-refund", 1).id;
    let payout = PayoutId::first(id);
    let read = store.refund(id).await.unwrap().unwrap();
    let Next::Stamp(stamped, expect) = next(&read, payout, ME, NOW + 70_000, &Timing::PRODUCTION) else { panic!() };
    let units = written(&store.write_refund(&stamped, expect).await);
    assert!(is(units, 1.0), "the stamp took {units}");
    let Next::Stamp(stamped, expect) = next(&stamped, payout, ME, NOW + 80_000, &Timing::PRODUCTION) else { panic!() };
    let units = written(&store.write_refund(&stamped, expect).await);
    assert!(is(units, 1.0), "the stamp of a repeated call took {units}");
    let reference = "re_3MtwBwLkdIwHu7ix0XxKrVvp".to_owned();
    let (paid, expect) = record(&stamped, payout, &Finding::Succeeded { reference: reference.clone() }, NOW).unwrap();
    let units = written(&store.write_refund(&paid, expect).await);
    assert!(is(units, 1.0), "the record took {units}");
    let event = Event {
        id: "evt_3MtwBwLkdIwHu7ix0NcYo2q4".into(),
        created_s: NOW / 1_000,
        payout,
        finding: Finding::Succeeded { reference },
        terms: Terms::default(),
    };
    let Apply::Write(told, expect) = apply(&paid, &event, NOW + 90_000) else { panic!() };
    let units = written(&store.write_refund(&told, expect).await);
    assert!(is(units, 1.0), "the event took {units}");
}

#[tokio::test]
async fn a_decision_is_one_request_and_so_is_a_lost_one() {
    let (upstream, direct) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 10_000).await;
    let refund = pending("k", 1);
    create(&direct, &refund).await;
    written(&store.decide_refund("acme", refund.id, &decision(Verdict::Approve, 1)).await);
    conflict(store.decide_refund("acme", refund.id, &decision(Verdict::Approve, 2)).await).expect("the winner");
    conflict(store.decide_refund("acme", refund.id, &decision(Verdict::Reject, 3)).await).expect("the winner");
    let seen: Vec<String> = proxy.seen().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(seen, ["UpdateItem"; 3], "nothing is read before, and the loser never reads again");
}

/// A full trail of the longest names is far from the 400 KB of an item (Amazon DynamoDB Developer Guide, quotas).
#[tokio::test]
async fn a_full_trail_fits_an_item() {
    let (_, store) = database().await;
    let mut refund = pending("k", 1);
    for at_ms in 0..200 {
        let (reference, code) = (Some("r".repeat(255)), Some("c".repeat(64)));
        let about = About { payout: Some(9), reference, code, created_s: Some(u64::MAX) };
        refund.trail.push(Line { at_ms, what: What::Failed, by: By::Event("e".repeat(255)), about });
    }
    create(&store, &refund).await;
    assert_eq!(store.refund(refund.id).await.unwrap(), Some(refund));
}
