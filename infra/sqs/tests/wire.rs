//! How requests and refusals look, and that nothing from outside brings the server down.

mod common;

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use common::Server;
use local_sqs::QueueAttributes;
use serde_json::{Value, json};

#[tokio::test]
async fn a_refusal_names_its_error_in_both_ways() {
    let server = Server::new();
    let reply = server.call("GetQueueUrl", json!({"QueueName": "none"})).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.headers["content-type"], "application/x-amz-json-1.0");
    assert_eq!(reply.headers["x-amzn-query-error"], "AWS.SimpleQueueService.NonExistentQueue;Sender");
    assert!(reply.headers.contains_key("x-amzn-requestid"));
    assert_eq!(reply.body["__type"], "com.amazonaws.sqs#QueueDoesNotExist");
    assert_eq!(reply.body["message"], "The specified queue does not exist.");
}

#[tokio::test]
async fn other_protocols_and_actions_are_refused_clearly() {
    let server = Server::new();
    let form = Request::post("/")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("Action=SendMessage&MessageBody=x"));
    let reply = server.raw(form.unwrap()).await;
    assert_eq!((reply.status, reply.error()), (StatusCode::BAD_REQUEST, "UnsupportedOperation"));
    assert!(reply.body["message"].as_str().unwrap().contains("query (XML) protocol"));
    let get = server.raw(Request::get("/?Action=ListQueues").body(Body::empty()).unwrap()).await;
    assert_eq!(get.error(), "UnsupportedOperation");
    assert_eq!(server.refused("Fly", json!({})).await, "UnknownOperationException");
    assert_eq!(server.refused("AddPermission", json!({})).await, "UnsupportedOperation");
    let foreign = Request::post("/").header("x-amz-target", "DynamoDB_20120810.PutItem").body(Body::from("{}"));
    assert_eq!(server.raw(foreign.unwrap()).await.error(), "UnknownOperationException");
}

#[tokio::test]
async fn every_path_is_the_same() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let request = Request::post("/000000000000/q").header("x-amz-target", "AmazonSQS.SendMessage");
    let body = json!({"QueueUrl": url, "MessageBody": "x"}).to_string();
    assert_eq!(server.raw(request.body(Body::from(body)).unwrap()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn nonsense_is_answered_and_survived() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let actions = [
        "SendMessage",
        "SendMessageBatch",
        "ReceiveMessage",
        "DeleteMessage",
        "DeleteMessageBatch",
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "CreateQueue",
        "GetQueueUrl",
        "GetQueueAttributes",
        "SetQueueAttributes",
        "DeleteQueue",
        "PurgeQueue",
        "ListDeadLetterSourceQueues",
        "TagQueue",
        "UntagQueue",
        "ListQueueTags",
    ];
    for action in actions {
        for body in ["", "null", "[]", "7", "{", "{}", r#"{"QueueUrl":7}"#, r#"{"QueueUrl":"\ud800"}"#, "\u{feff}{}"] {
            let request = Request::post("/").header("x-amz-target", format!("AmazonSQS.{action}"));
            let reply = server.raw(request.body(Body::from(body)).unwrap()).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{action} {body}");
            assert!(!reply.error().is_empty(), "{action} {body}");
        }
    }
    for odd in [json!(-1), json!(i64::MAX), json!(u64::MAX), json!(1.5), json!("1"), json!([])] {
        for name in ["MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds"] {
            let reply = server.call("ReceiveMessage", json!({"QueueUrl": url, name: odd})).await;
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{name} {odd}");
        }
    }
    server.send(&url, "still there").await;
    assert_eq!(server.receive(&url).await.len(), 1);
}

#[tokio::test]
async fn a_null_parameter_is_an_absent_one() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let request = json!({"QueueUrl": url, "MessageBody": "x", "DelaySeconds": null, "MessageAttributes": null});
    server.ok("SendMessage", request).await;
    let request = json!({"QueueUrl": url, "MaxNumberOfMessages": null, "AttributeNames": Value::Null});
    assert_eq!(server.call("ReceiveMessage", request).await.messages().len(), 1);
}
