//! Commands about projects.

use crate::{
    answer::Answer,
    args::Projects,
    failure::{Failure, said},
    place::Place,
    table::table,
};
use serde_json::json;
use store::{ChangeProject, Project, SeedOutcome, Store};

/// Longest name: it is part of secrets' names, of log lines and of hashed keys.
const NAME_MAX: usize = 64;
/// Longest bundle id (App Store Connect's limit).
const BUNDLE_ID_MAX: usize = 155;

pub(crate) async fn run(place: &Place, command: Projects) -> Result<Answer, Failure> {
    let store = place.store().await?;
    match command {
        Projects::Create { name, apps } => create(place, &store, &name, apps).await,
        Projects::List => list(place, &store).await,
        Projects::Show { name } => {
            let project = existing(place, &store, &name).await?;
            Ok(shown(&name, &project, &format!("{name}: {}", apps_text(&project))))
        }
        Projects::SetApps { name, apps } => set_apps(place, &store, &name, apps).await,
    }
}

/// A project that must be there.
pub(crate) async fn existing(place: &Place, store: &Store, name: &str) -> Result<Project, Failure> {
    let project = store.project_now(name).await.map_err(|error| place.failed(error))?;
    project.ok_or_else(|| {
        said(format!("there is no project {name}: `sendonce projects list` shows those there are, `create` makes one"))
    })
}

async fn create(place: &Place, store: &Store, name: &str, apps: Vec<String>) -> Result<Answer, Failure> {
    check_name(name)?;
    let project = Project { apps: checked_apps(apps)? };
    match store.add_project(name, &project).await {
        SeedOutcome::Stored => Ok(shown(name, &project, &format!("Created {name}: {}", apps_text(&project)))),
        SeedOutcome::AlreadyThere => {
            // A repeat of a creation whose answer was lost, by the SDK or by a person, finds what it wanted.
            let stored = existing(place, store, name).await?;
            if stored == project {
                return Ok(shown(name, &project, &format!("{name} is there as it should be: {}", apps_text(&project))));
            }
            Err(said(format!(
                "the project {name} exists with other settings ({}): `sendonce projects set-apps` changes them",
                apps_text(&stored)
            )))
        }
        SeedOutcome::Unknown(error) => Err(place.failed(error)),
    }
}

async fn list(place: &Place, store: &Store) -> Result<Answer, Failure> {
    let mut projects = Vec::new();
    for name in store.projects().await.map_err(|error| place.failed(error))? {
        let project = store.project_now(&name).await.map_err(|error| place.failed(error))?;
        projects.push((name, project));
    }
    let rows: Vec<_> = projects
        .iter()
        .map(|(name, project)| [name.clone(), project.as_ref().map_or_else(|| UNFINISHED.to_owned(), apps_text)])
        .collect();
    let text = if rows.is_empty() { "There is no project yet.".to_owned() } else { table(["PROJECT", "APPS"], &rows) };
    let value = projects
        .iter()
        .map(|(name, project)| json!({"project": name, "apps": project.as_ref().map(|project| &project.apps)}));
    Ok(Answer::new(json!({"projects": value.collect::<Vec<_>>()}), text))
}

/// A project that is listed and not there.
const UNFINISHED: &str = "(creating it broke off; create it again)";

async fn set_apps(place: &Place, store: &Store, name: &str, apps: Vec<String>) -> Result<Answer, Failure> {
    let to = Project { apps: checked_apps(apps)? };
    let from = existing(place, store, name).await?;
    match store.change_project(name, &from, &to).await {
        ChangeProject::Changed => Ok(shown(name, &to, &format!("Changed {name}: {}", apps_text(&to)))),
        ChangeProject::Conflict(Some(now)) => Err(said(format!(
            "somebody changed {name} meanwhile; its apps are now {}; nothing was changed by this command",
            apps_text(&now)
        ))),
        ChangeProject::Conflict(None) => Err(said(format!("there is no project {name} any more"))),
        ChangeProject::Unknown(error) => Err(place.failed(error)),
    }
}

fn shown(name: &str, project: &Project, text: &str) -> Answer {
    Answer::new(json!({"project": name, "apps": project.apps}), text)
}

fn apps_text(project: &Project) -> String {
    if project.apps.is_empty() { "no apps".to_owned() } else { project.apps.join(", ") }
}

fn check_name(name: &str) -> Result<(), Failure> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if starts && name.len() <= NAME_MAX && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(said(format!(
        "a project's name has 1 to {NAME_MAX} lower-case letters, digits, '-' and '_', a letter or a digit first"
    )))
}

fn checked_apps(apps: Vec<String>) -> Result<Vec<String>, Failure> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    for (index, app) in apps.iter().enumerate() {
        if !(1..=BUNDLE_ID_MAX).contains(&app.len()) || !app.bytes().all(allowed) {
            return Err(said(format!(
                "{app:?} is no bundle id: 1 to {BUNDLE_ID_MAX} letters, digits, '-', '.' and '_'"
            )));
        }
        if apps[..index].contains(app) {
            return Err(said(format!("the app {app} is named twice")));
        }
    }
    Ok(apps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_apps_keep_to_their_rules() {
        for name in ["a", "acme-2_x", "0", &"a".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "Acme", "a#b", "-a", "a/b", "ä", "a b", &"a".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        let apps = |list: &[&str]| checked_apps(list.iter().map(|app| (*app).to_owned()).collect());
        assert!(apps(&[]).is_ok() && apps(&["com.example.a", "com.example.b"]).is_ok());
        assert!(apps(&["com.example.a", "com.example.a"]).is_err() && apps(&["a b"]).is_err() && apps(&[""]).is_err());
    }
}
