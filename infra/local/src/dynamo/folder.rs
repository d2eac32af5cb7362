//! The folder that holds a database which nobody asked to keep.
//!
//! Called by `Dynamo::start` when no `--data` is given. It guarantees a folder of this process's own, in memory where
//! the machine has a memory file system, removed when dropped. A process that was killed cannot remove its folder, so
//! each start removes those that no living process holds locked: otherwise they would fill the machine's memory.

use platform::Random;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

const PREFIX: &str = "sendonce-dynamo-";
const LOCK: &str = "lock";

/// A folder that goes away with this value.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Locked as long as the folder is in use.
    _lock: File,
}

impl Folder {
    /// A fresh folder in memory if possible, else in the system's folder for temporary files.
    ///
    /// # Errors
    /// When neither place can be written.
    pub(super) fn create() -> io::Result<Self> {
        Self::create_in(Path::new("/dev/shm")).or_else(|_| Self::create_in(&std::env::temp_dir()))
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        remove_abandoned(parent);
        // Between making a folder and locking it, another start may take it for an abandoned one.
        Self::attempt(parent).or_else(|_| Self::attempt(parent)).or_else(|_| Self::attempt(parent))
    }

    fn attempt(parent: &Path) -> io::Result<Self> {
        let id = Random::system().bytes::<8>().map_err(io::Error::other)?;
        let path = parent.join(format!("{PREFIX}{:016x}", u64::from_be_bytes(id)));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let lock = File::create_new(path.join(LOCK))?;
        lock.try_lock()?;
        // Gone if it was removed before the lock; from here on nobody removes it.
        fs::metadata(path.join(LOCK))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "temporary database not removed");
        }
    }
}

/// Removes the folders of processes that ended without doing so. A courtesy: what cannot be looked at stays.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let lock = OpenOptions::new().read(true).write(true).open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_away_with_its_owner_and_abandoned_ones_with_the_next_start() {
        let parent = Folder::create().unwrap();
        let living = Folder::create_in(parent.path()).unwrap();
        let dropped = Folder::create_in(parent.path()).unwrap().path().to_owned();
        assert!(!dropped.exists());
        let abandoned = parent.path().join(format!("{PREFIX}0"));
        fs::create_dir(&abandoned).unwrap();
        File::create(abandoned.join(LOCK)).unwrap();
        let foreign = parent.path().join("other");
        fs::create_dir(&foreign).unwrap();
        let next = Folder::create_in(parent.path()).unwrap();
        assert!(!abandoned.exists() && foreign.exists() && living.path().exists() && next.path().exists());
    }
}
