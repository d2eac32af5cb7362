//! Serves the SQS stand-in alone, for checks from outside: `cargo run -p local-sqs --example serve -- PORT`.
//!
//! Prints its URL once it answers. 0 or no port means any free one. Queues are made by clients and live in memory.

use local_sqs::Sqs;
use platform::Clock;
use std::{env, io::Write, net::Ipv4Addr};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = env::args().nth(1).map_or(Ok(0), |text| text.parse::<u16>())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    writeln!(std::io::stdout(), "{url}")?;
    let sqs = Sqs::new(Clock::system(), url);
    axum::serve(listener, sqs.router()).await?;
    Ok(())
}
