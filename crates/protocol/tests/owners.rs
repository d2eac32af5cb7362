//! Two owners and a settling dead letter on one item, in random order: claims, calls, records, steals, crashes and
//! compare-and-sets that lose. The functions alone, without the machine's order of steps: truth must not rest on that.

use crate::common::{POLICIES, accepted, ambiguous, lost, not_now, not_sent, permanent, token};
use proptest::{collection, prelude::*};
use protocol::{
    answer::Answer,
    claim::{ChunkFacts, Claim, claim, settle},
    content::Policy,
    delivery::{Delivery, State},
    expect::{Expect, Seen},
    letter::Letter,
    record::{Learned, record},
};

const LEASE: u64 = 100;
const DELIVER_BY: u64 = 1_000;
const DEVICES: usize = 3;

#[derive(Clone, Debug)]
enum Owner {
    Idle,
    /// Has decided and not written yet.
    Claiming(Delivery, Expect, u8),
    Settling(Delivery, Expect),
    Holding(Delivery, Vec<Option<Answer>>),
    Recording(Learned, Delivery, Expect),
}

#[derive(Clone, Copy, Debug)]
enum Do {
    Decide,
    Call { device: usize, outcome: u8 },
    Record,
    Write { answer_lost: bool },
    Settle,
    Crash,
    Wait(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    calls: u16,
    accepted: u16,
    maybe: u16,
}

struct Sim {
    facts: ChunkFacts,
    now: u64,
    item: Option<Delivery>,
    owners: [Owner; 2],
    truth: [Truth; DEVICES],
    tokens: u8,
}

impl Sim {
    fn new(policy: Policy) -> Self {
        let facts = ChunkFacts { deliver_by_ms: DELIVER_BY, policy, devices: DEVICES, expires_s: 1 };
        let owners = [Owner::Idle, Owner::Idle];
        Self { facts, now: 0, item: None, owners, truth: [Truth::default(); DEVICES], tokens: 0 }
    }

    fn compare_and_set(&mut self, item: &Delivery, expect: Expect) -> bool {
        let seen = self.item.as_ref().map(|item| Seen {
            version: Some(item.version),
            expires_s: Some(item.expires_s),
            ..Seen::default()
        });
        let holds = expect.holds(seen.as_ref());
        if holds {
            self.item = Some(item.clone());
        }
        holds
    }

    fn decide(&mut self, token_number: u8) -> Owner {
        match claim(self.item.as_ref(), &self.facts, token(token_number), self.now, LEASE) {
            Claim::Run(item, expect) => Owner::Claiming(item, expect, token_number),
            Claim::Settle(item, expect) => Owner::Settling(item, expect),
            Claim::Resume(item) => Owner::Holding(item, vec![None; DEVICES]),
            Claim::Ack(_) | Claim::Busy(_) => Owner::Idle,
        }
    }

    fn record(&self, learned: Learned) -> Owner {
        let stored = self.item.as_ref().expect("a claim was written");
        match record(stored, &learned, self.facts.policy, self.now) {
            Some(item) => Owner::Recording(learned, item, Expect::Version(stored.version)),
            None => Owner::Idle,
        }
    }

    fn step(&mut self, who: usize, what: Do) {
        let owner = std::mem::replace(&mut self.owners[who], Owner::Idle);
        self.owners[who] = match (owner, what) {
            (owner, Do::Wait(ms)) => {
                self.now += ms;
                owner
            }
            (_, Do::Crash) => Owner::Idle,
            (Owner::Idle, Do::Decide) => {
                self.tokens += 1;
                self.decide(self.tokens)
            }
            (Owner::Idle, Do::Settle) => match settle(self.item.as_ref(), &self.facts, self.now) {
                // Before the deadline a dead letter is driven again, not settled.
                Claim::Settle(item, expect) if self.now >= DELIVER_BY => Owner::Settling(item, expect),
                _ => Owner::Idle,
            },
            (Owner::Claiming(item, expect, number), Do::Write { answer_lost }) => {
                match (self.compare_and_set(&item, expect), answer_lost) {
                    (true, false) => Owner::Holding(item, vec![None; DEVICES]),
                    // Its own repeat, or another's write: decided again from the stored item.
                    (true, true) | (false, _) => self.decide(number),
                }
            }
            (Owner::Settling(item, expect), Do::Write { .. }) => {
                self.compare_and_set(&item, expect);
                Owner::Idle
            }
            (Owner::Holding(held, mut answers), Do::Call { device, outcome }) => {
                if answers[device].is_none() && held.devices[device].letter.is_open() {
                    answers[device] = Some(self.call(device, outcome));
                }
                Owner::Holding(held, answers)
            }
            (Owner::Holding(held, answers), Do::Record) => {
                let retry_at_ms = self.now + 10;
                self.record(Learned { held, answers, retry_at_ms })
            }
            (Owner::Recording(learned, item, expect), Do::Write { answer_lost }) => {
                match (self.compare_and_set(&item, expect), answer_lost) {
                    (true, false) => Owner::Idle,
                    (true, true) | (false, _) => self.record(learned),
                }
            }
            (owner, _) => owner,
        };
    }

    fn call(&mut self, device: usize, outcome: u8) -> Answer {
        let truth = &mut self.truth[device];
        truth.calls += 1;
        let (answer, accepts, maybe) = match outcome {
            0 => (accepted(), true, true),
            1 => (permanent(), false, false),
            2 => (not_now(Some(5)), false, false),
            3 => (not_sent(), false, false),
            4 => (ambiguous(), true, true),
            5 => (ambiguous(), false, true),
            6 => (lost(), true, true),
            _ => (lost(), false, true),
        };
        truth.accepted += u16::from(accepts);
        truth.maybe += u16::from(maybe);
        answer
    }

    fn check(&self, before: Option<&Delivery>) -> Result<(), String> {
        let Some(item) = &self.item else { return Ok(()) };
        for (index, (device, truth)) in item.devices.iter().zip(&self.truth).enumerate() {
            let here = || format!("device {index} {:?}, in truth {truth:?}, in {item:?}", device.letter);
            let lie = match device.letter {
                Letter::Sent => truth.accepted == 0 || device.provider_id.is_none(),
                Letter::Failed | Letter::Expired => truth.accepted > 0,
                Letter::Pending => item.state == State::Retry && truth.accepted > 0,
                Letter::Lost1 | Letter::Lost2 => self.facts.policy == Policy::AtMostOnce,
                Letter::Unknown => false,
            };
            if lie {
                return Err(format!("a lie: {}", here()));
            }
            if self.facts.policy == Policy::AtMostOnce && truth.maybe > 1 {
                return Err(format!("called twice: {}", here()));
            }
            if u16::from(device.calls) > item.attempt {
                return Err(format!("more calls than attempts: {}", here()));
            }
            let at_it = self.owners.iter().any(|owner| matches!(owner, Owner::Holding(..) | Owner::Recording(..)));
            // What a thief calls after a late record closed the device is not counted.
            let counted = if device.letter.is_open() { truth.calls.min(9) } else { truth.calls.min(1) };
            if item.state != State::InFlight && !at_it && u16::from(device.calls) < counted {
                return Err(format!("calls forgotten: {}", here()));
            }
            let old = before.map(|item| &item.devices[index]);
            if let Some(old) = old {
                let kept = old.letter == device.letter || old.letter.is_open();
                let late = old.letter == Letter::Unknown && device.letter == Letter::Sent;
                if !(kept || late) || device.calls < old.calls || device.letter.rank() < old.letter.rank() {
                    return Err(format!("gone back from {old:?}: {}", here()));
                }
                if old.provider_id.is_some() && old.provider_id != device.provider_id {
                    return Err(format!("another provider id than {old:?}: {}", here()));
                }
            }
        }
        Ok(())
    }

    /// Without further faults an accepted call that its owner knows of ends as sent, or is beyond what is open.
    fn finish(mut self) -> Result<(), String> {
        for who in 0..2 {
            let knows: Vec<usize> = match &self.owners[who] {
                Owner::Holding(_, answers) | Owner::Recording(Learned { answers, .. }, ..) => {
                    let yes = |(_, answer): &(usize, &Option<Answer>)| matches!(answer, Some(Answer::Accepted { .. }));
                    answers.iter().enumerate().filter(yes).map(|(device, _)| device).collect()
                }
                _ => Vec::new(),
            };
            self.step(who, Do::Record);
            while matches!(self.owners[who], Owner::Recording(..)) {
                self.step(who, Do::Write { answer_lost: false });
            }
            for device in knows {
                let letter = self.item.as_ref().expect("claimed").devices[device].letter;
                if letter != Letter::Sent {
                    return Err(format!("device {device} was accepted, its owner recorded that, and it is {letter:?}"));
                }
            }
        }
        self.check(None)
    }
}

fn action() -> impl Strategy<Value = Do> {
    prop_oneof![
        3 => Just(Do::Decide),
        4 => (0..DEVICES, 0_u8..8).prop_map(|(device, outcome)| Do::Call { device, outcome }),
        2 => Just(Do::Record),
        5 => (0_u8..5).prop_map(|lost| Do::Write { answer_lost: lost == 0 }),
        1 => Just(Do::Settle),
        1 => Just(Do::Crash),
        2 => prop::sample::select(vec![1, 11, LEASE / 2, LEASE + 1, DELIVER_BY]).prop_map(Do::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_order_of_two_owners_loses_an_acceptance_or_tells_a_lie(
        policy in prop::sample::select(POLICIES.to_vec()),
        steps in collection::vec((0_usize..2, action()), 0..80),
    ) {
        let mut sim = Sim::new(policy);
        for (who, what) in steps {
            let before = sim.item.clone();
            sim.step(who, what);
            if let Err(broken) = sim.check(before.as_ref()) {
                prop_assert!(false, "{}", broken);
            }
        }
        if let Err(broken) = sim.finish() {
            prop_assert!(false, "{}", broken);
        }
    }
}
