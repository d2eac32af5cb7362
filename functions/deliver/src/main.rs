//! The deliver function on AWS Lambda.

use aws_lambda_events::sqs::SqsEvent;
use deliver::{Deliver, Settings};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{AwsTimeouts, Clock, EnvReader, NoBoundary, Random, aws_config};
use push::Push;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    let settings = Settings::read(EnvReader::process())?;
    let timing = settings.timing;
    let aws = aws_config(AwsTimeouts::within(timing.record)).await;
    let clock = Clock::system();
    let secrets = aws_sdk_secretsmanager::Client::new(&aws);
    let store = store::Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
    let function = Deliver {
        deliveries: queue::Queue::new(aws_sdk_sqs::Client::new(&aws), settings.deliveries_url),
        push: Push::new(settings.push, secrets, store.clone(), clock.clone(), timing),
        store,
        clock,
        random: Random::system(),
        timing,
        boundary: Arc::new(NoBoundary),
    };
    let function = &function;
    run(service_fn(async move |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(function.handle(event.payload, event.context.deadline).await)
    }))
    .await
}
