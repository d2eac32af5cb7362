//! The server as the Rust SDK sees it, over a socket: answers are read, digests agree, and refusals arrive as the
//! SDK's own error types.

#![allow(clippy::unwrap_used, reason = "a test's own set-up may fail it")]

use aws_credential_types::Credentials;
use aws_sdk_sqs::{
    Client,
    config::{BehaviorVersion, Region, retry::RetryConfig},
    error::SdkError,
    operation::{change_message_visibility::ChangeMessageVisibilityError, create_queue::CreateQueueError},
    types::{MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry},
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use local_sqs::{QueueAttributes, Sqs};
use platform::Clock;
use tokio::net::TcpListener;

async fn start() -> (Sqs, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sqs = Sqs::new(Clock::system(), url.clone());
    let router = sqs.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(url)
        .build();
    (sqs, Client::from_conf(config))
}

#[tokio::test]
async fn a_message_goes_round() {
    let (sqs, client) = start().await;
    let url = sqs.create_queue("q", &QueueAttributes::default()).unwrap();
    let entry =
        |id: &str, body: &str| SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap();
    let sent = client.send_message_batch().queue_url(&url).entries(entry("a", "1")).entries(entry("b", "\u{1}"));
    let sent = sent.send().await.unwrap();
    assert_eq!((sent.successful().len(), sent.failed().len()), (1, 1));
    assert_eq!(sent.failed()[0].code(), "InvalidMessageContents");
    assert!(sent.failed()[0].sender_fault());

    let receive = client.receive_message().queue_url(&url).wait_time_seconds(1);
    let received = receive.message_system_attribute_names(MessageSystemAttributeName::All).send().await.unwrap();
    let message = &received.messages()[0];
    assert_eq!(message.message_id(), Some(sent.successful()[0].message_id()));
    let count = message.attributes().unwrap().get(&MessageSystemAttributeName::ApproximateReceiveCount);
    assert_eq!(count.map(String::as_str), Some("1"));
    let handle = message.receipt_handle().unwrap();
    client
        .change_message_visibility()
        .queue_url(&url)
        .receipt_handle(handle)
        .visibility_timeout(0)
        .send()
        .await
        .unwrap();
    client.delete_message().queue_url(&url).receipt_handle(handle).send().await.unwrap();
    let attributes = client.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::All);
    let attributes = attributes.send().await.unwrap();
    assert_eq!(attributes.attributes().unwrap()[&QueueAttributeName::ApproximateNumberOfMessages], "0");
}

#[tokio::test]
async fn refusals_are_the_sdks_own_types() {
    let (sqs, client) = start().await;
    let url = sqs.create_queue("q", &QueueAttributes::default()).unwrap();
    let none = client.get_queue_url().queue_name("none").send().await.unwrap_err();
    assert!(none.into_service_error().is_queue_does_not_exist());
    let exists = client.create_queue().queue_name("q").attributes(QueueAttributeName::DelaySeconds, "9").send().await;
    assert!(matches!(exists.map_err(SdkError::into_service_error), Err(CreateQueueError::QueueNameExists(_))));
    let contents = client.send_message().queue_url(&url).message_body("\u{0}").send().await.unwrap_err();
    assert!(contents.into_service_error().is_invalid_message_contents());
    let garbage = client.delete_message().queue_url(&url).receipt_handle("garbage").send().await.unwrap_err();
    assert!(garbage.into_service_error().is_receipt_handle_is_invalid());
    let empty = client.send_message_batch().queue_url(&url).set_entries(Some(Vec::new())).send().await.unwrap_err();
    assert!(empty.into_service_error().is_empty_batch_request());

    client.send_message().queue_url(&url).message_body("x").send().await.unwrap();
    let received = client.receive_message().queue_url(&url).visibility_timeout(0).send().await.unwrap();
    let handle = received.messages()[0].receipt_handle().unwrap();
    let visible = client.change_message_visibility().queue_url(&url).receipt_handle(handle).visibility_timeout(5);
    let visible = visible.send().await.map_err(SdkError::into_service_error);
    assert!(matches!(visible, Err(ChangeMessageVisibilityError::MessageNotInflight(_))));
}
