//! Seeded mistakes: what the checks must catch.
//!
//! Each one drops, swaps or repeats an effect, or changes one decision, where the model hands effects and outcomes to
//! and from protocol's machines. The machines themselves carry none of it. The codes are those of the design's list.

/// A seeded mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// x1: the relay enqueues nothing.
    NoRelay,
    /// x2: the loser of the accept write does not ask "was it me?".
    NoSelfCheck,
    /// x3: a copy is acknowledged because somebody else holds the lease.
    AckOnBusy,
    /// x4: the clock is not looked at between the claim and the call.
    NoLeaseCheck,
    /// x5: the record is written whatever is stored.
    RecordUnfenced,
    /// x6: the record is fenced by its owner only and writes the devices as its claim saw them.
    RecordWholeVector,
    /// x7: a dead letter marks every open device failed.
    DeadLetterFails,
    /// x8: a permanent refusal after a call that may have been accepted is stored as failed.
    FailedAfterLost,
    /// x9: delivery items are named by the idempotency key, not by the message.
    ItemOfKey,
    /// x12: a finished delivery item is deleted before the last copy is.
    ItemExpiresEarly,
    /// x13: a copy is acknowledged before its successor is sent.
    AckBeforeSuccessor,
    /// x15: a dead letter settles a message that was never attempted.
    NoRedrive,
    /// x17: the owner token is the consumer's.
    TokenOfConsumer,
    /// x18: the owner token is the receive count.
    TokenOfReceiveCount,
    /// e1: a relay copy is acknowledged because there is a delivery item.
    RelayCopyAcked,
    /// e2: the relay skips a message when any of its chunks has a delivery item.
    RelayAnyChunk,
    /// e3: the queue does not outlive a crash.
    QueueLost,
    /// e4: the dead-letter queue is emptied.
    DeadLettersLost,
    /// e5: the relay never repeats a failed entry.
    RelayNeverRepeats,
    /// e6: a ttl of 0 is over when the message is accepted.
    TtlFloorGone,
    /// e7: an inline send counts as confirmed.
    InlineCountsAsSent,
    /// e8: a successor is not sent because there is another copy.
    SuccessorSkipped,
    /// g6: an invocation that sleeps is not ended before the clock rule: its limit is longer than a lease.
    InvocationOutlives,
    /// g6b: a refusal for the time being counts as a lost answer.
    RefusalCountsAsLost,
    /// g1: the accept write has no condition.
    AcceptUnfenced,
    /// g2: the loser does not compare fingerprints.
    FingerprintIgnored,
    /// g3: a refused request's write is repeated without its condition.
    RefusedStored,
    /// g8: the key hash forgets the project.
    KeyForgetsProject,
}
