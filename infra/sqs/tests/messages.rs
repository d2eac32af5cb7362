//! Sending, receiving and deleting, one by one and in batches, and what is refused.

mod common;

use common::Server;
use local_sqs::QueueAttributes;
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_arrives_as_it_was_sent() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let attributes = json!({
        "k1": {"DataType": "String", "StringValue": "v1"},
        "n": {"DataType": "Number", "StringValue": "42"},
        "b": {"DataType": "Binary", "BinaryValue": "AAE="},
    });
    let request = json!({
        "QueueUrl": url, "MessageBody": "hello", "MessageAttributes": attributes, "MessageGroupId": "acme",
        "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}},
    });
    let sent = server.ok("SendMessage", request).await;
    assert_eq!(sent["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592");
    assert!(sent["MD5OfMessageSystemAttributes"].is_string());

    let message = server.receive(&url).await.remove(0);
    assert_eq!(message["Body"], "hello");
    assert_eq!(message["MessageId"], sent["MessageId"]);
    assert_eq!(message["MD5OfBody"], sent["MD5OfMessageBody"]);
    assert_eq!(message["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"]);
    assert_eq!(message["MessageAttributes"], attributes);
    let system = &message["Attributes"];
    assert_eq!(system["ApproximateReceiveCount"], "1");
    assert_eq!(system["MessageGroupId"], "acme");
    assert_eq!(system["AWSTraceHeader"], "Root=1");
    assert!(system["SentTimestamp"].is_string() && system["ApproximateFirstReceiveTimestamp"].is_string());
    assert!(system["SenderId"].is_string() && system.get("DeadLetterQueueSourceArn").is_none());

    server.delete(&url, &message).await;
    server.delete(&url, &message).await;
    assert_eq!(server.counts("q"), (0, 0, 0));
}

#[tokio::test]
async fn only_what_was_asked_for_is_shown_and_hashed() {
    let (server, url) = Server::with_queue(&QueueAttributes { visibility_timeout_s: Some(0), ..Default::default() });
    let one = json!({"a.x": {"DataType": "String", "StringValue": "1"}});
    let two =
        json!({"a.x": {"DataType": "String", "StringValue": "1"}, "b": {"DataType": "String", "StringValue": "2"}});
    let first = server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "x", "MessageAttributes": one})).await;
    let digest_of_one = &first["MD5OfMessageAttributes"];
    let message = server.receive(&url).await.remove(0);
    server.delete(&url, &message).await;

    server.ok("SendMessage", json!({"QueueUrl": url, "MessageBody": "x", "MessageAttributes": two})).await;
    let plain = server.ok("ReceiveMessage", json!({"QueueUrl": url})).await["Messages"][0].clone();
    for absent in ["Attributes", "MessageAttributes", "MD5OfMessageAttributes"] {
        assert!(plain.get(absent).is_none(), "{absent}");
    }
    let by_prefix = server.receive_with(&url, json!({"MessageAttributeNames": ["a.*"]})).await.remove(0);
    assert_eq!((&by_prefix["MessageAttributes"], &by_prefix["MD5OfMessageAttributes"]), (&one, digest_of_one));
    // The older name of the parameter works too.
    let older = server.ok("ReceiveMessage", json!({"QueueUrl": url, "AttributeNames": ["SentTimestamp"]})).await;
    assert_eq!(older["Messages"][0]["Attributes"].as_object().unwrap().len(), 1);
    let unknown = json!({"QueueUrl": url, "AttributeNames": ["Colour"]});
    assert_eq!(server.refused("ReceiveMessage", unknown).await, "InvalidAttributeName");
}

#[tokio::test]
async fn bodies_are_checked() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let send = |body: Value| server.call("SendMessage", json!({"QueueUrl": url, "MessageBody": body}));
    assert_eq!(send(json!("")).await.error(), "MissingRequiredParameterException");
    assert_eq!(send(Value::Null).await.error(), "MissingRequiredParameterException");
    assert_eq!(send(json!(7)).await.error(), "SerializationException");
    for bad in ["\u{0}", "\u{b}", "\u{1f}", "\u{fffe}", "\u{ffff}"] {
        assert_eq!(send(json!(bad)).await.error(), "InvalidMessageContents", "{bad:?}");
    }
    for good in ["\t\n\r ~\u{7f}", "\u{d7ff}\u{e000}\u{fffd}", "\u{10000}\u{10ffff}"] {
        assert_eq!(send(json!(good)).await.status, 200, "{good:?}");
    }
    assert_eq!(send(json!("é".repeat(524_288))).await.status, 200);
    assert_eq!(send(json!("x".repeat(1_048_577))).await.error(), "InvalidParameterValueException");
    // Far beyond every limit: refused before it is read.
    assert_eq!(send(json!("x".repeat(9_000_000))).await.error(), "InvalidParameterValueException");
}

#[tokio::test]
async fn a_queue_may_have_a_smaller_limit() {
    let (server, url) = Server::with_queue(&QueueAttributes { max_message_bytes: Some(1_024), ..Default::default() });
    server.send(&url, &"x".repeat(1_024)).await;
    let request = json!({"QueueUrl": url, "MessageBody": "x".repeat(1_025)});
    assert_eq!(server.refused("SendMessage", request).await, "InvalidParameterValueException");
}

#[tokio::test]
async fn numbers_out_of_range_are_refused() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    for (name, bad) in
        [("MaxNumberOfMessages", [0, 11]), ("WaitTimeSeconds", [-1, 21]), ("VisibilityTimeout", [-1, 43_201])]
    {
        for value in bad {
            let refused = server.refused("ReceiveMessage", json!({"QueueUrl": url, name: value})).await;
            assert_eq!(refused, "InvalidParameterValueException", "{name} {value}");
        }
    }
    for delay in [-1, 901, i64::MAX] {
        let request = json!({"QueueUrl": url, "MessageBody": "x", "DelaySeconds": delay});
        assert_eq!(server.refused("SendMessage", request).await, "InvalidParameterValueException");
    }
    let eleven: serde_json::Map<_, _> =
        (0..11).map(|i| (format!("a{i}"), json!({"DataType": "String", "StringValue": "x"}))).collect();
    let request = json!({"QueueUrl": url, "MessageBody": "x", "MessageAttributes": eleven});
    assert_eq!(server.refused("SendMessage", request).await, "InvalidParameterValueException");
}

#[tokio::test]
async fn a_batch_as_a_whole_is_checked() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let entries = |n: usize| (0..n).map(|i| json!({"Id": i.to_string(), "MessageBody": "x"})).collect::<Vec<_>>();
    let send = |entries: Vec<Value>| server.call("SendMessageBatch", json!({"QueueUrl": url, "Entries": entries}));
    assert_eq!(send(entries(10)).await.body["Successful"].as_array().unwrap().len(), 10);
    assert_eq!(send(entries(0)).await.error(), "EmptyBatchRequest");
    assert_eq!(send(entries(11)).await.error(), "TooManyEntriesInBatchRequest");
    assert_eq!(send([entries(1), entries(1)].concat()).await.error(), "BatchEntryIdsNotDistinct");
    assert_eq!(send(vec![json!({"MessageBody": "x"})]).await.error(), "MissingRequiredParameterException");
    for id in ["", "a b", "é", &"x".repeat(81)] {
        assert_eq!(send(vec![json!({"Id": id, "MessageBody": "x"})]).await.error(), "InvalidBatchEntryId", "{id}");
    }
    let large = (0..4).map(|i| json!({"Id": i.to_string(), "MessageBody": "x".repeat(300_000)})).collect();
    assert_eq!(send(large).await.error(), "BatchRequestTooLong");
    assert_eq!(server.counts("q").0, 10);
}

#[tokio::test]
async fn one_bad_entry_leaves_the_others_alone() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let entries = json!([
        {"Id": "ok", "MessageBody": "x"},
        {"Id": "late", "MessageBody": "x", "DelaySeconds": 901},
        {"Id": "contents", "MessageBody": "\u{0}"},
        {"Id": "empty", "MessageBody": ""},
    ]);
    let answer = server.ok("SendMessageBatch", json!({"QueueUrl": url, "Entries": entries})).await;
    assert_eq!(answer["Successful"].as_array().unwrap().len(), 1);
    assert_eq!(answer["Successful"][0]["Id"], "ok");
    let failed: Vec<_> =
        answer["Failed"].as_array().unwrap().iter().map(|f| (&f["Id"], &f["Code"], &f["SenderFault"])).collect();
    let want =
        [("late", "InvalidParameterValue"), ("contents", "InvalidMessageContents"), ("empty", "MissingParameter")];
    assert_eq!(
        failed,
        want.map(|(id, code)| (json!(id), json!(code), json!(true)))
            .iter()
            .map(|(a, b, c)| (a, b, c))
            .collect::<Vec<_>>()
    );
    assert_eq!(server.counts("q").0, 1);
}

#[tokio::test]
async fn deletes_in_a_batch_fare_each_for_itself() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.send(&url, "a").await;
    server.send(&url, "b").await;
    let messages = server.receive(&url).await;
    let entries = json!([
        {"Id": "a", "ReceiptHandle": messages[0]["ReceiptHandle"]},
        {"Id": "bad", "ReceiptHandle": "garbage"},
        {"Id": "none"},
        {"Id": "b", "ReceiptHandle": messages[1]["ReceiptHandle"]},
    ]);
    let answer = server.ok("DeleteMessageBatch", json!({"QueueUrl": url, "Entries": entries})).await;
    assert_eq!(answer["Successful"], json!([{"Id": "a"}, {"Id": "b"}]));
    assert_eq!(answer["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
    assert_eq!(answer["Failed"][1]["Code"], "MissingParameter");
    assert_eq!(server.counts("q"), (0, 0, 0));
}
