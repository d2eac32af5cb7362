//! The deliver function on AWS Lambda.

use aws_lambda_events::sqs::SqsEvent;
use deliver::{Deliver, Settings};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{Clock, EnvReader, NoBoundary, deadline_ms};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    platform::init_panics();
    platform::init_metrics(std::io::stdout());
    let settings = Settings::read(EnvReader::process())?;
    let function = &Deliver::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    run(service_fn(async move |event: LambdaEvent<SqsEvent>| {
        let ends_ms = deadline_ms(event.context.deadline, function.clock.now_ms(), function.timing.function);
        Ok::<_, Error>(function.handle(event.payload, ends_ms).await)
    }))
    .await
}
