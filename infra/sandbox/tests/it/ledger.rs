//! The ledger, the scripts, and the server itself.

use crate::client::{message, world};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn answers_that_never_come() {
    let world = world().await;
    world.script("device", &json!(["drop_after_accept", "hang_after_accept", "hang"])).await;
    let started = Instant::now();
    assert!(world.send(&message("device")).await.is_none());
    assert!(started.elapsed() < Duration::from_millis(300), "closed at once");
    assert!(world.send(&message("device")).await.is_none());
    assert!(world.send(&message("device")).await.is_none());
    assert_eq!(world.send(&message("device")).await.unwrap().status, 200);
    let seen: Vec<_> = world
        .ledger("")
        .await
        .iter()
        .map(|e| (e["accepted"].clone(), e["answered"].clone(), e["status"].clone()))
        .collect();
    let row = |accepted: bool, answered: bool, status: Value| (json!(accepted), json!(answered), status);
    let expected = [
        row(true, false, Value::Null),
        row(true, false, Value::Null),
        row(false, false, Value::Null),
        row(true, true, json!(200)),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn the_ledger_filters_and_empties() {
    let world = world().await;
    for token in ["a:1", "b", "a:1"] {
        world.send(&message(token)).await.unwrap();
    }
    assert_eq!(world.ledger("?token=a%3A1").await.len(), 2);
    assert!(world.ledger("?token=c").await.is_empty());
    world.script("b", &json!([{"status": 500}])).await;
    assert_eq!(world.call("DELETE", "/ledger", &[], "").await.unwrap().status, 204);
    assert!(world.ledger("").await.is_empty());
    // Numbers go on, scripts stay.
    assert_eq!(world.send(&message("b")).await.unwrap().status, 500);
    let ledger = world.ledger("").await;
    assert_eq!((ledger[0]["seq"].as_u64(), ledger[0]["token"].as_str()), (Some(4), Some("b")));
    let members: Vec<&str> = ledger[0].as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected =
        ["seq", "provider", "token", "id", "collapse_id", "headers", "payload", "accepted", "answered", "status", "at"];
    expected.sort_unstable();
    let mut members = members;
    members.sort_unstable();
    assert_eq!(members, expected);
}

#[tokio::test]
async fn a_bad_script_stores_nothing() {
    let world = world().await;
    for script in
        [json!(["hang", "go_away"]), json!([{"status": 99}]), json!({"status": 503}), json!(vec!["accept"; 1_001])]
    {
        let answer = world.script("device", &script).await;
        assert_eq!(answer.status, 400);
        assert!(answer.json()["error"].as_str().unwrap().len() > 10);
    }
    let fault = world.script("device", &json!(["hang", "go_away"])).await.json()["error"].clone();
    let words = "accept, drop_after_accept, hang_after_accept, hang, reset, goaway, goaway_after_accept, \
                 refused_stream, pending, error_after_accept";
    assert_eq!(fault, format!("element 1 (\"go_away\"): the words are {words}"));
    let no_json = world.call("PUT", "/scripts/device", &[], "[").await.unwrap();
    assert_eq!(no_json.status, 400);
    assert_eq!(world.send(&message("device")).await.unwrap().status, 200);
    // A script for a token that needs escaping in a path, replaced and removed.
    world.script("a%3Ab%2Fc", &json!(["hang"])).await;
    world.script("a%3Ab%2Fc", &json!([{"status": 500}])).await;
    assert_eq!(world.send(&message("a:b/c")).await.unwrap().status, 500);
    world.script("device", &json!(["hang"])).await;
    world.script("device", &json!([])).await;
    assert_eq!(world.send(&message("device")).await.unwrap().status, 200);
}

#[tokio::test]
async fn it_carries_extra_routes_and_stops_when_told() {
    let world = world().await;
    assert_eq!(world.call("POST", "/control", &[], "").await.unwrap().text, "mine");
    world.script("device", &json!(["hang"])).await;
    let hanging = message("device");
    let hang = world.send(&hanging);
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.stop.send(true).unwrap();
    };
    let (answer, ()) = tokio::join!(hang, stop);
    assert!(answer.is_none());
    tokio::time::timeout(Duration::from_secs(3), world.served).await.unwrap().unwrap();
}
