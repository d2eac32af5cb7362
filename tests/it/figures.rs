//! Figures that are printed and not judged: they are the machine's as much as the program's. `cargo test -p it figures
//! load -- --nocapture` shows them.

use crate::process::{DataDir, Process};
use tokio::time::Instant;

#[tokio::test]
async fn figures_of_a_start() {
    let dir = DataDir::new();
    // The first start makes its files; the second is the one that a person waits for.
    let mut first = Process::spawn(&dir, "short");
    first.ready().await;
    first.kill().await;
    let begun = Instant::now();
    let mut process = Process::spawn(&dir, "short");
    let ready = process.ready().await;
    println!("ready after {} ms", begun.elapsed().as_millis());
    // Whatever is going on at a start has ended once a message came through.
    ready.http.send(&http::Method::GET, &format!("{}/healthz", ready.url("api")), &[], "").await.expect(200);
    println!("idle at {} MiB resident", process.resident_kib() / 1_024);
    process.kill().await;
}
