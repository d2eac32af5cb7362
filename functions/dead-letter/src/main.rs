//! The dead-letter function on AWS Lambda.

use aws_lambda_events::sqs::SqsEvent;
use dead_letter::{DeadLetter, Settings};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{Clock, EnvReader, NoBoundary};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    platform::init_panics();
    platform::init_metrics(std::io::stdout());
    let settings = Settings::read(EnvReader::process())?;
    let function = &DeadLetter::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    run(service_fn(async move |event: LambdaEvent<SqsEvent>| Ok::<_, Error>(function.handle(event.payload).await)))
        .await
}
