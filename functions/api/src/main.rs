//! The api function on AWS Lambda.

use api::{Api, Projects, Settings, router};
use platform::{AwsTimeouts, Clock, EnvReader, NoBoundary, Random, aws_config};
use sendonce_http::Auth;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    platform::init_logs("info");
    let settings = Settings::read(EnvReader::process())?;
    let timing = settings.timing;
    // Looking the API key up, the project if the request names an app, and claiming the key: a quarter of a request's
    // time each.
    let aws = aws_config(AwsTimeouts::within(timing.api_total / 4)).await;
    let inline = aws_config(AwsTimeouts::once(timing.inline_send)).await;
    let store = store::Store::new(aws_sdk_dynamodb::Client::new(&aws), settings.table);
    let clock = Clock::system();
    let api = Api {
        auth: Auth::new(store.clone(), clock.clone(), timing.key_cache),
        projects: Projects::new(store.clone(), clock.clone(), timing.key_cache),
        store,
        deliveries: queue::Queue::new(aws_sdk_sqs::Client::new(&inline), settings.deliveries_url),
        clock,
        random: Random::system(),
        timing,
        key_valid_days: settings.key_valid_days,
        cors: settings.cors,
        boundary: Arc::new(NoBoundary),
    };
    lambda_http::run(router(Arc::new(api))).await
}
