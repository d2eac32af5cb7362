//! What the audit looks at and what it finds, to the millisecond.

use protocol::{
    audit::{AUDITED_AFTER, Finding, INVOCATION_MAX, INVOKED_EVERY, PAGE_RESERVE, PASS_EVERY, Progress, Range, judge},
    delivery::State,
    timing::{KEY_VALID_DAYS_MIN, Timing},
};

const DAY: u64 = 86_400_000;
const V: u64 = Timing::PRODUCTION.visibility;
/// Any time.
const T: u64 = 1_000_000_000;

fn item(state: State, lease_ms: u64, not_before_ms: u64) -> Progress {
    Progress { state, lease_ms, not_before_ms }
}

#[test]
fn a_message_is_in_range_between_its_chances_and_a_day_after_its_deadline() {
    for timing in [Timing::PRODUCTION, Timing::SHORT] {
        let young = timing.grace + timing.window + timing.visibility;
        for at in [0, T] {
            // Whatever its time to live: the least, one day, the most.
            for db in [at + timing.ttl_floor, at + DAY, at + Timing::DELIVER_MAX] {
                let holds = |now: u64| Range::at(now, &timing).holds(at, db);
                let cases = [
                    (at, false),
                    (at + young, false),
                    (at + young + 1, true),
                    (db, db > at + young),
                    (db + DAY - 1, true),
                    (db + DAY, false),
                    (u64::MAX, false),
                ];
                for (now, expected) in cases {
                    assert_eq!(holds(now), expected, "at {at}, db {db}, now {now}");
                }
            }
        }
        assert!(!Range::at(0, &timing).holds(0, 0), "a clock that stands at its beginning finds nothing old");
    }
}

#[test]
fn what_is_found_of_a_chunk() {
    use Finding::{NoDeliveryItem, StuckInFlight, StuckRetry};
    let late = T + V;
    let cases = [
        // No item: no time matters, the message's range decides.
        (None, 0, Some(NoDeliveryItem)),
        (None, late, Some(NoDeliveryItem)),
        // In flight: the lease and the visibility timeout after it.
        (Some(item(State::InFlight, T, 0)), T, None),
        (Some(item(State::InFlight, T, 0)), late, None),
        (Some(item(State::InFlight, T, 0)), late + 1, Some(StuckInFlight)),
        (Some(item(State::InFlight, T, T + 5)), late + 5, None),
        (Some(item(State::InFlight, T, T + 5)), late + 6, Some(StuckInFlight)),
        // Retry: the later of the last lease and the wait.
        (Some(item(State::Retry, 0, T)), late, None),
        (Some(item(State::Retry, 0, T)), late + 1, Some(StuckRetry)),
        (Some(item(State::Retry, T + 5, T)), late + 5, None),
        (Some(item(State::Retry, T + 5, T)), late + 6, Some(StuckRetry)),
        // Done: never.
        (Some(item(State::Done, 0, 0)), u64::MAX, None),
        (Some(item(State::Done, T, T)), late + 1, None),
        // Absurd numbers end somewhere, and never wrap.
        (Some(item(State::Retry, 0, u64::MAX)), u64::MAX, None),
        (Some(item(State::InFlight, u64::MAX - 1, 0)), u64::MAX, None),
    ];
    for (stored, now, expected) in cases {
        assert_eq!(judge(stored.as_ref(), V, now), expected, "{stored:?} at {now}");
    }
}

/// What the headers of `audit` say about numbers.
#[test]
fn the_durations_fit_each_other() {
    // An invocation per interval, over before the next begins, with time for a page.
    const { assert!(INVOCATION_MAX < INVOKED_EVERY && PAGE_RESERVE < INVOCATION_MAX) };
    // A pass a day, whatever a schedule is early or late by.
    const { assert!(PASS_EVERY + INVOKED_EVERY / 2 <= DAY && 2 * PASS_EVERY > DAY) };
    // At most five passes see a message, and its item is there for all of them.
    assert_eq!((Timing::DELIVER_MAX + AUDITED_AFTER).div_ceil(PASS_EVERY), 5);
    const { assert!(Timing::DELIVER_MAX + AUDITED_AFTER <= KEY_VALID_DAYS_MIN * DAY) };
}
