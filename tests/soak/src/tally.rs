//! How often each kind of fault happened, and that none of them never did.

use std::collections::BTreeMap;

/// Counts by kind.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<String, usize>);

/// Every kind of which a run without is worth nothing. Not here is what a small run may be without, and what `tests/fault`
/// has for certain: a re-drive that fails, which only dead letters with time left have.
const KINDS: [&str; 38] = [
    "api killed at a point",
    "clients: another body for the same key",
    "clients: the same request respelled",
    "clients: two bodies raced for a key",
    "clocks moved",
    "clocks of processes 2 s apart",
    "copies delivered twice",
    "copies worn out",
    "dead_letter killed at a point",
    "deliver killed at a point",
    "deliver paused",
    "deliver paused past deadlines",
    "process frozen past its lease",
    "provider: answered 429",
    "provider: answered 5xx",
    "provider: apply_drop_response",
    "provider: delay",
    "provider: drop_request",
    "provider: refused for good",
    "provider: silent after accepting",
    "provider: silent without accepting",
    "queue: apply_drop_response",
    "queue: delay",
    "queue: drop_request",
    "queue: duplicate",
    "queue: error",
    "queue: fail_entries",
    "queue: hold",
    "relay killed at a point",
    "relay paused",
    "table: apply_drop_response",
    "table: delay",
    "table: drop_request",
    "table: duplicate",
    "table: error",
    "table: hold",
    "table: record lost",
    "table: stale",
];

impl Tally {
    /// Counts.
    pub fn add(&mut self, kind: &str, count: usize) {
        *self.0.entry(kind.to_owned()).or_default() += count;
    }

    /// All counts by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// The kinds that never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        KINDS.into_iter().filter(|kind| self.0.get(*kind).is_none_or(|count| *count == 0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_never_happened_is_named() {
        let mut tally = Tally::default();
        KINDS.into_iter().for_each(|kind| tally.add(kind, 1));
        assert!(tally.missing().is_empty());
        tally = Tally::default();
        tally.add("clocks moved", 0);
        assert_eq!(tally.missing().len(), KINDS.len());
    }
}
