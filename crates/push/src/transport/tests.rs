//! Against servers that misbehave, byte by byte.

use super::*;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const LIMIT: Duration = Duration::from_millis(400);
/// An empty SETTINGS frame (RFC 9113, section 6.5).
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Reads what the client sends until it pauses, then writes `answer` and, with `stays`, keeps the connection open.
async fn serve_once(mut stream: TcpStream, answer: Vec<u8>, stays: bool) {
    let mut buffer = [0; 4_096];
    while tokio::time::timeout(Duration::from_millis(50), stream.read(&mut buffer)).await.is_ok_and(|n| n.unwrap() > 0)
    {
    }
    stream.write_all(&answer).await.unwrap();
    if stays {
        tokio::time::sleep(LIMIT * 2).await;
    }
}

async fn server(answer: &[u8], stays: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = answer.to_vec();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_once(stream, answer.clone(), stays));
        }
    });
    address
}

fn transport(http2: bool) -> Transport {
    let client = if http2 { builder().http2_only(true).build(connector()) } else { client() };
    let clock = Clock::system();
    let pooled = Mutex::new(Pooled { client, used_ms: clock.now_ms() });
    Transport { clock, pooled }
}

async fn call(transport: &Transport, url: &str) -> Result<Answered, Failed> {
    transport.call(Request::post(url).body(Bytes::from_static(b"{}").into()).unwrap(), LIMIT).await
}

/// "answered", or the failure's code.
async fn outcome(http2: bool, answer: &[u8], stays: bool) -> String {
    let url = format!("http://{}/", server(answer, stays).await);
    match call(&transport(http2), &url).await {
        Ok(answered) => format!("answered {} {:?}", answered.status.as_u16(), answered.body.map(|body| body.len())),
        Err(Failed::NotSent { code, .. }) => format!("not sent: {code}"),
        Err(Failed::Lost { code, .. }) => format!("lost: {code}"),
    }
}

fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = SETTINGS.to_vec();
    frame.extend([0, 0, u8::try_from(payload.len()).unwrap(), kind, 0, 0, 0, 0, stream]);
    frame.extend(payload);
    frame
}

fn reset(reason: u8) -> Vec<u8> {
    frame(3, 1, &[0, 0, 0, reason])
}

fn goaway(last_stream: u8, reason: u8) -> Vec<u8> {
    frame(7, 0, &[0, 0, 0, last_stream, 0, 0, 0, reason])
}

#[tokio::test]
async fn what_comes_over_http1() {
    assert_eq!(outcome(false, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", false).await, "answered 200 Some(2)");
    assert_eq!(outcome(false, b"", false).await, "lost: connection_lost");
    assert_eq!(outcome(false, b"", true).await, "lost: timeout");
    assert_eq!(outcome(false, b"HTTP/1.1 200", true).await, "lost: timeout");
    assert_eq!(outcome(false, b"no http at all\r\n\r\n", false).await, "lost: connection_lost");
    // The status line counts, whether the body breaks off, never comes or is far too long.
    assert_eq!(outcome(false, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", false).await, "answered 200 None");
    assert_eq!(outcome(false, b"HTTP/1.1 503 X\r\ncontent-length: 9\r\n\r\n{", true).await, "answered 503 None");
    let mut long = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BODY_MAX_BYTES + 1).into_bytes();
    long.resize(long.len() + BODY_MAX_BYTES + 1, b'x');
    assert_eq!(outcome(false, &long, false).await, "answered 200 None");
    let redirect = b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(outcome(false, redirect, false).await, "answered 307 Some(0)");
}

#[tokio::test]
async fn what_comes_over_http2() {
    // Not processed, by the peer's own word (RFC 9113, sections 6.8 and 8.7).
    assert_eq!(outcome(true, &reset(7), true).await, "not sent: not_processed");
    assert_eq!(outcome(true, &goaway(0, 0), true).await, "not sent: not_processed");
    assert_eq!(outcome(true, &goaway(0, 11), false).await, "not sent: not_processed");
    // Anything else says nothing about our request.
    assert_eq!(outcome(true, &reset(2), true).await, "lost: connection_lost");
    assert_eq!(outcome(true, &reset(8), true).await, "lost: connection_lost");
    assert_eq!(outcome(true, &goaway(1, 0), false).await, "lost: connection_lost");
    assert_eq!(outcome(true, &goaway(1, 2), false).await, "lost: connection_lost");
    assert_eq!(outcome(true, SETTINGS, true).await, "lost: timeout");
}

#[tokio::test]
async fn a_request_that_never_had_a_connection_was_not_sent() {
    let transport = transport(false);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // TLS to a server that never says hello.
    let failed = call(&transport, &format!("https://{address}/")).await.unwrap_err();
    assert!(matches!(failed, Failed::NotSent { code: "connect_timeout", .. }), "{failed}");
    // TLS to a server that speaks something else.
    let plain = server(b"HTTP/1.1 400 no\r\n\r\n", false).await;
    let failed = call(&transport, &format!("https://{plain}/")).await.unwrap_err();
    assert!(matches!(failed, Failed::NotSent { code: "connect_failed", .. }), "{failed}");
    drop(listener);
    let failed = call(&transport, &format!("http://{address}/")).await.unwrap_err();
    assert!(matches!(failed, Failed::NotSent { code: "connect_failed", .. }), "{failed}");
}

#[tokio::test]
async fn a_connection_that_slept_too_long_is_not_used_again() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let accepted = tokio::spawn(async move {
        let mut streams = Vec::new();
        for requests in [2, 1] {
            let (mut stream, _) = listener.accept().await.unwrap();
            for _ in 0..requests {
                let mut buffer = [0; 4_096];
                assert!(stream.read(&mut buffer).await.unwrap() > 0);
                stream.write_all(answer).await.unwrap();
            }
            streams.push(stream);
        }
        streams.len()
    });
    let transport = transport(false);
    for advance_s in [0, 59, 61] {
        transport.clock.advance(Duration::from_secs(advance_s));
        call(&transport, &url).await.unwrap();
    }
    assert_eq!(accepted.await.unwrap(), 2);
}
