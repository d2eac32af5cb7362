//! Making, finding, changing, emptying and deleting queues.

mod common;

use common::Server;
use local_sqs::{QueueAttributes, SqsError};
use serde_json::{Value, json};

#[tokio::test]
async fn making_a_queue_again_changes_nothing_or_is_refused() {
    let server = Server::new();
    let make = |attributes: Value| server.call("CreateQueue", json!({"QueueName": "q", "Attributes": attributes}));
    let first = make(json!({"VisibilityTimeout": "7"})).await;
    assert_eq!(first.body["QueueUrl"], "http://127.0.0.1:9324/000000000000/q");
    assert_eq!(make(json!({"VisibilityTimeout": "7"})).await.body, first.body);
    assert_eq!(make(json!({})).await.body, first.body);
    let other = make(json!({"VisibilityTimeout": "8"})).await;
    assert_eq!(other.error(), "QueueNameExists");
    assert_eq!(other.headers["x-amzn-query-error"], "QueueAlreadyExists;Sender");
}

#[tokio::test]
async fn bad_queues_are_refused() {
    let server = Server::new();
    for (name, attributes, refused) in [
        ("a b", json!({}), "InvalidParameterValueException"),
        ("", json!({}), "InvalidParameterValueException"),
        ("a.fifo", json!({"FifoQueue": "true"}), "UnsupportedOperation"),
        ("a", json!({"FifoQueue": "true"}), "UnsupportedOperation"),
        ("a", json!({"Colour": "red"}), "InvalidAttributeName"),
        ("a", json!({"VisibilityTimeout": "43201"}), "InvalidAttributeValue"),
        ("a", json!({"DelaySeconds": "-1"}), "InvalidAttributeValue"),
    ] {
        let request = json!({"QueueName": name, "Attributes": attributes});
        assert_eq!(server.refused("CreateQueue", request).await, refused, "{name} {attributes}");
    }
    let far = QueueAttributes { delay_s: Some(901), ..QueueAttributes::default() };
    assert!(matches!(server.sqs.create_queue("a", &far), Err(SqsError::InvalidAttributeValue(_))));
    assert_eq!(server.sqs.counts("a"), None);
}

#[tokio::test]
async fn a_queue_is_found_by_name_and_by_url_only() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    assert_eq!(server.ok("GetQueueUrl", json!({"QueueName": "q"})).await["QueueUrl"], url);
    assert_eq!(server.refused("GetQueueUrl", json!({"QueueName": "none"})).await, "QueueDoesNotExist");
    let foreign = json!({"QueueName": "q", "QueueOwnerAWSAccountId": "123456789012"});
    assert_eq!(server.refused("GetQueueUrl", foreign).await, "QueueDoesNotExist");
    // Another host is the same queue: clients may come through a forwarded port.
    server.send("http://localhost:1/000000000000/q", "x").await;
    let send = |url: &str| server.call("SendMessage", json!({"QueueUrl": url, "MessageBody": "x"}));
    assert_eq!(send("nonsense").await.error(), "InvalidAddress");
    assert_eq!(send("http://h/000000000000/none").await.error(), "QueueDoesNotExist");
    assert_eq!(server.refused("SendMessage", json!({"MessageBody": "x"})).await, "MissingRequiredParameterException");
}

#[tokio::test]
async fn attributes_are_shown_as_asked_and_changed() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    let get = |names: Value| server.call("GetQueueAttributes", json!({"QueueUrl": url, "AttributeNames": names}));
    let all = get(json!(["All"])).await.body["Attributes"].clone();
    for (name, value) in [
        ("QueueArn", "arn:aws:sqs:us-east-1:000000000000:q"),
        ("VisibilityTimeout", "30"),
        ("MessageRetentionPeriod", "345600"),
        ("MaximumMessageSize", "1048576"),
        ("DelaySeconds", "0"),
        ("ReceiveMessageWaitTimeSeconds", "0"),
        ("ApproximateNumberOfMessages", "0"),
        ("ApproximateNumberOfMessagesNotVisible", "0"),
        ("ApproximateNumberOfMessagesDelayed", "0"),
    ] {
        assert_eq!(all[name], value, "{name}");
    }
    assert_eq!(get(json!(["QueueArn"])).await.body["Attributes"].as_object().unwrap().len(), 1);
    assert_eq!(get(json!(["Policy", "RedrivePolicy"])).await.body, json!({}));
    assert_eq!(get(json!([])).await.body, json!({}));
    assert_eq!(get(json!(["Colour"])).await.error(), "InvalidAttributeName");

    let set = json!({"QueueUrl": url, "Attributes": {"VisibilityTimeout": "1", "Policy": "{}"}});
    server.ok("SetQueueAttributes", set).await;
    let now = get(json!(["VisibilityTimeout", "Policy", "DelaySeconds"])).await.body;
    assert_eq!(now["Attributes"], json!({"VisibilityTimeout": "1", "Policy": "{}", "DelaySeconds": "0"}));
    // One bad value leaves everything as it was.
    let bad = json!({"QueueUrl": url, "Attributes": {"VisibilityTimeout": "2", "DelaySeconds": "901"}});
    assert_eq!(server.refused("SetQueueAttributes", bad).await, "InvalidAttributeValue");
    assert_eq!(get(json!(["VisibilityTimeout"])).await.body["Attributes"]["VisibilityTimeout"], "1");
}

#[tokio::test]
async fn queues_are_listed_in_pages() {
    let server = Server::new();
    for name in ["b-2", "a", "b-1", "b-3"] {
        server.sqs.create_queue(name, &QueueAttributes::default()).unwrap();
    }
    assert_eq!(server.ok("ListQueues", json!({})).await["QueueUrls"].as_array().unwrap().len(), 4);
    let names = |page: &Value| -> Vec<String> {
        let urls = page["QueueUrls"].as_array().unwrap();
        urls.iter().map(|url| url.as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect()
    };
    let first = server.ok("ListQueues", json!({"QueueNamePrefix": "b", "MaxResults": 2})).await;
    assert_eq!(names(&first), ["b-1", "b-2"]);
    let next = json!({"QueueNamePrefix": "b", "MaxResults": 2, "NextToken": first["NextToken"]});
    let second = server.ok("ListQueues", next).await;
    assert_eq!((names(&second), second.get("NextToken")), (vec!["b-3".to_owned()], None));
    assert_eq!(server.ok("ListQueues", json!({"QueueNamePrefix": "z"})).await, json!({}));
    for bad in [json!({"MaxResults": 0}), json!({"MaxResults": 1_001}), json!({"NextToken": "é"})] {
        assert_eq!(server.refused("ListQueues", bad).await, "InvalidParameterValueException");
    }
}

#[tokio::test]
async fn a_purge_empties_a_queue_once_a_minute() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.send(&url, "in flight").await;
    let message = server.receive(&url).await.remove(0);
    server.send(&url, "visible").await;
    server.ok("PurgeQueue", json!({"QueueUrl": url})).await;
    assert_eq!(server.counts("q"), (0, 0, 0));
    // A handle from before never means a message from after.
    server.send(&url, "new").await;
    server.delete(&url, &message).await;
    assert_eq!(server.counts("q"), (1, 0, 0));
    assert_eq!(server.refused("PurgeQueue", json!({"QueueUrl": url})).await, "PurgeQueueInProgress");
    server.advance(60);
    server.ok("PurgeQueue", json!({"QueueUrl": url})).await;
}

#[tokio::test]
async fn a_deleted_queue_is_gone_and_its_name_rests() {
    let (server, url) = Server::with_queue(&QueueAttributes::default());
    server.send(&url, "x").await;
    let old = server.receive(&url).await.remove(0);
    server.ok("DeleteQueue", json!({"QueueUrl": url})).await;
    for action in ["DeleteQueue", "PurgeQueue", "ReceiveMessage", "GetQueueAttributes", "ListQueueTags"] {
        assert_eq!(server.refused(action, json!({"QueueUrl": url})).await, "QueueDoesNotExist", "{action}");
    }
    assert_eq!(server.refused("CreateQueue", json!({"QueueName": "q"})).await, "QueueDeletedRecently");
    server.advance(60);
    server.ok("CreateQueue", json!({"QueueName": "q"})).await;
    assert_eq!(server.counts("q"), (0, 0, 0));
    let request = json!({"QueueUrl": url, "ReceiptHandle": old["ReceiptHandle"]});
    assert_eq!(server.refused("DeleteMessage", request).await, "ReceiptHandleIsInvalid");
}

#[tokio::test]
async fn tags_are_kept() {
    let server = Server::new();
    server.ok("CreateQueue", json!({"QueueName": "q", "tags": {"a": "1"}})).await;
    let url = "http://127.0.0.1:9324/000000000000/q";
    server.ok("TagQueue", json!({"QueueUrl": url, "Tags": {"b": "2", "a": "3"}})).await;
    server.ok("UntagQueue", json!({"QueueUrl": url, "TagKeys": ["b", "none"]})).await;
    assert_eq!(server.ok("ListQueueTags", json!({"QueueUrl": url})).await, json!({"Tags": {"a": "3"}}));
    let many: serde_json::Map<_, _> = (0..50).map(|i| (format!("t{i}"), json!(""))).collect();
    let refused = server.refused("TagQueue", json!({"QueueUrl": url, "Tags": many})).await;
    assert_eq!(refused, "InvalidParameterValueException");
}
