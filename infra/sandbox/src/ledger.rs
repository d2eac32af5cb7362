//! Everything that reached a provider, in the order of arrival.

use crate::ledger_file::LedgerFile;
use http::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    io,
    path::Path,
};

/// Entries that are kept; the oldest make room.
pub const LEDGER_MAX_ENTRIES: usize = 100_000;

/// The providers, as entries name them.
const PROVIDERS: [&str; 3] = ["apns", "fcm", "stripe"];

/// A provider's name.
pub type Provider = &'static str;

/// One request that reached a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts up from 1 over all providers, and goes on when the ledger is emptied.
    pub seq: u64,
    /// "apns", "fcm" or "stripe".
    #[serde(deserialize_with = "provider")]
    pub provider: Provider,
    /// The device token in full, or the payment's id; null if the request named none.
    pub token: Option<String>,
    /// The id that the provider gave; null unless accepted. APNs names refused ones too (`apns-id`).
    pub id: Option<String>,
    /// What makes a repeat replace its first: `apns-collapse-id`, or the notification's tag, else the collapse key.
    pub collapse_id: Option<String>,
    /// In lower case; repeated ones joined by a comma, `authorization` without its value.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON; a text if it was none.
    pub payload: Value,
    /// A payment's Idempotency-Key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What a payment asked to be paid, in minor units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// The device, or the payer, would have got it. A replayed answer gives nothing.
    pub accepted: bool,
    /// An answer was sent.
    pub answered: bool,
    /// Its HTTP status; null when unanswered.
    pub status: Option<u16>,
    /// When it arrived, in milliseconds since the Unix epoch.
    pub at: u64,
}

fn provider<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Provider, D::Error> {
    let name = String::deserialize(deserializer)?;
    let known = PROVIDERS.into_iter().find(|known| *known == name);
    known.ok_or_else(|| D::Error::custom(format_args!("{name} is no provider of the sandbox")))
}

/// Headers as an entry keeps them.
pub(crate) fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = if name == http::header::AUTHORIZATION {
            "(not shown)".to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        shown.entry(name.as_str().to_owned()).and_modify(|all| *all = format!("{all}, {value}")).or_insert(value);
    }
    shown
}

#[derive(Default)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    last_seq: u64,
    file: Option<LedgerFile>,
}

impl Ledger {
    /// Goes on with what is in a file, and keeps everything there. See [`LedgerFile::open`].
    pub(crate) fn keep(path: &Path) -> io::Result<Self> {
        let (file, entries, last_seq) = LedgerFile::open(path.to_owned())?;
        Ok(Self { entries, last_seq, file: Some(file) })
    }

    /// Numbers an entry and keeps it.
    pub(crate) fn add(&mut self, mut entry: Entry) {
        self.last_seq += 1;
        entry.seq = self.last_seq;
        if self.entries.len() >= LEDGER_MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
        if let Some(file) = &mut self.file {
            report(file.append(self.last_seq, &self.entries));
        }
    }

    pub(crate) fn entries(&self, token: Option<&str>) -> Vec<Entry> {
        let wanted = |entry: &&Entry| match (token, entry.token.as_deref()) {
            (None, _) => true,
            // An iOS token has one spelling here and two elsewhere.
            (Some(token), Some(of)) if entry.provider == "apns" => token.eq_ignore_ascii_case(of),
            (token, of) => token == of,
        };
        self.entries.iter().filter(wanted).cloned().collect()
    }

    /// The newest, newest first.
    pub(crate) fn newest(&self, count: usize) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev().take(count)
    }

    /// Another one after each entry, when it is emptied, and after a restart that forgot everything.
    pub(crate) fn version(&self) -> String {
        let at = self.entries.back().map_or(0, |newest| newest.at);
        format!("{}-{}-{at}", self.last_seq, self.entries.len())
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        if let Some(file) = &mut self.file {
            report(file.rewrite(self.last_seq, &self.entries));
        }
    }
}

/// A request has reached the provider, whether or not the disk is full: it is answered all the same.
fn report(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::error!(%error, "the ledger's file was not written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(token: &str) -> Entry {
        Entry {
            seq: 0,
            provider: "fcm",
            token: Some(token.to_owned()),
            id: None,
            collapse_id: None,
            headers: BTreeMap::new(),
            payload: Value::Null,
            idempotency_key: None,
            amount: None,
            accepted: false,
            answered: true,
            status: Some(400),
            at: 0,
        }
    }

    #[test]
    fn the_oldest_make_room_and_numbers_go_on() {
        let mut ledger = Ledger::default();
        for _ in 0..=LEDGER_MAX_ENTRIES {
            ledger.add(entry("a"));
        }
        ledger.add(entry("b"));
        let all = ledger.entries(None);
        assert_eq!((all.len(), all[0].seq), (LEDGER_MAX_ENTRIES, 3));
        ledger.clear();
        ledger.add(entry("b"));
        assert_eq!(ledger.entries(Some("b"))[0].seq, LEDGER_MAX_ENTRIES as u64 + 3);
        assert!(ledger.entries(Some("a")).is_empty());
    }
}
