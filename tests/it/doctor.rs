//! The doctor: a deployment as it must be has nothing to say to it, and each setting that is broken is named, alone.

use super::support::{DEAD, DELIVERIES, PARKING, PAYOUTS, PAYOUTS_DEAD};
use crate::{
    admin::Said,
    doctor_world::{API, World, lets, operations},
};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_setting_that_is_broken_is_named_and_no_other() {
    let mut world = World::start().await;
    assert_eq!(world.wrong().await, [""; 0]);
    let looked_at = world.doctor(&[]).await.json(0)["looked_at"].as_u64().unwrap();
    assert!(looked_at > 70, "only {looked_at} settings were looked at");

    // What a stack may have or not have without being another: nothing of it is told.
    for (at, other) in [
        ("/functions/s-payout/LoggingConfig", Value::Null),
        ("/functions/s-payout/LoggingConfig/ApplicationLogLevel", json!("INFO")),
        ("/functions/s-payout/MemorySize", json!(1_024)),
        ("/mappings/s-relay/0/LastProcessingResult", json!("No records processed")),
        ("/dynamodb/DescribeTable/Table/SSEDescription", json!({"Status": "DISABLED"})),
    ] {
        let before = world.aws.said.lock().unwrap().clone();
        let (parent, member) = at.rsplit_once('/').unwrap();
        world.aws.said.lock().unwrap().pointer_mut(parent).unwrap()[member] = other;
        assert_eq!(world.wrong().await, [""; 0], "{at}");
        *world.aws.said.lock().unwrap() = before;
    }
    for (function, origins) in
        [("s-api", "https://a.example,https://b.example"), ("s-refunds", "https://b.example, https://a.example")]
    {
        world.aws.said.lock().unwrap()["functions"][function]["Environment"]["Variables"]["CORS_ORIGINS"] =
            json!(origins);
    }
    assert_eq!(world.wrong().await, [""; 0], "the same origins in another order");
    for function in ["s-api", "s-refunds"] {
        world.aws.said.lock().unwrap()["functions"][function]["Environment"]["Variables"]["CORS_ORIGINS"] = json!("");
    }

    // What Lambda and the table say, one broken at a time: where in the script, what it says then, who is named.
    let none: Value = json!([]);
    let deliver = "/mappings/s-deliver/1";
    let relay = "/mappings/s-relay/0";
    let filter = json!([{"Pattern": r#"{"dynamodb":{"Keys":{"sk":{"S":["M"]}}}}"#}]);
    let mapping = |of: &str| world.aws.said.lock().unwrap()["mappings"][of].as_array().unwrap().last().unwrap().clone();
    let (deliveries, payouts, dead, records) =
        (mapping("s-deliver"), mapping("s-payout"), mapping("s-dead-letter"), mapping("s-relay"));
    let parked = world.attribute(PARKING, QueueAttributeName::QueueArn).await;
    let parked = json!({"EventSourceArn": parked, "State": "Enabled"});
    let another = json!({"EventSourceArn": "arn:aws:sqs:us-east-1:0:another", "State": "Disabled"});
    let other_secret = json!("other/{project}/{provider}");
    let other_stripe = json!("https://stripe.example");
    let cases: Vec<(String, Value, &str)> = vec![
        ("/functions/s-payout/Environment/Variables/STRIPE_URL".into(), other_stripe.clone(), "function payout STRIPE_URL"),
        ("/functions/s-refunds/Environment/Variables/STRIPE_URL".into(), other_stripe, "function refunds STRIPE_URL"),
        ("/functions/s-deliver/Environment/Variables/SECRET_NAME".into(), other_secret.clone(), "function deliver SECRET_NAME"),
        ("/functions/s-payout/Environment/Variables/SECRET_NAME".into(), other_secret.clone(), "function payout SECRET_NAME"),
        ("/functions/s-refunds/Environment/Variables/SECRET_NAME".into(), other_secret, "function refunds SECRET_NAME"),
        ("/functions/s-deliver/Environment/Variables/SECRET_NAME".into(), json!("a b/{project}/{provider}"), "function deliver SECRET_NAME"),
        ("/functions/s-api/Environment/Variables/RUST_LOG".into(), json!("nonsense="), "function api RUST_LOG"),
        ("/functions/s-payout/MemorySize".into(), json!(128), "function payout MemorySize"),
        ("/functions/s-api/LoggingConfig/LogGroup".into(), json!("/aws/lambda/s-api"), "function api LoggingConfig.LogGroup"),
        ("/functions/s-deliver/LoggingConfig/LogGroup".into(), json!("s-ApiLogs"), "function deliver LoggingConfig.LogGroup"),
        ("/functions/s-audit/LoggingConfig/LogGroup".into(), json!("/aws/lambda/s-audit"), "function audit LoggingConfig.LogGroup"),
        ("/functions/s-audit/LoggingConfig/ApplicationLogLevel".into(), json!("WARN"), "function audit LoggingConfig.ApplicationLogLevel"),
        ("/functions/s-api/Environment/Variables/CORS_ORIGINS".into(), json!("https://a.example"), "function refunds CORS_ORIGINS"),
        ("/functions/s-refunds/Environment/Variables/CORS_ORIGINS".into(), json!("https://a.example"), "function refunds CORS_ORIGINS"),
        (format!("{relay}/LastProcessingResult"), json!("PROBLEM: Function call failed"), "mapping relay LastProcessingResult"),
        (format!("{deliver}/LastProcessingResult"), json!("PROBLEM: Function call failed"), "mapping deliver LastProcessingResult"),
        (
            "/dynamodb/DescribeTable/Table".into(),
            json!({
                "DeletionProtectionEnabled": true,
                "SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:0:key/ours"},
            }),
            "table SSESpecification",
        ),
        ("/functions/s-api/Handler".into(), json!("index.handler"), "function api Handler"),
        ("/functions/s-api/Architectures".into(), json!(["x86_64"]), "function api Architectures"),
        ("/functions/s-audit/Architectures".into(), json!([]), "function audit Architectures"),
        ("/concurrency/s-deliver/ReservedConcurrentExecutions".into(), json!(49), "function deliver ReservedConcurrentExecutions"),
        ("/concurrency/s-payout".into(), json!({"ReservedConcurrentExecutions": 1}), "function payout ReservedConcurrentExecutions"),
        ("/concurrency/s-dead-letter".into(), json!({"ReservedConcurrentExecutions": 99}), "function dead-letter ReservedConcurrentExecutions"),
        ("/concurrency/s-relay".into(), json!({"ReservedConcurrentExecutions": 0}), "function relay ReservedConcurrentExecutions"),
        ("/concurrency/s-api/ReservedConcurrentExecutions".into(), json!(0), "function api ReservedConcurrentExecutions"),
        ("/policies/s-api".into(), Value::Null, "function api Permission"),
        ("/policies/s-api".into(), lets("apigateway.amazonaws.com", &API.replace("abc123", "zzz999")), "function api Permission"),
        ("/policies/s-payout".into(), lets("s3.amazonaws.com", "arn:aws:s3:::bucket"), "function payout Permission"),
        ("/policies/s-payout".into(), json!({"Policy": r#"{"Statement":[{"Effect":"Allow","Action":"lambda:InvokeFunction","Principal":"*"}]}"#}), "function payout Permission"),
        ("/urls/s-payout".into(), json!({"FunctionUrlConfigs": [{"FunctionUrl": "https://x.lambda-url.us-east-1.on.aws/", "AuthType": "NONE"}]}), "function payout FunctionUrl"),
        ("/functions/s-api/Environment/Variables/AWS_ENDPOINT_URL".into(), json!("http://elsewhere.example"), "function api AWS_ENDPOINT_URL"),
        ("/functions/s-deliver/Environment/Variables/PARKING_QUEUE_URL".into(), json!("x"), "function deliver PARKING_QUEUE_URL"),
        ("/functions/s-payout/Environment/Variables/RUST_LOG".into(), json!("off"), "function payout RUST_LOG"),
        (format!("{relay}/TumblingWindowInSeconds"), json!(60), "mapping relay TumblingWindowInSeconds"),
        (format!("{relay}/ParallelizationFactor"), json!(10), "mapping relay ParallelizationFactor"),
        (format!("{relay}/DestinationConfig"), json!({"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:0:elsewhere"}}), "mapping relay DestinationConfig.OnFailure"),
        ("/policies/s-refunds/Policy".into(), json!("{}"), "function refunds Permission"),
        ("/policies/s-audit/Policy".into(), json!(r#"{"Statement":[{"Effect":"Allow","Action":"lambda:InvokeFunction","Principal":{"Service":"s3.amazonaws.com"}}]}"#), "function audit Permission"),
        ("/mappings/s-payout".into(), json!([payouts, deliveries]), "mapping payout EventSourceArn"),
        ("/mappings/s-deliver".into(), json!([deliveries, payouts]), "mapping deliver EventSourceArn"),
        ("/mappings/s-deliver".into(), json!([deliveries, another]), "mapping deliver EventSourceArn"),
        ("/mappings/s-relay".into(), json!([records, dead]), "mapping relay EventSourceArn"),
        ("/mappings/s-audit".into(), json!([parked]), "mapping audit EventSourceArn"),
        ("/mappings/s-api".into(), json!([records]), "mapping api EventSourceArn"),
        ("/mappings/a-stranger".into(), json!([deliveries]), "queue deliveries Consumer"),
        ("/mappings/a-stranger".into(), json!([payouts]), "queue payouts Consumer"),
        ("/mappings/a-stranger".into(), json!([dead]), "queue payouts dead letters Consumer"),
        ("/mappings/a-stranger".into(), json!([parked]), "queue parking Consumer"),
        ("/mappings/a-stranger".into(), json!([records]), "table Consumer"),
        ("/mappings/s-deliver:live".into(), json!([deliveries]), "queue deliveries Consumer"),
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
        (DELIVERIES, QueueAttributeName::MaximumMessageSize, "1024", "queue deliveries MaximumMessageSize"),
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

    // Letters that go to another queue than their own are told at the queue that sends them there.
    let own = async |queue| world.attribute(queue, QueueAttributeName::QueueArn).await;
    let (dead, payouts_dead, parking) = (own(DEAD).await, own(PAYOUTS_DEAD).await, own(PARKING).await);
    let policy_of_payouts = world.attribute(PAYOUTS, QueueAttributeName::RedrivePolicy).await;
    let target = "RedrivePolicy.deadLetterTargetArn";
    for elsewhere in [&payouts_dead, &parking] {
        world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &policy.replace(&dead, elsewhere)).await;
        assert_eq!(world.wrong().await, [format!("queue deliveries {target}")]);
    }
    let exchanged = (policy.replace(&dead, &payouts_dead), policy_of_payouts.replace(&payouts_dead, &dead));
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &exchanged.0).await;
    world.set(PAYOUTS, QueueAttributeName::RedrivePolicy, &exchanged.1).await;
    assert_eq!(world.wrong().await, [format!("queue deliveries {target}"), format!("queue payouts {target}")]);
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &policy).await;
    world.set(PAYOUTS, QueueAttributeName::RedrivePolicy, &policy_of_payouts).await;
    assert_eq!(world.wrong().await, [""; 0], "all is mended");

    // A redrive policy outlives the queue that it names. Whoever names no dead-letter queues has them found by it.
    let sqs = &world.app.queues.client;
    let name = format!("{}-gone", world.app.queues.url(DEAD).await.rsplit('/').next().unwrap());
    let gone = sqs.create_queue().queue_name(&name).send().await.unwrap().queue_url.unwrap();
    let arn = format!("{dead}-gone");
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &policy.replace(&dead, &arn)).await;
    sqs.delete_queue().queue_url(gone).send().await.unwrap();
    assert_eq!(world.wrong().await, [format!("queue deliveries {target}")]);
    let unnamed = ["DeliveriesDeadQueueUrl", "PayoutsDeadQueueUrl"];
    world.outputs.as_array_mut().unwrap().retain(|o| !unnamed.contains(&o["OutputKey"].as_str().unwrap()));
    world.aws.said.lock().unwrap()["mappings"]["s-dead-letter"][0]["EventSourceArn"] = json!(arn);
    assert_eq!(world.wrong().await, ["queue deliveries dead letters Queue"]);
    world.set(DELIVERIES, QueueAttributeName::RedrivePolicy, &policy.replace(&dead, &payouts_dead)).await;
    world.aws.said.lock().unwrap()["mappings"]["s-dead-letter"] = json!([mapping("s-dead-letter")]);
    assert_eq!(world.wrong().await, [format!("queue payouts {target}")]);
    world.app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_what_it_needs_and_what_the_stage_asks() {
    let mut world = World::start().await;
    world.aws.said.lock().unwrap()["dynamodb"] = json!({"DescribeContinuousBackups": {}});
    // A stack of tests needs no recovery; the local system has no Lambda either.
    assert_eq!(world.doctor(&["--stage", "test"]).await.json(0)["wrong"], json!([]));
    let staged = |outputs: &mut Value, stage: &str| {
        let outputs = outputs.as_array_mut().unwrap();
        outputs.iter_mut().find(|o| o["OutputKey"] == "Stage").unwrap()["OutputValue"] = json!(stage);
    };
    staged(&mut world.outputs, "test");
    assert_eq!(world.doctor(&[]).await.json(0)["wrong"], json!([]), "the outputs say what it is for");
    assert_eq!(world.doctor(&["--stage", "production"]).await.json(3)["wrong"].as_array().unwrap().len(), 2);
    staged(&mut world.outputs, "production");
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
    let local = world.sendonce.run(&["--local", "doctor", "--function", "nobody=s"]).await;
    local.failed("--function: the local system has no functions of Lambda's");
    world.outputs = json!([]);
    world.doctor(&[]).await.failed("holds no outputs of a stack");
    world.outputs = all;
    // Without outputs that say it, the functions' settings must be the same, and Stripe be where the variable says.
    world
        .outputs
        .as_array_mut()
        .unwrap()
        .retain(|o| !["SecretName", "StripeUrl", "Architecture"].contains(&o["OutputKey"].as_str().unwrap()));
    let before = world.aws.said.lock().unwrap().clone();
    world.aws.said.lock().unwrap()["functions"]["s-payout"]["Environment"]["Variables"]["SECRET_NAME"] =
        json!("other/{project}/{provider}");
    let wrong = world.doctor(&["--stage", "test"]).await.json(3)["wrong"].clone();
    let named: Vec<_> = wrong.as_array().unwrap().iter().map(|f| (&f["part"], &f["setting"])).collect();
    assert_eq!(named, [(&json!("function payout"), &json!("SECRET_NAME"))]);
    *world.aws.said.lock().unwrap() = before;
    world.sendonce.environment.insert("STRIPE_URL", "https://stripe.example".to_owned());
    let wrong = world.doctor(&["--stage", "test"]).await.json(3)["wrong"].clone();
    let named: Vec<_> = wrong.as_array().unwrap().iter().map(|f| (&f["part"], &f["setting"])).collect();
    let stripe = json!("STRIPE_URL");
    assert_eq!(named, [(&json!("function refunds"), &stripe), (&json!("function payout"), &stripe)]);
    world.sendonce.environment.remove("STRIPE_URL");
    // Nobody takes silence about the rest for a good word.
    let said = world.doctor(&["--stage", "test"]).await.json(0);
    assert_eq!(said["not_looked_at"].as_array().unwrap().len(), 8, "{said}");
    assert_eq!(said["ended_by"], Value::Null, "{said}");
    let text =
        world.sendonce.with_input(&["--outputs", "-", "doctor", "--stage", "test"], &world.outputs.to_string()).await;
    let help = world.sendonce.run(&["doctor", "--help"]).await.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for unseen in [
        "the audit's schedule",
        "the HTTP API's routes and throttling",
        "roles and code",
        "VPC, layers",
        "limits of throughput",
        "the alarms",
        "logs are kept",
    ] {
        assert!(text.out.contains(unseen) && help.contains(unseen), "{unseen}: {text:?} {help}");
    }
    // Whoever may not ask is told so, in Lambda's words, after what others said.
    world.sendonce.environment.insert("AWS_SECRET_ACCESS_KEY", "another".to_owned());
    let said = world.doctor(&["--stage", "test"]).await;
    ended(&said, "Lambda did not carry out GetFunctionConfiguration: 403 Forbidden");
    world.app.stop().await;
}

/// A look that did not come to its end; what it had found. It says why, and that not all was done.
#[track_caller]
fn ended(said: &Said, why: &str) -> Value {
    let answer = said.json(1);
    assert!(answer["ended_by"].as_str().unwrap().contains(why) && said.err.contains(why), "{said:?}");
    assert!(answer["looked_at"].as_u64().unwrap() > 20, "{said:?}");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_lambda_does_not_answer_takes_nothing_back() {
    let world = World::start().await;
    let refuse = |refusals: Value| world.aws.said.lock().unwrap()["refusals"] = refusals;
    let throttled = json!({"status": 429, "exception": "TooManyRequestsException"});
    // It has its turn, though not at once.
    let began = Instant::now();
    refuse(json!([throttled, {"status": 503}, throttled, {"status": 500}]));
    assert_eq!(world.wrong().await, [""; 0]);
    assert!(began.elapsed() > Duration::from_millis(7_500), "it paused for {:?} in all", began.elapsed());
    assert_eq!(world.aws.said.lock().unwrap()["refusals"], json!([]), "each was met");
    // Not for ever. What was found before is said, by people's answer too.
    world.set(DELIVERIES, QueueAttributeName::DelaySeconds, "5").await;
    refuse(json!(vec![throttled; 5]));
    let said = world.doctor(&[]).await;
    let answer = ended(&said, "Lambda did not carry out GetFunctionConfiguration: 429 Too Many Requests");
    assert_eq!(answer["wrong"][0]["setting"], "DelaySeconds", "{answer}");
    let denied = json!({"status": 403, "exception": "AccessDeniedException"});
    refuse(json!([denied]));
    let text = world.sendonce.with_input(&["--outputs", "-", "doctor"], &world.outputs.to_string()).await;
    let words = ["1 of", "DelaySeconds", "What comes after these was not looked at: Lambda did not carry out"];
    assert!(text.code == 1 && words.iter().all(|words| text.out.contains(words)), "{text:?}");
    world.set(DELIVERIES, QueueAttributeName::DelaySeconds, "0").await;
    // A 404 that no exception explains is of somebody who did not understand the question, whichever it was.
    let passed = json!({"status": 200});
    for (before, operation) in [
        (0, "GetFunctionConfiguration"),
        (1, "GetPolicy"),
        (2, "ListFunctionUrlConfigs"),
        (4, "GetFunctionConcurrency"),
    ] {
        let mut refusals = vec![passed.clone(); before];
        refusals.push(json!({"status": 404}));
        refuse(json!(refusals));
        let said = world.doctor(&[]).await;
        let answer = ended(&said, &format!("Lambda did not carry out {operation}: 404 Not Found"));
        assert_eq!(answer["wrong"], json!([]), "{answer}");
    }
    world.app.stop().await;
}

/// What the doctor reads of Lambda's answers, as its sources have it.
const READS: [&str; 3] = [
    include_str!("../../infra/admin/src/doctor/functions.rs"),
    include_str!("../../infra/admin/src/doctor/lambda.rs"),
    include_str!("../../infra/admin/src/doctor/mappings.rs"),
];

/// What is written like a member there and is none of an answer: two members of errors, and a value.
const NO_MEMBERS: [&str; 3] = ["Message", "Type", "ReportBatchItemFailures"];

#[test]
fn every_member_that_is_read_is_in_the_table_that_is_compared_with_lambda_s_model() {
    let listed: BTreeSet<&str> =
        operations().flat_map(|[.., members]| members.split([' ', '.'])).filter(|name| !name.is_empty()).collect();
    let sources = READS.map(|source| source.split("#[cfg(test)]").next().unwrap()).concat();
    // `value["Member"]`, and lists of members.
    let named = sources.split("[\"").skip(1).filter_map(|rest| rest.split_once("\"]")).map(|(names, _)| names);
    let member = |name: &&str| name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
    let read = named.flat_map(|names| names.split("\", \"")).filter(member);
    let read: BTreeSet<&str> = read.filter(|name| !NO_MEMBERS.contains(name)).collect();
    assert!(read.len() > 20, "{read:?}");
    assert_eq!(read.difference(&listed).collect::<Vec<_>>(), [&""; 0]);
    let asked = sources.split("self.get(\"").skip(1).filter_map(|rest| rest.split('"').next());
    assert_eq!(asked.collect::<BTreeSet<_>>(), operations().map(|[name, ..]| name).collect::<BTreeSet<_>>());
}
