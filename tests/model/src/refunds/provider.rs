//! The payment provider: what it remembers under a key, and what it really has.
//!
//! A key's first request makes an object or a refusal, which is remembered and replayed; a request may also be refused
//! before keys are looked at (a wrong credential), and nothing is remembered of that. Keys are forgotten a day later,
//! objects never. An object may be pending first, and a success may be taken back.

use super::config::AMOUNT;
use protocol::{
    answer::Reason,
    refund::{id::PayoutId, payout::Finding, step::Listed, terms::Terms},
};

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stands {
    /// Not decided.
    Pending,
    /// Paid.
    Succeeded,
    /// Failed, or taken back.
    Failed,
}

/// One refund object of the provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Object {
    /// Our payout's number, from its metadata.
    pub number: u8,
    /// Where it stands.
    pub stands: Stands,
    /// It was paid at some time.
    pub paid: bool,
    /// It pays what was approved.
    pub right: bool,
}

/// What is remembered under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saved {
    /// This answer about an object.
    Object(Stands),
    /// A refusal.
    Refused,
}

/// An event under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sent {
    /// About this payout.
    pub number: u8,
    /// It says this.
    pub stands: Stands,
}

impl Sent {
    /// Its id.
    pub(super) fn id(self) -> String {
        format!("{}{:?}", self.number, self.stands)
    }
}

/// The provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Provider {
    /// Per payout number, from 1.
    pub keys: [Option<Saved>; 2],
    /// What it has, oldest first.
    pub objects: Vec<Object>,
    /// Events that were not delivered yet, sorted.
    pub events: Vec<Sent>,
}

fn reason() -> Reason {
    Reason { code: String::new(), detail: String::new() }
}

pub(super) fn refused() -> Finding {
    Finding::Refused(reason())
}

/// The provider's id of this payout's object.
pub(super) fn reference(number: u8) -> String {
    format!("re{number}")
}

pub(super) fn finding(number: u8, stands: Stands) -> Finding {
    let reference = reference(number);
    match stands {
        Stands::Pending => Finding::Pending { reference },
        Stands::Succeeded => Finding::Succeeded { reference },
        Stands::Failed => Finding::Failed { reference, reason: reason() },
    }
}

impl Provider {
    /// A request to pay under the key of this payout, or, without one, under a key that nobody used. `later`: an object
    /// is pending first. `refuse`: for good.
    pub(super) fn call(
        &mut self,
        number: u8,
        key: bool,
        amount: u64,
        later: bool,
        refuse: bool,
        events: bool,
    ) -> Finding {
        let slot = usize::from(number.saturating_sub(1)).min(1);
        let saved = self.keys[slot].filter(|_| key);
        let saved = saved.unwrap_or_else(|| {
            let stands = if later { Stands::Pending } else { Stands::Succeeded };
            if refuse {
                return Saved::Refused;
            }
            self.objects.push(Object { number, stands, paid: !later, right: amount == AMOUNT });
            self.say(number, stands, events);
            Saved::Object(stands)
        });
        self.keys[slot] = Some(saved);
        match saved {
            Saved::Object(stands) => finding(number, stands),
            Saved::Refused => refused(),
        }
    }

    fn say(&mut self, number: u8, stands: Stands, events: bool) {
        if events {
            self.events.push(Sent { number, stands });
            self.events.sort_unstable();
        }
    }

    /// An object moves on.
    pub(super) fn moves(&mut self, at: usize, stands: Stands, events: bool) {
        if let Some(object) = self.objects.get_mut(at) {
            object.stands = stands;
            object.paid |= stands == Stands::Succeeded;
            let number = object.number;
            self.say(number, stands, events);
        }
    }

    /// All of the refund's objects, newest word.
    pub(super) fn list(&self, of: PayoutId) -> Vec<Listed> {
        let listed = |object: &Object| Listed {
            payout: PayoutId { number: u16::from(object.number), ..of },
            finding: finding(object.number, object.stands),
            terms: Terms::default(),
        };
        self.objects.iter().map(listed).collect()
    }

    /// Objects that paid, or still may.
    pub(super) fn alive(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| object.stands != Stands::Failed)
    }

    /// Whether one of this payout paid, or still may.
    pub(super) fn has(&self, number: u8) -> bool {
        self.objects.iter().any(|object| object.number == number && object.stands != Stands::Failed)
    }
}
