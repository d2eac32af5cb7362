//! The program itself, as `cargo run` starts it: its one line on stdout, its ports, its signals, its exit codes.

use crate::{
    process::{FREE_PORTS, command},
    support::{DEADLINE, HttpClient, PARKING, push},
};
use http::Method;
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::timeout,
};

/// A running program, and the first line that it printed.
struct Program {
    child: Child,
    line: String,
    stdout: BufReader<tokio::process::ChildStdout>,
}

impl Program {
    async fn start() -> Self {
        let mut child = command(&FREE_PORTS).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        timeout(DEADLINE, stdout.read_line(&mut line)).await.expect("no ready line in time").unwrap();
        Self { child, line, stdout }
    }

    /// Sends a signal by name; the exit code, and what else was printed on stdout and stderr.
    async fn end(mut self, signal: &str) -> (Option<i32>, String, String) {
        let pid = self.child.id().unwrap().to_string();
        let kill = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, &pid]).status();
        assert!(kill.await.unwrap().success());
        let output = async {
            let (mut out, mut err) = (String::new(), String::new());
            let mut stderr = self.child.stderr.take().unwrap();
            let read = tokio::join!(self.stdout.read_to_string(&mut out), stderr.read_to_string(&mut err));
            read.0.unwrap();
            read.1.unwrap();
            (self.child.wait().await.unwrap().code(), out, err)
        };
        timeout(DEADLINE, output).await.expect("it does not end")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ready_line_is_one_line_of_json_whose_addresses_answer() {
    let program = Program::start().await;
    let ready: Value = serde_json::from_str(&program.line).unwrap();
    assert_eq!(ready["ready"], true);
    let http = HttpClient::new();
    let url = |name: &str| {
        let url = ready[name].as_str().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        url
    };
    assert!(ready["console"].is_null());
    assert!(ready["webhook_secrets"].is_object());
    for name in ["acme", "acme_readonly", "acme_second", "globex"] {
        assert!(ready["api_keys"][name].as_str().is_some_and(|key| !key.is_empty()), "{name}");
    }
    http.send(&Method::GET, &format!("{}/healthz", url("api")), &[], "").await.expect(200);
    http.send(&Method::GET, &url("sandbox"), &[], "").await.expect(200);
    let list = [("x-amz-target", "AmazonSQS.ListQueues"), ("content-type", "application/x-amz-json-1.0")];
    let queues = http.send(&Method::POST, &url("sqs"), &list, "{}").await.expect(200);
    assert_eq!(queues.body["QueueUrls"].as_array().unwrap().len(), 5);
    let _ = http.send(&Method::POST, &url("dynamodb"), &[], "{}").await;

    // The path of a newcomer: send, send again, look, with nothing but these addresses.
    let key = format!("Bearer {}", ready["api_keys"]["acme"].as_str().unwrap());
    let headers = [("authorization", key.as_str()), ("content-type", "application/json")];
    let messages = format!("{}/v1/messages", url("api"));
    let body = push("order-1042-shipped", "pixel-of-ada-0001").to_string();
    let first = http.send(&Method::POST, &messages, &headers, body.clone()).await.expect(202);
    let again = http.send(&Method::POST, &messages, &headers, body).await.expect(202);
    assert_eq!((first.id(), &again.body["status"]), (again.id(), &Value::from("duplicate_ignored")));
    let ledger = format!("{}/ledger?token=pixel-of-ada-0001", url("sandbox"));
    crate::support::eventually("the push arrives", async || {
        let entries = http.send(&Method::GET, &ledger, &[], "").await.expect(200);
        (entries.body.as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    let control = format!("{}/control", url("sandbox"));
    http.send(&Method::POST, &control, &[], r#"{"advance_seconds":1}"#).await.expect(204);
    let refused = http.send(&Method::POST, &control, &[], r#"{"crash":"api","at":"somewhere"}"#).await.expect(400);
    assert!(refused.text.contains("/at"), "{}", refused.text);

    let (code, out, err) = program.end("TERM").await;
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(err.contains("curl"), "people get something to paste: {err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_it_cleanly_too() {
    let (code, out, err) = Program::start().await.end("INT").await;
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_in_use_is_an_error_that_names_the_port_and_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for flag in ["--port", "--dynamodb-port", "--sqs-port", "--sandbox-port"] {
        let mut arguments = FREE_PORTS;
        let at = arguments.iter().position(|argument| *argument == flag).unwrap();
        arguments[at + 1] = &port;
        let output = timeout(DEADLINE, command(&arguments).output()).await.expect("it does not end").unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{flag}");
        assert!(output.stdout.is_empty(), "{flag}: nothing is ready");
        assert!(err.contains(&port) && err.contains(&format!("{flag} ")), "{flag}: {err}");
    }
}

/// What only tests could set before: how many copies may be in flight, and how late a provider's SETTINGS come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_sets_the_in_flight_limit_and_the_delay_of_settings() {
    let program = Program::start().await;
    let ready: Value = serde_json::from_str(&program.line).unwrap();
    let (http, sqs) = (HttpClient::new(), ready["sqs"].as_str().unwrap());
    let control = format!("{}/control", ready["sandbox"].as_str().unwrap());
    for (bad, told) in [
        (r#"{"in_flight":0}"#, "/in_flight: give a whole number from 1 to 120000"),
        (r#"{"in_flight":120001}"#, "/in_flight"),
        (r#"{"in_flight":"many"}"#, "/in_flight"),
        (r#"{"settings_delay_ms":60001}"#, "/settings_delay_ms: give a whole number from 0 to 60000"),
        (r#"{"settings_delay_ms":-1}"#, "/settings_delay_ms"),
        (r#"{"in_flight":1,"settings_delay_ms":"long"}"#, "/settings_delay_ms"),
    ] {
        let refused = http.send(&Method::POST, &control, &[], bad).await.expect(400);
        assert!(refused.text.contains(told), "{}", refused.text);
    }

    let queue = format!("{sqs}/000000000000/{PARKING}");
    let call = async |action: &str, more: &str, status: u16| {
        let target = format!("AmazonSQS.{action}");
        let headers = [("x-amz-target", target.as_str()), ("content-type", "application/x-amz-json-1.0")];
        let body = format!(r#"{{"QueueUrl":"{queue}"{more}}}"#);
        http.send(&Method::POST, sqs, &headers, body).await.expect(status).body
    };
    for _ in 0..3 {
        call("SendMessage", r#","MessageBody":"x""#, 200).await;
    }
    let receive =
        async |status| call("ReceiveMessage", r#","MaxNumberOfMessages":10,"VisibilityTimeout":600"#, status).await;
    http.send(&Method::POST, &control, &[], r#"{"in_flight":1}"#).await.expect(204);
    assert_eq!(receive(200).await["Messages"].as_array().unwrap().len(), 1);
    assert!(receive(400).await["__type"].as_str().unwrap().ends_with("OverLimit"));
    http.send(&Method::POST, &control, &[], r#"{"in_flight":120000}"#).await.expect(204);
    assert_eq!(receive(200).await["Messages"].as_array().unwrap().len(), 2);

    http.send(&Method::POST, &control, &[], r#"{"settings_delay_ms":700}"#).await.expect(204);
    assert!(until_settings(&ready).await >= Duration::from_millis(700));
    let (code, _, err) = program.end("TERM").await;
    assert_eq!(code, Some(0), "{err}");
}

/// How long the provider's first frame takes on a new HTTP/2 connection.
async fn until_settings(ready: &Value) -> Duration {
    let address = ready["sandbox"].as_str().unwrap().trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let began = Instant::now();
    // The client's preface and its empty SETTINGS (RFC 9113, sections 3.4 and 6.5).
    connection.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut frame = [0; 9];
    timeout(DEADLINE, connection.read_exact(&mut frame)).await.expect("no frame comes").unwrap();
    assert_eq!(frame[3], 4, "it is SETTINGS");
    began.elapsed()
}
