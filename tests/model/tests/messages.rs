//! Accept, inline send, relay, delivery and dead letters: every schedule with every pair of faults.

use crate::pinned::{Pinned, more_faults};
use model::{
    faults::{
        Budget, FAULTS,
        Fault::{self, Crash, Duplicate, Late, Lost, NotNow, Permanent, ProviderLost, Stall},
        choices,
    },
    messages::{Asked, Config, Messages, Mutation, STORIES},
    shortest::shortest,
};
use protocol::content::Policy;
use std::collections::BTreeSet;

/// States that a search for one property may see.
const STATES_MAX: usize = 2_000_000;
const POLICIES: [Policy; 2] = [Policy::AtLeastOnce, Policy::AtMostOnce];

/// What a search must meet somewhere, so that no check is vacuous.
const MET: [&str; 13] = [
    "sent",
    "failed",
    "unknown",
    "expired",
    "one answer lost",
    "two answers lost",
    "retry",
    "accepted twice, in a window",
    "called by a late run",
    "a held write",
    "a dead letter in hand",
    "two consumers with one SQS message",
    "after the clock rule, unfinished",
];
/// What `at_most_once` must never meet.
const NEVER_TWICE: [&str; 3] = ["one answer lost", "two answers lost", "accepted twice, in a window"];

fn config(policy: Policy, faults: &[Fault]) -> Config {
    Config { faults: Budget::of(faults), ..Config::new(policy) }
}

fn search(pinned: &mut Pinned, shape: &str, faults: &[Fault], config: Config) {
    pinned.search(&format!("{shape}, {}, {faults:?}", config.policy.as_str()), Messages::new(config));
}

/// Every choice of `usual` faults of these kinds, and of as many more as `MODEL_MORE_FAULTS` says. One more takes an hour;
/// run it when a decision or a machine changes.
fn budgets(usual: usize, kinds: &[Fault]) -> Vec<Vec<Fault>> {
    let all = choices(usual + more_faults()).into_iter();
    all.filter(|faults| faults.iter().all(|fault| kinds.contains(fault))).collect()
}

#[test]
fn every_pair_of_faults() {
    let mut pinned = Pinned::default();
    for policy in POLICIES {
        for faults in budgets(2, &FAULTS) {
            search(&mut pinned, "one device", &faults, config(policy, &faults));
        }
        let never = |name: &&str| policy == Policy::AtMostOnce && NEVER_TWICE.contains(name);
        let expected: BTreeSet<&str> = MET.into_iter().filter(|name| !never(name)).collect();
        assert_eq!(pinned.reached(), expected, "what the searches of {policy:?} met");
    }
    pinned.judge();
}

#[test]
fn two_devices_of_one_chunk() {
    let mut pinned = Pinned::default();
    for policy in POLICIES {
        for faults in budgets(2, &[Crash, ProviderLost, Stall, NotNow, Permanent]) {
            search(&mut pinned, "two devices", &faults, Config { devices: 2, ..config(policy, &faults) });
        }
    }
    pinned.judge();
}

#[test]
fn two_chunks() {
    let mut pinned = Pinned::default();
    for faults in budgets(0, &FAULTS).into_iter().chain(budgets(1, &FAULTS)) {
        let config = config(Policy::AtLeastOnce, &faults);
        search(&mut pinned, "two chunks", &faults, Config { chunks: 2, consumers: 1, ..config });
    }
    pinned.judge();
}

#[test]
fn three_consumers() {
    let mut pinned = Pinned::default();
    for policy in POLICIES {
        for faults in [[Crash, Duplicate], [Crash, Stall], [Duplicate, Stall], [Stall, Stall]] {
            search(&mut pinned, "three consumers", &faults, Config { consumers: 3, ..config(policy, &faults) });
        }
    }
    pinned.judge();
}

/// The same body twice and another one race for one key.
#[test]
fn three_requests_race() {
    let mut pinned = Pinned::default();
    for faults in budgets(2, &[Crash, Duplicate, Lost, Late]) {
        let config = Config { consumers: 1, ..config(Policy::AtLeastOnce, &faults).bodies(&[0, 0, 1]) };
        search(&mut pinned, "three requests", &faults, config);
    }
    pinned.judge();
}

/// A key's validity ends and another body takes it.
#[test]
fn a_key_is_used_again() {
    let mut pinned = Pinned::default();
    for faults in [&[][..], &[Crash], &[Lost], &[Late]] {
        let config = config(Policy::AtLeastOnce, faults).bodies(&[0, 1]);
        search(&mut pinned, "key reuse", faults, Config { consumers: 1, keys_expire: true, ..config });
    }
    pinned.judge();
}

/// Two projects use one key.
#[test]
fn two_projects_use_one_key() {
    let mut pinned = Pinned::default();
    let requests = vec![Asked { project: 0, body: 0 }, Asked { project: 1, body: 1 }];
    let config = Config { consumers: 1, requests, ..Config::new(Policy::AtLeastOnce) };
    search(&mut pinned, "two projects", &[], config);
    pinned.judge();
}

/// The audit adds a copy at any moment, besides a fault.
#[test]
fn an_audit() {
    let mut pinned = Pinned::default();
    for policy in POLICIES {
        for faults in budgets(1, &FAULTS) {
            search(&mut pinned, "audit", &faults, Config { audits: 1, ..config(policy, &faults) });
        }
    }
    pinned.judge();
}

/// The project is held at any moment and for any time, besides a fault: its copies wait by their successors.
#[test]
fn a_hold() {
    let mut pinned = Pinned::default();
    for policy in POLICIES {
        for faults in budgets(1, &FAULTS) {
            search(&mut pinned, "hold", &faults, Config { holds: 1, ..config(policy, &faults) });
        }
    }
    assert!(pinned.reached().contains("a copy waits for a hold"));
    pinned.judge();
}

/// Where nobody enqueues what an inline send has lost, the audit does.
#[test]
fn an_audit_repairs_what_the_relay_has_left() {
    let mutation = Some(Mutation::NoRelay);
    for audits in [0, 1] {
        let model = Messages::new(Config { audits, mutation, ..config(Policy::AtLeastOnce, &[Crash]) });
        let found = shortest(&model, "G4 whatever was accepted drains", STATES_MAX).map(|found| found.trace(&model));
        assert_eq!(found.is_none(), audits > 0, "{found:?}");
    }
}

/// The ways that the fault tests play on the real functions are found, and end where they say.
#[test]
fn every_story_is_told() {
    for story in STORIES {
        let trace = story.told().unwrap_or_else(|| panic!("{story:?} comes to nothing"));
        println!("{story:?}\n{trace}");
        assert_eq!(trace.property, story.outcome);
        assert!(trace.then.is_empty() && !trace.steps.is_empty());
    }
}
