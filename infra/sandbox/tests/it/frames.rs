//! The server frame by frame, seen by a client that hides nothing: the h2 crate's own.

use crate::{
    apns::{TOKEN, good},
    client::{message, world},
};
use bytes::Bytes;
use h2::{Reason, client::SendRequest};
use http::HeaderMap;
use serde_json::json;
use std::time::Duration;
use tokio::{net::TcpStream, task::JoinHandle};

/// A request to be sent as it is.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { method: method.to_owned(), path: path.to_owned(), headers, body: body.to_owned() }
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Connection {
    sender: SendRequest<Bytes>,
    base_url: String,
}

impl Connection {
    pub(crate) async fn open(base_url: &str) -> Self {
        let stream = TcpStream::connect(base_url.strip_prefix("http://").unwrap()).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Self { sender, base_url: base_url.to_owned() }
    }

    /// Opens the stream at once, whatever others do.
    pub(crate) fn start(&mut self, request: Request) -> JoinHandle<Result<Answer, h2::Error>> {
        let mut head =
            http::Request::builder().method(&*request.method).uri(format!("{}{}", self.base_url, request.path));
        for (name, value) in &request.headers {
            head = head.header(name, value);
        }
        let (response, mut body) = self.sender.send_request(head.body(()).unwrap(), false).unwrap();
        body.send_data(request.body.into(), true).unwrap();
        tokio::spawn(async move {
            let (head, mut body) = response.await?.into_parts();
            let mut all = Vec::new();
            while let Some(part) = body.data().await {
                all.extend_from_slice(&part?);
            }
            Ok(Answer { status: head.status.as_u16(), headers: head.headers, body: all })
        })
    }

    pub(crate) async fn send(&mut self, request: Request) -> Result<Answer, h2::Error> {
        self.sender = self.sender.clone().ready().await?;
        self.start(request).await.unwrap()
    }

    fn streams(&self) -> usize {
        self.sender.current_max_send_streams()
    }
}

#[tokio::test]
async fn one_stream_until_a_good_token() {
    let world = world().await;
    let good = good(&world).await;
    let mut connection = Connection::open(&world.base_url).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(connection.streams(), 1);
    let refused = connection.send(good.clone().without("authorization")).await.unwrap();
    assert_eq!((refused.status, connection.streams()), (403, 1));
    assert_eq!(connection.send(good.clone()).await.unwrap().status, 200);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(connection.streams(), 1_000);
    let twenty: Vec<_> = (0..20).map(|_| connection.start(good.clone())).collect();
    for answer in twenty {
        assert_eq!(answer.await.unwrap().unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_client_that_does_not_wait_for_settings_loses_all_but_its_first_stream() {
    let world = world().await;
    let good = good(&world).await;
    world.sandbox.delay_settings(Duration::from_millis(50));
    let mut connection = Connection::open(&world.base_url).await;
    let twenty: Vec<_> = (0..20).map(|_| connection.start(good.clone())).collect();
    let mut outcomes = Vec::new();
    for answer in twenty {
        outcomes.push(answer.await.unwrap().map(|answer| answer.status).map_err(|error| error.reason()));
    }
    assert_eq!(outcomes[0], Ok(200));
    assert!(outcomes[1..].iter().all(|outcome| *outcome == Err(Some(Reason::REFUSED_STREAM))), "{outcomes:?}");
    assert_eq!((world.sandbox.streams_refused(), world.ledger("").await.len()), (19, 1));
}

#[tokio::test]
async fn each_fault_is_what_it_says() {
    let world = world().await;
    let good = good(&world).await;
    let cases = [
        ("reset", false, Some(Reason::INTERNAL_ERROR), false),
        ("refused_stream", false, Some(Reason::REFUSED_STREAM), false),
        ("goaway", false, Some(Reason::NO_ERROR), true),
        ("goaway_after_accept", true, None, false),
        ("drop_after_accept", true, None, false),
    ];
    for (word, accepted, reason, goes_away) in cases {
        for earlier in [0, 3] {
            world.call("DELETE", "/ledger", &[], "").await.unwrap();
            let mut connection = Connection::open(&world.base_url).await;
            for _ in 0..earlier {
                assert_eq!(connection.send(good.clone()).await.unwrap().status, 200);
            }
            world.script(TOKEN, &json!([word])).await;
            let error = connection.send(good.clone()).await.unwrap_err();
            assert_eq!((error.reason(), error.is_go_away()), (reason, goes_away), "{word}: {error:?}");
            let last = world.ledger("").await.pop().unwrap();
            assert_eq!((&last["accepted"], &last["answered"]), (&json!(accepted), &json!(false)), "{word}");
            assert_eq!(last["status"], json!(null));
        }
    }
}

#[tokio::test]
async fn a_goaway_never_lies_about_a_stream_that_was_accepted() {
    let world = world().await;
    let good = good(&world).await;
    let other = |number: usize| Request { path: format!("/3/device/{number:064x}"), ..good.clone() };
    let mut connection = Connection::open(&world.base_url).await;
    assert_eq!(connection.send(good.clone()).await.unwrap().status, 200);
    world.script(TOKEN, &json!(["goaway"])).await;
    let mut calls: Vec<_> = (0..5).map(|number| connection.start(other(number))).collect();
    let away = connection.start(good.clone());
    calls.extend((5..10).map(|number| connection.start(other(number))));
    assert!(away.await.unwrap().is_err());
    for (number, call) in calls.into_iter().enumerate() {
        let accepted = world.sandbox.ledger(Some(&format!("{number:064x}"))).iter().any(|entry| entry.accepted);
        match call.await.unwrap() {
            Ok(answer) => assert!(answer.status == 200 && accepted),
            Err(error) => assert!(error.is_go_away() && !accepted, "{number}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn every_route_is_served_over_http2_and_fcm_plays_faults_there_too() {
    let world = world().await;
    let bearer = format!("Bearer {}", world.access_token().await);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let send = Request::new("POST", crate::client::SEND, &headers, &message("device").to_string());
    let cases = [
        ("reset", false, Some(Reason::INTERNAL_ERROR), false),
        ("refused_stream", false, Some(Reason::REFUSED_STREAM), false),
        ("goaway", false, Some(Reason::NO_ERROR), true),
        ("goaway_after_accept", true, None, false),
        ("drop_after_accept", true, None, false),
    ];
    for (word, accepted, reason, goes_away) in cases {
        world.call("DELETE", "/ledger", &[], "").await.unwrap();
        let mut connection = Connection::open(&world.base_url).await;
        assert_eq!(connection.send(send.clone()).await.unwrap().status, 200);
        world.script("device", &json!([word])).await;
        let error = connection.send(send.clone()).await.unwrap_err();
        assert_eq!((error.reason(), error.is_go_away()), (reason, goes_away), "{word}: {error:?}");
        let ledger = world.ledger("").await;
        assert_eq!((ledger.len(), &ledger[1]["accepted"]), (2, &json!(accepted)), "{word}");
        assert_eq!((&ledger[1]["answered"], &ledger[1]["status"]), (&json!(false), &json!(null)));
    }
}

/// Only APNs wants to see a good token first: a first call to somebody else that hangs keeps nobody back.
#[tokio::test]
async fn a_first_stream_to_somebody_else_opens_the_way() {
    let world = world().await;
    let bearer = format!("Bearer {}", world.access_token().await);
    let headers = [("authorization", bearer.as_str())];
    let to = |token: &str| Request::new("POST", crate::client::SEND, &headers, &message(token).to_string());
    world.script("hangs", &json!(["hang"])).await;
    let mut connection = Connection::open(&world.base_url).await;
    let hanging = connection.start(to("hangs"));
    assert_eq!(connection.send(to("device")).await.unwrap().status, 200);
    assert!(!hanging.is_finished());
    hanging.abort();
}

#[tokio::test]
async fn over_http1_what_ends_without_an_answer_closes_the_connection() {
    let world = world().await;
    let script = json!(["reset", "goaway", "refused_stream", "goaway_after_accept"]);
    world.script("device", &script).await;
    for _ in 0..4 {
        assert!(world.send(&message("device")).await.is_none());
    }
    let accepted: Vec<_> = world.ledger("").await.iter().map(|entry| entry["accepted"].clone()).collect();
    assert_eq!(accepted, [false, false, false, true].map(|accepted| json!(accepted)));
}
