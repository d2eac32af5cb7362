//! Decisions and payouts of one refund: every schedule with every pair of faults, and the seeded mistakes.

use crate::pinned::{Pinned, more_faults};
use model::{
    faults::{
        Fault::{self, Crash, Duplicate, Late, Lost, NotNow, Permanent, ProviderLost},
        choices,
    },
    refunds::{Config, Refunds, SEEDED},
    shortest::shortest,
    trace::Trace,
};
use std::{collections::BTreeSet, path::Path};

/// Every kind but a stall: an invocation that sleeps is a slow one here, and needs no fault.
const KINDS: [Fault; 7] = [Crash, Duplicate, Lost, ProviderLost, NotNow, Permanent, Late];

/// What the searches must meet somewhere, so that no check is vacuous.
const MET: [&str; 15] = [
    "paid",
    "submitted",
    "failed",
    "review",
    "rejected",
    "a successor is paid",
    "an earlier payout was taken after all",
    "one payout, called for three times",
    "the key is forgotten and the payout due",
    "a loser is told who approved",
    "a loser is told that it is not pending",
    "a failed payout turns out to be paid",
    "a success is taken back",
    "two consumers at one payout",
    "a dead letter",
];

/// The one known limit (docs/DESIGN.md, "Refunds under three faults"): together these may pay twice.
const LIMIT: [Fault; 3] = [Crash, Duplicate, Permanent];
/// States that a search for it may see.
const STATES_MAX: usize = 20_000_000;

/// Every choice of `usual` faults, and of as many more as `MODEL_MORE_FAULTS` says, within the known limit.
fn budgets(usual: usize) -> impl Iterator<Item = Vec<Fault>> {
    let known = |faults: &[Fault]| faults.iter().all(|fault| KINDS.contains(fault));
    let within = |faults: &[Fault]| !LIMIT.iter().all(|fault| faults.contains(fault));
    choices(usual + more_faults()).into_iter().filter(move |faults| known(faults) && within(faults))
}

/// A limit that is written down is looked at as well: should it go, the text must.
#[test]
fn the_known_limit_is_where_the_design_says() {
    let model = Refunds::new(Config::approved(&LIMIT));
    let found =
        shortest(&model, "G7 at most one payout pays", STATES_MAX).expect("docs/DESIGN.md says that it pays twice");
    println!("the known limit, faults {LIMIT:?}: {}", found.trace(&model));
    for at in 0..LIMIT.len() {
        let mut fewer = LIMIT.to_vec();
        fewer.remove(at);
        let model = Refunds::new(Config::approved(&fewer));
        let found =
            shortest(&model, "G7 at most one payout pays", STATES_MAX).map(|found| found.trace(&model).to_string());
        assert_eq!(found, None, "{fewer:?} are enough");
    }
}

#[test]
fn every_pair_of_faults_after_every_race_of_decisions() {
    let mut pinned = Pinned::default();
    for faults in budgets(1) {
        pinned.search(&format!("refund, three people, {faults:?}"), Refunds::new(Config::new(&faults)));
    }
    for faults in budgets(2) {
        pinned.search(&format!("refund, {faults:?}"), Refunds::new(Config::approved(&faults)));
    }
    for faults in budgets(2) {
        let config = Config { events: true, ..Config::approved(&faults) };
        pinned.search(&format!("refund, events, {faults:?}"), Refunds::new(config));
    }
    for faults in budgets(1) {
        let config = Config { later: true, events: true, retries: 0, ..Config::approved(&faults) };
        pinned.search(&format!("refund, decided later, {faults:?}"), Refunds::new(config));
    }
    pinned.judge();
    assert_eq!(pinned.reached, BTreeSet::from(MET), "what the searches met");
}

#[test]
fn every_seeded_mistake_of_refunds_is_caught() {
    let mut missed = Vec::new();
    for seeded in SEEDED {
        let (code, mutation) = (seeded.code, seeded.mutation);
        let Some(trace) = seeded.caught() else {
            missed.push(format!("{code} {mutation:?} was not caught by {:?}", seeded.property));
            continue;
        };
        println!("{code} {mutation:?}, faults {:?}: {trace}", seeded.faults);
        let json = serde_json::to_string_pretty(&trace).unwrap();
        assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), trace, "a trace is read back as it was written");
        if let Some(folder) = std::env::var_os("MODEL_TRACES") {
            std::fs::write(Path::new(&folder).join(format!("{code}.json")), json).unwrap();
        }
        if let Some(trace) = seeded.control() {
            missed.push(format!("{code} is caught without the mistake: {trace}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
