//! The stack: deployed, changed and deleted by SAM, and its outputs, by which everything in it is found.

use crate::{
    emulator::{Emulator, environment},
    processes::{command, output},
};
use anyhow::Context;
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};
use tokio::process::Command;

/// Parameters of every deployment here; the samconfig has the same, but overrides replace them all.
const PARAMETERS: [&str; 3] = ["Stage=test", "Architecture=x86_64", "Timing=short"];
/// Where `sam build` leaves the template.
const BUILT: &str = ".aws-sam/build/template.yaml";
/// What is deployed, beside it: the same without the alarms.
const DEPLOYED: &str = ".aws-sam/build/emulator.yaml";
/// The nested stack of the alarms. The emulator does not know alarms over several metrics, and `sam delete` does not know
/// a nested template that lies anywhere but in AWS's own S3.
const ALARMS: &str = "  AlarmStack:";
/// The stack's name in samconfig.toml.
const NAME: &str = "sendonce-local";

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

    /// Deploys what is built, or changes what is deployed.
    pub(crate) async fn deploy(&self, more: &[String]) -> anyhow::Result<()> {
        let built = std::fs::read_to_string(BUILT).with_context(|| format!("{BUILT}: run `sam build` first"))?;
        std::fs::write(DEPLOYED, without(&built, ALARMS)?)?;
        // SAM looks for its configuration beside the template.
        let config = std::env::current_dir()?.join("samconfig.toml");
        let mut sam = self.command(&["deploy", "--config-env", "local", "--template-file", DEPLOYED, "--config-file"]);
        sam.arg(config).arg("--parameter-overrides");
        sam.args(PARAMETERS).args(more);
        output(sam).await.map(drop)
    }

    /// Deletes the stack.
    pub(crate) async fn delete(&self) -> anyhow::Result<()> {
        output(self.command(&["delete", "--config-env", "local", "--no-prompts"])).await.map(drop)
    }

    /// The stack's outputs, if there is a stack.
    pub(crate) async fn outputs(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let listed = output(self.command(&["list", "stack-outputs", "--stack-name", NAME, "--output", "json"])).await?;
        let outputs: Value = serde_json::from_str(&listed).context("sam lists outputs that are no JSON")?;
        let text = |output: &Value, member: &str| output[member].as_str().unwrap_or_default().to_owned();
        let all = outputs.as_array().into_iter().flatten();
        Ok(all.map(|output| (text(output, "OutputKey"), text(output, "OutputValue"))).collect())
    }
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
