//! Against servers that misbehave, byte by byte.

use super::*;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
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

fn transport(cleartext: Cleartext) -> Transport {
    Transport::new(Clock::system(), cleartext)
}

async fn call(transport: &Transport, url: &str) -> Result<Answered, Failed> {
    call_within(transport, url, LIMIT).await
}

async fn call_within(transport: &Transport, url: &str, limit: Duration) -> Result<Answered, Failed> {
    transport.call(Request::post(url).body(Bytes::from_static(b"{}").into()).unwrap(), limit).await
}

/// "answered", or the failure's code.
async fn outcome(cleartext: Cleartext, answer: &[u8], stays: bool) -> String {
    let url = format!("http://{}/", server(answer, stays).await);
    match call(&transport(cleartext), &url).await {
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
    assert_eq!(
        outcome(Cleartext::Http1, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", false).await,
        "answered 200 Some(2)"
    );
    assert_eq!(outcome(Cleartext::Http1, b"", false).await, "lost: connection_lost");
    assert_eq!(outcome(Cleartext::Http1, b"", true).await, "lost: timeout");
    assert_eq!(outcome(Cleartext::Http1, b"HTTP/1.1 200", true).await, "lost: timeout");
    assert_eq!(outcome(Cleartext::Http1, b"no http at all\r\n\r\n", false).await, "lost: connection_lost");
    // The status line counts, whether the body breaks off, never comes or is far too long.
    assert_eq!(
        outcome(Cleartext::Http1, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", false).await,
        "answered 200 None"
    );
    assert_eq!(
        outcome(Cleartext::Http1, b"HTTP/1.1 503 X\r\ncontent-length: 9\r\n\r\n{", true).await,
        "answered 503 None"
    );
    let mut long = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BODY_MAX_BYTES + 1).into_bytes();
    long.resize(long.len() + BODY_MAX_BYTES + 1, b'x');
    assert_eq!(outcome(Cleartext::Http1, &long, false).await, "answered 200 None");
    let redirect = b"HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(outcome(Cleartext::Http1, redirect, false).await, "answered 307 Some(0)");
}

#[tokio::test]
async fn what_comes_over_http2() {
    // Not processed, by the peer's own word (RFC 9113, sections 6.8 and 8.7).
    assert_eq!(outcome(Cleartext::Http2, &reset(7), true).await, "not sent: not_processed");
    assert_eq!(outcome(Cleartext::Http2, &goaway(0, 0), true).await, "not sent: not_processed");
    assert_eq!(outcome(Cleartext::Http2, &goaway(0, 11), false).await, "not sent: not_processed");
    // Anything else says nothing about our request.
    assert_eq!(outcome(Cleartext::Http2, &reset(2), true).await, "lost: connection_lost");
    assert_eq!(outcome(Cleartext::Http2, &reset(8), true).await, "lost: connection_lost");
    assert_eq!(outcome(Cleartext::Http2, &goaway(1, 0), false).await, "lost: connection_lost");
    assert_eq!(outcome(Cleartext::Http2, &goaway(1, 2), false).await, "lost: connection_lost");
    assert_eq!(outcome(Cleartext::Http2, SETTINGS, true).await, "lost: timeout");
}

/// Answers the first request of a connection with SETTINGS, 200 and, in the same breath, what else is given.
async fn answer_first(stream: &mut TcpStream, and_then: &[u8]) {
    let mut buffer = [0; 4_096];
    assert!(stream.read(&mut buffer).await.unwrap() > 0);
    // HEADERS with END_STREAM and `:status: 200` (RFC 7541, appendix A, entry 8).
    stream.write_all(&[SETTINGS, &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88], and_then].concat()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_told_to_go_away_is_not_used_for_new_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        // It includes the first stream and no other, and the connection stays open.
        answer_first(&mut first, &goaway(1, 0)[SETTINGS.len()..]).await;
        let (mut second, _) = listener.accept().await.unwrap();
        answer_first(&mut second, &[]).await;
        std::future::pending::<()>().await;
    });
    let transport = transport(Cleartext::Http2);
    for _ in 0..2 {
        assert_eq!(call(&transport, &url).await.unwrap().status, 200);
    }
    server.abort();
}

/// A call that gets no answer may have met a dead connection; the next one does not go the same way.
#[tokio::test]
async fn a_connection_that_kept_silent_is_not_used_for_new_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        answer_first(&mut first, &[]).await;
        let (mut second, _) = listener.accept().await.unwrap();
        answer_first(&mut second, &[]).await;
        std::future::pending::<()>().await;
    });
    let transport = transport(Cleartext::Http2);
    assert_eq!(call(&transport, &url).await.unwrap().status, 200);
    let silent = call(&transport, &url).await.unwrap_err();
    assert!(matches!(silent, Failed::Lost { code: "timeout", .. }), "{silent}");
    assert_eq!(call(&transport, &url).await.unwrap().status, 200);
    server.abort();
}

/// Until the provider's SETTINGS one stream is open, and another call waits for its turn. The connection ends before it
/// comes: the first may have been read, all the others certainly were not, and go on to another connection.
#[tokio::test]
async fn a_call_that_waited_for_a_stream_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        // The client pauses when it may open no further stream.
        let mut buffer = [0; 4_096];
        let pause = Duration::from_millis(50);
        while tokio::time::timeout(pause, first.read(&mut buffer)).await.is_ok_and(|n| n.unwrap() > 0) {}
        drop(first);
        serve_at_most(listener, 100, false, Arc::default()).await;
    });
    let transport = transport(Cleartext::Http2);
    let answers = futures_util::future::join_all((0..20).map(|_| call(&transport, &url))).await;
    let lost: Vec<_> = answers.iter().filter(|answer| matches!(answer, Err(Failed::Lost { .. }))).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 19, "{answers:?}");
    server.abort();
}

/// What a server saw.
#[derive(Default)]
struct Served {
    /// The most streams that were open at once.
    most: AtomicU32,
    /// Requests that came whole.
    whole: AtomicU32,
}

/// Serves one connection with at most `limit` streams at once, and answers each a little later; one that `hangs`, never.
async fn serve_at_most(listener: TcpListener, limit: u32, hangs: bool, served: Arc<Served>) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::Builder::new().max_concurrent_streams(limit).handshake(stream).await.unwrap();
    let open = Arc::new(AtomicU32::new(0));
    let mut streams = tokio::task::JoinSet::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        served.most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let (open, served) = (Arc::clone(&open), Arc::clone(&served));
        streams.spawn(async move {
            let mut body = request.into_body();
            let read = async {
                while body.data().await.transpose()?.is_some() {}
                Ok::<(), h2::Error>(())
            };
            if read.await.is_ok() {
                served.whole.fetch_add(1, Ordering::SeqCst);
            }
            if hangs {
                // Until the client gives up.
                let _ = std::future::poll_fn(|context| respond.poll_reset(context)).await;
                open.fetch_sub(1, Ordering::SeqCst);
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            open.fetch_sub(1, Ordering::SeqCst);
            let _: h2::SendStream<Bytes> = respond.send_response(http::Response::new(()), true).unwrap();
        });
    }
    while streams.join_next().await.is_some() {}
}

/// The provider takes three calls and says nothing. Those that waited for them to end were never written, and none of
/// them is written once a stream is free: what was said of them stays true.
#[tokio::test]
async fn a_call_that_waited_in_vain_for_a_stream_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let served = Arc::new(Served::default());
    let server = tokio::spawn(serve_at_most(listener, 3, true, Arc::clone(&served)));
    let transport = transport(Cleartext::Http2);
    // They hold their streams for longer than the others wait: a stream that is free in time is used.
    let taken = futures_util::future::join_all((0..3).map(|_| call_within(&transport, &url, LIMIT * 3)));
    let waiting = async {
        let came = async {
            while served.whole.load(Ordering::SeqCst) < 3 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, came).await.expect("three come");
        futures_util::future::join_all((0..12).map(|_| call(&transport, &url))).await
    };
    let (mut answers, waited) = futures_util::future::join(taken, waiting).await;
    answers.extend(waited);
    let of = |kind: fn(&Failed) -> bool| answers.iter().filter(|answer| answer.as_ref().is_err_and(kind)).count();
    let lost = of(|failed| matches!(failed, Failed::Lost { code: "timeout", .. }));
    let not_sent = of(|failed| matches!(failed, Failed::NotSent { code: "not_written", .. }));
    assert_eq!((lost, not_sent), (3, 12), "{answers:?}");
    // The connection ends with the last who could use it.
    drop(transport);
    server.await.unwrap();
    assert_eq!(served.whole.load(Ordering::SeqCst), 3, "each that came whole is called lost, and no other");
}

#[tokio::test]
async fn no_more_streams_than_the_provider_takes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let served = Arc::new(Served::default());
    let server = tokio::spawn(serve_at_most(listener, 3, false, Arc::clone(&served)));
    let transport = transport(Cleartext::Http2);
    let answers = futures_util::future::join_all((0..15).map(|_| call(&transport, &url))).await;
    for answer in answers {
        assert_eq!(answer.unwrap().status, 200);
    }
    assert_eq!(served.most.load(Ordering::SeqCst), 3, "all that it takes, and not one more");
    server.abort();
}

#[tokio::test]
async fn a_request_that_never_had_a_connection_was_not_sent() {
    let transport = transport(Cleartext::Http1);
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
    let transport = transport(Cleartext::Http1);
    for advance_s in [0, 59, 61] {
        transport.clock.advance(Duration::from_secs(advance_s));
        call(&transport, &url).await.unwrap();
    }
    assert_eq!(accepted.await.unwrap(), 2);
}
