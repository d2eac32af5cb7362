//! The refunds function on AWS Lambda.

use platform::{Clock, EnvReader, NoBoundary};
use refunds::{Refunds, Settings, router};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    platform::init_logs("info");
    platform::init_panics();
    platform::init_metrics(std::io::stdout());
    let settings = Settings::read(EnvReader::process())?;
    let refunds = Refunds::deployed(settings, Clock::system(), Arc::new(NoBoundary)).await;
    lambda_http::run(router(Arc::new(refunds))).await
}
