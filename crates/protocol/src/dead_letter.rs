//! What becomes of a copy that SQS gave up on.
//!
//! A receive is not an attempt: a copy may land here without any call. It goes back to the deliveries queue while a
//! call may still be made, and gets a truthful final status after that.

use crate::{
    claim::{ChunkFacts, Claim, settle},
    delivery::{Delivery, Finished},
    expect::Expect,
    timing::ATTEMPTS_MAX,
};

/// The decision for one dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeadLetter {
    /// A live lease stands until this time, in ms: leave it.
    Leave(u64),
    /// Everything is done: delete it.
    Delete(Finished),
    /// Send it to the deliveries queue again, then delete it.
    Redrive,
    /// Write this, then delete it.
    Settle(Delivery, Expect),
}

/// Decides from the stored item.
#[must_use]
pub fn decide(old: Option<&Delivery>, facts: &ChunkFacts, now_ms: u64) -> DeadLetter {
    let spent = now_ms >= facts.deliver_by_ms || old.is_some_and(|old| old.attempt >= ATTEMPTS_MAX);
    match settle(old, facts, now_ms) {
        Claim::Ack(finished) => DeadLetter::Delete(finished),
        Claim::Settle(item, expect) if spent => DeadLetter::Settle(item, expect),
        Claim::Settle(..) => DeadLetter::Redrive,
        Claim::Busy(until) => DeadLetter::Leave(until),
        // `settle` never asks for a call; leaving the copy is always safe.
        Claim::Run(..) | Claim::Resume(_) => DeadLetter::Leave(now_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{claim::claim, content::Policy, ids::OwnerToken, letter::Letter};

    const FACTS: ChunkFacts =
        ChunkFacts { deliver_by_ms: 1_000_000, policy: Policy::AtLeastOnce, devices: 1, expires_s: 0 };

    #[test]
    fn a_receive_is_not_an_attempt() {
        assert_eq!(decide(None, &FACTS, 5), DeadLetter::Redrive);
        let DeadLetter::Settle(item, Expect::Absent) = decide(None, &FACTS, 1_000_000) else { panic!() };
        assert_eq!(item.devices[0].letter, Letter::Expired);
    }

    #[test]
    fn a_live_lease_is_left_and_an_expired_one_re_driven() {
        let Claim::Run(item, _) = claim(None, &FACTS, OwnerToken([1; 16]), 0, 75_000) else { panic!() };
        assert_eq!(decide(Some(&item), &FACTS, 75_000), DeadLetter::Leave(75_000));
        assert_eq!(decide(Some(&item), &FACTS, 75_001), DeadLetter::Redrive);
    }
}
