//! A stream as AWS has them: a closed shard with a child, an iterator that expires, a checkpoint that was trimmed.

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The child's checkpoint, which the stream no longer holds.
pub(super) const OLD: &str = "000000000000000000001";

/// The shard iterators asked for: "shard type".
type Calls = Arc<Mutex<Vec<String>>>;

pub(super) async fn serve() -> (String, Calls) {
    let calls = Calls::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/", post(answer)).with_state(calls.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, calls)
}

async fn answer(State(calls): State<Calls>, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    match headers["x-amz-target"].to_str().unwrap() {
        "DynamoDBStreams_20120810.DescribeStream" if body["ExclusiveStartShardId"].is_null() => {
            let shards = json!([{"ShardId": "child", "ParentShardId": "parent"}]);
            json_answer(&json!({"StreamDescription": {"Shards": shards, "LastEvaluatedShardId": "child"}}))
        }
        "DynamoDBStreams_20120810.DescribeStream" => json_answer(
            &json!({"StreamDescription": {"Shards": [{"ShardId": "parent", "ParentShardId": "long gone"}]}}),
        ),
        "DynamoDBStreams_20120810.GetShardIterator" => {
            let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
            let mut calls = calls.lock().unwrap();
            let call = format!("{} {}", text("ShardId"), text("ShardIteratorType"));
            let iterator = if calls.contains(&call) { format!("{call} again") } else { call.clone() };
            calls.push(call);
            json_answer(&json!({"ShardIterator": iterator}))
        }
        _ => match body["ShardIterator"].as_str().unwrap() {
            "parent TRIM_HORIZON" => error("ExpiredIteratorException"),
            // Closed: no next iterator.
            "parent TRIM_HORIZON again" => json_answer(&json!({"Records": [record(1), record(2)]})),
            "child AFTER_SEQUENCE_NUMBER" => error("TrimmedDataAccessException"),
            "child TRIM_HORIZON" => {
                json_answer(&json!({"Records": [record(3), record(4)], "NextShardIterator": "end"}))
            }
            "end" => json_answer(&json!({"Records": [], "NextShardIterator": "end"})),
            other => panic!("{other}"),
        },
    }
}

fn record(n: usize) -> Value {
    json!({"eventID": n.to_string(), "eventName": "INSERT", "dynamodb": {
        "Keys": {"pk": {"S": format!("K#{n}")}}, "SequenceNumber": format!("{n:021}"), "SizeBytes": 9}})
}

fn json_answer(body: &Value) -> Response {
    ([("content-type", "application/x-amz-json-1.0")], body.to_string()).into_response()
}

fn error(name: &str) -> Response {
    let body = json!({"__type": format!("com.amazonaws.dynamodb.streams#{name}"), "message": name});
    (StatusCode::BAD_REQUEST, json_answer(&body)).into_response()
}
