//! The admin command's word on how it went: by its exit code, on stderr why not, and before anything is overwritten.

use super::support::{DELIVERIES, Table, TestApp, push};
use crate::admin::{Said, Sendonce};
use aws_sdk_sqs::types::QueueAttributeName;
use platform::{AwsTimeouts, aws_config_at};
use serde_json::{Value, json};

/// Where nobody answers.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Not all was done: the answer tells of it in JSON, and stderr says why.
#[track_caller]
fn not_done(said: &Said, why: &str) -> Value {
    let error: Value = serde_json::from_str(&said.err).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert!(error["error"].as_str().unwrap().contains(why), "{said:?}");
    said.json(1)
}

/// A project's secret for a provider, and its version.
async fn stored(app: &TestApp, provider: &str) -> (String, String) {
    let config = aws_config_at(AwsTimeouts::within(20_000), &app.system.ready().sandbox).await;
    let secrets = aws_sdk_secretsmanager::Client::new(&config);
    let answer = secrets.get_secret_value().secret_id(format!("sendonce/acme/{provider}")).send().await.unwrap();
    (answer.secret_string.unwrap(), answer.version_id.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_that_sqs_does_not_take_are_told_on_stderr() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    app.control(&json!({"deliver": "pause", "relay": "pause", "dead_letter": "pause"}));
    let mut long = push("long", "device-of-long-000001");
    long["notification"]["body"] = json!("It is on its way. ".repeat(100));
    app.queued(&long).await;
    app.queues.wear_out(1).await;
    let url = app.queues.url(DELIVERIES).await;
    let longest = async |bytes: &str| {
        let change = app.queues.client.set_queue_attributes().queue_url(&url);
        change.attributes(QueueAttributeName::MaximumMessageSize, bytes).send().await.unwrap();
    };
    longest("1024").await;
    let said = sendonce.run(&["--json", "dead-letters", "redrive"]).await;
    let answer = not_done(&said, "1 letters stayed, and no more were tried: SQS did not carry out SendMessage");
    assert_eq!((&answer["moved"], &answer["kept"]), (&json!(0), &json!(1)), "{answer}");
    longest("262144").await;
    assert_eq!(sendonce.json(&["dead-letters", "redrive"], 0).await["moved"], 1);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_ends_with_what_it_found_or_says_why_it_did_not_end() {
    let app = TestApp::start().await;
    let mut sendonce = Sendonce::of(&app).await;
    app.control(&json!({"deliver": "pause", "relay": "pause"}));
    let id = app.queued(&push("spoilt", "device-of-spoilt-00001")).await;
    Table::of(&app).await.spoil_message(&id).await;
    let said = sendonce.run(&["--json", "audit"]).await;
    assert_eq!((&said.json(3)["not_repaired"], said.err.as_str()), (&json!(1), ""), "{said:?}");
    sendonce.environment.insert("AWS_ENDPOINT_URL_DYNAMODB", NOWHERE.to_owned());
    let said = sendonce.run(&["--json", "audit"]).await;
    let answer = not_done(&said, "the audit did not come to its end: the table or a queue did not answer");
    assert_eq!(answer["ended"], "failed");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_nobody_could_check_are_stored_and_a_check_without_an_answer_is_none() {
    let app = TestApp::start().await;
    let mut sendonce = Sendonce::of(&app).await;
    let (good, version) = stored(&app, "stripe").await;
    sendonce.environment.insert("STRIPE_URL", NOWHERE.to_owned());
    let put = ["--json", "credentials", "put", "--project", "acme", "--provider", "stripe", "--file", "-"];
    let said = sendonce.with_input(&put, &good).await;
    let answer = said.json(3);
    assert_eq!((&answer["check"]["works"], &answer["check"]["refused"]), (&json!(false), &json!(false)), "{answer}");
    assert_ne!(stored(&app, "stripe").await.1, version);
    let check = ["--json", "credentials", "check", "--project", "acme", "--provider", "stripe"];
    not_done(&sendonce.run(&check).await, "stripe: Nothing is known of the credentials");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_credentials_leaves_those_that_work_alone() {
    let app = TestApp::start().await;
    let sendonce = Sendonce::of(&app).await;
    let before = [stored(&app, "stripe").await.1, stored(&app, "apns").await.1];
    for (secret, why) in [
        (r#"{"api_key":"sk_test_1","webhook_secret":["whsec_1"]}"#, "there is no member webhook_secret"),
        (r#"{"api_key":"whsec_1","webhook_secrets":["sk_test_1"]}"#, "member api_key must be a secret key"),
        (r#"{"api_key":"sk_test_1","webhook_secrets":["sk_test_1"]}"#, "member webhook_secrets must list"),
        (r#"{"api_key":"sk_test_1","api_key":"sk_test_2"}"#, "member api_key"),
        (r#"{"api_key":"pk_live_1"}"#, "member api_key must be a secret key"),
    ] {
        let put = ["credentials", "put", "--project", "acme", "--provider", "stripe", "--file", "-", "--no-check"];
        let said = sendonce.with_input(&put, secret).await;
        said.failed(why);
        said.failed("nothing was stored");
    }
    let apns: Value = serde_json::from_str(&stored(&app, "apns").await.0).unwrap();
    let mut put = vec!["credentials", "put", "--project", "acme", "--provider", "apns", "--file", "-", "--no-check"];
    put.extend(["--key-id", "short", "--team-id", "DEF123GHIJ"]);
    let said = sendonce.with_input(&put, apns["key"].as_str().unwrap()).await;
    said.failed("member key_id must be 10 capital letters and digits");
    assert_eq!([stored(&app, "stripe").await.1, stored(&app, "apns").await.1], before);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_cannot_be_are_told_in_our_words_and_never_as_orders_to_a_terminal() {
    let app = TestApp::start().await;
    let mut sendonce = Sendonce::of(&app).await;
    for (arguments, why) in [
        (&["--table", "", "projects", "list"] as &[&str], "the table cannot be \"\""),
        (&["--table", "a b", "projects", "list"], "the table cannot be \"a b\""),
        (&["--local", "--table", "a b", "projects", "list"], "the table cannot be \"a b\""),
        (&["--region", "bad region", "projects", "list"], "the region cannot be \"bad region\""),
        (&["--region", "", "projects", "list"], "the region cannot be \"\""),
        (&["dead-letters", "show", "--queue", ""], "\"\" is neither a queue's name nor its URL"),
        (&["projects", "show", "\u{1b}[31mx"], "there is no project \\u{1b}[31mx"),
    ] {
        let said = sendonce.run(arguments).await;
        said.failed(why);
        assert!(!said.err.contains('\u{1b}'), "{said:?}");
    }
    let said = sendonce.run(&["projects", "\u{1b}[31mx"]).await;
    assert!(said.code == 2 && !said.err.contains('\u{1b}'), "{said:?}");
    // A profile that is nowhere is the reason why there is no region and why there are no credentials.
    sendonce.environment.insert("AWS_PROFILE", "nope".to_owned());
    let full = sendonce.environment.clone();
    for name in ["AWS_REGION", "AWS_SECRET_ACCESS_KEY"] {
        sendonce.environment.clone_from(&full);
        sendonce.environment.remove(name);
        sendonce.run(&["projects", "list"]).await.failed("the profile that AWS_PROFILE names");
    }
    app.stop().await;
}
