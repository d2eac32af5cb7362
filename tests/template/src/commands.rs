//! The commands that README and docs/RUNBOOK.md have a person give: what they need is said, and they can be given in that
//! order.

use crate::{Faults, yaml::root};
use anyhow::Context;
use std::fs;

/// How a version is built and deployed.
const DEPLOY: &str = "`sam build && sam deploy";
/// What `sam build` needs besides for a stack of the other processor: it reads no parameter of the stack's.
const OTHER_PROCESSOR: &str = "sam build --parameter-overrides Architecture=x86_64";
/// What a document says that has a person use the AWS CLI: options and a command of these documents are version 2's.
const CLI: &str = "AWS CLI";
const CLI_VERSION: &str = "version 2";
/// A command that leaves a table in a state in which it takes no other one like it (Amazon DynamoDB API reference,
/// UpdateTable).
const UPDATE: &str = "aws dynamodb update-table ";
/// What returns once it does again.
const WAIT: &str = "aws dynamodb wait table-exists ";

/// The tools that README has a person install, and where the tests say their versions.
const PINNED: [(&str, &str, &str); 3] = [
    ("aws-sam-cli", "tests/deploy/run", "SAM_VERSION="),
    ("cargo-lambda", "tests/deploy/run", "CARGO_LAMBDA_VERSION="),
    ("cargo-lambda", "tests/watch", "VERSION="),
];

/// The tools that README names in another version than the tests use.
///
/// # Errors
/// When a script cannot be read.
pub fn versions(readme: &str) -> anyhow::Result<Faults> {
    let mut faults = Faults::new();
    for (tool, script, variable) in PINNED {
        let text = fs::read_to_string(root().join(script)).with_context(|| format!("{script} cannot be read"))?;
        let version = text.lines().find_map(|line| line.strip_prefix(variable)).unwrap_or_default();
        let named: Vec<&str> = readme.split_whitespace().filter_map(|word| word.strip_prefix(tool)).collect();
        if !named.contains(&format!("=={version}").as_str()) {
            faults.push(format!("README does not have {tool}=={version} installed, which {script} uses"));
        }
    }
    Ok(faults)
}

/// What a document's commands lack.
#[must_use]
pub fn faults(name: &str, document: &str) -> Faults {
    let mut faults = Faults::new();
    for line in document.lines().filter(|line| line.contains(DEPLOY) && !line.contains(OTHER_PROCESSOR)) {
        faults.push(format!("{name} does not say how a stack of x86_64 is built: {line}"));
    }
    if document.contains("aws ") && !(document.contains(CLI) && document.contains(CLI_VERSION)) {
        faults.push(format!("{name} does not say which version of the AWS CLI it needs"));
    }
    let mut updating = false;
    for line in document.lines().map(str::trim) {
        if line.starts_with(UPDATE) {
            if updating {
                faults.push(format!("{name} updates a table that is still being updated: {line}"));
            }
            updating = true;
        } else if line.starts_with(WAIT) {
            updating = false;
        }
    }
    faults
}
