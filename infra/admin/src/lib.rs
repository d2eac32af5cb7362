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

pub use answer::{EXIT_FAILED, EXIT_FOUND, EXIT_OK, EXIT_USAGE};
pub use args::Cli;

use answer::Answer;
use args::Command;
use clap::Parser;
use failure::Failure;
use place::Place;
use serde_json::json;
use std::{ffi::OsString, io::Write};

/// Runs a command; its answer goes to `out`, what went wrong to `err`. Returns the exit code.
pub async fn run(cli: Cli, out: &mut impl Write, err: &mut impl Write) -> u8 {
    let in_json = cli.place.json;
    let done = answer(cli).await.and_then(|answer| {
        let text = if in_json { format!("{}\n", answer.value) } else { printable(&answer.text) };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|source| Failure::Stdout { source, unread: answer.unread })?;
        if let Some(why) = answer.not_done {
            complain(&why, in_json, err);
        }
        Ok(answer.exit)
    });
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            complain(&failure.to_string(), in_json, err);
            EXIT_FAILED
        }
    }
}

/// A text for a terminal, which takes control characters for orders: what somebody typed or stored gives none.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

fn complain(what: &str, in_json: bool, err: &mut impl Write) {
    let text = if in_json { json!({"error": what}).to_string() } else { format!("error: {}", printable(what)) };
    // Nobody is left to be told that stderr is gone.
    let _ = writeln!(err, "{text}");
}

/// Reads a command line. What is wrong with it, or the help that it asks for, is said here.
///
/// # Errors
/// The exit code, when there is nothing to run.
pub fn parse(arguments: &[OsString], out: &mut impl Write, err: &mut impl Write) -> Result<Cli, u8> {
    let refused = match Cli::try_parse_from(arguments) {
        Ok(cli) => return Ok(cli),
        Err(refused) => refused,
    };
    let text = refused.render();
    if !refused.use_stderr() {
        let asked = write!(out, "{text}").and_then(|()| out.flush());
        return Err(if asked.is_ok() { EXIT_OK } else { EXIT_FAILED });
    }
    // A line that cannot be read does not say what its parts are: everything before "--" may be an option.
    if arguments.iter().skip(1).take_while(|argument| *argument != "--").any(|argument| argument == "--json") {
        let text = text.to_string();
        complain(text.strip_prefix("error: ").unwrap_or(&text).trim_end(), true, err);
    } else {
        let _ = write!(err, "{}", printable(&text.to_string()));
    }
    Err(EXIT_USAGE)
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

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn a_terminal_is_given_no_orders() {
        assert_eq!(printable("a\u{1b}[31mb\rc\u{9b}d\n\u{e4}\t"), "a\\u{1b}[31mb\\rc\\u{9b}d\n\u{e4}\\t");
    }
}
