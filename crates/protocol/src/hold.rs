//! Holds: while a provider refuses a project's credentials, nobody calls it for that project.
//!
//! Pure decisions over the hold item, one per project and provider: whether a chunk may call, waits, or is the probe that
//! finds out whether the credentials work again; how a hold begins, and how it is lifted. Called by the deliver function
//! before its claim and after its calls. A hold only spares attempts and the provider's patience: a hold that is missed
//! or not written costs calls that are refused again, never a message.

use crate::{
    answer::Reason,
    content::Platform,
    expect::Expect,
    ids::{NONCE_BYTES, Nonce, OwnerToken},
    timing::Timing,
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::fmt;

/// Chunks that a hold remembers as refused: some hours of probes, and 224 bytes of its item.
pub const TRIED_MAX: usize = 32;

/// Who is called for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    /// Apple Push Notification service: ios.
    Apns,
    /// Firebase Cloud Messaging: android and web.
    Fcm,
}

/// All of them.
pub const PROVIDERS: [Provider; 2] = [Provider::Apns, Provider::Fcm];

impl Provider {
    /// The provider of a platform.
    #[must_use]
    pub const fn of(platform: Platform) -> Self {
        match platform {
            Platform::Ios => Self::Apns,
            Platform::Android | Platform::Web => Self::Fcm,
        }
    }

    /// The word in secrets' names, items, logs and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apns => "apns",
            Self::Fcm => "fcm",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A chunk, as a hold tells it from others of its project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prober {
    /// Its message's.
    pub nonce: Nonce,
    /// Which chunk of the message.
    pub chunk: u16,
}

impl Prober {
    /// Length of [`Prober::to_bytes`].
    pub const BYTES: usize = NONCE_BYTES + 2;

    /// As it is stored: the nonce, then the chunk, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let [a, b, c, d, e] = self.nonce.0;
        let [high, low] = self.chunk.to_be_bytes();
        [a, b, c, d, e, high, low]
    }

    /// What [`Prober::to_bytes`] wrote.
    #[must_use]
    pub fn of_bytes([a, b, c, d, e, high, low]: [u8; Self::BYTES]) -> Self {
        Self { nonce: Nonce([a, b, c, d, e]), chunk: u16::from_be_bytes([high, low]) }
    }
}

/// The hold item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// Whether the hold stands; `false` once it was lifted. The item stays, so that its version goes on.
    pub held: bool,
    /// What the provider, or the secret, said.
    pub reason: Reason,
    /// When the hold began (or, once lifted, ended), in ms.
    pub since_ms: u64,
    /// When the next chunk may find out whether the credentials work, in ms.
    pub probe_at_ms: u64,
    /// Probes since the hold began or the credentials changed.
    pub probes: u16,
    /// The version of the secret that was refused; empty where there is no secret.
    pub credentials: String,
    /// The chunks that began it or probed in vain, the latest last: a fault that only their devices meet must not keep
    /// all others waiting, so these let the others try first. Kept when it is lifted, forgotten with other credentials.
    pub tried: Vec<Prober>,
    /// Who wrote it: fresh for each write, so that a writer knows its own.
    pub by: OwnerToken,
    /// Counts writes; every write is conditional on it.
    pub version: u32,
}

/// What a hold means for a chunk that is about to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// No hold: go on.
    Open,
    /// Nobody calls. Look again at this time, in ms.
    Held {
        /// In ms since the Unix epoch.
        until_ms: u64,
    },
    /// Write this first; who gets it written is the probe and goes on.
    Probe(Hold, Expect),
}

/// Decides for a chunk. `credentials` is the version of the secret as it is now, if known: another one than was refused
/// is tried at once, once. Else a chunk that was refused before comes after those that were not. `me` is fresh.
#[must_use]
pub fn gate(
    stored: Option<&Hold>,
    credentials: Option<&str>,
    chunk: Prober,
    me: OwnerToken,
    now_ms: u64,
    timing: &Timing,
) -> Gate {
    let Some(hold) = stored.filter(|hold| hold.held) else { return Gate::Open };
    let changed = credentials.filter(|version| *version != hold.credentials);
    let after_others = if hold.tried.contains(&chunk) { timing.hold_head_start() } else { 0 };
    let mine_ms = hold.probe_at_ms.saturating_add(after_others);
    if changed.is_none() && now_ms < mine_ms {
        let until_ms = now_ms.saturating_add(timing.hold_look(now_ms.saturating_sub(hold.since_ms)));
        return Gate::Held { until_ms: until_ms.min(mine_ms) };
    }
    let probes = if changed.is_some() { 0 } else { hold.probes.saturating_add(1) };
    let next = Hold {
        probes,
        probe_at_ms: now_ms.saturating_add(timing.hold_probe_after(probes)),
        credentials: changed.unwrap_or(&hold.credentials).to_string(),
        tried: if changed.is_some() { vec![chunk] } else { with(&hold.tried, chunk) },
        by: me,
        version: hold.version.saturating_add(1),
        ..hold.clone()
    };
    Gate::Probe(next, Expect::Version(hold.version))
}

/// The chunks that were refused, with one more.
fn with(tried: &[Prober], chunk: Prober) -> Vec<Prober> {
    let others = tried.iter().copied().filter(|other| *other != chunk);
    let mut all: Vec<Prober> = others.chain([chunk]).collect();
    all.drain(..all.len().saturating_sub(TRIED_MAX));
    all
}

/// A probe's own chunk is the last; without it.
fn without_last(tried: &[Prober]) -> Vec<Prober> {
    tried.split_last().map(|(_, before)| before.to_vec()).unwrap_or_default()
}

/// The item that `stored` becomes when these credentials are refused, or `None` if it says so already. `chunk` is the one
/// whose device a provider refused them for, if it was called.
#[must_use]
pub fn refused(
    stored: Option<&Hold>,
    reason: &Reason,
    credentials: &str,
    chunk: Option<Prober>,
    me: OwnerToken,
    now_ms: u64,
    timing: &Timing,
) -> Option<(Hold, Expect)> {
    let expect = stored.map_or(Expect::Absent, |hold| Expect::Version(hold.version));
    let version = stored.map_or(1, |hold| hold.version.saturating_add(1));
    let item = match stored.filter(|hold| hold.held) {
        Some(hold) if hold.reason.code == reason.code && hold.credentials == credentials => return None,
        Some(hold) => {
            Hold { reason: reason.clone(), credentials: credentials.to_string(), by: me, version, ..hold.clone() }
        }
        None => Hold {
            held: true,
            reason: reason.clone(),
            since_ms: now_ms,
            probe_at_ms: now_ms.saturating_add(timing.hold_probe_after(0)),
            probes: 0,
            credentials: credentials.to_string(),
            tried: {
                let before = stored.filter(|hold| hold.credentials == credentials);
                let before = before.map_or(&[][..], |hold| &hold.tried);
                chunk.map_or_else(|| before.to_vec(), |chunk| with(before, chunk))
            },
            by: me,
            version,
        },
    };
    Some((item, expect))
}

/// The item after a probe whose credentials were taken. Written over the probe's own version only, so that what others
/// learned meanwhile stays.
#[must_use]
pub fn lifted(probe: &Hold, me: OwnerToken, now_ms: u64) -> (Hold, Expect) {
    let version = probe.version.saturating_add(1);
    let tried = without_last(&probe.tried);
    let item = Hold { held: false, since_ms: now_ms, tried, by: me, version, ..probe.clone() };
    (item, Expect::Version(probe.version))
}

/// The item after a probe that met nothing to call: the next chunk may probe at once. Written over the probe's own
/// version only.
#[must_use]
pub fn unused(probe: &Hold, me: OwnerToken, now_ms: u64) -> (Hold, Expect) {
    let (probes, version) = (probe.probes.saturating_sub(1), probe.version.saturating_add(1));
    let tried = without_last(&probe.tried);
    let item = Hold { probe_at_ms: now_ms, probes, tried, by: me, version, ..probe.clone() };
    (item, Expect::Version(probe.version))
}

/// The devices of a chunk whose provider is held, and when to look again. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeldDevices {
    /// One bit per device of the chunk.
    bits: u32,
    /// In ms since the Unix epoch.
    until_ms: u64,
}

impl HeldDevices {
    /// These devices, by their index in the chunk.
    #[must_use]
    pub fn new(devices: impl IntoIterator<Item = usize>, until_ms: u64) -> Self {
        let bit = |device: usize| u32::try_from(device).ok().and_then(|device| 1_u32.checked_shl(device)).unwrap_or(0);
        Self { bits: devices.into_iter().fold(0, |bits, device| bits | bit(device)), until_ms }
    }

    /// Whether a device is one of them.
    #[must_use]
    pub fn has(self, device: usize) -> bool {
        u32::try_from(device).ok().and_then(|device| self.bits.checked_shr(device)).is_some_and(|bits| bits & 1 == 1)
    }

    /// When to look again, in ms.
    #[must_use]
    pub fn until_ms(self) -> u64 {
        self.until_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEVICES_PER_CHUNK;

    const T: Timing = Timing::PRODUCTION;
    const ME: OwnerToken = OwnerToken([1; 16]);
    const NOW: u64 = 1_000_000_000;
    const CHUNK: Prober = chunk(1);
    const OTHER: Prober = chunk(2);

    const fn chunk(number: u16) -> Prober {
        Prober { nonce: Nonce([7; NONCE_BYTES]), chunk: number }
    }

    fn reason(code: &str) -> Reason {
        Reason { code: code.to_string(), detail: String::new() }
    }

    fn begun() -> Hold {
        let (hold, expect) = refused(None, &reason("InvalidProviderToken"), "v1", Some(OTHER), ME, NOW, &T).unwrap();
        assert_eq!((expect, hold.held, hold.version, hold.probes), (Expect::Absent, true, 1, 0));
        hold
    }

    #[test]
    fn a_hold_begins_once_and_keeps_its_beginning() {
        let hold = begun();
        assert_eq!(refused(Some(&hold), &reason("InvalidProviderToken"), "v1", Some(OTHER), ME, NOW + 5, &T), None);
        let (other, expect) = refused(Some(&hold), &reason("Forbidden"), "v1", Some(OTHER), ME, NOW + 5, &T).unwrap();
        assert_eq!((expect, other.since_ms, other.version), (Expect::Version(1), NOW, 2));
        assert_eq!((other.probe_at_ms, other.reason.code.as_str()), (hold.probe_at_ms, "Forbidden"));
    }

    #[test]
    fn copies_look_again_more_and_more_seldom_but_never_miss_a_probe() {
        let hold = Hold { probe_at_ms: NOW + 3_600_000, ..begun() };
        let waits = [0, 9_000, 60_000, 290_000, 3_000_000].map(|age| {
            match gate(Some(&hold), Some("v1"), CHUNK, ME, NOW + age, &T) {
                Gate::Held { until_ms } => until_ms - NOW - age,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(waits, [10_000, 10_000, 60_000, 290_000, 300_000]);
        let soon = Hold { probe_at_ms: NOW + 7, ..hold };
        assert_eq!(gate(Some(&soon), None, CHUNK, ME, NOW, &T), Gate::Held { until_ms: NOW + 7 });
    }

    #[test]
    fn probes_grow_apart_and_start_over_with_other_credentials() {
        let mut hold = begun();
        let mut now = NOW;
        for (number, apart) in (10..).zip([60_000, 300_000, 900_000, 3_600_000, 3_600_000]) {
            assert_eq!(hold.probe_at_ms, now + apart);
            now = hold.probe_at_ms;
            assert!(matches!(gate(Some(&hold), Some("v1"), CHUNK, ME, now - 1, &T), Gate::Held { .. }));
            let Gate::Probe(next, expect) = gate(Some(&hold), Some("v1"), chunk(number), ME, now, &T) else {
                panic!("not due")
            };
            assert_eq!((expect, next.version), (Expect::Version(hold.version), hold.version + 1));
            hold = next;
        }
        let Gate::Probe(next, _) = gate(Some(&hold), Some("v2"), CHUNK, ME, now + 1, &T) else { panic!("not tried") };
        assert_eq!((next.credentials.as_str(), next.probe_at_ms), ("v2", now + 1 + 60_000));
        assert!(
            matches!(gate(Some(&next), Some("v2"), CHUNK, ME, now + 2, &T), Gate::Held { .. }),
            "tried once, by one"
        );
    }

    /// A web device whose push key is missing meets a refusal each time, and nobody else does.
    #[test]
    fn a_chunk_that_was_refused_lets_the_others_try_first() {
        let hold = begun();
        let (due, late) = (hold.probe_at_ms, hold.probe_at_ms + T.hold_head_start());
        assert_eq!(gate(Some(&hold), None, OTHER, ME, due, &T), Gate::Held { until_ms: late });
        assert!(matches!(gate(Some(&hold), None, OTHER, ME, late, &T), Gate::Probe(..)), "where nobody else comes");
        assert!(matches!(gate(Some(&hold), Some("v2"), OTHER, ME, NOW, &T), Gate::Probe(..)), "other credentials");
        let Gate::Probe(probe, _) = gate(Some(&hold), None, CHUNK, ME, due, &T) else { panic!("not due") };
        assert_eq!(probe.tried, [OTHER, CHUNK]);
        // It was taken, and the first is refused again: that one is remembered, and this one is not.
        let (free, _) = lifted(&probe, ME, due + 1);
        let (again, _) = refused(Some(&free), &reason("X"), "v1", Some(OTHER), ME, due + 2, &T).unwrap();
        assert_eq!((&free.tried, &again.tried), (&vec![OTHER], &vec![OTHER]));
        let (anew, _) = refused(Some(&free), &reason("X"), "v2", Some(CHUNK), ME, due + 2, &T).unwrap();
        assert_eq!(anew.tried, [CHUNK], "other credentials are another matter");
        let (unasked, _) = unused(&probe, ME, due + 1);
        assert_eq!(unasked.tried, [OTHER]);
    }

    #[test]
    fn of_refused_chunks_the_latest_are_remembered() {
        let tried = (0..40).fold(Vec::new(), |tried, number| with(&tried, chunk(number)));
        assert_eq!((tried.len(), tried.first(), tried.last()), (TRIED_MAX, Some(&chunk(8)), Some(&chunk(39))));
        assert_eq!(Prober::of_bytes(chunk(0x1234).to_bytes()), chunk(0x1234));
    }

    #[test]
    fn a_lifted_hold_is_none_and_may_begin_again() {
        let (item, expect) = lifted(&begun(), ME, NOW + 9);
        assert_eq!((expect, item.held, item.since_ms), (Expect::Version(1), false, NOW + 9));
        assert_eq!(gate(Some(&item), Some("v9"), CHUNK, ME, NOW + 10, &T), Gate::Open);
        assert_eq!(gate(None, None, CHUNK, ME, NOW, &T), Gate::Open);
        let (again, expect) = refused(Some(&item), &reason("Forbidden"), "v1", Some(OTHER), ME, NOW + 20, &T).unwrap();
        assert_eq!((expect, again.held, again.since_ms, again.version), (Expect::Version(2), true, NOW + 20, 3));
    }

    #[test]
    fn a_probe_that_met_nothing_to_call_is_the_next_ones() {
        let due = begun().probe_at_ms;
        let Gate::Probe(probe, _) = gate(Some(&begun()), None, CHUNK, ME, due, &T) else { panic!("not due") };
        let (item, expect) = unused(&probe, ME, due + 3);
        assert_eq!((expect, item.probes, item.since_ms), (Expect::Version(2), 0, NOW));
        let Gate::Probe(again, _) = gate(Some(&item), None, CHUNK, ME, due + 3, &T) else { panic!("not due") };
        assert_eq!((again.probes, again.version), (1, 4));
    }

    #[test]
    fn a_set_has_room_for_a_whole_chunk() {
        let held = HeldDevices::new((0..DEVICES_PER_CHUNK).filter(|device| device % 3 == 0), 7);
        for device in 0..40 {
            assert_eq!(held.has(device), device < DEVICES_PER_CHUNK && device % 3 == 0, "{device}");
        }
        assert!((0..40).all(|device| !HeldDevices::default().has(device)));
    }
}
