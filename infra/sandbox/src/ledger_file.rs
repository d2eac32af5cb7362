//! The file in which the ledger is kept, so that a killed process does not forget what its provider received.
//!
//! Opened by [`crate::Sandbox::keep_ledger`] and written by `ledger`. An entry is with the operating system before its
//! request is answered, and a killed process does not take that along. Lines of JSON: first the last sequence number
//! at the time of writing, then an entry each.

use crate::ledger::{Entry, LEDGER_MAX_ENTRIES};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

/// Lines after which the file is written anew, without the entries that have made room.
const LINES_MAX: usize = 2 * LEDGER_MAX_ENTRIES;

/// The first line.
#[derive(Deserialize, Serialize)]
struct Head {
    last_seq: u64,
}

pub(crate) struct LedgerFile {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl LedgerFile {
    /// Reads the file, which is made if missing: its entries, oldest first, and the last sequence number given out.
    ///
    /// # Errors
    /// When it cannot be read or written, or holds what this version does not write.
    pub(crate) fn open(path: PathBuf) -> io::Result<(Self, VecDeque<Entry>, u64)> {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut lines = text.split_inclusive('\n');
        // The first line came with its file, so it is whole, or nothing of ours.
        let mut last_seq = match lines.next() {
            Some(line) => serde_json::from_str::<Head>(line)?.last_seq,
            None => 0,
        };
        let mut entries = VecDeque::new();
        // Another one without its end was cut off by a kill, so its request was not answered.
        for line in lines.filter_map(|line| line.strip_suffix('\n')) {
            let entry: Entry = serde_json::from_str(line)?;
            last_seq = last_seq.max(entry.seq);
            if entries.len() >= LEDGER_MAX_ENTRIES {
                entries.pop_front();
            }
            entries.push_back(entry);
        }
        let (file, lines) = write_all(&path, last_seq, &entries)?;
        Ok((Self { path, file, lines }, entries, last_seq))
    }

    /// Adds the newest of `entries`.
    pub(crate) fn append(&mut self, last_seq: u64, entries: &VecDeque<Entry>) -> io::Result<()> {
        if self.lines >= LINES_MAX {
            return self.rewrite(last_seq, entries);
        }
        let Some(newest) = entries.back() else { return Ok(()) };
        self.lines += 1;
        self.file.write_all(&line(newest)?)
    }

    /// Replaces all of it.
    pub(crate) fn rewrite(&mut self, last_seq: u64, entries: &VecDeque<Entry>) -> io::Result<()> {
        (self.file, self.lines) = write_all(&self.path, last_seq, entries)?;
        Ok(())
    }
}

/// Puts a new file in the place of the old one. After a kill in between, the old one is there.
fn write_all(path: &PathBuf, last_seq: u64, entries: &VecDeque<Entry>) -> io::Result<(File, usize)> {
    let mut text = line(&Head { last_seq })?;
    for entry in entries {
        text.extend(line(entry)?);
    }
    let next = path.with_extension("next");
    fs::write(&next, text)?;
    let file = OpenOptions::new().append(true).open(&next)?;
    fs::rename(next, path)?;
    Ok((file, entries.len() + 1))
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use crate::Sandbox;
    use crate::ledger::Entry;
    use platform::Clock;
    use serde_json::json;
    use std::{collections::BTreeMap, fs, io::Write};

    fn entry(token: &str) -> Entry {
        Entry {
            seq: 0,
            provider: "fcm",
            token: Some(token.to_owned()),
            id: None,
            collapse_id: Some("c".to_owned()),
            headers: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
            payload: json!({"message": {"é": [1, null]}}),
            idempotency_key: None,
            amount: None,
            accepted: true,
            answered: false,
            status: None,
            at: 7,
        }
    }

    #[test]
    fn what_was_written_is_there_for_the_next_one() {
        let path = std::env::temp_dir().join(format!("sendonce-ledger-{}.jsonl", std::process::id()));
        let open = || {
            let sandbox = Sandbox::new(Clock::system(), "http://h".to_owned()).unwrap();
            sandbox.keep_ledger(&path).map(|()| sandbox)
        };
        let tokens = |sandbox: &Sandbox| -> Vec<(u64, Option<String>)> {
            sandbox.ledger(None).into_iter().map(|entry| (entry.seq, entry.token)).collect()
        };
        let first = open().unwrap();
        first.state().ledger.add(entry("a"));
        first.state().ledger.add(entry("b"));
        let all = first.ledger(None);
        // Nothing is said to the first one: it was killed while it wrote a third line.
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":3,\"provi").unwrap();
        let second = open().unwrap();
        assert_eq!(second.ledger(None), all);
        second.state().ledger.add(entry("c"));
        assert_eq!(tokens(&open().unwrap())[2], (3, Some("c".to_owned())));
        // Emptied, its numbers go on all the same.
        let third = open().unwrap();
        third.clear_ledger();
        let fourth = open().unwrap();
        assert!(fourth.ledger(None).is_empty());
        fourth.state().ledger.add(entry("d"));
        assert_eq!(tokens(&open().unwrap()), [(4, Some("d".to_owned()))]);

        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("fcm", "pigeon")).unwrap();
        assert!(open().is_err());
        fs::write(&path, "nothing of ours, and no end of a line either").unwrap();
        assert!(open().is_err());
        fs::remove_file(&path).unwrap();
    }
}
