//! How far each shard of a stream has been passed.
//!
//! Called by the stream poller. It guarantees that a checkpoint read after a restart is one that was saved, so records
//! behind it were answered for; a lost save only repeats records, which the relay must bear anyway.

use crate::data::replace;
use std::{
    collections::BTreeMap,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// Checkpoints by stream ARN and shard id. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    inner: Arc<Inner>,
}

/// Stream ARN → shard id → sequence number. The ARN has the table's birth in it, so a table made anew starts anew.
type Saved = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug, Default)]
struct Inner {
    path: Option<PathBuf>,
    saved: Mutex<Saved>,
}

impl Checkpoints {
    /// Kept for the life of the process.
    #[must_use]
    pub fn memory() -> Self {
        Self::default()
    }

    /// Kept in the file `path`, which need not exist yet. Its folder must.
    ///
    /// # Errors
    /// When the file exists but cannot be read or is not what [`Checkpoints::save`] writes.
    pub fn file(path: PathBuf) -> io::Result<Self> {
        let saved = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Saved::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { inner: Arc::new(Inner { path: Some(path), saved: Mutex::new(saved) }) })
    }

    /// The place in them of one shard.
    #[must_use]
    pub fn shard(&self, stream_arn: &str, shard: &str) -> ShardCheckpoint {
        ShardCheckpoint { checkpoints: self.clone(), stream_arn: stream_arn.to_owned(), shard: shard.to_owned() }
    }

    /// The last sequence number passed.
    #[must_use]
    pub fn get(&self, stream_arn: &str, shard: &str) -> Option<String> {
        let saved = self.inner.saved.lock().unwrap_or_else(PoisonError::into_inner);
        saved.get(stream_arn)?.get(shard).cloned()
    }

    /// Sets the last sequence number passed. Within the process it is set even when the file cannot be written.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn save(&self, stream_arn: &str, shard: &str, sequence: &str) -> io::Result<()> {
        let write = {
            let mut saved = self.inner.saved.lock().unwrap_or_else(PoisonError::into_inner);
            saved.entry(stream_arn.to_owned()).or_default().insert(shard.to_owned(), sequence.to_owned());
            self.inner.path.is_some()
        };
        if !write {
            return Ok(());
        }
        let inner = self.inner.clone();
        tokio::task::spawn_blocking(move || inner.write()).await?
    }
}

/// One shard's checkpoint.
#[derive(Clone, Debug)]
pub struct ShardCheckpoint {
    checkpoints: Checkpoints,
    stream_arn: String,
    shard: String,
}

impl ShardCheckpoint {
    /// The last sequence number passed.
    #[must_use]
    pub fn get(&self) -> Option<String> {
        self.checkpoints.get(&self.stream_arn, &self.shard)
    }

    /// Sets the last sequence number passed. A file that cannot be written is logged: a restart repeats records.
    pub async fn save(&self, sequence: &str) {
        if let Err(error) = self.checkpoints.save(&self.stream_arn, &self.shard, sequence).await {
            tracing::warn!(shard = self.shard, %error, "checkpoint not written");
        }
    }
}

impl Inner {
    fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        // Locked until the file is in place, so that of two writers the later one has the newer state.
        let saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        replace(path, &serde_json::to_vec(&*saved)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn survives_in_its_file_and_starts_anew_for_another_stream() {
        let path = std::env::temp_dir().join(format!("sendonce-checkpoint-{}.json", std::process::id()));
        let first = Checkpoints::file(path.clone()).unwrap();
        assert_eq!(first.get("arn", "shard"), None);
        first.save("arn", "shard", "100").await.unwrap();
        first.save("arn", "shard", "101").await.unwrap();
        let second = Checkpoints::file(path.clone()).unwrap();
        assert_eq!(second.get("arn", "shard").as_deref(), Some("101"));
        assert_eq!(second.get("other", "shard"), None);
        fs::write(&path, "nonsense").unwrap();
        assert!(Checkpoints::file(path.clone()).is_err());
        fs::remove_file(path).unwrap();
    }
}
