//! The list of dead tokens: of all that was said the latest counts, in whatever order it is written down.

use proptest::prelude::*;
use protocol::{
    content::{Device, Platform, Token},
    dead_token::{Death, Entry, KEPT_MS, SHARDS, Said, TokenKey, hear},
    expect::Expect,
};

const NOW: u64 = 1_790_000_000_000;

fn dead(since_ms: u64) -> Said {
    Said::Dead { since_ms, reason: format!("at {since_ms}") }
}

fn accepted(at_ms: u64) -> Said {
    Said::Accepted { at_ms }
}

/// The entry after all of this, each written as soon as it is said.
fn after(first: Option<&Entry>, said: &[Said]) -> Option<Entry> {
    said.iter().fold(first.cloned(), |stored, said| hear(stored.as_ref(), said, NOW).map(|(entry, _)| entry).or(stored))
}

fn death(entry: &Option<Entry>) -> &Death {
    entry.as_ref().unwrap().death.as_ref().expect("it is on the list")
}

#[test]
fn a_token_is_listed_leaves_and_comes_back_only_for_what_is_said_later() {
    let listed = after(None, &[dead(NOW - 50)]);
    assert_eq!((death(&listed).since_ms, death(&listed).listed_ms), (NOW - 50, NOW));
    // Called later than it died: off the list. Then an answer about an earlier time, told late.
    let left = after(listed.as_ref(), &[accepted(NOW - 40)]);
    assert!(!left.as_ref().unwrap().is_listed(NOW));
    for late in [NOW - 60, NOW - 41, NOW - 40] {
        assert_eq!(after(left.as_ref(), &[dead(late)]), left, "{late}");
    }
    let again = after(left.as_ref(), &[dead(NOW - 39)]);
    assert_eq!(death(&again).since_ms, NOW - 39, "it died anew");
    // An acceptance that is told late and was earlier than its death changes nothing that is shown.
    let still = after(again.as_ref(), &[accepted(NOW - 40)]);
    assert_eq!(still, again);
}

#[test]
fn what_was_never_called_dead_is_not_written_down() {
    assert_eq!(hear(None, &accepted(NOW), NOW), None);
}

/// A time before all others is one, too: where nothing was ever accepted, it refutes nothing.
#[test]
fn a_death_since_the_beginning_of_time_is_listed() {
    let listed = after(None, &[dead(0)]);
    assert_eq!(death(&listed).since_ms, 0);
    assert!(!after(listed.as_ref(), &[accepted(1)]).unwrap().is_listed(NOW));
}

#[test]
fn of_two_calls_that_overlap_the_acceptance_counts() {
    let said = [dead(NOW - 7), accepted(NOW - 7)];
    assert!(!after(None, &said).unwrap().is_listed(NOW));
}

#[test]
fn a_death_that_is_said_again_keeps_its_beginning_and_its_place() {
    let once = after(None, &[dead(NOW - 50)]);
    let (twice, expect) = hear(once.as_ref(), &dead(NOW - 20), NOW + 5).unwrap();
    let death = twice.death.as_ref().unwrap();
    assert_eq!((death.since_ms, death.last_ms, death.listed_ms), (NOW - 50, NOW - 20, NOW));
    assert_eq!(death.reason, format!("at {}", NOW - 20), "the latest reason");
    assert_eq!((twice.version, expect), (2, Expect::Version(1)));
    // Between the two: only the second is still known to be true.
    let between = after(Some(&twice), &[accepted(NOW - 30)]);
    assert_eq!(self::death(&between).since_ms, NOW - 20);
}

#[test]
fn after_ninety_days_an_entry_says_nothing_and_is_written_over_by_its_version() {
    let listed = after(None, &[dead(NOW)]).unwrap();
    assert!(listed.is_listed(NOW + KEPT_MS - 1) && !listed.is_listed(NOW + KEPT_MS));
    let later = NOW + KEPT_MS;
    assert_eq!(hear(Some(&listed), &accepted(later), later), None);
    let (anew, expect) = hear(Some(&listed), &dead(later), later).unwrap();
    assert_eq!((anew.death.unwrap().listed_ms, anew.version, expect), (later, 2, Expect::Version(1)));
    // What took it off the list is remembered as long, and no longer.
    let left = after(Some(&listed), &[accepted(NOW + 9)]).unwrap();
    assert_eq!(hear(Some(&left), &dead(NOW + 9), NOW + KEPT_MS + 8), None);
    assert!(hear(Some(&left), &dead(NOW + 9), NOW + KEPT_MS + 9).is_some());
}

#[test]
fn keys_differ_by_platform_and_token_and_spread_over_all_parts() {
    let of = |platform, token: &str| TokenKey::of(&Device { platform, token: Token(token.into()) });
    assert_ne!(of(Platform::Android, "t"), of(Platform::Web, "t"));
    assert_ne!(of(Platform::Android, "t"), of(Platform::Android, "u"));
    let mut counts = [0; SHARDS as usize];
    for number in 0..400 {
        counts[usize::from(of(Platform::Ios, &number.to_string()).shard())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
}

fn said() -> impl Strategy<Value = Vec<Said>> {
    let one = (NOW - 20..NOW, any::<bool>()).prop_map(|(at, is_dead)| if is_dead { dead(at) } else { accepted(at) });
    prop::collection::vec(one, 0..8)
}

proptest! {
    #[test]
    fn the_latest_counts_in_any_order(said in said(), order in any::<prop::sample::Index>(), seed in NOW - 20..NOW) {
        // Whatever was written down first made the entry.
        let first = after(None, &[dead(seed)]);
        let mut other = said.clone();
        if !other.is_empty() {
            let by = order.index(other.len());
            other.rotate_left(by);
            other.reverse();
        }
        let (one, two) = (after(first.as_ref(), &said).unwrap(), after(first.as_ref(), &other).unwrap());
        let shown = |entry: &Entry| (entry.accepted_ms, entry.death.as_ref().map(|death| (death.last_ms, death.reason.clone())));
        prop_assert_eq!(shown(&one), shown(&two));
        let latest = |wanted: bool| said.iter().filter_map(|said| match said {
            Said::Dead { since_ms, .. } => (!wanted).then_some(*since_ms),
            Said::Accepted { at_ms } => wanted.then_some(*at_ms),
        }).max().unwrap_or(0);
        prop_assert_eq!(one.is_listed(NOW), latest(false).max(seed) > latest(true));
        if let Some(death) = &one.death {
            prop_assert!(one.accepted_ms < death.since_ms && death.since_ms <= death.last_ms);
        }
    }

    #[test]
    fn said_twice_is_said_once(said in said(), again in said()) {
        for said in said.iter().chain(&again) {
            let stored = after(None, &[dead(NOW - 10), said.clone()]);
            prop_assert_eq!(hear(stored.as_ref(), said, NOW), None);
        }
    }
}
