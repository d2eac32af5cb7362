//! Who may call the provider: the claim decision, and settling without a call.
//!
//! Pure functions of the stored item, the clock and a fresh owner token. Called by the deliver machine before each
//! write and again with the winner's item after a lost one.

use crate::{
    content::Policy,
    delivery::{CALLS_COUNTED, Delivery, DeviceState, Finished, State},
    expect::Expect,
    ids::OwnerToken,
    letter::{Evidence, join},
    timing::ATTEMPTS_MAX,
};

/// What a copy knows of its chunk, whatever is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkFacts {
    /// When delivery is given up, in ms.
    pub deliver_by_ms: u64,
    /// What happens when an answer is lost.
    pub policy: Policy,
    /// How many devices it has.
    pub devices: usize,
    /// When its delivery item may be deleted, in whole seconds.
    pub expires_s: u64,
}

/// What the holder of a copy does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// Write this, then call for every open device.
    Run(Delivery, Expect),
    /// My own claim, whose answer was lost: go on as after the write.
    Resume(Delivery),
    /// Write this, then acknowledge: every device is final without a call.
    Settle(Delivery, Expect),
    /// Everything is done: acknowledge.
    Ack(Finished),
    /// Somebody else is at it, or it is too early: not before this time, in ms. Never an acknowledgement.
    Busy(u64),
}

fn expected(old: Option<&Delivery>) -> Expect {
    old.map_or(Expect::Absent, |old| Expect::Version(old.version))
}

/// The last owner may have called for this device and did not say so.
fn count_unrecorded(device: &mut DeviceState) {
    if device.letter.is_open() {
        device.calls = device.calls.saturating_add(1).min(CALLS_COUNTED);
    }
}

/// Every open device gets its last word; `stolen` when the last claim's lease ran out unrecorded.
fn settled(base: &Delivery, now_ms: u64, stolen: bool, policy: Policy) -> Delivery {
    let word = if stolen { Evidence::DeadlineUnrecorded } else { Evidence::Deadline };
    let mut item = base.clone();
    for device in &mut item.devices {
        if stolen {
            count_unrecorded(device);
        }
        device.letter = join(device.letter, word, policy);
    }
    item.state = State::Done;
    item.version = item.version.saturating_add(1);
    item.updated_ms = now_ms;
    item
}

/// Settles what no call will be made for any more: after the deadline, after the last attempt, or from a dead letter. Busy while
/// a live lease stands.
#[must_use]
pub fn settle(old: Option<&Delivery>, facts: &ChunkFacts, now_ms: u64) -> Claim {
    let Some(old) = old else {
        let new = Delivery::unwritten(facts.devices, facts.expires_s);
        return Claim::Settle(settled(&new, now_ms, false, facts.policy), Expect::Absent);
    };
    if let Some(finished) = Finished::of(old) {
        return Claim::Ack(finished);
    }
    match old.state {
        State::InFlight if old.lease_ms >= now_ms => Claim::Busy(old.lease_ms),
        state => {
            let item = settled(old, now_ms, state == State::InFlight, facts.policy);
            Claim::Settle(item, Expect::Version(old.version))
        }
    }
}

/// Decides what the holder of a copy does next. `mine` is fresh for this receive; a lease that ends at `now_ms` still
/// stands.
#[must_use]
pub fn claim(old: Option<&Delivery>, facts: &ChunkFacts, mine: OwnerToken, now_ms: u64, lease: u64) -> Claim {
    if let Some(old) = old {
        if let Some(finished) = Finished::of(old) {
            return Claim::Ack(finished);
        }
        match old.state {
            State::InFlight if old.owner == Some(mine) => return Claim::Resume(old.clone()),
            State::InFlight if old.lease_ms >= now_ms => return Claim::Busy(old.lease_ms),
            State::Retry if old.not_before_ms > now_ms => return Claim::Busy(old.not_before_ms),
            State::InFlight | State::Retry | State::Done => {}
        }
    }
    let spent = old.is_some_and(|old| old.attempt >= ATTEMPTS_MAX);
    if now_ms >= facts.deliver_by_ms || spent {
        return settle(old, facts, now_ms);
    }
    let mut item = old.cloned().unwrap_or_else(|| Delivery::unwritten(facts.devices, facts.expires_s));
    if item.state == State::InFlight {
        // The lease ran out unrecorded: the last owner may have called for each open device.
        for device in &mut item.devices {
            count_unrecorded(device);
            let held = device.letter;
            device.letter = join(held, Evidence::Lost { held }, facts.policy);
        }
    }
    item.version = item.version.saturating_add(1);
    item.updated_ms = now_ms;
    if item.all_final() {
        item.state = State::Done;
        return Claim::Settle(item, expected(old));
    }
    item.state = State::InFlight;
    item.attempt = item.attempt.saturating_add(1);
    item.owner = Some(mine);
    item.lease_ms = now_ms.saturating_add(lease);
    item.not_before_ms = 0;
    Claim::Run(item, expected(old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letter::Letter;
    use alloc::vec::Vec;

    const ME: OwnerToken = OwnerToken([1; 16]);
    const OTHER: OwnerToken = OwnerToken([2; 16]);
    const LEASE: u64 = 75_000;

    fn facts(policy: Policy) -> ChunkFacts {
        ChunkFacts { deliver_by_ms: 1_000_000, policy, devices: 2, expires_s: 9 }
    }

    fn claimed(by: OwnerToken, at: u64) -> Delivery {
        match claim(None, &facts(Policy::AtLeastOnce), by, at, LEASE) {
            Claim::Run(item, Expect::Absent) => item,
            other => panic!("{other:?}"),
        }
    }

    fn letters(item: &Delivery) -> Vec<Letter> {
        item.devices.iter().map(|d| d.letter).collect()
    }

    #[test]
    fn a_first_claim_runs_under_a_lease() {
        let item = claimed(ME, 100);
        assert_eq!((item.attempt, item.version, item.lease_ms), (1, 1, 75_100));
    }

    #[test]
    fn my_own_claim_is_resumed_and_anothers_is_busy_to_the_last_ms() {
        let item = claimed(ME, 0);
        let f = facts(Policy::AtLeastOnce);
        assert_eq!(claim(Some(&item), &f, ME, 5, LEASE), Claim::Resume(item.clone()));
        assert_eq!(claim(Some(&item), &f, OTHER, 75_000, LEASE), Claim::Busy(75_000));
    }

    #[test]
    fn a_steal_counts_as_a_lost_answer() {
        let item = claimed(OTHER, 0);
        let Claim::Run(stolen, Expect::Version(1)) = claim(Some(&item), &facts(Policy::AtLeastOnce), ME, 75_001, LEASE)
        else {
            panic!()
        };
        assert_eq!(letters(&stolen), [Letter::Lost1, Letter::Lost1]);
        assert_eq!((stolen.attempt, stolen.owner), (2, Some(ME)));
        let Claim::Settle(settled, Expect::Version(1)) =
            claim(Some(&item), &facts(Policy::AtMostOnce), ME, 75_001, LEASE)
        else {
            panic!()
        };
        assert_eq!(letters(&settled), [Letter::Unknown, Letter::Unknown]);
        assert!(Finished::of(&settled).is_some());
    }

    #[test]
    fn too_late_without_a_call_is_expired_and_after_an_unrecorded_claim_unknown() {
        let f = facts(Policy::AtLeastOnce);
        let Claim::Settle(never, Expect::Absent) = claim(None, &f, ME, 1_000_000, LEASE) else { panic!() };
        assert_eq!(letters(&never), [Letter::Expired, Letter::Expired]);
        let item = claimed(OTHER, 0);
        let Claim::Settle(crashed, _) = claim(Some(&item), &f, ME, 1_000_000, LEASE) else { panic!() };
        assert_eq!(letters(&crashed), [Letter::Unknown, Letter::Unknown]);
        assert_eq!((never.devices[0].calls, crashed.devices[0].calls), (0, 1), "a call that may have been made counts");
    }

    #[test]
    fn the_thousandth_attempt_is_the_last() {
        let item = Delivery { state: State::Retry, attempt: ATTEMPTS_MAX, ..claimed(OTHER, 0) };
        assert!(matches!(claim(Some(&item), &facts(Policy::AtLeastOnce), ME, 10, LEASE), Claim::Settle(..)));
    }
}
