//! What a run leaves behind for the oracle: what clients heard, what providers got, and which faults hit whom.

pub use crate::attempts::Work;

/// What a client heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// 202 `queued` with this id.
    Queued(String),
    /// 202 `duplicate_ignored` with this id.
    Duplicate(String),
    /// 422.
    Reused,
    /// Nothing that says whether it was accepted: 502, 503.
    Nothing,
    /// Anything else, which nobody expects.
    Odd(String),
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Which request it was: equal numbers mean the same.
    pub variant: u8,
    /// What was heard.
    pub said: Said,
}

/// A word of a device as GET said it, and when, by the clock of the system.
#[derive(Clone, Debug)]
pub struct Look {
    /// When it was asked for, in ms: what was done before must be in it.
    pub asked_ms: u64,
    /// When it was told: what was done after cannot be in it.
    pub told_ms: u64,
    /// The word.
    pub word: String,
}

/// A device of a message.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its token.
    pub token: String,
    /// Every look at it, oldest first; the last one is that after the drain.
    pub looks: Vec<Look>,
}

/// A message as the table has it.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Which of its key's requests it is.
    pub variant: u8,
    /// Under at_most_once.
    pub once: bool,
    /// Until when it is delivered, in ms.
    pub deliver_by_ms: u64,
    /// Its devices.
    pub devices: Vec<Device>,
}

/// Everything about one idempotency key.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub key: String,
    /// What its client heard.
    pub answers: Vec<Answer>,
    /// What is stored under it.
    pub message: Option<Message>,
}

/// A request to a provider.
#[derive(Clone, Debug)]
pub struct Call {
    /// The message.
    pub message: String,
    /// The device.
    pub token: String,
    /// Whose content it carried, as the request of its message's key; none if of no request.
    pub variant: Option<u8>,
    /// When it arrived, in ms.
    pub at_ms: u64,
    /// The device got it.
    pub accepted: bool,
    /// It was refused for good.
    pub permanent: bool,
    /// Why nobody could know whether it was accepted, if so.
    pub lost: Option<&'static str>,
    /// It was answered all the same: with an error that may follow an acceptance.
    pub error: bool,
}

/// Whom a fault hit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hit {
    /// One device of one message.
    Device(String, String),
    /// A chunk.
    Chunk(String, usize),
}

/// What a fault can have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The answer to a call was lost.
    Answer,
    /// Whoever had a claim stood still all that time, then went on.
    Stalled,
    /// A record did not arrive.
    Record,
    /// A claim did not arrive, or nobody heard of it.
    Claim,
}

/// A fault that hit somebody.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Its name in the summary.
    pub name: &'static str,
    /// Whom it hit.
    pub hit: Hit,
    /// From when, in ms. Equal to `to_ms` where it was a moment.
    pub from_ms: u64,
    /// Until when.
    pub to_ms: u64,
    /// What it can have done.
    pub harm: Harm,
}

/// A write of a chunk's item that arrived.
#[derive(Clone, Debug)]
pub struct Write {
    /// The message.
    pub message: String,
    /// The chunk.
    pub chunk: usize,
    /// The process that wrote.
    pub by: String,
    /// When it was on its way, in ms.
    pub sent_ms: u64,
    /// When it was done.
    pub at_ms: u64,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Every key that a client used.
    pub keys: Vec<Key>,
    /// Every call, in the order of arrival.
    pub calls: Vec<Call>,
    /// Every fault that may excuse something.
    pub faults: Vec<Fault>,
    /// Every record that arrived.
    pub records: Vec<Write>,
    /// Every claim that arrived.
    pub claims: Vec<Write>,
    /// Every invocation of a consumer, by chunk.
    pub works: Vec<Work>,
    /// Every move of the clocks: the times just before and just after it, in ms.
    pub jumps: Vec<(u64, u64)>,
    /// Looks at messages whose ids were answered.
    pub looks: usize,
    /// Those of them that showed nothing: the id and the status.
    pub not_shown: Vec<(String, u16)>,
    /// When the words after the drain were read, in ms.
    pub end_ms: u64,
}
