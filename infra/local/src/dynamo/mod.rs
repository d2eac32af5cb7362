//! The local system's DynamoDB: dynoxide in this process, on a port.
//!
//! Called by the local system at start, by the stream poller ([`Dynamo::trim`]) and by a timer ([`Sweeper::sweep_ttl`]).
//! It guarantees a database that writes as fast after 20,000 records as after the first: dynoxide looks for the highest
//! sequence number on every write and keeps stream records for ever, so this module adds the index that it lacks and
//! removes what the poller has passed. For that a second connection must reach the database, hence a file even when
//! nothing is to be kept. Neither trimming nor sweeping is needed for correctness.

mod folder;
mod ttl;

use dynoxide::{Database, DynoxideError};
use folder::Folder;
use platform::Clock;
use rusqlite::{Connection, params};
use std::{
    fmt, fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    task::{JoinError, JoinHandle},
};

/// What can go wrong in the local DynamoDB.
#[derive(Debug, thiserror::Error)]
pub enum DynamoError {
    /// The folder or the port.
    #[error("DynamoDB's folder or port: {0}")]
    Io(#[from] io::Error),
    /// The database itself.
    #[error("dynoxide: {0}")]
    Database(String),
    /// The second connection.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A request that this module builds does not fit dynoxide's types.
    #[error("a request to dynoxide: {0}")]
    Request(#[from] serde_json::Error),
    /// A sequence number that dynoxide cannot have issued.
    #[error("{0:?} is no sequence number of dynoxide's")]
    Sequence(String),
    /// A task of this module panicked or was cancelled.
    #[error("a task ended early: {0}")]
    Task(#[from] JoinError),
}

impl From<DynoxideError> for DynamoError {
    fn from(error: DynoxideError) -> Self {
        Self::Database(error.to_string())
    }
}

/// The database's file in its folder.
pub(crate) const FILE: &str = "dynamodb.sqlite";

/// How long the second connection waits while dynoxide writes. Dynoxide waits as long for it.
const BUSY: Duration = Duration::from_secs(5);

/// Stream records removed per write transaction: a few ms during which dynoxide waits.
const TRIM_STEP: usize = 500;

/// Dynoxide's public sequence numbers are its stored ones plus this (21 digits, as DynamoDB's shortest).
const SEQUENCE_OFFSET: u128 = 100_000_000_000_000_000_000;

/// With this index the look-up of the highest sequence number and `GetRecords` read one row, not all.
const INDEX: &str = "CREATE INDEX IF NOT EXISTS sendonce_stream_records \
     ON _stream_records(table_name, CAST(sequence_number AS INTEGER))";

const TRIM: &str = "DELETE FROM _stream_records WHERE id IN (
     SELECT id FROM _stream_records
     WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) < MIN(?2, (
         SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1))
     ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?3)";

/// A running DynamoDB. Dropping it stops it and removes a temporary database.
pub struct Dynamo {
    url: String,
    database: Database,
    stream: Arc<Mutex<Connection>>,
    clock: Clock,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<Result<(), String>>,
    /// Last, so that the connections are closed first.
    _folder: Option<Folder>,
}

impl fmt::Debug for Dynamo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dynamo").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Dynamo {
    /// Opens the database in `data_dir` (made if missing), or a temporary one, and serves it on `listener`. Must be
    /// called within a Tokio runtime.
    ///
    /// # Errors
    /// When the folder cannot be made or the database not be opened.
    pub async fn start(listener: TcpListener, data_dir: Option<PathBuf>, clock: Clock) -> Result<Self, DynamoError> {
        let url = format!("http://{}", listener.local_addr()?);
        let (database, stream, folder) = tokio::task::spawn_blocking(move || open(data_dir)).await??;
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            // An error says that the sender was dropped, which means the same.
            let _ = stopped.await;
        };
        let server = tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database.clone(), shutdown));
        let stream = Arc::new(Mutex::new(stream));
        Ok(Self { url, database, stream, clock, stop: Some(stop), server, _folder: folder })
    }

    /// The endpoint, such as `http://127.0.0.1:8000`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Removes stream records of `table` before the poller's checkpoint `before` (a public sequence number), but never
    /// the last record. Gives their number.
    ///
    /// # Errors
    /// When `before` is no sequence number of dynoxide's, or SQLite fails; nothing is lost by trying later.
    pub async fn trim(&self, table: &str, before: &str) -> Result<usize, DynamoError> {
        self.trimmer().trim(table, before).await
    }

    /// A handle that trims, for the stream poller's callback. It does not keep the server running.
    #[must_use]
    pub fn trimmer(&self) -> Trimmer {
        Trimmer { stream: self.stream.clone() }
    }

    /// A handle that deletes expired items. It does not keep the server running.
    #[must_use]
    pub fn sweeper(&self) -> Sweeper {
        Sweeper { database: self.database.clone(), clock: self.clock.clone() }
    }

    /// Lets running requests end and stops.
    ///
    /// # Errors
    /// When the server had failed before.
    pub async fn stop(mut self) -> Result<(), DynamoError> {
        self.stop.take();
        (&mut self.server).await?.map_err(DynamoError::Database)
    }
}

/// Removes stream records behind a checkpoint.
#[derive(Clone, Debug)]
pub struct Trimmer {
    stream: Arc<Mutex<Connection>>,
}

impl Trimmer {
    /// See [`Dynamo::trim`].
    ///
    /// # Errors
    /// As there.
    pub async fn trim(&self, table: &str, before: &str) -> Result<usize, DynamoError> {
        let stored = stored_sequence(before).ok_or_else(|| DynamoError::Sequence(before.to_owned()))?;
        let (stream, table) = (self.stream.clone(), table.to_owned());
        let trim = move || {
            let mut removed = 0;
            loop {
                // One statement is one transaction: between two of them dynoxide's writes have their turn.
                let connection = stream.lock().unwrap_or_else(PoisonError::into_inner);
                let step = connection.prepare_cached(TRIM)?.execute(params![table, stored, TRIM_STEP])?;
                removed += step;
                if step < TRIM_STEP {
                    return Ok(removed);
                }
            }
        };
        tokio::task::spawn_blocking(trim).await?
    }
}

/// Deletes expired items.
#[derive(Clone)]
pub struct Sweeper {
    database: Database,
    clock: Clock,
}

impl fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweeper").finish_non_exhaustive()
    }
}

impl Sweeper {
    /// Deletes the items whose time to live has passed on the local clock. Gives their number.
    ///
    /// # Errors
    /// When dynoxide fails.
    pub async fn sweep_ttl(&self) -> Result<usize, DynamoError> {
        let (database, now_s) = (self.database.clone(), self.clock.now_ms() / 1_000);
        tokio::task::spawn_blocking(move || ttl::sweep(&database, now_s)).await?
    }
}

fn stored_sequence(public: &str) -> Option<i64> {
    public.parse::<u128>().ok()?.checked_sub(SEQUENCE_OFFSET)?.try_into().ok()
}

fn open(data_dir: Option<PathBuf>) -> Result<(Database, Connection, Option<Folder>), DynamoError> {
    let (dir, folder) = match data_dir {
        Some(dir) => {
            fs::create_dir_all(&dir)?;
            (dir, None)
        }
        None => {
            let folder = Folder::create()?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    let path = dir.join(FILE);
    let text = path.to_str().ok_or_else(|| io::Error::other("the data folder's path is not UTF-8"))?;
    let database = Database::new(text)?;
    // Dynoxide names these after bulk loading; they only set SQLite's caution. It always keeps a write-ahead log.
    if folder.is_some() {
        // synchronous OFF: nobody will look at this file after a power cut.
        database.enable_bulk_loading()?;
    } else {
        // synchronous NORMAL: survives a killed process whole; a power cut may cost the last writes.
        database.disable_bulk_loading()?;
    }
    let stream = Connection::open(&path)?;
    stream.busy_timeout(BUSY)?;
    stream.execute_batch(if folder.is_some() { "PRAGMA synchronous = OFF" } else { "PRAGMA synchronous = NORMAL" })?;
    stream.execute_batch(INDEX)?;
    Ok((database, stream, folder))
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
