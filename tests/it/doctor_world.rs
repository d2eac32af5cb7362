//! A deployment for the doctor to look at. The table and the queues are the system's own, behind a proxy that says what the
//! built-in DynamoDB cannot (recovery, protection from deletion). Lambda is a scripted stand-in that recomputes each
//! request's signature and knows no operation but those of `lambda_api.tsv`. Used by `doctor`.

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
pub(crate) struct Aws {
    pub(crate) said: Arc<Mutex<Value>>,
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

/// A refusal as Lambda has it: the exception's name is in a header.
fn refused(status: StatusCode, exception: &str, message: &str) -> Response {
    let mut answer = answered(status, &json!({"Type": "User", "Message": message}));
    answer.headers_mut().insert("x-amzn-errortype", exception.parse().unwrap());
    answer
}

/// What Lambda says instead of an answer: whoever's signature does not match is not heard, and of the answers that are
/// scripted for everybody the first is used up.
fn turned_away(aws: &Aws, headers: &HeaderMap, uri: &Uri) -> Option<Response> {
    if !signed(headers, uri) {
        return Some(refused(StatusCode::FORBIDDEN, "InvalidSignatureException", "The signature does not match."));
    }
    let mut said = aws.said.lock().unwrap();
    let scripted = said["refusals"].as_array_mut().filter(|refusals| !refusals.is_empty())?.remove(0);
    let status = u16::try_from(scripted["status"].as_u64()?).ok()?;
    // One that is none lets a request pass.
    let status = StatusCode::from_u16(status).ok().filter(|status| !status.is_success())?;
    let body = answered(status, &json!({"Message": "scripted"}));
    Some(scripted["exception"].as_str().map_or(body, |exception| refused(status, exception, "scripted")))
}

/// What stands under these members, for a request that is signed.
fn lambda(aws: &Aws, headers: &HeaderMap, uri: &Uri, at: &[&str]) -> Response {
    if let Some(answer) = turned_away(aws, headers, uri) {
        return answer;
    }
    let said = aws.said.lock().unwrap();
    let found = at.iter().fold(&*said, |value, member| &value[*member]);
    if found.is_null() {
        return refused(StatusCode::NOT_FOUND, "ResourceNotFoundException", "Function not found");
    }
    answered(StatusCode::OK, found)
}

/// What Lambda says to a path that it does not have, or to a version that a path does not have.
async fn unknown() -> Response {
    let message = "Unable to determine service/operation name to be authorized";
    refused(StatusCode::FORBIDDEN, "AccessDeniedException", message)
}

/// The operations that there are: name, method, path, parameters of the query, members that are read.
pub(crate) fn operations() -> impl Iterator<Item = [&'static str; 5]> {
    let lines = include_str!("lambda_api.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap())
}

/// Lambda with these operations and no others, beside DynamoDB.
fn router(aws: Aws) -> Router {
    let mut router = Router::new().route("/", post(dynamodb)).fallback(unknown).method_not_allowed_fallback(unknown);
    for [name, method, path, ..] in operations() {
        assert_eq!(method, "GET");
        let answers = match name {
            "GetFunctionConfiguration" => get(configuration),
            "GetFunctionConcurrency" => get(concurrency),
            "GetFunctionRecursionConfig" => get(recursion),
            "GetPolicy" => get(policy),
            "ListFunctionUrlConfigs" => get(urls),
            "ListEventSourceMappings" => get(mappings),
            other => panic!("nothing answers {other}"),
        };
        router = router.route(path, answers);
    }
    router.with_state(aws)
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

async fn policy(State(aws): State<Aws>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    lambda(&aws, &headers, &uri, &["policies", &name])
}

async fn urls(State(aws): State<Aws>, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    lambda(&aws, &headers, &uri, &["urls", &name])
}

/// One mapping a page, so that pages are followed.
async fn mappings(
    State(aws): State<Aws>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    if let Some(answer) = turned_away(&aws, &headers, &uri) {
        return answer;
    }
    let said = aws.said.lock().unwrap();
    let of = |function: &str| {
        let mut own = said["mappings"][function].as_array().cloned().unwrap_or_default();
        for mapping in &mut own {
            mapping["FunctionArn"] = json!(format!("arn:aws:lambda:us-east-1:0:function:{function}"));
        }
        own
    };
    let all: Vec<Value> = match query.get("FunctionName") {
        Some(function) => of(function),
        None => said["mappings"].as_object().unwrap().keys().flat_map(|function| of(function)).collect(),
    };
    let source = query.get("EventSourceArn");
    let all: Vec<_> = all.into_iter().filter(|one| source.is_none_or(|arn| one["EventSourceArn"] == *arn)).collect();
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

/// What API Gateway acts for when it invokes a function of ours.
pub(crate) const API: &str = "arn:aws:execute-api:us-east-1:000000000000:abc123/*";

/// The policy of a function that one service may invoke.
pub(crate) fn lets(service: &str, source: &str) -> Value {
    let statement = json!({
        "Sid": "1", "Effect": "Allow", "Principal": {"Service": service}, "Action": "lambda:InvokeFunction",
        "Condition": {"ArnLike": {"AWS:SourceArn": source}},
    });
    json!({"Policy": json!({"Version": "2012-10-17", "Statement": [statement]}).to_string()})
}

pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) sendonce: Sendonce,
    pub(crate) aws: Aws,
    pub(crate) outputs: Value,
}

impl World {
    pub(crate) async fn start() -> Self {
        let app = TestApp::start().await;
        let mut sendonce = Sendonce::of(&app).await;
        let (listener, url) = bound().await;
        let aws = Aws { said: Arc::default(), dynamodb: app.system.ready().dynamodb.clone(), http: HttpClient::new() };
        let router = router(aws.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_LAMBDA"] {
            sendonce.environment.insert(name, url.clone());
        }
        // The outputs name all of it.
        for name in ["TABLE_NAME", "DELIVERIES_QUEUE_URL", "PAYOUTS_QUEUE_URL", "STRIPE_URL", "TIMING"] {
            sendonce.environment.remove(name);
        }
        let list: Vec<_> = [
            ("TableName", app.table.clone()),
            ("DeliveriesQueueUrl", app.queues.url(DELIVERIES).await),
            ("PayoutsQueueUrl", app.queues.url(PAYOUTS).await),
            ("DeliveriesDeadQueueUrl", app.queues.url(DEAD).await),
            ("PayoutsDeadQueueUrl", app.queues.url(PAYOUTS_DEAD).await),
            ("ParkingQueueUrl", app.queues.url(PARKING).await),
            ("ApiUrl", "https://abc123.execute-api.us-east-1.amazonaws.com".to_owned()),
            ("Stage", "production".to_owned()),
            ("Timing", "short".to_owned()),
            ("SecretName", "sendonce/{project}/{provider}".to_owned()),
            ("StripeUrl", "https://api.stripe.com".to_owned()),
            ("Architecture", "arm64".to_owned()),
            ("ApiLogs", "s-ApiLogs".to_owned()),
            ("DeliverLogs", "s-DeliverLogs".to_owned()),
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

    pub(crate) async fn attribute(&self, queue: &str, name: QueueAttributeName) -> String {
        let url = self.app.queues.url(queue).await;
        let request = self.app.queues.client.get_queue_attributes().queue_url(url).attribute_names(name.clone());
        request.send().await.unwrap().attributes.unwrap().remove(&name).unwrap()
    }

    pub(crate) async fn set(&self, queue: &str, name: QueueAttributeName, value: &str) {
        let url = self.app.queues.url(queue).await;
        self.app.queues.client.set_queue_attributes().queue_url(url).attributes(name, value).send().await.unwrap();
    }

    async fn as_it_must_be(&self) -> Value {
        let url = async |queue| self.app.queues.url(queue).await;
        let arn = async |queue| self.attribute(queue, QueueAttributeName::QueueArn).await;
        let urls = [
            ("DELIVERIES_QUEUE_URL", url(DELIVERIES).await),
            ("PAYOUTS_QUEUE_URL", url(PAYOUTS).await),
            ("PARKING_QUEUE_URL", url(PARKING).await),
        ];
        // How many of the queues are its own, from which on.
        let function = |timeout: u64, from: usize, queues: usize| {
            let mut variables = json!({"TABLE_NAME": self.app.table, "TIMING": "short", "RUST_LOG": "info"});
            urls[from..from + queues].iter().for_each(|(name, url)| variables[name] = json!(url));
            json!({
                "Timeout": timeout, "Runtime": "provided.al2023", "State": "Active", "Handler": "bootstrap",
                "Architectures": ["arm64"], "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:f",
                "LastUpdateStatus": "Successful", "Environment": {"Variables": variables}, "MemorySize": 512,
                "LoggingConfig": {"LogFormat": "Text", "LogGroup": "s-OwnLogs"},
            })
        };
        let queue = |arn: String| {
            json!({
                "EventSourceArn": arn, "State": "Enabled", "BatchSize": 10, "MaximumBatchingWindowInSeconds": 0,
                "FunctionResponseTypes": ["ReportBatchItemFailures"], "ScalingConfig": {"MaximumConcurrency": 50},
                "LastProcessingResult": "OK",
            })
        };
        let stream = self.app.system.store().check_table(false).await.unwrap().stream_arn;
        let other = json!({"EventSourceArn": "arn:aws:sqs:us-east-1:0:another", "State": "Deleting"});
        let mut all = json!({
            "functions": {
                "s-api": function(20, 0, 1), "s-refunds": function(20, 1, 1), "s-deliver": function(8, 0, 1),
                "s-payout": function(8, 1, 1), "s-relay": function(8, 0, 3), "s-dead-letter": function(8, 0, 3),
                "s-audit": function(900, 0, 2),
            },
            "urls": {"s-api": {"FunctionUrlConfigs": []}},
            "concurrency": {"s-api": {}, "s-deliver": {"ReservedConcurrentExecutions": 50}},
            "policies": {
                "s-api": lets("apigateway.amazonaws.com", API), "s-refunds": lets("apigateway.amazonaws.com", API),
                "s-audit": lets("events.amazonaws.com", "arn:aws:events:us-east-1:000000000000:rule/hourly"),
            },
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
        });
        // Those whose log groups the outputs name.
        for (function, group) in [("s-api", "s-ApiLogs"), ("s-deliver", "s-DeliverLogs")] {
            all["functions"][function]["LoggingConfig"]["LogGroup"] = json!(group);
        }
        all
    }

    pub(crate) async fn doctor(&self, more: &[&str]) -> crate::admin::Said {
        let mut arguments = vec!["--json", "--outputs", "-", "doctor"];
        arguments.extend(more);
        self.sendonce.with_input(&arguments, &self.outputs.to_string()).await
    }

    /// "part setting" of each finding.
    pub(crate) async fn wrong(&self) -> Vec<String> {
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
