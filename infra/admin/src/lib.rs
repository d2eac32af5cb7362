//! The admin command `sendonce`: projects, API keys, provider credentials, look-ups, dead letters, the audit, and
//! whether a deployment is what the design needs.
//!
//! For people and their scripts, against the local system, an emulator and AWS alike: it goes through the same crates as
//! the functions, so every write is conditional and says what came of it. It guarantees that an answer is all that
//! stdout gets, that an API key is shown once and never again, and that no provider key and no whole device token is
//! shown at all.
//!
//! Exit codes: 0 done; 1 not done, stderr says why; 2 the command line; 3 done, and what was found needs a person.

mod answer;
mod args;
mod audit;
mod credentials;
mod dead_letters;
mod doctor;
mod failure;
mod keys;
mod messages;
mod outputs;
mod place;
mod projects;
mod table;

pub use answer::{EXIT_FAILED, EXIT_FOUND, EXIT_OK};
pub use args::Cli;

use answer::Answer;
use args::Command;
use failure::Failure;
use place::Place;
use serde_json::json;
use std::io::Write;

/// Runs a command; its answer goes to `out`, what went wrong to `err`. Returns the exit code.
pub async fn run(cli: Cli, out: &mut impl Write, err: &mut impl Write) -> u8 {
    let in_json = cli.place.json;
    let done = answer(cli).await.and_then(|answer| {
        let text = if in_json { format!("{}\n", answer.value) } else { answer.text };
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Stdout)?;
        Ok(answer.exit)
    });
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            let text =
                if in_json { json!({"error": failure.to_string()}).to_string() } else { format!("error: {failure}") };
            // Nobody is left to be told that stderr is gone.
            let _ = writeln!(err, "{text}");
            EXIT_FAILED
        }
    }
}

async fn answer(cli: Cli) -> Result<Answer, Failure> {
    let place = Place::new(cli.place)?;
    match cli.command {
        Command::Projects(command) => projects::run(&place, command).await,
        Command::Keys(command) => keys::run(&place, command).await,
        Command::Credentials(command) => credentials::run(&place, command).await,
        Command::Messages(command) => messages::run(&place, command).await,
        Command::DeadLetters(command) => dead_letters::run(&place, command).await,
        Command::Audit => audit::run(&place).await,
        Command::Doctor(command) => doctor::run(&place, command).await,
    }
}
