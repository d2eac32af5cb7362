//! Every duration that correctness rests on, and the inequalities between them.
//!
//! One struct, two profiles: `production` is what is deployed, `short` keeps tests and the local system quick with the
//! same proportions. Every program checks the inequalities at start and refuses to run when one does not hold; the
//! template is held to the same numbers. All times are milliseconds unless the name says otherwise.

use alloc::{format, string::String, vec::Vec};

const SECOND: u64 = 1_000;
const DAY: u64 = 86_400 * SECOND;
/// In both profiles: the provider's day does not shrink with them.
const PAYOUT_WINDOW: u64 = 82_800 * SECOND;

/// Days a message key is valid unless a setting says otherwise.
pub const KEY_VALID_DAYS_DEFAULT: u64 = 30;
/// Fewest days a message key may be valid: a message is delivered for up to 3 days, and its item must outlive that by one.
pub const KEY_VALID_DAYS_MIN: u64 = 4;
/// Most days a message key may be valid.
pub const KEY_VALID_DAYS_MAX: u64 = 365;
/// Attempts a chunk may take before it is settled.
pub const ATTEMPTS_MAX: u16 = 1_000;
/// Windows of the provider's key after which a payout is a person's that nobody could call for: 6.7 days, longer than any
/// weekend and shorter than SQS keeps a copy.
const PAYOUT_UNCALLED_WINDOWS: u64 = 7;
/// Receives after which SQS moves a copy to the dead-letter queue. Waiting for a lease or a retry costs receives too, and
/// a dead letter is re-driven, so the number only bounds how long a poisonous copy is tried.
pub const RECEIVES_MAX: u16 = 10;
/// How long a payment provider remembers an idempotency key at least: Stripe may prune a key once it is 24 h old, and
/// the same key then starts a new request (<https://docs.stripe.com/api/idempotent_requests>).
pub const PROVIDER_KEY_LIVES_MS: u64 = DAY;
/// Longest delay SQS accepts on a message (Amazon SQS API reference, SendMessage, DelaySeconds).
pub const SQS_DELAY_MAX_MS: u64 = 900 * SECOND;
/// Longest visibility timeout SQS accepts (Amazon SQS API reference, ChangeMessageVisibility).
pub const SQS_VISIBILITY_MAX_MS: u64 = 43_200 * SECOND;

/// The durations of one deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Getting credentials and an access token, before the claim.
    pub token: u64,
    /// One provider call: connect, headers and body.
    pub call: u64,
    /// One write of a delivery item, all tries together.
    pub record: u64,
    /// Slack between the last permitted start of a call and the end of the lease.
    pub margin: u64,
    /// How far two machines' clocks may be apart.
    pub skew: u64,
    /// The deliver function's time limit.
    pub function: u64,
    /// How long a claim is good for.
    pub lease: u64,
    /// The deliveries queue's visibility timeout.
    pub visibility: u64,
    /// How long the relay leaves a fresh message to its inline send.
    pub grace: u64,
    /// The stream's batching window.
    pub window: u64,
    /// The shortest time a message is worth delivering, whatever its ttl.
    pub ttl_floor: u64,
    /// Waits after attempts 1, 2, 3, …; the last one repeats.
    pub backoff: &'static [u64],
    /// How long an API key is cached, valid or not.
    pub key_cache: u64,
    /// How long an instance goes by what it knows of a hold (or that there is none), and of a held project's secret.
    pub hold_cache: u64,
    /// Waits before probes 1, 2, 3, … of a hold; the last one repeats.
    pub hold_probe: &'static [u64],
    /// The longest that a copy waits under a hold before it looks again.
    pub hold_look_max: u64,
    /// The inline send, all batches together.
    pub inline_send: u64,
    /// How long after its first call a payout may be called for again under its key.
    pub payout_window: u64,
    /// Everything one API request may take; API Gateway gives up at 29 s.
    pub api_total: u64,
}

impl Timing {
    /// What is deployed.
    pub const PRODUCTION: Self = Self {
        token: 5 * SECOND,
        call: 20 * SECOND,
        record: 5 * SECOND,
        margin: 5 * SECOND,
        skew: 2 * SECOND,
        function: 60 * SECOND,
        lease: 75 * SECOND,
        visibility: 360 * SECOND,
        grace: 30 * SECOND,
        window: 20 * SECOND,
        ttl_floor: 120 * SECOND,
        backoff: &[10 * SECOND, 60 * SECOND, 300 * SECOND, 900 * SECOND],
        key_cache: 60 * SECOND,
        hold_cache: 10 * SECOND,
        hold_probe: &[60 * SECOND, 300 * SECOND, 900 * SECOND, 3_600 * SECOND],
        hold_look_max: 300 * SECOND,
        inline_send: SECOND,
        payout_window: PAYOUT_WINDOW,
        api_total: 20 * SECOND,
    };

    /// For tests and the local system.
    pub const SHORT: Self = Self {
        token: SECOND,
        call: 2 * SECOND,
        record: SECOND,
        margin: SECOND,
        skew: 200,
        function: 8 * SECOND,
        lease: 10 * SECOND,
        visibility: 48 * SECOND,
        grace: 2 * SECOND,
        window: SECOND,
        ttl_floor: 10 * SECOND,
        backoff: &[500, 2 * SECOND, 5 * SECOND],
        key_cache: 2 * SECOND,
        hold_cache: SECOND,
        hold_probe: &[2 * SECOND, 5 * SECOND, 10 * SECOND],
        hold_look_max: 2 * SECOND,
        inline_send: SECOND,
        payout_window: PAYOUT_WINDOW,
        api_total: 20 * SECOND,
    };

    /// Longest time a message is delivered for, whatever its ttl.
    pub const DELIVER_MAX: u64 = 3 * DAY;
    /// How long the deliveries queue keeps a message.
    pub const QUEUE_RETENTION: u64 = 4 * DAY;
    /// How long a dead-letter queue keeps a message.
    pub const DEAD_LETTER_RETENTION: u64 = 14 * DAY;
    /// How long a delivery item outlives its message's key.
    pub const DELIVERY_OUTLIVES_KEY: u64 = 15 * DAY;
    /// How long a delivery item lives at least, from accept.
    pub const DELIVERY_LIVES: u64 = 45 * DAY;
    /// API Gateway's limit for an integration (HTTP API quotas: 30 s; a margin of one second).
    pub const GATEWAY_LIMIT: u64 = 29 * SECOND;

    /// The profile of a name: `production` or `short`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "production" => Some(Self::PRODUCTION),
            "short" => Some(Self::SHORT),
            _ => None,
        }
    }

    /// Every inequality that does not hold, in words; empty when all is well.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "durations of a program, not outside input")]
    pub fn violations(&self) -> Vec<String> {
        let held_by_key = KEY_VALID_DAYS_MIN * DAY;
        let rules: [(bool, &str); 17] = [
            (
                self.token + 2 * self.call + self.record + self.margin < self.function,
                "T_token + 2*T_call + T_record + margin < T_fn",
            ),
            (self.function + self.margin < self.lease, "T_fn + margin < lease"),
            (self.lease < self.visibility, "lease < visibility"),
            (6 * self.function <= self.visibility, "6*T_fn <= visibility"),
            (self.margin > 2 * self.skew, "margin > 2*skew"),
            (self.visibility <= SQS_VISIBILITY_MAX_MS, "visibility <= SQS's longest"),
            (Self::DELIVER_MAX < Self::QUEUE_RETENTION, "deliver_by < main retention"),
            (Self::QUEUE_RETENTION < Self::DEAD_LETTER_RETENTION, "main retention < dead-letter retention"),
            (
                Self::DELIVER_MAX + 15 * DAY <= Self::DELIVERY_LIVES.max(held_by_key + Self::DELIVERY_OUTLIVES_KEY),
                "deliver_by + 15 d <= the delivery item's life",
            ),
            (Self::DELIVER_MAX + DAY <= held_by_key, "deliver_by + 1 d <= the message item's life"),
            (self.api_total < Self::GATEWAY_LIMIT, "API total < 29 s"),
            (self.record + self.inline_send < self.api_total, "a write and the inline send fit an API request"),
            (self.ttl_floor <= Self::DELIVER_MAX, "ttl floor <= 3 d"),
            (!self.backoff.is_empty(), "the backoff has a step"),
            (!self.hold_probe.is_empty(), "the waits before probes have a step"),
            (
                self.hold_cache <= self.hold_look_max && self.hold_look_max <= SQS_DELAY_MAX_MS,
                "hold cache <= longest wait under a hold <= SQS's longest delay",
            ),
            // A receive that found the window open just before its end calls T_fn later at most, by a clock that may
            // be off from the one that stamped.
            (
                self.payout_window + self.function + self.call + 2 * self.skew < PROVIDER_KEY_LIVES_MS,
                "payout window + T_fn + T_call + 2*skew < the life of a provider's key",
            ),
        ];
        rules.iter().filter(|(holds, _)| !holds).map(|(_, rule)| format!("timing: {rule} does not hold")).collect()
    }

    /// When delivery of a message accepted at `at_ms` with this ttl is given up.
    #[must_use]
    pub fn deliver_by(&self, at_ms: u64, ttl_seconds: u32) -> u64 {
        let ttl = u64::from(ttl_seconds).saturating_mul(SECOND);
        at_ms.saturating_add(ttl.clamp(self.ttl_floor, Self::DELIVER_MAX))
    }

    /// When a delivery item may be deleted, in whole seconds: 15 days after its message's key, 45 after accept at
    /// least, so that no copy of its chunk can outlive it.
    #[must_use]
    pub fn delivery_expires_s(&self, at_ms: u64, key_valid_until_s: u64) -> u64 {
        const OUTLIVES_S: u64 = Timing::DELIVERY_OUTLIVES_KEY / SECOND;
        key_valid_until_s.saturating_add(OUTLIVES_S).max(at_ms.saturating_add(Self::DELIVERY_LIVES).div_ceil(SECOND))
    }

    /// Whether a provider call may start: it must end, and be recorded, before the lease and this invocation end.
    #[must_use]
    pub fn call_may_start(&self, now_ms: u64, lease_ms: u64, invocation_ends_ms: u64, deliver_by_ms: u64) -> bool {
        let recorded = now_ms.saturating_add(self.call).saturating_add(self.record).saturating_add(self.margin);
        recorded < lease_ms.min(invocation_ends_ms) && now_ms < deliver_by_ms
    }

    /// Whether a record may be written once more: it must end before this invocation does.
    #[must_use]
    pub fn record_may_start(&self, now_ms: u64, invocation_ends_ms: u64) -> bool {
        now_ms.saturating_add(self.record).saturating_add(self.margin) < invocation_ends_ms
    }

    /// Whether a payment provider may be asked: the answer must come, and be recorded, before this invocation ends.
    #[must_use]
    pub fn payout_may_start(&self, now_ms: u64, invocation_ends_ms: u64) -> bool {
        self.call_may_start(now_ms, u64::MAX, invocation_ends_ms, u64::MAX)
    }

    /// Whether a payout whose first call was stamped at `first_call_ms` may still be called for under its key.
    #[must_use]
    pub fn payout_window_open(&self, first_call_ms: u64, now_ms: u64) -> bool {
        now_ms < first_call_ms.saturating_add(self.payout_window)
    }

    /// Whether everybody who found the window open is gone: only then does a listing that does not show the payout say
    /// that nobody will make it any more.
    #[must_use]
    pub fn payout_window_settled(&self, first_call_ms: u64, now_ms: u64) -> bool {
        now_ms >= self.payout_busy_until(first_call_ms.saturating_add(self.payout_window))
    }

    /// Whether a listing that is never got is given up on for a payout whose first call was stamped at `first_call_ms`:
    /// nobody calls for it any more, and a day of asking is enough.
    #[must_use]
    pub fn payout_listing_given_up(&self, first_call_ms: u64, now_ms: u64) -> bool {
        now_ms >= first_call_ms.saturating_add(self.payout_window).saturating_add(self.payout_window)
    }

    /// Whether a payout that is due since `due_ms`, and of which no call did anything, is given up on: days in which
    /// somebody could mend what keeps calls from being made.
    #[must_use]
    pub fn payout_uncalled_given_up(&self, due_ms: u64, now_ms: u64) -> bool {
        now_ms >= due_ms.saturating_add(self.payout_window.saturating_mul(PAYOUT_UNCALLED_WINDOWS))
    }

    /// When a payout that was refused or failed at `failed_ms` has no caller any more, and, if it failed, may have a
    /// successor: by then every consumer that read it before has been ended, and every request of theirs has arrived or
    /// was given up.
    #[must_use]
    pub fn payout_busy_until(&self, failed_ms: u64) -> u64 {
        failed_ms.saturating_add(self.function).saturating_add(self.call).saturating_add(self.skew)
    }

    /// The wait after attempt number `attempt` (from 1): the schedule plus up to a fifth of jitter
    /// (`jitter_permille` 0 to 1,000), and never less than what the provider asked for.
    #[must_use]
    pub fn retry_delay(&self, attempt: u16, jitter_permille: u16, asked_ms: Option<u64>) -> u64 {
        let step = usize::from(attempt.saturating_sub(1)).min(self.backoff.len().saturating_sub(1));
        let base = self.backoff.get(step).copied().unwrap_or(SECOND);
        let jitter = base.saturating_mul(u64::from(jitter_permille.min(1_000))) / 5_000;
        let jittered = base.saturating_add(jitter);
        jittered.max(asked_ms.unwrap_or(0))
    }

    /// The longest that [`Timing::retry_delay`] waits of itself, jitter included, in ms.
    #[must_use]
    pub fn retry_delay_max(&self) -> u64 {
        self.backoff.iter().copied().max().map_or(SECOND, |longest| longest.saturating_add(longest / 5))
    }

    /// How long a chunk that was refused leaves a probe to the others: they look when it is due, as exactly as SQS's whole
    /// seconds and what an instance remembers allow.
    #[must_use]
    pub fn hold_head_start(&self) -> u64 {
        self.hold_cache.saturating_mul(2)
    }

    /// How long a copy waits before it looks again at a hold of this age: at first as long as an instance remembers what
    /// it knew, later as long as the hold has stood, up to a limit. Repaired credentials are in use after that at most.
    #[must_use]
    pub fn hold_look(&self, age_ms: u64) -> u64 {
        age_ms.max(self.hold_cache).min(self.hold_look_max)
    }

    /// The wait before the next probe, after so many.
    #[must_use]
    pub fn hold_probe_after(&self, probes: u16) -> u64 {
        let step = usize::from(probes).min(self.hold_probe.len().saturating_sub(1));
        self.hold_probe.get(step).copied().unwrap_or(SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_profiles_hold_every_inequality() {
        assert_eq!(Timing::PRODUCTION.violations(), Vec::<String>::new());
        assert_eq!(Timing::SHORT.violations(), Vec::<String>::new());
    }

    #[test]
    fn each_inequality_can_fail() {
        let broken = [
            (Timing { token: 100 * SECOND, ..Timing::PRODUCTION }, "T_token"),
            (Timing { lease: 64 * SECOND, ..Timing::PRODUCTION }, "T_fn + margin < lease"),
            (Timing { lease: 360 * SECOND, ..Timing::PRODUCTION }, "lease < visibility"),
            (Timing { visibility: 359 * SECOND, ..Timing::PRODUCTION }, "6*T_fn"),
            (Timing { skew: 3 * SECOND, ..Timing::PRODUCTION }, "2*skew"),
            (Timing { api_total: 29 * SECOND, ..Timing::PRODUCTION }, "API total"),
            (Timing { backoff: &[], ..Timing::PRODUCTION }, "backoff"),
            (Timing { hold_probe: &[], ..Timing::PRODUCTION }, "probes"),
            (Timing { hold_look_max: 901 * SECOND, ..Timing::PRODUCTION }, "under a hold"),
            (Timing { hold_cache: 301 * SECOND, ..Timing::PRODUCTION }, "under a hold"),
            (Timing { payout_window: DAY - 83 * SECOND, ..Timing::PRODUCTION }, "payout window"),
        ];
        for (timing, rule) in broken {
            assert!(timing.violations().iter().any(|v| v.contains(rule)), "{rule}: {:?}", timing.violations());
        }
    }

    #[test]
    fn a_payout_s_window_is_closed_at_its_last_ms_and_a_failed_one_is_busy_until_its_callers_are_gone() {
        let t = Timing::PRODUCTION;
        assert!(t.payout_window_open(1_000, 82_800_999) && !t.payout_window_open(1_000, 82_801_000));
        assert!(t.payout_window_open(5_000, 1_000), "a clock that is behind the one that stamped");
        assert_eq!(t.payout_busy_until(1_000), 83_000);
        assert!(!t.payout_window_settled(1_000, 82_882_999) && t.payout_window_settled(1_000, 82_883_000));
        assert!(t.payout_may_start(0, 30_001) && !t.payout_may_start(0, 30_000));
    }

    /// Call, record and margin are 30 s in production, and 29 s would be a call and a record without the margin.
    #[test]
    fn a_call_starts_only_with_its_margin_before_the_lease_and_the_invocation_end() {
        let t = Timing::PRODUCTION;
        assert!(t.call_may_start(0, 30_001, 30_001, 1));
        assert!(!t.call_may_start(0, 30_000, u64::MAX, 1), "the lease");
        assert!(!t.call_may_start(0, u64::MAX, 30_000, 1), "the invocation");
        assert!(!t.call_may_start(1, u64::MAX, u64::MAX, 1), "the deadline");
    }

    #[test]
    fn the_schedule_repeats_its_last_step_and_honours_the_provider() {
        let t = Timing::PRODUCTION;
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(|a| t.retry_delay(a, 0, None)),
            [10_000, 60_000, 300_000, 900_000, 900_000, 900_000]
        );
        assert_eq!(t.retry_delay(1, 1_000, None), 12_000);
        assert_eq!(t.retry_delay(1, 1_000, Some(70_000)), 70_000);
        assert_eq!(t.retry_delay_max(), t.retry_delay(99, 1_000, None));
        assert_eq!(Timing::SHORT.retry_delay_max(), Timing::SHORT.retry_delay(99, 1_000, None));
    }

    #[test]
    fn delivery_is_worth_at_least_the_floor_and_at_most_three_days() {
        let t = Timing::PRODUCTION;
        assert_eq!(t.deliver_by(0, 0), 120_000);
        assert_eq!(t.deliver_by(0, 3_600), 3_600_000);
        assert_eq!(t.deliver_by(0, 2_419_200), 3 * DAY);
    }
}
