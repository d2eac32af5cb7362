//! When an invocation is ended, as far as the runtime can be believed.
//!
//! Asked by the mains of functions that stop in time. Lambda says it in ms since the Unix epoch (AWS Lambda developer
//! guide, "Using the Lambda runtime API"); `cargo lambda watch` says 600,000, which was in 1970. A function that believed
//! that would never begin anything.

/// The longest that Lambda lets an invocation take, in ms (AWS Lambda quotas: 900 s).
const INVOCATION_MAX_MS: u64 = 900_000;

/// The deadline that was said, or, where no invocation that runs at `now_ms` can have it, the function's own limit from
/// now on. All in ms. A deadline that has just passed is one.
#[must_use]
pub fn deadline_ms(said_ms: u64, now_ms: u64, limit_ms: u64) -> u64 {
    if said_ms.abs_diff(now_ms) <= INVOCATION_MAX_MS { said_ms } else { now_ms.saturating_add(limit_ms) }
}

#[cfg(test)]
mod tests {
    use super::deadline_ms;

    #[test]
    fn what_lambda_says_is_believed_and_what_it_cannot_say_is_not() {
        let now = 1_795_978_800_000;
        for said in [now + 60_000, now + 900_000, now, now - 1, now - 900_000] {
            assert_eq!(deadline_ms(said, now, 60_000), said);
        }
        for absurd in [600_000, 0, now + 900_001, now - 900_001, u64::MAX] {
            assert_eq!(deadline_ms(absurd, now, 60_000), now + 60_000, "{absurd}");
        }
    }
}
