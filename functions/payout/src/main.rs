//! The payout function on AWS Lambda.

use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use payout::{Payout, Settings};
use platform::{Clock, EnvReader, NoBoundary};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    platform::init_metrics(std::io::stdout());
    let settings = Settings::read(EnvReader::process())?;
    let function = &Payout::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    run(service_fn(async move |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(function.handle(event.payload, event.context.deadline).await)
    }))
    .await
}
