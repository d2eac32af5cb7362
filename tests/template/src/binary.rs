//! Which operations of AWS a function's code can reach, read off its binary.
//!
//! The linker drops every function that nothing calls, and each operation of the SDK has a function of its own
//! (`aws_sdk_sqs::operation::send_message::SendMessage::orchestrate`). So the debug binary's symbols are what the code
//! uses, no more and no less, however many crates lie between `main` and the call. The binaries are built here with
//! the features of the whole workspace, which costs nothing where `cargo build --workspace --all-targets` has run.

use crate::yaml::root;
use anyhow::{Context, ensure};
use object::{Object, ObjectSymbol};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Operations by binary, each as the service's crate and the operation: `("sqs", "SendMessage")`.
pub type Operations = BTreeMap<String, BTreeSet<(String, String)>>;

/// The admin command.
const ADMIN: &str = "sendonce";

/// Builds every function of `functions/`; its binary by its name.
///
/// # Errors
/// When they cannot be built.
pub fn built() -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let folders = fs::read_dir(root().join("functions")).context("functions/ cannot be read")?;
    let names: Vec<String> =
        folders.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<anyhow::Result<_>>()?;
    build(&names)
}

fn build(names: &[String]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--workspace", "--locked", "--message-format=json"])
        .args(names.iter().flat_map(|name| ["--bin", name]))
        // A test among the targets makes cargo choose the features that it builds the tests with.
        .args(["--test", "agreement"])
        .current_dir(root())
        .output()
        .context("cargo cannot be run")?;
    ensure!(built.status.success(), "the programs cannot be built:\n{}", String::from_utf8_lossy(&built.stderr));
    let mut binaries = BTreeMap::new();
    for line in built.stdout.split(|byte| *byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let binary = message["target"]["kind"][0] == "bin" && message["profile"]["test"] == false;
        if let (true, true, Some(path)) = (binary, names.iter().any(|n| n == name), message["executable"].as_str()) {
            binaries.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    Ok(binaries)
}

/// Builds every function and reads its operations.
///
/// # Errors
/// When they cannot be built or read.
pub fn operations() -> anyhow::Result<Operations> {
    built()?.into_iter().map(|(name, path)| Ok((name, of(&path)?))).collect()
}

/// Builds the admin command and reads its operations.
///
/// # Errors
/// When it cannot be built or read.
pub fn operations_of_admin() -> anyhow::Result<BTreeSet<(String, String)>> {
    let built = build(&[ADMIN.to_owned()])?;
    of(built.get(ADMIN).context("cargo built no admin command")?)
}

fn of(binary: &Path) -> anyhow::Result<BTreeSet<(String, String)>> {
    let bytes = fs::read(binary).with_context(|| format!("{} cannot be read", binary.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| format!("{} is no binary", binary.display()))?;
    let names =
        file.symbols().filter_map(|symbol| operation(&rustc_demangle::demangle(symbol.name().ok()?).to_string()));
    Ok(names.collect())
}

/// The operation that a symbol's function carries out.
fn operation(symbol: &str) -> Option<(String, String)> {
    let path = symbol.replace(['<', '>'], "");
    let (service, path) = path.strip_prefix("aws_sdk_")?.split_once("::operation::")?;
    let mut steps = path.split("::").skip(1);
    let operation = steps.next()?;
    steps.next()?.starts_with("orchestrate").then(|| (service.to_owned(), operation.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_s_function_is_told_from_what_is_around_it() {
        let send = Some(("sqs".to_owned(), "SendMessage".to_owned()));
        let path = "aws_sdk_sqs::operation::send_message::SendMessage::orchestrate";
        for symbol in [format!("{path}::h0123456789abcdef"), format!("{path}::{{{{closure}}}}::h0123456789abcdef")] {
            assert_eq!(operation(&symbol), send, "{symbol}");
        }
        assert_eq!(operation("<aws_sdk_sqs::operation::send_message::SendMessage>::orchestrate_with_stop_point"), send);
        for other in [
            "aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder::send",
            "aws_sdk_sqs::client::Client::from_conf",
            "store::Store::put",
        ] {
            assert_eq!(operation(other), None, "{other}");
        }
    }
}
