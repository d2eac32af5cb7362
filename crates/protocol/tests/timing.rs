//! Times of a message, for any accept time, ttl and key validity.

use proptest::prelude::*;
use protocol::timing::{KEY_VALID_DAYS_MAX, KEY_VALID_DAYS_MIN, Timing};

const DAY_MS: u64 = 86_400_000;
const PROFILES: [Timing; 2] = [Timing::PRODUCTION, Timing::SHORT];

proptest! {
    #[test]
    fn items_outlive_everything_that_refers_to_them(
        profile in 0_usize..2,
        at_ms in 0_u64..10_000_000_000_000,
        ttl in 0_u32..=2_419_200,
        days in KEY_VALID_DAYS_MIN..=KEY_VALID_DAYS_MAX,
    ) {
        let timing = PROFILES[profile];
        let deliver_by = timing.deliver_by(at_ms, ttl);
        prop_assert!(deliver_by >= at_ms + timing.ttl_floor && deliver_by <= at_ms + 3 * DAY_MS);
        let asked = at_ms + u64::from(ttl) * 1_000;
        if asked >= at_ms + timing.ttl_floor && asked <= at_ms + 3 * DAY_MS {
            prop_assert_eq!(deliver_by, asked);
        }

        let valid_until_s = (at_ms + days * DAY_MS).div_ceil(1_000);
        prop_assert!(deliver_by + DAY_MS <= valid_until_s * 1_000, "the key outlives delivery by a day");
        let expires_ms = timing.delivery_expires_s(at_ms, valid_until_s) * 1_000;
        prop_assert!(deliver_by + 15 * DAY_MS <= expires_ms, "the delivery item outlives delivery by 15 days");
        prop_assert!(expires_ms >= (valid_until_s + 15 * 86_400) * 1_000 && expires_ms >= at_ms + 45 * DAY_MS);
        // A copy is sent until deliver_by at the latest and kept for 14 days at most (a dead letter).
        prop_assert!(deliver_by + Timing::DEAD_LETTER_RETENTION < expires_ms, "no copy outlives the delivery item");
    }

    #[test]
    fn a_call_that_may_start_ends_within_its_lease_and_invocation(
        profile in 0_usize..2,
        now in 0_u64..200_000,
        lease in 0_u64..200_000,
        ends in 0_u64..200_000,
        deliver_by in 0_u64..200_000,
    ) {
        let timing = PROFILES[profile];
        let recorded = now + timing.call + timing.record + timing.margin;
        let expected = recorded < lease && recorded < ends && now < deliver_by;
        prop_assert_eq!(timing.call_may_start(now, lease, ends, deliver_by), expected);
    }

    #[test]
    fn a_retry_waits_at_least_the_schedule_and_what_the_provider_asked(
        profile in 0_usize..2,
        attempt in 1_u16..=1_000,
        jitter in 0_u16..=1_000,
        asked in proptest::option::of(0_u64..10_000_000),
    ) {
        let timing = PROFILES[profile];
        let step = timing.backoff[usize::from(attempt - 1).min(timing.backoff.len() - 1)];
        let delay = timing.retry_delay(attempt, jitter, asked);
        let asked = asked.unwrap_or(0);
        prop_assert!(delay >= step.max(asked) && delay <= (step + step / 5).max(asked));
    }
}
