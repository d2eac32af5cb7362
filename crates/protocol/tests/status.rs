//! What a caller reads: nothing stays open for ever, and the message's word follows from its devices' words.

use crate::common::{STATES, claimed, facts};
use proptest::{collection, prelude::*};
use protocol::{
    DEVICES_PER_CHUNK,
    content::Policy,
    delivery::{Delivery, DeviceState, State},
    letter::{LETTERS, Letter},
    message::chunks_of,
    status::{DEVICE_WORDS, DeviceWord, MessageWord, device_words, message_word},
    timing::Timing,
};

const TIMING: Timing = Timing::PRODUCTION;
const DELIVER_BY: u64 = 1_000_000;
const LATEST_OPEN: u64 = DELIVER_BY + TIMING.lease + TIMING.skew;

fn item(state: State, letters: &[Letter]) -> Delivery {
    let new = claimed(None, &facts(Policy::AtLeastOnce, letters.len()), 1, 0, TIMING.lease);
    let devices = letters.iter().map(|letter| DeviceState { letter: *letter, ..DeviceState::NEW }).collect();
    Delivery { state, devices, ..new }
}

fn word(item: Option<Delivery>, now_ms: u64) -> DeviceWord {
    device_words(1, &[item], DELIVER_BY, now_ms, &TIMING)[0]
}

fn is_open(word: DeviceWord) -> bool {
    matches!(word, DeviceWord::Pending | DeviceWord::Sending)
}

#[test]
fn the_clock_rule_says_expired_only_where_no_call_can_be_under_way() {
    let late = LATEST_OPEN + 1;
    for state in STATES {
        for letter in LETTERS {
            let (before, after) =
                (word(Some(item(state, &[letter])), LATEST_OPEN), word(Some(item(state, &[letter])), late));
            let expected = match (letter, state) {
                (Letter::Sent, _) => DeviceWord::Sent,
                (Letter::Failed, _) => DeviceWord::Failed,
                (Letter::Expired, _) => DeviceWord::Expired,
                (Letter::Pending, State::Retry) => DeviceWord::Expired,
                _ => DeviceWord::Unknown,
            };
            assert_eq!(after, expected, "{state:?} {letter:?}");
            assert_eq!(before, if letter.is_open() { DeviceWord::Sending } else { expected }, "{state:?} {letter:?}");
        }
    }
    assert_eq!(word(None, LATEST_OPEN), DeviceWord::Pending);
    assert_eq!(word(None, late), DeviceWord::Expired);
}

/// The clock rule says of each unfinished chunk what settling it would write, so neither can contradict the other.
#[test]
fn the_clock_rule_and_a_settling_dead_letter_agree() {
    let late = LATEST_OPEN + 1;
    for state in [State::InFlight, State::Retry] {
        for letter in LETTERS.into_iter().filter(|letter| letter.is_open()) {
            let old = item(state, &[letter]);
            let facts = protocol::claim::ChunkFacts { deliver_by_ms: DELIVER_BY, ..facts(Policy::AtLeastOnce, 1) };
            let protocol::claim::Claim::Settle(settled, _) = protocol::claim::settle(Some(&old), &facts, late) else {
                panic!("not settled: {old:?}");
            };
            assert_eq!(word(Some(settled), late), word(Some(old), late), "{state:?} {letter:?}");
        }
    }
}

/// The rule of the design, written the other way round: by counting.
fn word_by_counting(words: &[DeviceWord]) -> MessageWord {
    let count = |word| words.iter().filter(|w| **w == word).count();
    let [pending, sending, sent, failed, unknown, _] = DEVICE_WORDS.map(count);
    match () {
        () if pending == words.len() => MessageWord::Queued,
        () if pending + sending > 0 => MessageWord::Sending,
        () if sent == words.len() => MessageWord::Sent,
        () if sent > 0 => MessageWord::Partial,
        () if unknown > 0 => MessageWord::Unknown,
        () if failed > 0 => MessageWord::Failed,
        () => MessageWord::Expired,
    }
}

#[test]
fn every_combination_of_three_devices_has_the_design_s_word() {
    for a in DEVICE_WORDS {
        for b in DEVICE_WORDS {
            for c in DEVICE_WORDS {
                for words in [&[a][..], &[a, b], &[a, b, c]] {
                    assert_eq!(message_word(words), word_by_counting(words), "{words:?}");
                }
            }
        }
    }
}

fn chunk_item(devices: usize) -> impl Strategy<Value = Option<Delivery>> {
    let letters = collection::vec(prop::sample::select(LETTERS.to_vec()), devices);
    proptest::option::of((prop::sample::select(STATES.to_vec()), letters).prop_map(|(s, l)| item(s, &l)))
}

fn message() -> impl Strategy<Value = (usize, Vec<Option<Delivery>>)> {
    (1_usize..=3 * DEVICES_PER_CHUNK).prop_flat_map(|devices| {
        let chunks = usize::from(chunks_of(devices));
        let sizes = (0..chunks).map(move |chunk| (devices - chunk * DEVICES_PER_CHUNK).min(DEVICES_PER_CHUNK));
        (Just(devices), sizes.map(chunk_item).collect::<Vec<_>>())
    })
}

proptest! {
    #[test]
    fn long_after_the_deadline_nothing_reads_as_open((devices, items) in message(), late in 1_u64..1_000_000_000) {
        let words = device_words(devices, &items, DELIVER_BY, LATEST_OPEN + late, &TIMING);
        prop_assert_eq!(words.len(), devices);
        prop_assert!(!words.iter().copied().any(is_open));
        prop_assert!(!matches!(message_word(&words), MessageWord::Queued | MessageWord::Sending));
    }

    /// The clock alone closes what is open, once, and changes nothing else.
    #[test]
    fn the_clock_never_turns_a_final_word((devices, items) in message(), times in collection::vec(0_u64..2 * LATEST_OPEN, 2..6)) {
        let mut times = times;
        times.sort_unstable();
        let mut before: Option<Vec<DeviceWord>> = None;
        for now in times {
            let words = device_words(devices, &items, DELIVER_BY, now, &TIMING);
            if let Some(before) = before {
                for (old, new) in before.iter().zip(&words) {
                    prop_assert!(old == new || (is_open(*old) && !is_open(*new) && *new != DeviceWord::Sent));
                }
            }
            before = Some(words);
        }
    }

    /// Device words that go forward make a message word that goes forward.
    #[test]
    fn a_final_message_word_changes_only_because_unknown_became_sent(
        words in collection::vec(prop::sample::select(DEVICE_WORDS.to_vec()), 1..6),
        choices in collection::vec(0_usize..6, 6),
    ) {
        let later: Vec<DeviceWord> = words
            .iter()
            .zip(choices)
            .map(|(word, choice)| match word {
                DeviceWord::Pending => DEVICE_WORDS[choice],
                DeviceWord::Sending => DEVICE_WORDS[choice.max(1)],
                DeviceWord::Unknown if choice == 0 => DeviceWord::Sent,
                _ => *word,
            })
            .collect();
        let (before, after) = (message_word(&words), message_word(&later));
        let allowed = match before {
            MessageWord::Queued => true,
            MessageWord::Sending => after != MessageWord::Queued,
            MessageWord::Unknown => matches!(after, MessageWord::Unknown | MessageWord::Partial | MessageWord::Sent),
            MessageWord::Partial => matches!(after, MessageWord::Partial | MessageWord::Sent),
            MessageWord::Sent | MessageWord::Failed | MessageWord::Expired => after == before,
        };
        prop_assert!(allowed, "{:?} then {:?}", before, after);
    }
}
