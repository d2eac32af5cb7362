//! `sendonce`: the admin command. Everything is in the library, where tests and other programs reach it.

use std::{
    ffi::OsString,
    io::{stderr, stdout},
    process::ExitCode,
};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match admin::parse(&arguments, &mut stdout(), &mut stderr()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    // What the crates log is for whoever looks for a fault; the command's own words are its answer.
    platform::init_logs("off");
    ExitCode::from(admin::run(cli, &mut stdout(), &mut stderr()).await)
}
