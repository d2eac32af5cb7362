//! Creating and deciding: "was it me?", the same decision, the other one.

use super::{decision, payout, pending, request};
use protocol::{
    expect::{Expect, Seen},
    ids::Nonce,
    refund::{
        Refund, Status,
        create::{self, Prior},
        decide::{self, Verdict, decided},
        payout::State,
        trail::{TRAIL_MAX, What},
    },
};

#[test]
fn the_loser_of_a_create_is_itself_a_duplicate_reused_or_undecidable() {
    let mine = pending();
    let prior = |nonce, amount| {
        let other = Refund::new(
            "acme",
            "k",
            "x",
            Nonce([nonce; 5]),
            protocol::refund::request::RefundRequest { amount, ..request() },
            0,
        );
        Prior { id: other.id, fingerprint: other.fingerprint }
    };
    assert_eq!(create::on_conflict(&prior(7, 4_200), &mine), create::Conflict::Mine);
    assert_eq!(create::on_conflict(&prior(8, 4_200), &mine), create::Conflict::Duplicate(prior(8, 0).id));
    assert_eq!(create::on_conflict(&prior(8, 4_201), &mine), create::Conflict::Reused);
    let mut later = prior(8, 4_200);
    later.fingerprint.version = 9;
    assert_eq!(create::on_conflict(&later, &mine), create::Conflict::Undecidable);
}

#[test]
fn approving_makes_the_payout_with_the_amount_frozen_and_rejecting_makes_none() {
    let approved = decided(&pending(), &decision(Verdict::Approve, 1));
    let made = approved.payout.clone().unwrap();
    assert_eq!((made.number, made.amount, made.state, made.first_call_ms), (1, 4_200, State::Due, None));
    assert_eq!((approved.status(), approved.payout_id(), approved.version), (Status::Approved, Some(payout(1)), 2));
    let rejected = decided(&pending(), &decision(Verdict::Reject, 1));
    assert_eq!((rejected.status(), rejected.payout, rejected.version), (Status::Rejected, None, 2));
    let told: Vec<What> = approved.trail.0.iter().map(|line| line.what).collect();
    assert_eq!(told, [What::Created, What::Approved]);
}

/// Every stored decision against every asked one.
#[test]
fn the_loser_of_a_decision_is_told_who_decided() {
    use decide::Conflict::{Already, Mine, NotFound, Other, Undecidable};
    let id = pending().id;
    for stored in [Verdict::Approve, Verdict::Reject] {
        let first = decision(stored, 1);
        let item = decided(&pending(), &first);
        for asked in [Verdict::Approve, Verdict::Reject] {
            let mine = decision(asked, 2);
            let expected = if asked == stored { Already(first.clone()) } else { Other(first.clone()) };
            assert_eq!(decide::on_conflict(Some(&item), "acme", id, &mine), expected);
            // The same person in the same millisecond is another request all the same.
            let twin = decide::Decision { nonce: mine.nonce, ..first.clone() };
            assert_eq!(decide::on_conflict(Some(&item), "acme", id, &twin), Already(first.clone()));
        }
        assert_eq!(decide::on_conflict(Some(&item), "acme", id, &first), Mine);
        assert_eq!(decide::on_conflict(Some(&item), "globex", id, &first), NotFound);
        let forged = protocol::refund::id::RefundId { nonce: Nonce([0; 5]), ..id };
        assert_eq!(decide::on_conflict(Some(&item), "acme", forged, &first), NotFound);
    }
    assert_eq!(decide::on_conflict(None, "acme", id, &decision(Verdict::Reject, 1)), NotFound);
    assert_eq!(decide::on_conflict(Some(&pending()), "acme", id, &decision(Verdict::Reject, 1)), Undecidable);
}

#[test]
fn conditions_say_what_they_mean() {
    let seen = |item: &Refund| Seen {
        version: Some(item.version),
        status: Some(item.status()),
        payout: item.payout_id(),
        ..Seen::default()
    };
    let (pending, approved) = (pending(), decided(&pending(), &decision(Verdict::Approve, 1)));
    assert!(Expect::RefundPending.holds(Some(&seen(&pending))));
    assert!(!Expect::RefundPending.holds(Some(&seen(&approved))) && !Expect::RefundPending.holds(None));
    for (number, version) in [(1, 2), (1, 1), (1, 3), (2, 2)] {
        let expect = Expect::Payout { payout: payout(number), version };
        assert_eq!(expect.holds(Some(&seen(&approved))), (number, version) == (1, 2));
        assert!(!expect.holds(Some(&seen(&pending))) && !expect.holds(None));
    }
}

#[test]
fn a_full_trail_keeps_its_beginning_and_its_end() {
    let mut trail = decided(&pending(), &decision(Verdict::Approve, 1)).trail;
    for at_ms in 0..200 {
        let mut line = trail.0[0].clone();
        (line.at_ms, line.what) = (at_ms, What::Event);
        trail.push(line);
    }
    assert_eq!(trail.0.len(), TRAIL_MAX);
    assert_eq!((trail.0[0].what, trail.0[1].what), (What::Created, What::Approved));
    assert_eq!((trail.0[2].at_ms, trail.0.last().unwrap().at_ms), (152, 199));
}
