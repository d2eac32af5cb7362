//! Decisions and payouts of one refund: every schedule with every pair of faults, and the seeded mistakes.

use crate::{
    once::once,
    pinned::{Pinned, more_faults},
};
use model::{
    faults::{
        Fault::{self, Crash, Duplicate, Late, Lost, NotNow, Permanent, ProviderLost},
        choices,
    },
    refunds::{Config, Refunds, SEEDED, STORIES},
    trace::Trace,
};
use std::{collections::BTreeSet, path::Path};

/// Every kind but a stall: an invocation that sleeps is a slow one here, and needs no fault.
const KINDS: [Fault; 7] = [Crash, Duplicate, Lost, ProviderLost, NotNow, Permanent, Late];

/// What the searches must meet somewhere, so that no check is vacuous, and all that they may meet: of a payout that was
/// refused, none turns out to be paid. A successor is stopped by an earlier one where the event of a success that
/// was taken back comes after the retry.
const MET: [&str; 16] = [
    "paid",
    "submitted",
    "failed",
    "review",
    "a refusal waits for the other callers",
    "a call that did nothing is taken back",
    "rejected",
    "a successor is paid",
    "an earlier payout was taken after all",
    "one payout, called for three times",
    "the key is forgotten and the payout due",
    "a loser is told who approved",
    "a loser is told that it is not pending",
    "a success is taken back",
    "two consumers at one payout",
    "a dead letter",
];

/// A refusal that the provider does not keep, met by one of two consumers, a crash of the other one after its payment,
/// and a list that lags at the retry: together they pay twice where a refusal is believed though another call was
/// announced (ry12). So they are searched with every two.
const ONCE_TWICE: [Fault; 3] = [Crash, Duplicate, Permanent];

/// Every choice of `usual` faults, and of as many more as `MODEL_MORE_FAULTS` says.
fn budgets(usual: usize) -> impl Iterator<Item = Vec<Fault>> {
    let known = |faults: &[Fault]| faults.iter().all(|fault| KINDS.contains(fault));
    choices(usual + more_faults()).into_iter().filter(move |faults| known(faults))
}

#[test]
fn every_pair_of_faults_after_every_race_of_decisions() {
    let mut pinned = Pinned::default();
    for faults in budgets(1) {
        pinned.search(&format!("refund, three people, {faults:?}"), Refunds::new(Config::new(&faults)));
    }
    // Two consumers at one payout meet every two faults after one approval, below.
    for faults in budgets(2) {
        let config = Config { consumers: 1, ..Config::new(&faults) };
        pinned.search(&format!("refund, three people, one consumer, {faults:?}"), Refunds::new(config));
    }
    for faults in budgets(1) {
        let config = Config { events: true, ..Config::later(&faults) };
        pinned.search(&format!("refund, decided later, {faults:?}"), Refunds::new(config));
    }
    // Two consumers make each of these many times as large.
    for faults in budgets(2) {
        let config = Config { events: true, consumers: 1, ..Config::later(&faults) };
        pinned.search(&format!("refund, decided later, one consumer, {faults:?}"), Refunds::new(config));
    }
    let three = (more_faults() == 0).then(|| ONCE_TWICE.to_vec());
    for faults in budgets(2).chain(three) {
        pinned.search(&format!("refund, {faults:?}"), Refunds::new(Config::approved(&faults)));
    }
    for faults in budgets(2) {
        pinned.search(&format!("refund, events, {faults:?}"), Refunds::new(Config::events(&faults)));
    }
    let reached = pinned.reached();
    pinned.judge();
    assert_eq!(reached, BTreeSet::from(MET), "what the searches met");
}

#[test]
fn every_seeded_mistake_of_refunds_is_caught() {
    let mut missed = Vec::new();
    for seeded in SEEDED {
        let (code, mutation) = (seeded.code, seeded.mutation);
        let Some(trace) = once(code.to_owned(), || seeded.caught()) else {
            missed.push(format!("{code} {mutation:?} was not caught by {:?}", seeded.property));
            continue;
        };
        println!("{code} {mutation:?}, faults {:?}: {trace}", seeded.faults);
        let json = serde_json::to_string_pretty(&trace).unwrap();
        assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), trace, "a trace is read back as it was written");
        if let Some(folder) = std::env::var_os("MODEL_TRACES") {
            std::fs::write(Path::new(&folder).join(format!("{code}.json")), json).unwrap();
        }
        if let Some(trace) = once(format!("refunds, {}", seeded.place()), || seeded.control()) {
            missed.push(format!("{code} is caught without the mistake: {trace}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The ways that the fault tests play on the real functions are found, and end where they say.
#[test]
fn every_story_of_a_refund_is_told() {
    for story in STORIES {
        let told = story.told().unwrap_or_else(|| panic!("{story:?} comes to nothing"));
        println!("{story:?}: {}, then {}, {} made\n{}", told.word, told.drained, told.made, told.trace);
        assert_eq!(told.trace.property, story.outcome);
        assert!(told.trace.then.is_empty() && !told.trace.steps.is_empty());
    }
}
