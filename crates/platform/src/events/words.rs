//! The closed sets of words in events, each with its meaning. They are dimensions of metrics too, so they stay few.

/// A word and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub means: &'static str,
}

const fn word(word: &'static str, means: &'static str) -> Word {
    Word { word, means }
}

/// What a provider's answer means for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The provider took it.
    Accepted,
    /// Refused for good, because of the message.
    Permanent,
    /// Refused for good, and so will be everything for this token.
    TokenDead,
    /// Refused for good, because the request was one that we should never have made.
    OurBug,
    /// Refused for the time being.
    NotNow,
    /// The credentials are refused: nobody is called for this project and provider until they are mended.
    Hold,
    /// Certainly not sent.
    NotSent,
    /// Answered, but may have been taken.
    Ambiguous,
    /// No answer.
    Lost,
}

/// All classes.
pub const CLASSES: [Word; 9] = [
    word("accepted", "The provider took it."),
    word("permanent", "The provider refused it for good: the device ends `failed`, or `unknown` after a lost answer."),
    word("token_dead", "The same, because the token is no device's any more: it is reported as dead."),
    word("our_bug", "The same, because of a request that should never have been made: a fault of ours."),
    word("not_now", "The provider refused it for the time being; it is tried again."),
    word("hold", "The provider refused the credentials: the project's devices of this provider wait until they work."),
    word("not_sent", "The request certainly never reached the provider, or was not processed; it is tried again."),
    word(
        "ambiguous",
        "The provider answered with an error, but may have taken it all the same; the message's policy decides.",
    ),
    word("lost", "There was no answer: it may have been taken; the message's policy decides."),
];

impl Class {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        CLASSES[self as usize].word
    }
}

/// What a call of the payment provider came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayoutClass {
    /// Paid.
    Succeeded,
    /// Taken, and not decided.
    Pending,
    /// Taken, and failed.
    Failed,
    /// Refused for good.
    Refused,
    /// Not what was asked for.
    Mismatch,
    /// Another call under the key still runs.
    InProgress,
    /// Refused for the time being.
    NotNow,
    /// Refused for the time being, before it was looked at.
    RateLimited,
    /// The credentials are refused.
    Credentials,
    /// Certainly not sent.
    NotSent,
    /// Answered, but may have been taken.
    Ambiguous,
    /// No answer.
    Lost,
    /// The payment's refunds were listed.
    Listed,
}

/// All classes of payouts.
pub const PAYOUT_CLASSES: [Word; 13] = [
    word("succeeded", "The provider paid."),
    word("pending", "The provider has it and has not decided."),
    word("failed", "The provider had it, and it failed."),
    word(
        "refused",
        "The provider refused it for good: the payout ends `failed`, unless a listing shows it or another call was made; \
         then it ends in `review` if no listing shows it.",
    ),
    word(
        "mismatch",
        "The key was used with other parameters, or what was made is not what was asked for: a person must look.",
    ),
    word("in_progress", "Another call under the same key still runs; it is asked again under that key."),
    word("not_now", "The provider refused it for the time being; it is asked again under the same key."),
    word(
        "rate_limited",
        "The provider has too many requests and looked at none of this one; it is asked again under the same key.",
    ),
    word(
        "credentials",
        "The provider refused the credentials, and looked at nothing else; it is asked again under the same key.",
    ),
    word("not_sent", "The request certainly never reached the provider; it is asked again under the same key."),
    word("ambiguous", "The provider answered with an error, but may have paid; it is asked again under the same key."),
    word("lost", "There was no answer: it may have been paid; it is asked again under the same key."),
    word("listed", "The payment's refunds were listed."),
];

impl PayoutClass {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        PAYOUT_CLASSES[self as usize].word
    }
}

/// What became of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// Applied.
    Applied,
    /// Applied before.
    Repeated,
    /// A later one was applied before.
    OutOfOrder,
    /// About a payout that is not the current one.
    NotCurrent,
    /// The same, and it says that it was paid.
    GivenUp,
    /// Not ours.
    NotOurs,
    /// Of another type.
    UnknownType,
    /// Not signed, or no JSON.
    Refused,
    /// Nobody can say now.
    Unavailable,
}

/// All outcomes of webhooks.
pub const WEBHOOK_OUTCOMES: [Word; 9] = [
    word("applied", "It is stored with the refund, and what it says of the payout counts."),
    word("repeated", "It was applied before; nothing changes."),
    word("out_of_order", "One that comes after it was applied before; nothing changes."),
    word(
        "not_current",
        "It is about a payout that never was, or says what is known of one that has a successor; nothing changes.",
    ),
    word(
        "given_up",
        "It is about a payout that has a successor, or never was, and says that it was paid or may be: a person must look. A successor that was due or had failed is in review.",
    ),
    word("not_ours", "It is about a refund that was not made here; nothing changes."),
    word("unknown_type", "It is of a type that says nothing about payouts; nothing changes."),
    word("refused", "Its signature is not good, or it is no JSON: 400, nothing is stored."),
    word("unavailable", "The store or the project's secret cannot be read now: 503, the provider sends it again."),
];

impl WebhookOutcome {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        WEBHOOK_OUTCOMES[self as usize].word
    }
}

/// What became of a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterOutcome {
    /// Sent to the deliveries queue again.
    Redriven,
    /// Its chunk got its final status now.
    Settled,
    /// Its chunk was done.
    Done,
    /// Left for later.
    Left,
    /// Left for newer code.
    Newer,
    /// Parked.
    Parked,
    /// Not parked.
    NotParked,
}

/// All outcomes.
pub const LETTER_OUTCOMES: [Word; 7] = [
    word("redriven", "Its copy is in its queue again; the letter is deleted."),
    word("settled", "It is too late for a call: its chunk has its final status now; the letter is deleted."),
    word("done", "Its chunk had been finished by another copy, or its payout is settled; the letter is deleted."),
    word("left", "Somebody else works on the chunk, or something did not answer; the letter comes back."),
    word("newer", "Its type or version is unknown: it is left for newer code."),
    word("parked", "Nobody can read it: it is in the parking queue; the letter is deleted."),
    word("not_parked", "Nobody can read it, and the parking queue did not answer; the letter comes back."),
];

impl LetterOutcome {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        LETTER_OUTCOMES[self as usize].word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_in_its_own_row() {
        for (class, word) in [
            (Class::Accepted, "accepted"),
            (Class::Permanent, "permanent"),
            (Class::TokenDead, "token_dead"),
            (Class::OurBug, "our_bug"),
            (Class::NotNow, "not_now"),
            (Class::Hold, "hold"),
            (Class::NotSent, "not_sent"),
            (Class::Ambiguous, "ambiguous"),
            (Class::Lost, "lost"),
        ] {
            assert_eq!(class.as_str(), word);
        }
        for (class, word) in [
            (PayoutClass::Succeeded, "succeeded"),
            (PayoutClass::Pending, "pending"),
            (PayoutClass::Failed, "failed"),
            (PayoutClass::Refused, "refused"),
            (PayoutClass::Mismatch, "mismatch"),
            (PayoutClass::InProgress, "in_progress"),
            (PayoutClass::NotNow, "not_now"),
            (PayoutClass::RateLimited, "rate_limited"),
            (PayoutClass::Credentials, "credentials"),
            (PayoutClass::NotSent, "not_sent"),
            (PayoutClass::Ambiguous, "ambiguous"),
            (PayoutClass::Lost, "lost"),
            (PayoutClass::Listed, "listed"),
        ] {
            assert_eq!(class.as_str(), word);
        }
        for (outcome, word) in [
            (WebhookOutcome::Applied, "applied"),
            (WebhookOutcome::Repeated, "repeated"),
            (WebhookOutcome::OutOfOrder, "out_of_order"),
            (WebhookOutcome::NotCurrent, "not_current"),
            (WebhookOutcome::GivenUp, "given_up"),
            (WebhookOutcome::NotOurs, "not_ours"),
            (WebhookOutcome::UnknownType, "unknown_type"),
            (WebhookOutcome::Refused, "refused"),
            (WebhookOutcome::Unavailable, "unavailable"),
        ] {
            assert_eq!(outcome.as_str(), word);
        }
        for (outcome, word) in [
            (LetterOutcome::Redriven, "redriven"),
            (LetterOutcome::Settled, "settled"),
            (LetterOutcome::Done, "done"),
            (LetterOutcome::Left, "left"),
            (LetterOutcome::Newer, "newer"),
            (LetterOutcome::Parked, "parked"),
            (LetterOutcome::NotParked, "not_parked"),
        ] {
            assert_eq!(outcome.as_str(), word);
        }
    }
}
