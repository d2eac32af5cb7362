//! Commands about provider credentials.

mod check;
mod form;

use crate::{
    answer::Answer,
    args::{Credentials, Environment, ProviderName, PutCredentials},
    failure::{Failure, said},
    place::Place,
    projects::existing,
};
use aws_sdk_secretsmanager::Client;
use check::{Checked, Checker};
use serde_json::{Value, json};
use std::{io::Read, path::Path};
use store::Project;

/// Longest file that is read, in bytes: a secret has at most 65,536 (AWS Secrets Manager quotas).
const FILE_MAX: u64 = 65_536;

pub(crate) async fn run(place: &Place, command: Credentials) -> Result<Answer, Failure> {
    match command {
        Credentials::Put(command) => put(place, command).await,
        Credentials::Check { project, provider } => check(place, &project, provider).await,
    }
}

async fn put(place: &Place, command: PutCredentials) -> Result<Answer, Failure> {
    let provider = command.provider;
    let store = place.store().await?;
    let project = existing(place, &store, &command.project).await?;
    let text = secret(&command, &project, &read(&command.file)?)?;
    let name = secret_name(place, &command.project, provider)?;
    let secrets = place.secrets().await?;
    let version = store_secret(&secrets, &name, &text).await?;
    let mut value =
        json!({"project": command.project, "provider": provider.as_str(), "secret": name, "version": version});
    let stored = format!("Stored {name}, version {version}.");
    if command.no_check {
        return Ok(Answer::new(value, stored));
    }
    let checked = Checker::new(place, secrets, store)?.check(&command.project, provider).await;
    value["check"] = checked.json();
    let answer = Answer::new(value, format!("{stored}\n{}", checked.report));
    // They are stored, whatever the provider says of them, and what it says, or does not, is for a person.
    Ok(if checked.works { answer } else { answer.found() })
}

fn secret_name(place: &Place, project: &str, provider: ProviderName) -> Result<String, Failure> {
    Ok(place.secret_name()?.secret_name.replace("{provider}", provider.as_str()).replace("{project}", project))
}

fn read(path: &Path) -> Result<String, Failure> {
    let file = |source| Failure::File { path: path.to_owned(), source };
    let mut text = String::new();
    let mut limited: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().take(FILE_MAX + 1))
    } else {
        Box::new(std::fs::File::open(path).map_err(file)?.take(FILE_MAX + 1))
    };
    limited.read_to_string(&mut text).map_err(file)?;
    if text.len() as u64 > FILE_MAX {
        return Err(said(format!("{} has more than {FILE_MAX} bytes; a secret cannot hold it", path.display())));
    }
    Ok(text)
}

/// The text to store: what the file holds, or Apple's key with the ids that belong to it.
fn secret(command: &PutCredentials, project: &Project, file: &str) -> Result<String, Failure> {
    let provider = command.provider;
    let text = match (&command.key_id, &command.team_id) {
        (Some(_), _) | (_, Some(_)) if provider != ProviderName::Apns => {
            return Err(said("--key-id and --team-id go with --provider apns"));
        }
        (Some(key_id), Some(team_id)) => {
            if project.apps.is_empty() {
                return Err(said(format!(
                    "the project {} has no apps, and Apple's key is used for apps: `sendonce projects set-apps` first",
                    command.project
                )));
            }
            let environment = match command.environment {
                Environment::Sandbox => "sandbox",
                Environment::Production => "production",
            };
            let apps = &project.apps;
            let secret =
                json!({"key": file, "key_id": key_id, "team_id": team_id, "environment": environment, "apps": apps});
            secret.to_string()
        }
        // Anything else that is no JSON is told what it is by its reader.
        _ if provider == ProviderName::Apns && is_pem(file) => {
            return Err(said(
                "a .p8 file alone is not enough: give --key-id and --team-id, as Apple's portal shows them",
            ));
        }
        _ => file.to_owned(),
    };
    if let Some(fault) = form::fault(provider, &text) {
        let provider = provider.as_str();
        return Err(said(format!("nothing was stored: these cannot be credentials for {provider}: {fault}")));
    }
    if provider == ProviderName::Apns {
        same_default_app(&text, project)?;
    }
    Ok(text)
}

/// A key alone, whatever its editor put before it; a secret in JSON holds one too.
fn is_pem(file: &str) -> bool {
    let text = file.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}');
    text.contains("-----BEGIN") && !text.starts_with('{')
}

/// A message that names no app goes to the project's first, and it is the credentials' first that it then gets.
fn same_default_app(text: &str, project: &Project) -> Result<(), Failure> {
    let secret: Value = serde_json::from_str(text).unwrap_or_default();
    let first = secret["apps"][0].as_str();
    match project.apps.first() {
        Some(app) if first != Some(app) => Err(said(format!(
            "nothing was stored: the first app of these credentials must be the project's first, {app}, not {}",
            first.unwrap_or("none")
        ))),
        _ => Ok(()),
    }
}

/// Stores a new version of a secret, or the first one. Its version's id.
async fn store_secret(client: &Client, name: &str, text: &str) -> Result<String, Failure> {
    let put = client.put_secret_value().secret_id(name).secret_string(text).send().await;
    let error = match put {
        Ok(answer) => return Ok(answer.version_id.unwrap_or_default()),
        Err(error) => error,
    };
    if !error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) {
        return Err(Failure::aws("Secrets Manager", "PutSecretValue", &error));
    }
    let created = client.create_secret().name(name).secret_string(text).send().await;
    match created {
        Ok(answer) => Ok(answer.version_id.unwrap_or_default()),
        Err(error) => Err(Failure::aws("Secrets Manager", "CreateSecret", &error)),
    }
}

async fn check(place: &Place, project: &str, only: Option<ProviderName>) -> Result<Answer, Failure> {
    let store = place.store().await?;
    existing(place, &store, project).await?;
    let checker = Checker::new(place, place.secrets().await?, store)?;
    let mut checks = Vec::new();
    for provider in only.map_or_else(|| ProviderName::ALL.to_vec(), |only| vec![only]) {
        checks.push((provider.as_str(), checker.check(project, provider).await));
    }
    // A project without iPhones needs no key of Apple's; one without any credentials cannot send or pay at all.
    let some = checks.iter().any(|(_, checked)| !checked.missing);
    let judged: Vec<_> = checks.iter().filter(|(_, checked)| !(some && checked.missing)).collect();
    let refused = judged.iter().any(|(_, checked)| checked.refused);
    let unanswered = judged.iter().filter(|(_, checked)| checked.unanswered());
    let unanswered: Vec<_> = unanswered.map(|(provider, checked)| format!("{provider}: {}", checked.report)).collect();
    let text: String = checks.iter().map(|(provider, checked)| format!("{provider}: {}\n", checked.report)).collect();
    let checks: Vec<_> = checks
        .iter()
        .map(|(provider, checked): &(&str, Checked)| {
            let mut value = checked.json();
            value["provider"] = json!(provider);
            value
        })
        .collect();
    let answer = Answer::new(json!({"project": project, "checks": checks}), text);
    Ok(if refused {
        answer.found()
    } else if unanswered.is_empty() {
        answer
    } else {
        answer.not_done(unanswered.join(" "))
    })
}
