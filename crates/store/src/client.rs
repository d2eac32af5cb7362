//! The handle on the table.

use aws_sdk_dynamodb::Client;

/// The service's table. Cheap to clone; one per process.
#[derive(Clone)]
pub struct Store {
    pub(crate) client: Client,
    pub(crate) table: String,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Store {
    /// A store over `table`. The client's timeouts are the caller's (`platform::aws_config`).
    #[must_use]
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}
