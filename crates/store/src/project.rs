//! Projects: what a request may refer to by a name of the project's own, and the list of them.
//!
//! The list's entry is written before the project, as an API key's is: a project that works is in the list.

use crate::{
    SeedOutcome, Store, StoreError,
    attr::{Item, get_list, get_s, s},
    condition::apps_are,
    names::{APPS, PK, PROJECT_LIST_PK, PROJECT_SK, SK, listed_project_sk, project_of_listed_sk, project_pk},
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

/// What came of changing a project's settings.
#[derive(Debug)]
pub enum ChangeProject {
    /// They are stored now.
    Changed,
    /// Somebody changed them meanwhile: these are stored, or there is no such project.
    Conflict(Option<Project>),
    /// Nobody knows.
    Unknown(StoreError),
}

fn apps(project: &Project) -> AttributeValue {
    AttributeValue::L(project.apps.iter().map(s).collect())
}

fn decode(item: &Item) -> Result<Project, StoreError> {
    // The order of the list means something, so one that can only be read in part is not read at all.
    let apps: Option<Vec<String>> = get_list(item, APPS)?.iter().map(|app| app.as_s().ok().cloned()).collect();
    let apps = apps.ok_or_else(|| StoreError::corrupt("attribute apps holds what is no string"))?;
    Ok(Project { apps })
}

impl Store {
    /// Stores a project's settings unless some are there, and lists it.
    pub async fn add_project(&self, name: &str, project: &Project) -> SeedOutcome {
        let listed = Item::from([(PK.to_owned(), s(PROJECT_LIST_PK)), (SK.to_owned(), s(listed_project_sk(name)))]);
        if let Wrote::Unknown(error) = self.put(listed, Expect::Absent).await {
            return SeedOutcome::Unknown(error);
        }
        let item = Item::from([
            (PK.to_owned(), s(project_pk(name))),
            (SK.to_owned(), s(PROJECT_SK)),
            (APPS.to_owned(), apps(project)),
        ]);
        match self.put(item, Expect::Absent).await {
            Wrote::Written { .. } => SeedOutcome::Stored,
            Wrote::Lost(_) => SeedOutcome::AlreadyThere,
            Wrote::Unknown(error) => SeedOutcome::Unknown(error),
        }
    }

    /// Changes a project's settings, if they still are what the caller saw.
    pub async fn change_project(&self, name: &str, from: &Project, to: &Project) -> ChangeProject {
        let item = Item::from([
            (PK.to_owned(), s(project_pk(name))),
            (SK.to_owned(), s(PROJECT_SK)),
            (APPS.to_owned(), apps(to)),
        ]);
        match self.update_if(item, &[], apps_are(apps(from))).await {
            Wrote::Written { .. } => ChangeProject::Changed,
            Wrote::Lost(old) => match old.as_ref().map(decode).transpose() {
                // The SDK repeats a write whose answer was lost, and the repeat meets the first.
                Ok(Some(stored)) if stored == *to => ChangeProject::Changed,
                Ok(stored) => ChangeProject::Conflict(stored),
                Err(error) => ChangeProject::Unknown(error),
            },
            Wrote::Unknown(error) => ChangeProject::Unknown(error),
        }
    }

    /// A project's settings, if there are any. Eventually consistent: the caller caches them for longer than the table
    /// lags.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        self.read_project(name, false).await
    }

    /// The same, read consistently: for people, who read what they wrote.
    ///
    /// # Errors
    /// When the table does not answer or the item cannot be read.
    pub async fn project_now(&self, name: &str) -> Result<Option<Project>, StoreError> {
        self.read_project(name, true).await
    }

    async fn read_project(&self, name: &str, consistent: bool) -> Result<Option<Project>, StoreError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(PK, s(project_pk(name)))
            .key(SK, s(PROJECT_SK))
            .consistent_read(consistent)
            .send()
            .await
            .map_err(|error| StoreError::sdk("GetItem", &error))?;
        answer.item.as_ref().map(decode).transpose()
    }

    /// The names of all projects, in the order of their bytes. An entry whose project was never stored, because making
    /// it broke off, is among them.
    ///
    /// # Errors
    /// When the table does not answer or an entry cannot be read.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let mut pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_values(":pk", s(PROJECT_LIST_PK))
            .consistent_read(true)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            for entry in page.map_err(|error| StoreError::sdk("Query", &error))?.items() {
                let name = project_of_listed_sk(get_s(entry, SK)?);
                let name = name.ok_or_else(|| StoreError::corrupt("the list of projects holds what is none"))?;
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}
