//! What asking for holds costs: of many copies that need the same one, one reads it.

use super::*;
use futures_util::future::join_all;
use platform::{AwsTimeouts, aws_config_at};
use push::PushSettings;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const CHUNK: Prober = Prober { nonce: protocol::ids::Nonce([1; 5]), chunk: 0 };
/// A table that has no item.
const NOTHING: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
/// One that is not there, which no client asks for twice.
const NO_TABLE: &str = "HTTP/1.1 400 X\r\ncontent-length: 71\r\n\r\n{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\"}";

/// Answers each request with this, and counts them.
async fn answer(mut stream: TcpStream, with: &'static str, requests: Arc<AtomicU32>) {
    let (mut request, mut buffer) = (Vec::new(), [0; 4_096]);
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        request.extend_from_slice(&buffer[..read]);
        if request.windows(4).any(|part| part == b"\r\n\r\n") && request.ends_with(b"}") {
            request.clear();
            requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(with.as_bytes()).await.unwrap();
        }
    }
}

/// What twenty copies of two projects are told when they come at once, and how many requests that takes.
async fn asked(with: &'static str) -> u32 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicU32::new(0));
    let counting = Arc::clone(&requests);
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, with, Arc::clone(&counting)));
        }
    });
    let aws = aws_config_at(AwsTimeouts::within(20_000), &url).await;
    let (clock, timing) = (Clock::system(), Timing::SHORT);
    let store = Store::new(aws_sdk_dynamodb::Client::new(&aws), "table".to_owned());
    let secrets = aws_sdk_secretsmanager::Client::new(&aws);
    let push = Push::new(PushSettings::default(), secrets, store.clone(), clock.clone(), timing);
    let holds = Holds::new(store, push, clock, Random::system(), timing);
    let copies = (0..20).map(|number| holds.enter(["acme", "globex"][number % 2], Provider::Apns, CHUNK));
    assert!(join_all(copies).await.iter().all(|entry| matches!(entry, Entry::Open)));
    server.abort();
    requests.load(Ordering::SeqCst)
}

#[tokio::test]
async fn of_many_copies_that_need_a_hold_one_reads_it() {
    assert_eq!(asked(NOTHING).await, 2, "one for each project");
}

/// A table that does not answer keeps no copy waiting for each of the others in turn.
#[tokio::test]
async fn those_who_waited_for_a_read_that_failed_do_not_read_again() {
    assert_eq!(asked(NO_TABLE).await, 2, "one for each project");
}
