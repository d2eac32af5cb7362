//! The command `sendonce` on the deployed stack, as README's section "Deploy" has a person use it: it is told of the
//! stack by a file with its outputs, and by nothing else.

use crate::{
    emulator::environment,
    processes::{command, output_of},
    providers::{self, PROVIDERS},
};
use anyhow::{Context, ensure};
use sendonce_http::SCOPES;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// What a command ends with that found something.
const FOUND: i32 = 3;
/// What the emulator does not make of the template, as the doctor calls it; nothing else may be wrong with a fresh stack.
/// Its CloudFormation knows neither time to live nor recursive loops, which its DynamoDB and its Lambda keep when they are
/// told by themselves. And CloudFormation makes a number of a parameter where one is due: there the concurrency stays the
/// text that it is.
pub(crate) const LEFT_OUT: [(&str, &str); 4] = [
    ("table", "TimeToLiveSpecification"),
    ("function deliver", "RecursiveLoop"),
    ("function dead-letter", "RecursiveLoop"),
    ("mapping deliver", "ScalingConfig.MaximumConcurrency"),
];

/// The command, the stack's outputs, and where things are.
pub(crate) struct Sendonce {
    program: PathBuf,
    emulator: String,
    sandbox: String,
    folder: PathBuf,
}

impl Sendonce {
    /// `folder` takes the files that a person has: the outputs, and the providers' credentials.
    pub(crate) fn new(
        program: &Path,
        emulator: &str,
        sandbox: &str,
        folder: &Path,
        outputs: &str,
    ) -> anyhow::Result<Self> {
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let sendonce = Self { program, emulator: emulator.to_owned(), sandbox: sandbox.to_owned(), folder };
        sendonce.told(outputs)?;
        Ok(sendonce)
    }

    /// The stack's outputs are these from now on.
    pub(crate) fn told(&self, outputs: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.folder.join("outputs.json"), outputs)?)
    }

    /// Runs it in the folder; it must end with this exit code.
    async fn ends(&self, code: i32, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut sendonce = command(&self.program);
        environment(&mut sendonce, &self.emulator).env("STRIPE_URL", &self.sandbox).current_dir(&self.folder);
        sendonce.args(["--json", "--outputs", "outputs.json"]).args(arguments);
        let out = output_of(sendonce, code).await?;
        serde_json::from_str(&out).with_context(|| format!("{arguments:?} answered no JSON but {out}"))
    }

    /// Runs it; it must do what it is told.
    pub(crate) async fn run(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.ends(0, arguments).await
    }

    /// Everything is as it must be.
    pub(crate) async fn doctor_finds_nothing(&self) -> anyhow::Result<()> {
        let found = self.run(&["doctor"]).await?;
        ensure!(found["wrong"] == json!([]), "the doctor says {found}");
        Ok(())
    }

    /// Exactly these settings are wrong, each named by what it is of and its name.
    pub(crate) async fn doctor_finds(&self, wrong: &[(&str, &str)]) -> anyhow::Result<()> {
        let found = self.ends(FOUND, &["doctor"]).await?;
        let word = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let listed = found["wrong"].as_array().into_iter().flatten();
        let named: BTreeSet<_> = listed.map(|one| (word(one, "part"), word(one, "setting"))).collect();
        let must: BTreeSet<_> = wrong.iter().map(|(part, name)| ((*part).to_owned(), (*name).to_owned())).collect();
        ensure!(named == must, "the doctor must name {must:?} and says {found}");
        Ok(())
    }

    /// A project with its apps, an API key, and its providers' credentials, which the providers take. The key.
    pub(crate) async fn make_project(&self, name: &str, apps: &[&str]) -> anyhow::Result<String> {
        let key = self.make_key(name, apps).await?;
        for provider in PROVIDERS {
            let file = format!("{name}-{provider}.json");
            std::fs::write(self.folder.join(&file), providers::secret(&self.sandbox, name, provider).await?)?;
            let put = ["credentials", "put", "--project", name, "--provider", provider, "--file", &file];
            let put = self.run(&put).await?;
            ensure!(put["check"]["works"] == true, "{name}'s credentials for {provider}: {put}");
        }
        Ok(key)
    }

    /// A project with its apps and an API key, whose credentials are there already. The key.
    pub(crate) async fn make_key(&self, name: &str, apps: &[&str]) -> anyhow::Result<String> {
        let mut create = vec!["projects", "create", name];
        create.extend(apps.iter().flat_map(|app| ["--app", app]));
        self.run(&create).await?;
        let mut create = vec!["keys", "create", "--project", name, "--name", "backend"];
        create.extend(SCOPES.iter().flat_map(|scope| ["--scope", scope]));
        let made = self.run(&create).await?;
        let listed = self.run(&["keys", "list", "--project", name]).await?;
        let key = made["api_key"].as_str().context("no key is shown")?;
        ensure!(listed["keys"][0]["id"] == made["id"], "{made} is not in {listed}");
        ensure!(!listed.to_string().contains(key), "a key is shown twice");
        Ok(key.to_owned())
    }

    /// A message that was sent, by its id and by its key.
    pub(crate) async fn shows_sent(&self, id: &str, key: &str) -> anyhow::Result<()> {
        let shown = self.run(&["messages", "show", id]).await?;
        let is = (&shown["id"], &shown["status"], &shown["project"]);
        ensure!(is == (&json!(id), &json!("sent"), &json!("acme")), "the message is shown as {shown}");
        let by_key = self.run(&["messages", "show", "--project", "acme", "--key", key]).await?;
        ensure!(by_key["id"] == shown["id"], "under its key is {by_key}");
        let raw = self.run(&["messages", "show", id, "--raw"]).await?;
        ensure!(raw["items"].as_array().is_some_and(|items| items.len() == 2), "its items are {raw}");
        Ok(())
    }

    /// The one dead letter there is, shown and sent back.
    pub(crate) async fn redrives(&self, id: &str) -> anyhow::Result<()> {
        let shown = self.run(&["dead-letters", "show"]).await?;
        let letters = shown["letters"].as_array().map_or(0, Vec::len);
        ensure!(letters == 1 && shown["letters"][0]["about"]["id"] == id, "the dead letters are {shown}");
        let moved = self.run(&["dead-letters", "redrive"]).await?;
        ensure!((&moved["moved"], &moved["kept"]) == (&json!(1), &json!(0)), "the re-drive says {moved}");
        Ok(())
    }

    /// A whole audit, which finds nothing.
    pub(crate) async fn audits(&self) -> anyhow::Result<()> {
        let report = self.run(&["audit"]).await?;
        let scanned = report["scanned"].as_u64().unwrap_or_default();
        ensure!(report["finished"] == true && scanned > 0, "the audit says {report}");
        Ok(())
    }
}
