//! The doctor: a deployment as it must be has nothing to say to it, and each setting that is broken is named, alone.
//!
//! The table and the queues are the system's own, behind a proxy that says what the built-in DynamoDB cannot (recovery,
//! protection from deletion). Lambda is a scripted stand-in that recomputes each request's signature.

use super::support::{DEAD, DELIVERIES, HttpClient, PARKING, PAYOUTS, PAYOUTS_DEAD, TestApp};
use crate::admin::Sendonce;
use ::http::{HeaderMap, Method, StatusCode, Uri};
use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac::{HMAC_SHA256, Key, sign},
};
use aws_sdk_sqs::types::QueueAttributeName;
use axum::{
    Router,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// What the stand-in says.
#[derive(Clone)]
struct Aws {
    said: Arc<Mutex<Value>>,
    dynamodb: String,
    http: HttpClient,
}

fn hash(text: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, text).as_ref())
}

/// AWS Signature Version 4, recomputed (AWS IAM user guide, "Create a signed AWS API request").
fn signed(headers: &HeaderMap, uri: &Uri) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let authorization = text("authorization");
    let part = |name: &str| authorization.split(&format!("{name}=")).nth(1)?.split(',').next().map(str::to_owned);
    let (Some(scope), Some(names), Some(signature)) = (part("Credential"), part("SignedHeaders"), part("Signature"))
    else {
        return false;
    };
    let (date, day) = (text("x-amz-date"), text("x-amz-date")[..8].to_owned());
    assert_eq!(scope, format!("local/{day}/us-east-1/lambda/aws4_request"));
    let lines: String = names.split(';').map(|name| format!("{name}:{}\n", text(name))).collect();
    let query = uri.query().unwrap_or_default();
    let request = format!("GET\n{}\n{query}\n{lines}\n{names}\n{}", uri.path(), hash(b""));
    let to_sign =
        format!("AWS4-HMAC-SHA256\n{date}\n{}\n{}", scope.split_once('/').unwrap().1, hash(request.as_bytes()));
    let mut key = b"AWS4local".to_vec();
    for step in [day.as_str(), "us-east-1", "lambda", "aws4_request"] {
        key = sign(&Key::new(HMAC_SHA256, &key), step.as_bytes()).as_ref().to_vec();
    }
    HEXLOWER.encode(sign(&Key::new(HMAC_SHA256, &key), to_sign.as_bytes()).as_ref()) == signature
}

fn answered(status: StatusCode, body: &Value) -> Response {
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

/// What stands under these members, for a request that is signed.
fn lambda(aws: &Aws, headers: &HeaderMap, uri: &Uri, at: &[&str]) -> Response {
    if !signed(headers, uri) {
        return answered(StatusCode::FORBIDDEN, &json!({"message": "The signature does not match."}));
    }
    let said = aws.said.lock().unwrap();
    let found = at.iter().fold(&*said, |value, member| &value[*member]);
    if found.is_null() {
        return answered(StatusCode::NOT_FOUND, &json!({"Message": "Function not found"}));
    }
    answered(StatusCode::OK, found)
}

async fn configuration(State(aws): State<Aws>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    lambda(&aws, &headers, &uri, &["functions", &name])
}

async fn concurrency(State(aws): State<Aws>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    lambda(&aws, &headers, &uri, &["concurrency", &name])
}

async fn recursion(State(aws): State<Aws>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    lambda(&aws, &headers, &uri, &["recursion", &name])
}

/// One mapping a page, so that pages are followed.
async fn mappings(
    State(aws): State<Aws>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    if !signed(&headers, &uri) {
        return answered(StatusCode::FORBIDDEN, &json!({"message": "The signature does not match."}));
    }
    let said = aws.said.lock().unwrap();
    let all = said["mappings"][&query["FunctionName"]].as_array().cloned().unwrap_or_default();
    let at: usize = query.get("Marker").map_or(0, |marker| marker.trim_start_matches("page ").parse().unwrap());
    let next = (at + 1 < all.len()).then(|| format!("page {}", at + 1));
    answered(StatusCode::OK, &json!({"EventSourceMappings": all.get(at..=at).unwrap_or_default(), "NextMarker": next}))
}

/// DynamoDB, with what is scripted about the table in place of what it says.
async fn dynamodb(State(aws): State<Aws>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers["x-amz-target"].to_str().unwrap().to_owned();
    let operation = target.rsplit('.').next().unwrap().to_owned();
    let scripted = aws.said.lock().unwrap()["dynamodb"][&operation].clone();
    if operation == "DescribeContinuousBackups" {
        return answered(StatusCode::OK, &scripted);
    }
    let passed: Vec<_> = ["x-amz-target", "content-type", "authorization", "x-amz-date"]
        .into_iter()
        .filter_map(|name| Some((name, headers.get(name)?.to_str().unwrap())))
        .collect();
    let answer = aws.http.send(&Method::POST, &aws.dynamodb, &passed, body).await;
    let mut value = answer.body.clone();
    merge(&mut value, &scripted);
    answered(answer.status, &value)
}

fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(members) => members.iter().for_each(|(name, patch)| merge(&mut into[name], patch)),
        Value::Null => {}
        patch => *into = patch.clone(),
    }
}

const STREAM_PATTERN: &str =
    r#"{ "dynamodb": { "NewImage": { "pk": { "S": [{ "exists": true }] } }, "Keys": { "sk": { "S": ["M", "R"] } } } }"#;

struct World {
    app: TestApp,
    sendonce: Sendonce,
    aws: Aws,
    outputs: Value,
}

impl World {
    async fn start() -> Self {
        let app = TestApp::start().await;
        let mut sendonce = Sendonce::of(&app).await;
        let (listener, url) = bound().await;
        let aws = Aws { said: Arc::default(), dynamodb: app.system.ready().dynamodb.clone(), http: HttpClient::new() };
        let router = Router::new()
            .route("/2015-03-31/functions/{name}/configuration", get(configuration))
            .route("/2017-10-31/functions/{name}/concurrency", get(concurrency))
            .route("/2024-08-31/functions/{name}/recursion-config", get(recursion))
            .route("/2015-03-31/event-source-mappings/", get(mappings))
            .route("/", post(dynamodb))
            .with_state(aws.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_LAMBDA"] {
            sendonce.environment.insert(name, url.clone());
        }
        // The outputs name all of it.
        for name in ["TABLE_NAME", "DELIVERIES_QUEUE_URL", "PAYOUTS_QUEUE_URL"] {
            sendonce.environment.remove(name);
        }
        let list: Vec<_> = [
            ("TableName", app.table.clone()),
            ("DeliveriesQueueUrl", app.queues.url(DELIVERIES).await),
            ("PayoutsQueueUrl", app.queues.url(PAYOUTS).await),
            ("ParkingQueueUrl", app.queues.url(PARKING).await),
            ("ApiFunction", "s-api".to_owned()),
            ("RefundsFunction", "s-refunds".to_owned()),
            ("DeliverFunction", "s-deliver".to_owned()),
            ("PayoutFunction", "s-payout".to_owned()),
            ("RelayFunction", "s-relay".to_owned()),
            ("DeadLetterFunction", "s-dead-letter".to_owned()),
            ("AuditFunction", "s-audit".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| json!({"OutputKey": name, "OutputValue": value}))
        .collect();
        let world = Self { app, sendonce, aws, outputs: json!(list) };
        *world.aws.said.lock().unwrap() = world.as_it_must_be().await;
        world
    }

    async fn attribute(&self, queue: &str, name: QueueAttributeName) -> String {
        let url = self.app.queues.url(queue).await;
        let request = self.app.queues.client.get_queue_attributes().queue_url(url).attribute_names(name.clone());
        request.send().await.unwrap().attributes.unwrap().remove(&name).unwrap()
    }

    async fn set(&self, queue: &str, name: QueueAttributeName, value: &str) {
        let url = self.app.queues.url(queue).await;
        self.app.queues.client.set_queue_attributes().queue_url(url).attributes(name, value).send().await.unwrap();
    }

    async fn as_it_must_be(&self) -> Value {
        let url = async |queue| self.app.queues.url(queue).await;
        let arn = async |queue| self.attribute(queue, QueueAttributeName::QueueArn).await;
        let variables = json!({
            "TABLE_NAME": self.app.table, "TIMING": "short", "RUST_LOG": "info",
            "DELIVERIES_QUEUE_URL": url(DELIVERIES).await, "PAYOUTS_QUEUE_URL": url(PAYOUTS).await,
            "PARKING_QUEUE_URL": url(PARKING).await,
        });
        let function = |timeout: u64| {
            json!({
                "Timeout": timeout, "Runtime": "provided.al2023", "State": "Active",
                "LastUpdateStatus": "Successful", "Environment": {"Variables": variables},
            })
        };
        let queue = |arn: String| {
            json!({
                "EventSourceArn": arn, "State": "Enabled", "BatchSize": 10, "MaximumBatchingWindowInSeconds": 0,
                "FunctionResponseTypes": ["ReportBatchItemFailures"], "ScalingConfig": {"MaximumConcurrency": 50},
            })
        };
        let stream = self.app.system.store().check_table(false).await.unwrap().stream_arn;
        let other = json!({"EventSourceArn": "arn:aws:sqs:us-east-1:0:another", "State": "Enabled"});
        json!({
            "functions": {
                "s-api": function(20), "s-refunds": function(20), "s-deliver": function(8), "s-payout": function(8),
                "s-relay": function(8), "s-dead-letter": function(8), "s-audit": function(900),
            },
            "concurrency": {"s-api": {}, "s-deliver": {"ReservedConcurrentExecutions": 7}},
            "recursion": {"s-deliver": {"RecursiveLoop": "Allow"}, "s-dead-letter": {"RecursiveLoop": "Allow"}},
            "mappings": {
                "s-deliver": [other, queue(arn(DELIVERIES).await)],
                "s-payout": [queue(arn(PAYOUTS).await)],
                "s-dead-letter": [queue(arn(DEAD).await), queue(arn(PAYOUTS_DEAD).await)],
                "s-relay": [{
                    "EventSourceArn": stream, "State": "Enabled", "BatchSize": 1_000,
                    "MaximumBatchingWindowInSeconds": 1, "FunctionResponseTypes": ["ReportBatchItemFailures"],
                    "StartingPosition": "TRIM_HORIZON", "BisectBatchOnFunctionError": true,
                    "MaximumRetryAttempts": -1, "MaximumRecordAgeInSeconds": -1,
                    "FilterCriteria": {"Filters": [{"Pattern": STREAM_PATTERN}]},
                }],
            },
            "dynamodb": {
                "DescribeTable": {"Table": {"DeletionProtectionEnabled": true}},
                "DescribeContinuousBackups": {"ContinuousBackupsDescription": {
                    "ContinuousBackupsStatus": "ENABLED",
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"},
                }},
            },
        })
    }

    async fn doctor(&self, more: &[&str]) -> crate::admin::Said {
        let mut arguments = vec!["--json", "--outputs", "-", "doctor"];
        arguments.extend(more);
        self.sendonce.with_input(&arguments, &self.outputs.to_string()).await
    }

    /// "part setting" of each finding.
    async fn wrong(&self) -> Vec<String> {
        let said = self.doctor(&[]).await;
        let wrong = said.json(if said.code == 0 { 0 } else { 3 })["wrong"].as_array().unwrap().clone();
        assert_eq!(said.code == 0, wrong.is_empty(), "{said:?}");
        let named = wrong.iter().map(|f| format!("{} {}", f["part"].as_str().unwrap(), f["setting"].as_str().unwrap()));
        named.collect()
    }
}

async fn bound() -> (tokio::net::TcpListener, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_setting_that_is_broken_is_named_and_no_other() {
    let world = World::start().await;
    assert_eq!(world.wrong().await, [""; 0]);
    let looked_at = world.doctor(&[]).await.json(0)["looked_at"].as_u64().unwrap();
    assert!(looked_at > 70, "only {looked_at} settings were looked at");

    // What Lambda and the table say, one broken at a time: where in the script, what it says then, who is named.
    let none: Value = json!([]);
    let deliver = "/mappings/s-deliver/1";
    let relay = "/mappings/s-relay/0";
    let filter = json!([{"Pattern": r#"{"dynamodb":{"Keys":{"sk":{"S":["M"]}}}}"#}]);
    let cases: Vec<(String, Value, &str)> = vec![
        ("/functions/s-api/Timeout".into(), json!(30), "function api Timeout"),
        ("/functions/s-deliver/Timeout".into(), json!(60), "function deliver Timeout"),
        ("/functions/s-audit/Timeout".into(), json!(60), "function audit Timeout"),
        ("/functions/s-relay/Runtime".into(), json!("provided.al2"), "function relay Runtime"),
        ("/functions/s-relay/State".into(), json!("Failed"), "function relay State"),
        ("/functions/s-relay/LastUpdateStatus".into(), json!("Failed"), "function relay LastUpdateStatus"),
        ("/concurrency/s-deliver/ReservedConcurrentExecutions".into(), json!(0), "function deliver ReservedConcurrentExecutions"),
        ("/functions/s-api/Environment/Variables/TABLE_NAME".into(), json!("another"), "function api TABLE_NAME"),
        ("/functions/s-api/Environment/Variables/TABLE_NAME".into(), json!(""), "function api TABLE_NAME"),
        ("/functions/s-relay/Environment/Variables/PARKING_QUEUE_URL".into(), json!("x"), "function relay PARKING_QUEUE_URL"),
        ("/functions/s-audit/Environment/Variables/DELIVERIES_QUEUE_URL".into(), json!("x"), "function audit DELIVERIES_QUEUE_URL"),
        ("/functions/s-dead-letter/Environment/Variables/TIMING".into(), json!("production"), "function dead-letter TIMING"),
        ("/functions/s-dead-letter/Environment/Variables/TIMING".into(), json!("slow"), "function dead-letter TIMING"),
        ("/functions/s-dead-letter".into(), Value::Null, "function dead-letter FunctionName"),
        ("/recursion/s-deliver/RecursiveLoop".into(), json!("Terminate"), "function deliver RecursiveLoop"),
        ("/recursion/s-dead-letter/RecursiveLoop".into(), json!("Terminate"), "function dead-letter RecursiveLoop"),
        (format!("{deliver}/State"), json!("Disabled"), "mapping deliver Enabled"),
        (format!("{deliver}/BatchSize"), json!(100), "mapping deliver BatchSize"),
        (format!("{deliver}/FunctionResponseTypes"), none.clone(), "mapping deliver FunctionResponseTypes"),
        (format!("{deliver}/ScalingConfig"), Value::Null, "mapping deliver ScalingConfig.MaximumConcurrency"),
        (format!("{deliver}/MaximumBatchingWindowInSeconds"), json!(5), "mapping deliver MaximumBatchingWindowInSeconds"),
        (format!("{deliver}/FilterCriteria"), json!({"Filters": filter}), "mapping deliver FilterCriteria"),
        ("/functions/s-refunds/Timeout".into(), json!(60), "function refunds Timeout"),
        ("/functions/s-payout/Timeout".into(), json!(60), "function payout Timeout"),
        ("/functions/s-refunds/Environment/Variables/PAYOUTS_QUEUE_URL".into(), json!("x"), "function refunds PAYOUTS_QUEUE_URL"),
        ("/functions/s-payout/Environment/Variables/STRIPE_URL".into(), json!("x"), "function payout STRIPE_URL"),
        ("/mappings/s-payout/0/State".into(), json!("Disabled"), "mapping payout Enabled"),
        ("/mappings/s-dead-letter/0/EventSourceArn".into(), json!("x"), "mapping dead-letter EventSourceArn"),
        ("/mappings/s-dead-letter/1/EventSourceArn".into(), json!("x"), "mapping dead-letter of payouts EventSourceArn"),
        (format!("{relay}/BatchSize"), json!(100), "mapping relay BatchSize"),
        (format!("{relay}/MaximumBatchingWindowInSeconds"), json!(20), "mapping relay MaximumBatchingWindowInSeconds"),
        (format!("{relay}/StartingPosition"), json!("LATEST"), "mapping relay StartingPosition"),
        (format!("{relay}/BisectBatchOnFunctionError"), json!(false), "mapping relay BisectBatchOnFunctionError"),
        (format!("{relay}/MaximumRetryAttempts"), json!(3), "mapping relay MaximumRetryAttempts"),
        (format!("{relay}/MaximumRecordAgeInSeconds"), json!(3_600), "mapping relay MaximumRecordAgeInSeconds"),
        (format!("{relay}/FilterCriteria/Filters"), filter, "mapping relay FilterCriteria"),
        (format!("{relay}/FilterCriteria/Filters"), none, "mapping relay FilterCriteria"),
        ("/dynamodb/DescribeTable/Table/DeletionProtectionEnabled".into(), json!(false), "table DeletionProtectionEnabled"),
        (
            "/dynamodb/DescribeContinuousBackups/ContinuousBackupsDescription/PointInTimeRecoveryDescription/PointInTimeRecoveryStatus".into(),
            json!("DISABLED"),
            "table PointInTimeRecoverySpecification",
        ),
        (
            "/dynamodb/DescribeTable/Table".into(),
            json!({"DeletionProtectionEnabled": true, "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}}),
            "table StreamSpecification",
        ),
        (
            "/dynamodb/DescribeTable/Table".into(),
            json!({"DeletionProtectionEnabled": true, "BillingModeSummary": {"BillingMode": "PROVISIONED"}}),
            "table BillingMode",
        ),
        (
            "/dynamodb/DescribeTable/Table".into(),
            json!({"DeletionProtectionEnabled": true, "GlobalSecondaryIndexes": [{"IndexName": "another"}]}),
            "table GlobalSecondaryIndexes",
        ),
        (
            "/dynamodb/DescribeTable/Table".into(),
            json!({"DeletionProtectionEnabled": true, "LocalSecondaryIndexes": []}),
            "table LocalSecondaryIndexes",
        ),
        (
            "/dynamodb".into(),
            json!({
                "DescribeTable": {"Table": {"DeletionProtectionEnabled": true}},
                "DescribeTimeToLive": {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
                "DescribeContinuousBackups": {"ContinuousBackupsDescription": {
                    "ContinuousBackupsStatus": "ENABLED",
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"},
                }},
            }),
            "table TimeToLiveSpecification",
        ),
    ];
    for (at, broken, named) in cases {
        let before = {
            let mut said = world.aws.said.lock().unwrap();
            let before = said.clone();
            let (parent, member) = at.rsplit_once('/').unwrap();
            said.pointer_mut(parent).unwrap()[member] = broken;
            before
        };
        assert_eq!(world.wrong().await, [named], "{at}");
        *world.aws.said.lock().unwrap() = before;
    }

    // The queues' own.
    for (queue, name, broken, named) in [
        (DELIVERIES, QueueAttributeName::VisibilityTimeout, "30", "queue deliveries VisibilityTimeout"),
        (DELIVERIES, QueueAttributeName::MessageRetentionPeriod, "86400", "queue deliveries MessageRetentionPeriod"),
        (DELIVERIES, QueueAttributeName::DelaySeconds, "5", "queue deliveries DelaySeconds"),
        (
            DEAD,
            QueueAttributeName::MessageRetentionPeriod,
            "345600",
            "queue deliveries dead letters MessageRetentionPeriod",
        ),
        (PAYOUTS, QueueAttributeName::VisibilityTimeout, "30", "queue payouts VisibilityTimeout"),
        (
            PAYOUTS_DEAD,
            QueueAttributeName::MessageRetentionPeriod,
            "345600",
            "queue payouts dead letters MessageRetentionPeriod",
        ),
        (PARKING, QueueAttributeName::MessageRetentionPeriod, "345600", "queue parking MessageRetentionPeriod"),
    ] {
        let before = world.attribute(queue, name.clone()).await;
        world.set(queue, name.clone(), broken).await;
        assert_eq!(world.wrong().await, [named]);
        world.set(queue, name, &before).await;
    }
    let policy = world.attribute(DELIVERIES, QueueAttributeName::RedrivePolicy).await;
    let mut other: Value = serde_json::from_str(&policy).unwrap();
    other["maxReceiveCount"] = json!(3);
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &other.to_string()).await;
    assert_eq!(world.wrong().await, ["queue deliveries RedrivePolicy.maxReceiveCount"]);
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &policy).await;
    let looped = json!({"deadLetterTargetArn": world.attribute(PARKING, QueueAttributeName::QueueArn).await, "maxReceiveCount": 3});
    world.set(DEAD, QueueAttributeName::RedrivePolicy, &looped.to_string()).await;
    assert_eq!(world.wrong().await, ["queue deliveries dead letters RedrivePolicy"]);
    world.set(DEAD, QueueAttributeName::RedrivePolicy, "").await;
    assert_eq!(world.wrong().await, [""; 0], "all is mended");

    // A redrive policy outlives the queue that it names.
    let sqs = &world.app.queues.client;
    let name = format!("{}-gone", world.app.queues.url(DEAD).await.rsplit('/').next().unwrap());
    let gone = sqs.create_queue().queue_name(&name).send().await.unwrap().queue_url.unwrap();
    let arn = world.attribute(DEAD, QueueAttributeName::QueueArn).await + "-gone";
    let other = policy.replace(&world.attribute(DEAD, QueueAttributeName::QueueArn).await, &arn);
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &other).await;
    world.aws.said.lock().unwrap()["mappings"]["s-dead-letter"][0]["EventSourceArn"] = json!(arn);
    sqs.delete_queue().queue_url(gone).send().await.unwrap();
    assert_eq!(world.wrong().await, ["queue deliveries dead letters Queue"]);
    world.app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_what_it_needs_and_what_the_stage_asks() {
    let mut world = World::start().await;
    world.aws.said.lock().unwrap()["dynamodb"] = json!({"DescribeContinuousBackups": {}});
    // A stack of tests needs no recovery; the local system has no Lambda either.
    assert_eq!(world.doctor(&["--stage", "test"]).await.json(0)["wrong"], json!([]));
    let outputs = world.outputs.to_string();
    let local = world.sendonce.with_input(&["--json", "--local", "--outputs", "-", "doctor"], &outputs);
    assert_eq!(local.await.json(0)["wrong"], json!([]));
    let text = world.sendonce.with_input(&["--outputs", "-", "doctor"], &world.outputs.to_string()).await;
    assert!(text.code == 3 && text.out.contains("OF     SETTING") && text.out.contains("2 of"), "{text:?}");

    // What cannot say how it takes loops is no finding, and a queue that is not there is one, not the end.
    world.aws.said.lock().unwrap()["recursion"] = json!({});
    let all = world.outputs.clone();
    let output =
        world.outputs.as_array_mut().unwrap().iter_mut().find(|o| o["OutputKey"] == "ParkingQueueUrl").unwrap();
    output["OutputValue"] = json!("nobodys");
    let wrong = world.doctor(&["--stage", "test"]).await.json(3)["wrong"].clone();
    let named: Vec<_> = wrong.as_array().unwrap().iter().map(|f| (&f["part"], &f["is"])).collect();
    assert_eq!(named, [(&json!("queue parking"), &json!("missing"))]);
    world.outputs.clone_from(&all);
    world.outputs.as_array_mut().unwrap().pop();
    world.doctor(&["--stage", "test"]).await.failed("these functions are not known: audit");
    let named = world.doctor(&["--stage", "test", "--function", "audit=s-audit"]).await;
    assert_eq!(named.json(0)["wrong"], json!([]));
    world.doctor(&["--function", "nobody=s"]).await.failed("--function is KIND=NAME");
    world.outputs = json!([]);
    world.doctor(&[]).await.failed("holds no outputs of a stack");
    world.outputs = all;
    // Whoever may not ask is told so, in Lambda's words.
    world.sendonce.environment.insert("AWS_SECRET_ACCESS_KEY", "another".to_owned());
    world.doctor(&["--stage", "test"]).await.failed("Lambda did not carry out GetFunctionConfiguration: 403 Forbidden");
    world.app.stop().await;
}
