//! The relay function on AWS Lambda.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use platform::{AwsTimeouts, Clock, EnvReader, NoBoundary, aws_config};
use relay::{Relay, Settings};
use serde_json::Value;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    platform::init_logs("info");
    let settings = Settings::read(EnvReader::process())?;
    let aws = aws_config(AwsTimeouts::within(settings.timing.record)).await;
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let function = Relay {
        store: store::Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table),
        deliveries: queue::Queue::new(sqs.clone(), settings.deliveries_url),
        parking: queue::Queue::new(sqs, settings.parking_url),
        clock: Clock::system(),
        timing: settings.timing,
        boundary: Arc::new(NoBoundary),
    };
    let function = &function;
    run(service_fn(async move |event: LambdaEvent<Value>| Ok::<_, Error>(function.handle(&event.payload).await))).await
}
