//! The letter table, exhaustively: every letter, every evidence, both policies.

use crate::common::{POLICIES, every_evidence};
use protocol::{
    content::Policy,
    letter::{Evidence, LETTERS, Letter, join},
};
use std::collections::BTreeSet;

fn each(check: impl Fn(Letter, Evidence, Policy)) {
    for policy in POLICIES {
        for stored in LETTERS {
            for evidence in every_evidence() {
                check(stored, evidence, policy);
            }
        }
    }
}

#[test]
fn a_join_never_lowers_the_rank() {
    each(|stored, evidence, policy| {
        let joined = join(stored, evidence, policy);
        assert!(joined.rank() >= stored.rank(), "{stored:?} {evidence:?} {policy:?} gave {joined:?}");
    });
}

#[test]
fn the_same_evidence_twice_is_the_same_evidence_once() {
    each(|stored, evidence, policy| {
        let once = join(stored, evidence, policy);
        assert_eq!(join(once, evidence, policy), once, "{stored:?} {evidence:?} {policy:?}");
    });
}

#[test]
fn sent_failed_and_expired_are_final_and_unknown_becomes_sent_only() {
    each(|stored, evidence, policy| {
        let joined = join(stored, evidence, policy);
        match stored {
            Letter::Sent | Letter::Failed | Letter::Expired => assert_eq!(joined, stored, "{evidence:?} {policy:?}"),
            Letter::Unknown => {
                let expected = if evidence == Evidence::Accepted { Letter::Sent } else { Letter::Unknown };
                assert_eq!(joined, expected, "{evidence:?} {policy:?}");
            }
            Letter::Pending | Letter::Lost1 | Letter::Lost2 => {}
        }
    });
}

#[test]
fn failed_and_expired_come_from_pending_alone() {
    each(|stored, evidence, policy| {
        let joined = join(stored, evidence, policy);
        if joined != stored && matches!(joined, Letter::Failed | Letter::Expired) {
            assert_eq!(stored, Letter::Pending, "an earlier call may have been accepted: {evidence:?} {policy:?}");
        }
    });
}

#[test]
fn the_order_of_letters_is_the_order_of_their_ranks() {
    for pair in LETTERS.windows(2) {
        assert!(pair[0] < pair[1] && pair[0].rank() <= pair[1].rank(), "{pair:?}");
    }
}

/// Two owners may record in any order, with the exceptions listed here. All start from P, and a device that two owners
/// are at is never P: taking over a claim whose lease ended makes it A (or U) first. From P there is one owner, whose
/// evidence has one order.
#[test]
fn two_owners_may_record_in_any_order() {
    let name = |evidence| match evidence {
        Evidence::Accepted => "accepted",
        Evidence::Permanent => "permanent",
        Evidence::NotNow => "not now",
        Evidence::Lost { .. } => "lost",
        Evidence::Ambiguous => "ambiguous",
        Evidence::Deadline => "deadline",
        Evidence::DeadlineUnrecorded => "deadline unrecorded",
    };
    let mut exceptions = BTreeSet::new();
    for policy in POLICIES {
        for stored in LETTERS {
            for a in every_evidence() {
                for b in every_evidence() {
                    // A loss held at a letter that is no open one is never told.
                    let told = |e| !matches!(e, Evidence::Lost { held } if held.is_final());
                    if !told(a) || !told(b) {
                        continue;
                    }
                    let one = join(join(stored, a, policy), b, policy);
                    let other = join(join(stored, b, policy), a, policy);
                    if one != other {
                        assert_eq!(stored, Letter::Pending, "{a:?} {b:?} {policy:?}: {one:?} or {other:?}");
                        let mut pair = [name(a), name(b)];
                        pair.sort_unstable();
                        exceptions.insert(pair);
                    }
                }
            }
        }
    }
    let expected = BTreeSet::from([
        // F or E said first, and then the acceptance that they rule out.
        ["accepted", "permanent"],
        ["accepted", "deadline"],
        // F or E said first; the other way round an earlier call may have been accepted, so U.
        ["lost", "permanent"],
        ["ambiguous", "permanent"],
        ["deadline", "lost"],
        ["ambiguous", "deadline"],
        ["deadline unrecorded", "permanent"],
        ["deadline", "deadline unrecorded"],
        // Refused for good, or too late: whichever was said first.
        ["deadline", "permanent"],
    ]);
    assert_eq!(exceptions, expected);
}
