//! The audit function on AWS Lambda; anywhere else, a command that makes one whole pass with the same settings.
//!
//! The command prints its report as one line of JSON. Exit codes: 0 nothing found, 3 something was enqueued again, 1
//! an error, or something that nobody but a person can repair.

use audit::{Audit, Settings, exit_code, report_json};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{Clock, EnvReader, NoBoundary, deadline_ms};
use protocol::{audit::INVOCATION_MAX, machine::audit::Asked};
use serde_json::Value;
use std::{env, io::Write, process::ExitCode, sync::Arc};

#[tokio::main]
async fn main() -> Result<ExitCode, Error> {
    platform::init_logs("info");
    platform::init_panics();
    let settings = Settings::read(EnvReader::process())?;
    let function = &Audit::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    if env::var_os("AWS_LAMBDA_RUNTIME_API").is_none() {
        let report = function.run(Asked::Now, None).await?;
        writeln!(std::io::stdout(), "{}", report_json(&report))?;
        return Ok(ExitCode::from(exit_code(&report)));
    }
    // On Lambda only: the command's stdout is its report.
    platform::init_metrics(std::io::stdout());
    run(service_fn(async move |event: LambdaEvent<Value>| {
        let ends_ms = deadline_ms(event.context.deadline, function.clock.now_ms(), INVOCATION_MAX);
        Ok::<_, Error>(function.handle(&event.payload, ends_ms).await?)
    }))
    .await?;
    Ok(ExitCode::SUCCESS)
}
