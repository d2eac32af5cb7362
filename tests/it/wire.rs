//! What HTTP allows and people send, byte by byte: every answer of ours is problem+json, and nothing is stored by a
//! refused request (G3).

use super::support::TestApp;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, timeout},
};

/// An answer, split by hand.
#[derive(Debug)]
struct Raw {
    status: u16,
    head: String,
    body: String,
}

impl Raw {
    #[track_caller]
    fn problem(&self, status: u16, code: &str) {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{self:?}");
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
    }
}

/// Writes `bytes` and reads until the server closes or the answer is whole.
async fn raw(app: &TestApp, bytes: &[u8]) -> Raw {
    let address = app.system.ready().api.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut read = Vec::new();
    let answer = async {
        let mut buffer = [0; 4_096];
        loop {
            let text = String::from_utf8_lossy(&read).into_owned();
            // An interim answer is not the answer.
            let text = text.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&text).to_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let head = head.to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
                if body.len() >= length.unwrap_or(0usize) || bytes.starts_with(b"HEAD") {
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return Raw { status, head, body: body.to_owned() };
                }
            }
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "closed without an answer: {text:?}");
            read.extend_from_slice(&buffer[..count]);
        }
    };
    timeout(Duration::from_secs(30), answer).await.expect("no answer")
}

fn request(app: &TestApp, line: &str, headers: &str, body: &str) -> Vec<u8> {
    let key = app.api_key("acme");
    format!("{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{headers}\r\n{body}").into_bytes()
}

fn send(key: &str) -> String {
    format!(r#"{{"idempotency_key":"{key}","to":[{{"platform":"web","token":"browser-000001"}}],"data":{{"a":"b"}}}}"#)
}

const JSON: &str = "Content-Type: application/json\r\n";

#[tokio::test]
async fn a_body_arrives_by_length_in_chunks_or_after_100_continue() {
    let app = TestApp::start().await;
    let body = send("plain");
    let length = format!("{JSON}Content-Length: {}\r\n", body.len());
    assert_eq!(raw(&app, &request(&app, "POST /v1/messages", &length, &body)).await.status, 202);
    let chunked = format!("{JSON}Transfer-Encoding: chunked\r\n");
    let (a, b) = body.split_at(20);
    let chunks = format!("{:x}\r\n{a}\r\n{:x};ext=1\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
    let answer = raw(&app, &request(&app, "POST /v1/messages", &chunked, &chunks)).await;
    assert!(answer.status == 202 && answer.body.contains("duplicate_ignored"), "{answer:?}");
    let expect = format!("{length}Expect: 100-continue\r\n");
    let answer = raw(&app, &request(&app, "POST /v1/messages", &expect, &body)).await;
    assert!(answer.status == 202 && answer.body.contains("duplicate_ignored"), "{answer:?}");
    app.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_whole_is_not_too_large() {
    let app = TestApp::start().await;
    let chunked = format!("{JSON}Transfer-Encoding: chunked\r\n");
    for chunks in ["zz\r\n", "5\r\nabcdeXX\r\n"] {
        raw(&app, &request(&app, "POST /v1/messages", &chunked, chunks)).await.problem(400, "invalid_json");
    }
    app.stop().await;
}

#[tokio::test]
async fn types_encodings_and_sizes_are_refused_before_the_body_is_read() {
    let app = TestApp::start().await;
    let body = send("never");
    let with = |headers: &str| {
        request(&app, "POST /v1/messages", &format!("{headers}Content-Length: {}\r\n", body.len()), &body)
    };
    for headers in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/json; charset=latin1\r\n",
        "Content-Type: application/problem+json\r\n",
        "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        "Content-Type: application/json\r\nContent-Encoding: identity\r\n",
    ] {
        raw(&app, &with(headers)).await.problem(415, "unsupported_media_type");
    }
    // Ten megabytes are announced and none is sent: the answer does not wait for them.
    let announced = request(&app, "POST /v1/messages", &format!("{JSON}Content-Length: 10000000\r\n"), "");
    raw(&app, &announced).await.problem(413, "body_too_large");
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
    let endless =
        request(&app, "POST /v1/messages", &format!("{JSON}Transfer-Encoding: chunked\r\n"), &chunk.repeat(5));
    raw(&app, &endless).await.problem(413, "body_too_large");
    // Without a valid API key nobody looks at the rest.
    let stranger = format!("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    raw(&app, stranger.as_bytes()).await.problem(401, "unauthorized");
    app.get("/v1/messages?idempotency_key=never", 404).await;
    app.stop().await;
}

#[tokio::test]
async fn paths_and_methods_that_are_not_ours_are_problems_too() {
    let app = TestApp::start().await;
    for path in
        ["/", "/v1", "/v1/messages/", "//v1/messages", "/V1/messages", "/v1/messages/x/y", "/healthz/", "/v1/refunds/"]
    {
        raw(&app, &request(&app, &format!("GET {path}"), "", "")).await.problem(404, "not_found");
    }
    for id in ["msg_", "%FF", "msg_%00", "..%2f..", "rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        raw(&app, &request(&app, &format!("GET /v1/messages/{id}"), "", "")).await.problem(404, "not_found");
    }
    for (line, allowed) in [
        ("OPTIONS /v1/messages", &["post", "get", "head"][..]),
        ("DELETE /v1/messages", &["post", "get", "head"]),
        ("PUT /v1/messages/x", &["get", "head"]),
        ("POST /healthz", &["get", "head"]),
        ("BREW /openapi.json", &["get", "head"]),
    ] {
        let answer = raw(&app, &request(&app, line, "Content-Length: 0\r\n", "")).await;
        answer.problem(405, "method_not_allowed");
        let allow = answer.head.split("allow: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        for method in allowed {
            assert!(allow.split(',').any(|word| word.trim() == *method), "{line}: Allow: {allow}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn head_is_get_without_a_body_and_a_body_on_get_is_ignored() {
    let app = TestApp::start().await;
    let body = send("seen");
    let length = format!("{JSON}Content-Length: {}\r\n", body.len());
    assert_eq!(raw(&app, &request(&app, "POST /v1/messages", &length, &body)).await.status, 202);
    let head = raw(&app, &request(&app, "HEAD /v1/messages?idempotency_key=seen", "", "")).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let get = raw(&app, &request(&app, "GET /v1/messages?idempotency_key=seen", &length, &body)).await;
    assert_eq!(get.status, 200);
    // Spelled in percents, repeated, beside parameters that mean nothing.
    let line = "GET /v1/messages?x=1&idempotency%5Fkey=s%65en&idempotency_key=other&y";
    assert_eq!(raw(&app, &request(&app, line, "", "")).await.status, 200);
    for wrong in ["", "%FF", "%00", "%20%20", "%zz", "%"] {
        let line = format!("GET /v1/messages?idempotency_key={wrong}");
        raw(&app, &request(&app, &line, "", "")).await.problem(400, "idempotency_key_invalid");
    }
    app.stop().await;
}

#[tokio::test]
async fn headers_that_cannot_be_meant_are_refused() {
    let app = TestApp::start().await;
    let body = r#"{"to":[{"platform":"web","token":"browser-000001"}],"data":{"a":"b"}}"#;
    let with = |headers: &[u8]| {
        let mut bytes = request(&app, "POST /v1/messages", "", "");
        bytes.truncate(bytes.len() - 2);
        bytes.extend_from_slice(headers);
        bytes.extend_from_slice(format!("{JSON}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        bytes
    };
    for headers in [
        &b"Idempotency-Key: a\r\nIdempotency-Key: a\r\n"[..],
        b"Idempotency-Key: a, a\r\n",
        b"Idempotency-Key: \xd0\xba\r\n",
        b"Idempotency-Key: \"a\r\n",
        b"Idempotency-Key: \"a\";p=1\r\n",
        b"Idempotency-Key: \"\\n\"\r\n",
    ] {
        raw(&app, &with(headers)).await.problem(400, "idempotency_key_invalid");
    }
    raw(&app, &with(b"Idempotency-Key: \r\n")).await.problem(400, "idempotency_key_missing");
    raw(&app, &with(b"Authorization: Bearer other\r\n")).await.problem(401, "unauthorized");
    // The name of a header has no case, and a quoted key is the unquoted one.
    assert_eq!(raw(&app, &with(b"IDEMPOTENCY-KEY: \"a\"\r\n")).await.status, 202);
    let again = raw(&app, &with(b"idempotency-key: a\r\n")).await;
    assert!(again.status == 202 && again.body.contains("duplicate_ignored"), "{again:?}");
    app.stop().await;
}
