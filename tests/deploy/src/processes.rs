//! Processes that end with this one.

use anyhow::{Context, ensure};
use std::{path::Path, process::Stdio};
use tokio::process::{Child, Command};

/// A command whose process is killed when its handle is dropped.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.kill_on_drop(true).stdin(Stdio::null());
    command
}

/// Ends a process: politely at first.
pub(crate) async fn stop(mut child: Child) {
    if let Some(pid) = child.id() {
        let polite = command(Path::new("kill")).arg(pid.to_string()).stderr(Stdio::null()).status().await;
        let gone = tokio::time::timeout(std::time::Duration::from_secs(5), child.wait()).await;
        if polite.is_err() || gone.is_err() {
            // It may be gone by now.
            let _ = child.kill().await;
        }
    }
}

/// Runs a command to its end and gives what it wrote; what it says goes into the error if it fails.
pub(crate) async fn output(command: Command) -> anyhow::Result<String> {
    output_of(command, 0).await
}

/// The same for a command that must end with this exit code.
pub(crate) async fn output_of(mut command: Command, code: i32) -> anyhow::Result<String> {
    let what = format!("{:?}", command.as_std());
    let output = command.output().await.with_context(|| format!("{what} cannot be run"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.code() == Some(code), "{what} ended with {}, not {code}:\n{out}\n{err}", output.status);
    Ok(out.into_owned())
}
