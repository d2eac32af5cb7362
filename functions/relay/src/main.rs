//! The relay function on AWS Lambda.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{Clock, EnvReader, NoBoundary};
use relay::{Relay, Settings};
use serde_json::Value;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    platform::init_panics();
    platform::init_metrics(std::io::stdout());
    let settings = Settings::read(EnvReader::process())?;
    let function = &Relay::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    run(service_fn(async move |event: LambdaEvent<Value>| Ok::<_, Error>(function.handle(&event.payload).await))).await
}
