//! The folder of `--data`: who may use it, what lies where in it, and how far its clock was moved.
//!
//! Opened by `System::start` before anything else and held until everything has ended. It guarantees that one process
//! at a time uses the folder, and that local time never goes back over a restart: items, leases and messages that were
//! written in a moved future are never read before it. It also guarantees that a file which was there and is gone is
//! missed, where its loss would pass for an empty start: each is written down once it was made, and only then anything
//! in it is acknowledged, so that a kill in the very first start leaves nothing written down that is not there. What
//! is in the files is their owners' affair: `dynamo`, `local_sqs`, `stream::checkpoint`, `sandbox`.

use crate::dynamo;
use anyhow::{Context, bail, ensure};
use platform::Clock;
use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A folder in use.
#[derive(Debug)]
pub(crate) struct Data {
    dir: PathBuf,
    /// How far the clock was moved by all runs together, in ms.
    ahead_ms: Mutex<u64>,
    /// The files that were made: those that may not be missing.
    made: Mutex<BTreeSet<String>>,
    /// Locked as long as the folder is in use; the operating system unlocks it however the process ends.
    _lock: File,
}

impl Data {
    /// Takes the folder, which is made if missing and then readable by its owner only.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be read or written.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let shown = dir.display();
        make(dir).with_context(|| format!("--data {shown}: the folder cannot be made"))?;
        let lock = File::options().create(true).truncate(false).write(true).open(dir.join("lock"));
        let lock = lock.with_context(|| format!("--data {shown}: the folder cannot be written"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("--data {shown}: another running system uses this folder; end that one or name another folder")
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("--data {shown}: the folder cannot be locked"));
            }
        }
        let made = read_json(&dir.join(MADE))?.unwrap_or_default();
        let data = Self { dir: dir.to_owned(), ahead_ms: Mutex::new(0), made: Mutex::new(made), _lock: lock };
        let ahead = read_json(&data.file(CLOCK)?)?.unwrap_or_default();
        Ok(Self { ahead_ms: Mutex::new(ahead), ..data })
    }

    /// The machine's time, moved as far as earlier runs moved it.
    pub(crate) fn clock(&self) -> Clock {
        let clock = Clock::system();
        clock.advance(Duration::from_millis(*self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner)));
        clock
    }

    /// Moves `clock` forward for good. It is written down first: a kill in between moves the next run's clock.
    ///
    /// # Errors
    /// When it cannot be written. The clock is not moved then.
    pub(crate) fn advance(&self, clock: &Clock, by: Duration) -> anyhow::Result<()> {
        let mut ahead = self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let next = ahead.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        replace(&self.dir.join(CLOCK), next.to_string().as_bytes())?;
        self.made(CLOCK)?;
        *ahead = next;
        clock.advance(by);
        Ok(())
    }

    /// The path of a file, for its owner to open, or to make if it never was.
    ///
    /// # Errors
    /// When it was made and is missing or empty now: its owner would start with nothing in it.
    pub(crate) fn file(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(name);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let there = fs::metadata(&path).is_ok_and(|file| file.len() > 0);
        ensure!(
            there || !made.contains(name),
            "--data {}: the file {name} is missing or empty, and what was acknowledged is gone with it; put it back, or \
             name another folder",
            self.dir.display()
        );
        Ok(path)
    }

    /// Writes down that a file was made: from now on it may not be missing.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn made(&self, name: &str) -> anyhow::Result<()> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.contains(name) {
            return Ok(());
        }
        let mut next = made.clone();
        next.insert(name.to_owned());
        let path = self.dir.join(MADE);
        replace(&path, &serde_json::to_vec(&next)?).with_context(|| path.display().to_string())?;
        *made = next;
        Ok(())
    }
}

/// The file of the items. The folder is the database's own.
pub(crate) const DYNAMODB: &str = dynamo::FILE;
/// The file of the queues.
pub(crate) const SQS: &str = "sqs.sqlite";
/// The file of the stream's checkpoints. It may be missing: records are only read again then.
pub(crate) const CHECKPOINTS: &str = "checkpoints.json";
/// The file of the sandbox's ledger.
pub(crate) const LEDGER: &str = "ledger.jsonl";
/// The file that says how far the clock was moved, in ms.
const CLOCK: &str = "clock.json";
/// The file that names the files that were made.
const MADE: &str = "made.json";

/// What is in a file; `None` without one.
fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    let named = || format!("--data: the file {}", path.display());
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text).with_context(named)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(named),
    }
}

fn make(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    // It holds device tokens.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Replaces a file so that a reader, or a restart after a kill, sees the old one or the new one. What was written is
/// with the operating system then, which a killed process does not take along; only a power cut would ask for fsync.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    fs::write(&next, bytes)?;
    fs::rename(next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_and_time_never_goes_back() {
        let dir = std::env::temp_dir().join(format!("sendonce-data-{}", std::process::id())).join("inner");
        let hour = Duration::from_secs(3_600);
        let first = Data::open(&dir).unwrap();
        let clock = first.clock();
        first.advance(&clock, hour).unwrap();
        first.advance(&clock, hour).unwrap();
        let seen = clock.now_ms();
        let refused = Data::open(&dir).unwrap_err().to_string();
        assert!(refused.contains("another running system") && refused.contains("inner"), "{refused}");
        drop(first);
        let second = Data::open(&dir).unwrap();
        assert!(second.clock().now_ms() >= seen);
        drop(second);
        fs::write(dir.join(CLOCK), "soon").unwrap();
        let damaged = Data::open(&dir).unwrap_err().to_string();
        assert!(damaged.contains(dir.join(CLOCK).to_str().unwrap()), "{damaged}");
        // Without it, time would go back.
        fs::remove_file(dir.join(CLOCK)).unwrap();
        let missing = Data::open(&dir).unwrap_err().to_string();
        assert!(missing.contains("the file clock.json is missing"), "{missing}");
        fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    }
    #[test]
    fn a_file_that_was_made_is_missed_and_one_that_never_was_is_not() {
        let dir = std::env::temp_dir().join(format!("sendonce-data-made-{}", std::process::id()));
        let first = Data::open(&dir).unwrap();
        // A kill before the file is there, and one before it is written down.
        first.file(SQS).unwrap();
        drop(first);
        let second = Data::open(&dir).unwrap();
        fs::write(second.file(SQS).unwrap(), "").unwrap();
        drop(second);
        let third = Data::open(&dir).unwrap();
        fs::write(third.file(SQS).unwrap(), "x").unwrap();
        third.made(SQS).unwrap();
        third.made(SQS).unwrap();
        drop(third);
        let path = Data::open(&dir).unwrap().file(SQS).unwrap();
        fs::write(&path, "").unwrap();
        let refused = Data::open(&dir).unwrap().file(SQS).unwrap_err().to_string();
        assert!(refused.contains(SQS) && refused.contains(dir.to_str().unwrap()), "{refused}");
        fs::remove_file(&path).unwrap();
        let fourth = Data::open(&dir).unwrap();
        assert!(fourth.file(SQS).is_err() && fourth.file(LEDGER).is_ok());
        drop(fourth);
        fs::write(dir.join(MADE), "?").unwrap();
        assert!(Data::open(&dir).unwrap_err().to_string().contains(MADE));
        fs::remove_dir_all(dir).unwrap();
    }
}
