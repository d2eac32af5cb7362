//! Projects: stored once, read back in order, never overwritten.

use super::support::database;
use crate::{ChangeProject, Project, SeedOutcome};

fn project(apps: &[&str]) -> Project {
    Project { apps: apps.iter().map(|app| (*app).to_owned()).collect() }
}

#[tokio::test]
async fn a_project_is_stored_once_and_keeps_its_order() {
    let (_, store) = database().await;
    assert_eq!(store.project("acme").await.unwrap(), None);
    let two = project(&["com.example.z", "com.example.a"]);
    assert!(matches!(store.add_project("acme", &two).await, SeedOutcome::Stored));
    assert!(matches!(store.add_project("acme", &project(&[])).await, SeedOutcome::AlreadyThere));
    assert_eq!(store.project("acme").await.unwrap(), Some(two));
    assert!(matches!(store.add_project("globex", &project(&[])).await, SeedOutcome::Stored));
    assert_eq!(store.project("globex").await.unwrap(), Some(project(&[])));
    // Names are compared whole.
    for other in ["acm", "acme#", "Acme", ""] {
        assert_eq!(store.project(other).await.unwrap(), None, "{other}");
    }
}

#[tokio::test]
async fn projects_are_listed_and_changed_by_whoever_saw_what_is_there() {
    let (_, store) = database().await;
    assert_eq!(store.projects().await.unwrap(), [""; 0]);
    for name in ["globex", "acme", "M"] {
        store.add_project(name, &project(&["com.example.a"])).await;
    }
    assert_eq!(store.projects().await.unwrap(), ["M", "acme", "globex"]);
    let (old, new) = (project(&["com.example.a"]), project(&["com.example.b", "com.example.a"]));
    assert!(matches!(store.change_project("acme", &old, &new).await, ChangeProject::Changed));
    assert!(matches!(store.change_project("acme", &old, &new).await, ChangeProject::Changed), "a repeat is the first");
    let conflict = store.change_project("acme", &old, &project(&[])).await;
    assert!(matches!(conflict, ChangeProject::Conflict(Some(stored)) if stored == new));
    assert!(matches!(store.change_project("nobody", &old, &new).await, ChangeProject::Conflict(None)));
    assert_eq!(store.project_now("acme").await.unwrap(), Some(new));
    assert_eq!(store.project_now("nobody").await.unwrap(), None);
    assert_eq!(store.project_now("globex").await.unwrap(), Some(old));
}

#[tokio::test]
async fn a_table_that_is_not_there_is_named_as_such() {
    let (url, _) = database().await;
    let client =
        aws_sdk_dynamodb::Client::new(&platform::aws_config_at(platform::AwsTimeouts::within(10_000), &url).await);
    let store = crate::Store::new(client, "elsewhere");
    let error = store.projects().await.unwrap_err();
    assert!(matches!(error, crate::StoreError::NoTable { operation: "Query" }), "{error}");
}
