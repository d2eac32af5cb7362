//! The provider sandbox: a process of its own, as the providers are, and the credentials that it gives out.

use crate::processes::command;
use anyhow::{Context, ensure};
use aws_sdk_secretsmanager::Client;
use platform::{AwsTimeouts, Clock, aws_config_at};
use sandbox::Sandbox;
use std::{io::Write, net::Ipv4Addr, process::Stdio};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::Child,
    sync::watch,
};

/// The projects, each with its apps.
pub(crate) const PROJECTS: [(&str, &[&str]); 2] =
    [("acme", &["com.example.acme"]), ("globex", &["com.example.globex"])];
/// The providers whose secrets a project has.
pub(crate) const PROVIDERS: [&str; 3] = ["apns", "fcm", "stripe"];

/// What the child does: serves on any free port, whose URL is its first line.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let sandbox = Sandbox::new(Clock::system(), url.clone())?;
    for (project, apps) in PROJECTS {
        sandbox.seed_project_with(project, apps)?;
    }
    writeln!(std::io::stdout(), "{url}")?;
    let (_running, stop) = watch::channel(false);
    sandbox.serve(listener, axum::Router::new(), stop).await;
    Ok(())
}

/// Starts the child; its URL.
pub(crate) async fn start() -> anyhow::Result<(Child, String)> {
    let mut child = command(&std::env::current_exe()?).arg("sandbox").stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("the sandbox has no stdout")?;
    let url = BufReader::new(stdout).lines().next_line().await?.context("the sandbox ended before it said its URL")?;
    Ok((child, url))
}

/// A project's credentials for a provider, as the provider's console would give them.
pub(crate) async fn secret(sandbox: &str, project: &str, provider: &str) -> anyhow::Result<String> {
    let client = Client::new(&aws_config_at(AwsTimeouts::within(20_000), sandbox).await);
    let name = format!("sendonce/{project}/{provider}");
    let secret = client.get_secret_value().secret_id(&name).send().await.context("the sandbox has no secret")?;
    let text = secret.secret_string.unwrap_or_default();
    ensure!(!text.is_empty(), "the secret {name} is empty");
    Ok(text)
}
