//! Projects: what a request may refer to by a name of the project's own.

use crate::{
    SeedOutcome, Store, StoreError,
    attr::{Item, get_list, s},
    names::{APPS, PK, PROJECT_SK, SK, project_pk},
    write::Wrote,
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::expect::Expect;

/// A project's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The bundle ids that a message may name. The first is the default, and must be the first of the APNs credentials
    /// too: a message that names it is stored as one that names none.
    pub apps: Vec<String>,
}

impl Store {
    /// Stores a project's settings unless some are there.
    pub async fn add_project(&self, name: &str, project: &Project) -> SeedOutcome {
        let item = Item::from([
            (PK.to_owned(), s(project_pk(name))),
            (SK.to_owned(), s(PROJECT_SK)),
            (APPS.to_owned(), AttributeValue::L(project.apps.iter().map(s).collect())),
        ]);
        match self.put(item, Expect::Absent).await {
            Wrote::Written { .. } => SeedOutcome::Stored,
            Wrote::Lost(_) => SeedOutcome::AlreadyThere,
            Wrote::Unknown(error) => SeedOutcome::Unknown(error),
        }
    }

    /// A project's settings, if there are any. Eventually consistent: the caller caches them for longer than the table
    /// lags.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(project_pk(name)))
            .key(SK, s(PROJECT_SK))
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        let Some(item) = answer.item else { return Ok(None) };
        // The order of the list means something, so one that can only be read in part is not read at all.
        let apps: Option<Vec<String>> = get_list(&item, APPS)?.iter().map(|app| app.as_s().ok().cloned()).collect();
        let apps = apps.ok_or_else(|| StoreError::corrupt("attribute apps holds what is no string"))?;
        Ok(Some(Project { apps }))
    }
}
