//! The stack: deployed, changed and deleted by SAM, and its outputs, by which everything in it is found.

use crate::{
    emulator::{Emulator, environment},
    processes::{command, output},
};
use anyhow::Context;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tokio::process::Command;

/// Parameters of every deployment here; the samconfig has the same, but overrides replace them all.
const PARAMETERS: [&str; 3] = ["Stage=test", "Architecture=x86_64", "Timing=short"];
/// Where `sam build` leaves the template.
const BUILT: &str = ".aws-sam/build/template.yaml";
/// What is deployed, beside it: the same without the alarms.
const DEPLOYED: &str = ".aws-sam/build/emulator.yaml";
/// The nested stack of the alarms, which is deployed by itself: see `alarms.rs`.
const ALARMS: &str = "  AlarmStack:";
/// What is deployed of it.
const ALARMS_DEPLOYED: &str = ".aws-sam/build/emulator-alarms.yaml";
/// The stack's name in samconfig.toml.
pub(crate) const NAME: &str = "sendonce-local";
/// The name of the alarms' stack.
const ALARMS_NAME: &str = "sendonce-local-alarms";

/// SAM against one emulator.
pub(crate) struct Sam<'a> {
    pub(crate) program: &'a Path,
    pub(crate) emulator: &'a Emulator,
}

impl Sam<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut sam = command(self.program);
        environment(&mut sam, &self.emulator.url);
        sam.args(arguments);
        sam
    }

    /// Deploys what is built.
    pub(crate) async fn deploy(&self, more: &[String]) -> anyhow::Result<()> {
        let built = std::fs::read_to_string(BUILT).with_context(|| format!("{BUILT}: run `sam build` first"))?;
        std::fs::write(DEPLOYED, without(&built, ALARMS)?)?;
        let parameters = PARAMETERS.iter().map(ToString::to_string).chain(more.iter().cloned());
        self.deploy_as(NAME, DEPLOYED, parameters.collect()).await
    }

    /// Changes these parameters of what is deployed, and no others, as README has a person do it: all the rest is what the
    /// stack remembers.
    pub(crate) async fn change(&self, parameters: &[String]) -> anyhow::Result<()> {
        let mut sam =
            self.command(&["deploy", "--config-env", "update", "--stack-name", NAME, "--no-confirm-changeset"]);
        sam.args(["--template-file", DEPLOYED, "--config-file"]).arg(config()?).arg("--parameter-overrides");
        sam.args(parameters);
        output(sam).await.map(drop)
    }

    /// Deploys the alarms of this template.
    pub(crate) async fn deploy_alarms(&self, template: &str, parameters: Vec<String>) -> anyhow::Result<()> {
        std::fs::write(ALARMS_DEPLOYED, template)?;
        self.deploy_as(ALARMS_NAME, ALARMS_DEPLOYED, parameters).await
    }

    async fn deploy_as(&self, name: &str, template: &str, parameters: Vec<String>) -> anyhow::Result<()> {
        let mut sam = self.command(&["deploy", "--config-env", "local", "--stack-name", name]);
        sam.args(["--template-file", template, "--config-file"]).arg(config()?).arg("--parameter-overrides");
        sam.args(parameters);
        output(sam).await.map(drop)
    }

    /// Deletes the stack.
    pub(crate) async fn delete(&self) -> anyhow::Result<()> {
        self.delete_as(NAME).await
    }

    /// Deletes the alarms' stack.
    pub(crate) async fn delete_alarms(&self) -> anyhow::Result<()> {
        self.delete_as(ALARMS_NAME).await
    }

    async fn delete_as(&self, name: &str) -> anyhow::Result<()> {
        let delete = ["delete", "--config-env", "local", "--stack-name", name, "--no-prompts"];
        output(self.command(&delete)).await.map(drop)
    }

    /// The stack's outputs as SAM lists them, if there is a stack: what README has a person put into a file.
    pub(crate) async fn list_outputs(&self) -> anyhow::Result<String> {
        output(self.command(&["list", "stack-outputs", "--stack-name", NAME, "--output", "json"])).await
    }

    /// The outputs in that list, by their names.
    pub(crate) fn outputs(listed: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let outputs: Value = serde_json::from_str(listed).context("sam lists outputs that are no JSON")?;
        let text = |output: &Value, member: &str| output[member].as_str().unwrap_or_default().to_owned();
        let all = outputs.as_array().into_iter().flatten();
        Ok(all.map(|output| (text(output, "OutputKey"), text(output, "OutputValue"))).collect())
    }
}

/// SAM would look for its configuration beside the template.
fn config() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_dir()?.join("samconfig.toml"))
}

/// A template's text without one of its resources, of which there must be one.
fn without(template: &str, resource: &str) -> anyhow::Result<String> {
    let (before, after) = template.split_once(&format!("\n{resource}\n")).context("the template has no alarms")?;
    let next = after.lines().position(|line| !line.starts_with("   ")).unwrap_or_else(|| after.lines().count());
    let rest: Vec<&str> = after.lines().skip(next).collect();
    Ok(format!("{before}\n{}\n", rest.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_resource_is_taken_out() {
        let template = "Resources:\n  A:\n    Type: x\n  AlarmStack:\n    Type: y\n    P:\n    - 1\n  B:\n    Type: z\nOutputs: {}\n";
        let rest = without(template, ALARMS).unwrap();
        assert_eq!(rest, "Resources:\n  A:\n    Type: x\n  B:\n    Type: z\nOutputs: {}\n");
        let last = without("Resources:\n  A: 1\n  AlarmStack:\n    Type: y\n", ALARMS).unwrap();
        assert_eq!(last, "Resources:\n  A: 1\n\n");
        assert!(without(&rest, ALARMS).is_err());
    }
}
