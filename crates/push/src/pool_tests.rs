//! What a connection does that no provider does on purpose.

use super::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const LIMIT: Duration = Duration::from_millis(400);
/// An empty SETTINGS frame, and a GOAWAY that includes no stream (RFC 9113, sections 6.5 and 6.8).
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The same SETTINGS with SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 6.5.2): one at a time.
const ONE_STREAM: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1];
/// HEADERS with END_STREAM and `:status: 200` on a stream (RFC 7541, appendix A, entry 8).
fn ok(stream: u8) -> Vec<u8> {
    vec![0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88]
}

fn call_to(url: &str) -> Call {
    Request::post(url).body(Bytes::from_static(b"{}").into()).unwrap()
}

async fn pool() -> (Pool, String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    (Pool::new(url.parse().unwrap(), Clock::system()), url, listener)
}

#[tokio::test]
async fn a_request_handed_back_unwritten_moves_to_a_fresh_connection() {
    let (pool, url, listener) = pool().await;
    let server = tokio::spawn(async move {
        let mut buffer = [0; 4_096];
        let (mut first, _) = listener.accept().await.unwrap();
        assert!(first.read(&mut buffer).await.unwrap() > 0);
        first.write_all(&[SETTINGS, &ok(1)].concat()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        // While nothing is open on it.
        first.write_all(GOAWAY).await.unwrap();
        let (mut second, _) = listener.accept().await.unwrap();
        assert!(second.read(&mut buffer).await.unwrap() > 0);
        second.write_all(&[SETTINGS, &ok(1)].concat()).await.unwrap();
        tokio::time::sleep(LIMIT).await;
    });
    let proven = |_: &Answered| Standing::Proven;
    assert!(pool.call(call_to(&url), LIMIT, proven).await.is_ok());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(pool.call(call_to(&url), LIMIT, proven).await.is_ok());
    server.abort();
}

#[tokio::test]
async fn a_connection_left_unproven_serves_the_next_call_alone() {
    let (pool, url, listener) = pool().await;
    let server = tokio::spawn(async move {
        let mut buffer = [0; 4_096];
        let (mut only, _) = listener.accept().await.unwrap();
        assert!(only.read(&mut buffer).await.unwrap() > 0);
        only.write_all(&[SETTINGS, &ok(1)].concat()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        only.write_all(&ok(3)).await.unwrap();
        tokio::time::sleep(LIMIT).await;
    });
    for _ in 0..2 {
        assert!(pool.call(call_to(&url), LIMIT, |_: &Answered| Standing::Open).await.is_ok());
    }
    assert!(pool.proven().is_none());
    server.abort();
}

/// The provider takes one call at a time and does not answer it: the one behind it was never written.
#[tokio::test]
async fn a_call_that_waited_in_vain_for_a_stream_was_not_sent() {
    let (pool, url, listener) = pool().await;
    let server = tokio::spawn(async move {
        let mut buffer = [0; 4_096];
        let (mut only, _) = listener.accept().await.unwrap();
        assert!(only.read(&mut buffer).await.unwrap() > 0);
        only.write_all(&[ONE_STREAM, &ok(1)].concat()).await.unwrap();
        while only.read(&mut buffer).await.unwrap() > 0 {}
    });
    let proven = |_: &Answered| Standing::Proven;
    assert!(pool.call(call_to(&url), LIMIT, proven).await.is_ok());
    let (one, other) = tokio::join!(pool.call(call_to(&url), LIMIT, proven), pool.call(call_to(&url), LIMIT, proven));
    let one = one.unwrap_err();
    assert!(matches!(one, Failed::Lost { code: "timeout", .. }), "{one}");
    let other = other.unwrap_err();
    assert!(matches!(other, Failed::NotSent { code: "not_written", .. }), "{other}");
    server.abort();
}

#[tokio::test]
async fn a_server_that_does_not_speak_http2_was_sent_nothing_it_understood() {
    let (pool, url, listener) = pool().await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4_096];
        assert!(stream.read(&mut buffer).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    // Nobody can know that it did not, so it counts as lost.
    let failed = pool.call(call_to(&url), LIMIT, |_: &Answered| Standing::Open).await.unwrap_err();
    assert!(matches!(failed, Failed::Lost { .. } | Failed::NotSent { .. }), "{failed}");
}
