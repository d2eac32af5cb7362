//! Seeded mistakes of refunds and payouts: what the checks must catch.
//!
//! Each changes one effect or one decision at the model's boundary; the machines carry none of it.

/// A seeded mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// rx1: a decision is a read, then a write without a condition.
    ReadThenWrite,
    /// rx2: the payout is created by a second write, after the approval.
    PayoutInSecondWrite,
    /// rx3: each attempt has an Idempotency-Key of its own.
    KeyPerAttempt,
    /// rx4: the window of the key is not looked at.
    NoWindow,
    /// rx5: a payout that the listing does not show is called for again.
    BlindReissue,
    /// ry1: a failed payout is retried at once.
    NoWait,
    /// ry2: a copy is acknowledged because another consumer stamped the first call.
    AckBecauseStamped,
    /// ry3: an event writes its state whatever was applied before.
    EventsUnordered,
    /// ry4: a successor's first call is made without a listing.
    NoLookBefore,
    /// ry5: a refusal is believed without a listing.
    RefusalBelieved,
    /// ry6: failed is final, whatever the provider turns out to have.
    FailedIsFinal,
    /// ry7: the relay skips a refund that was approved.
    NoRelay,
    /// ry8: dead letters are deleted.
    DeadLettersLost,
    /// ry9: the amount is the caller's at the time of the call, not the frozen one.
    AmountOfCall,
    /// ry10: the result of a call is written without a condition.
    RecordUnfenced,
    /// ry11: a payout that the listing does not show goes to review as soon as its window is over.
    ReviewAtOnce,
    /// ry12: a refusal is believed though another call was announced, which may have been taken.
    RefusalOfMany,
    /// ry13: a repeated call is not announced.
    RepeatUnannounced,
    /// ry14: a dead letter is deleted though nobody confirmed its re-drive.
    RedriveBelieved,
    /// ry15: the trail forgets which objects failed.
    FailureForgotten,
}
