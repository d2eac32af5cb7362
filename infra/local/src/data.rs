//! The folder of `--data`: who may use it, what lies where in it, and how far its clock was moved.
//!
//! Opened by `System::start` before anything else and held until everything has ended. It guarantees that one process
//! at a time uses the folder, and that local time never goes back over a restart: items, leases and messages that were
//! written in a moved future are never read before it. What is in the files is their owners' affair: `dynamo`,
//! `local_sqs`, `stream::checkpoint`, `sandbox`.

use anyhow::{Context, bail};
use platform::Clock;
use std::{
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
        let ahead = match fs::read(dir.join(CLOCK)) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| format!("--data {shown}: {CLOCK}"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(|| format!("--data {shown}: {CLOCK}")),
        };
        Ok(Self { dir: dir.to_owned(), ahead_ms: Mutex::new(ahead), _lock: lock })
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
    pub(crate) fn advance(&self, clock: &Clock, by: Duration) -> io::Result<()> {
        let mut ahead = self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let next = ahead.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
        replace(&self.dir.join(CLOCK), next.to_string().as_bytes())?;
        *ahead = next;
        clock.advance(by);
        Ok(())
    }

    /// The folder of DynamoDB's files.
    pub(crate) fn dynamodb(&self) -> PathBuf {
        self.dir.clone()
    }

    /// The file of the queues.
    pub(crate) fn sqs(&self) -> PathBuf {
        self.dir.join("sqs.sqlite")
    }

    /// The file of the stream's checkpoints.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.dir.join("checkpoints.json")
    }

    /// The file of the sandbox's ledger.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.jsonl")
    }
}

/// The file that says how far the clock was moved, in ms.
const CLOCK: &str = "clock.json";

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
        assert!(Data::open(&dir).is_err());
        fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    }
}
