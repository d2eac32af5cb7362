//! Secrets Manager through the real SDK.

use crate::client::world;
use aws_credential_types::Credentials;
use aws_sdk_secretsmanager::{
    Client,
    config::{BehaviorVersion, Config, Region},
};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

fn client(base_url: &str) -> Client {
    let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::from_keys("local", "local", None))
        .endpoint_url(base_url)
        .http_client(http)
        .build();
    Client::from_conf(config)
}

#[tokio::test]
async fn secrets_are_made_read_and_replaced() {
    let world = world().await;
    let client = client(&world.base_url);
    let created = client.create_secret().name("a/b").secret_string("one").send().await.unwrap();
    let read = client.get_secret_value().secret_id("a/b").send().await.unwrap();
    assert_eq!((read.name(), read.secret_string()), (Some("a/b"), Some("one")));
    assert_eq!(read.version_id(), created.version_id());
    let put = client.put_secret_value().secret_id(created.arn().unwrap()).secret_string("two").send().await.unwrap();
    assert_ne!(put.version_id(), created.version_id());
    let read = client.get_secret_value().secret_id(created.arn().unwrap()).send().await.unwrap();
    assert_eq!((read.name(), read.secret_string()), (Some("a/b"), Some("two")));
    assert_eq!(read.version_stages(), ["AWSCURRENT"]);
    let age = i64::try_from(world.clock.now_ms() / 1_000).unwrap() - read.created_date().unwrap().secs();
    assert!((0..60).contains(&age));
}

#[tokio::test]
async fn faults_are_typed() {
    let world = world().await;
    let client = client(&world.base_url);
    let missing = client.get_secret_value().secret_id("none").send().await.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception(), "{missing:?}");
    let put = client.put_secret_value().secret_id("none").secret_string("x").send().await.unwrap_err();
    assert!(put.into_service_error().is_resource_not_found_exception());
    let again = client.create_secret().name("sendonce/acme/fcm").secret_string("x").send().await.unwrap_err();
    assert!(again.into_service_error().is_resource_exists_exception());
    let empty = client.create_secret().name("empty").send().await.unwrap_err();
    assert!(empty.into_service_error().is_invalid_parameter_exception());
    let unknown = world.call("POST", "/", &[("x-amz-target", "secretsmanager.RotateSecret")], "{}").await.unwrap();
    assert_eq!((unknown.status, unknown.json()["__type"].as_str()), (400, Some("UnknownOperationException")));
}
