//! Projects: stored once, read back in order, never overwritten.

use super::support::database;
use crate::{Project, SeedOutcome};

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
