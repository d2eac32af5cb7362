//! The file in which a server keeps its queues and their copies, so that a killed process loses nothing it answered for.
//!
//! Opened by `Sqs::open` and written by `state` under its lock, before the answer. One change is one transaction: a
//! message is never in both or neither of a queue and its dead-letter queue. It guarantees that what was written is
//! there after the process was killed at any moment; a power cut may cost the last changes, never the file. Without a
//! file (`Sqs::new`) nothing of this runs.
//!
//! Not kept: move tasks, the minute for which a deleted queue's name rests, and the switches of `/control`.

use crate::{
    message::Payload,
    queue::{Copy, Place, Queue},
};
use rusqlite::{Connection, ErrorCode, Row, Transaction, params};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// The layout of the file, in its `user_version`. A new file has 0.
const FORMAT: i64 = 1;
/// Each start gives out ids of its own, so that a receipt handle from before never means a copy from after: the
/// number of starts stands above this many bits. 2^40 copies for each of 2^23 starts.
const IDS_OF_A_START: u32 = 40;

/// `locking_mode` lets a second process fail at once instead of reading what this one keeps in memory. `synchronous`
/// NORMAL: what is committed is with the operating system, which a killed process does not take along.
const SETTINGS: &str =
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN EXCLUSIVE; COMMIT;";
const TABLES: &str = "CREATE TABLE starts (number INTEGER NOT NULL);
    INSERT INTO starts VALUES (0);
    CREATE TABLE queues (name TEXT PRIMARY KEY NOT NULL, settings TEXT NOT NULL);
    CREATE TABLE copies (queue TEXT NOT NULL, id INTEGER NOT NULL, payload TEXT NOT NULL, source TEXT,
        sent_ms INTEGER NOT NULL, first_received_ms INTEGER, receive_count INTEGER NOT NULL, turn INTEGER NOT NULL,
        since_ms INTEGER, until_ms INTEGER, PRIMARY KEY (queue, id));
    PRAGMA user_version = 1;";
const LOAD: &str = "SELECT id, payload, source, sent_ms, first_received_ms, receive_count, turn, since_ms, until_ms
    FROM copies WHERE queue = ?1 ORDER BY sent_ms, id";
const ADD: &str = "INSERT OR REPLACE INTO copies
    (queue, id, first_received_ms, receive_count, turn, since_ms, until_ms, payload, source, sent_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const CHANGE: &str = "UPDATE copies SET first_received_ms = ?3, receive_count = ?4, turn = ?5, since_ms = ?6,
    until_ms = ?7 WHERE queue = ?1 AND id = ?2";
const REMOVE: &str = "DELETE FROM copies WHERE queue = ?1 AND id = ?2";

/// Why a file of queues cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server has it open.
    #[error("the queues' file is in use by another process")]
    InUse,
    /// It cannot be opened, read or written.
    #[error("the queues' file: {0}")]
    Sqlite(rusqlite::Error),
    /// Another version of this server wrote it.
    #[error("the queues' file has format {0}; this server reads format {FORMAT}")]
    Format(i64),
    /// A queue or a message in it cannot be read.
    #[error("the queues' file holds what cannot be read: {0}")]
    Content(#[from] serde_json::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
            _ => Self::Sqlite(error),
        }
    }
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Disk {
    connection: Connection,
}

impl Disk {
    /// Opens the file, which is made if missing, and reads all queues.
    pub(crate) fn open(path: &Path) -> Result<(Self, BTreeMap<String, Queue>), OpenError> {
        let mut connection = Connection::open(path)?;
        // A lock goes with its process, so there is nothing to wait for.
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch(SETTINGS)?;
        let transaction = connection.transaction()?;
        match transaction.query_row("PRAGMA user_version", [], |row| row.get(0))? {
            0 => transaction.execute_batch(TABLES)?,
            FORMAT => {}
            other => return Err(OpenError::Format(other)),
        }
        let start: u64 =
            transaction.query_row("UPDATE starts SET number = number + 1 RETURNING number", [], |row| row.get(0))?;
        let queues = load(&transaction, start << IDS_OF_A_START)?;
        transaction.commit()?;
        Ok((Self { connection }, queues))
    }

    /// Makes every write fail, as a full disk does.
    #[cfg(test)]
    pub(crate) fn refuse(&self, refuse: bool) {
        self.connection.pragma_update(None, "query_only", refuse).unwrap();
    }

    /// Writes everything that the queues have noted as unsaved, or nothing. `deleted` names queues that are gone, also
    /// where there is one of that name again.
    pub(crate) fn write(&mut self, queues: &BTreeMap<String, Queue>, deleted: &[String]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for name in deleted {
            transaction.execute("DELETE FROM copies WHERE queue = ?1", [name])?;
            transaction.execute("DELETE FROM queues WHERE name = ?1", [name])?;
        }
        for (name, queue) in queues {
            if queue.altered {
                let settings = json(queue)?;
                transaction
                    .execute("INSERT OR REPLACE INTO queues (name, settings) VALUES (?1, ?2)", [name, &settings])?;
            }
            for (id, copy) in queue.unsaved() {
                match copy {
                    Some(copy) => write_copy(&transaction, name, id, copy)?,
                    None => drop(transaction.prepare_cached(REMOVE)?.execute(params![name, id])?),
                }
            }
        }
        transaction.commit()
    }
}

fn write_copy(transaction: &Transaction<'_>, queue: &str, id: u64, copy: &Copy) -> rusqlite::Result<()> {
    let (since, until) = (copy.place.since(), copy.place.until());
    let first = copy.first_received_ms;
    if copy.on_disk {
        let changed = params![queue, id, first, copy.receive_count, copy.turn, since, until];
        transaction.prepare_cached(CHANGE)?.execute(changed)?;
    } else {
        let (payload, source, sent) = (json(&*copy.payload)?, &copy.dead_letter_source, copy.sent_ms);
        let all = params![queue, id, first, copy.receive_count, copy.turn, since, until, payload, source, sent];
        transaction.prepare_cached(ADD)?.execute(all)?;
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn load(transaction: &Transaction<'_>, next_id: u64) -> Result<BTreeMap<String, Queue>, OpenError> {
    let mut statement = transaction.prepare("SELECT settings FROM queues")?;
    let settings = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    let mut statement = transaction.prepare(LOAD)?;
    let mut queues = BTreeMap::new();
    for settings in settings {
        let mut queue: Queue = serde_json::from_str(&settings)?;
        let rows = statement.query_map([&queue.name], copy)?.collect::<Result<Vec<_>, _>>()?;
        let copies = rows.into_iter().map(|(id, copy)| copy.map(|copy| (id, copy))).collect::<Result<_, _>>()?;
        queue.restore(copies, next_id);
        queues.insert(queue.name.clone(), queue);
    }
    Ok(queues)
}

/// One row of LOAD: the id, and the copy unless its payload cannot be read.
fn copy(row: &Row<'_>) -> rusqlite::Result<(u64, serde_json::Result<Copy>)> {
    let payload: String = row.get(1)?;
    let payload = match serde_json::from_str::<Payload>(&payload) {
        Ok(payload) => Arc::new(payload),
        Err(error) => return Ok((row.get(0)?, Err(error))),
    };
    let copy = Copy {
        payload,
        dead_letter_source: row.get(2)?,
        sent_ms: row.get(3)?,
        first_received_ms: row.get(4)?,
        receive_count: row.get(5)?,
        turn: row.get(6)?,
        place: Place::of(row.get(7)?, row.get(8)?),
        on_disk: true,
    };
    Ok((row.get(0)?, Ok(copy)))
}
