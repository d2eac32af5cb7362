//! Each check can fail: one thing in the template is changed, and the fault must be named. A change that nothing notices
//! would mean that the check is for show.

#![allow(clippy::unwrap_used, reason = "tests")]

use protocol::timing::Timing;
use serde_json::{Value, json};
use template::{
    alarm_table, alarms,
    binary::{self, Operations},
    commands, logs, loops, policy, read, readme, router, routes, runbook, settings, source, timing, wiring, yaml,
};

/// The template with what stands at `pointer` replaced (or removed, if by null).
fn changed(path: &str, pointer: &str, to: Value) -> Value {
    let mut template = yaml::load(path).unwrap();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let member = member.replace("~1", "/");
    let parent = template.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {pointer}"));
    match (parent, to) {
        (Value::Object(object), Value::Null) => drop(object.remove(&member).unwrap()),
        (Value::Object(object), to) => drop(object.insert(member, to)),
        (Value::Array(items), Value::Null) => drop(items.remove(member.parse().unwrap())),
        (Value::Array(items), to) => items[member.parse::<usize>().unwrap()] = to,
        (other, _) => panic!("{pointer} is in {other}"),
    }
    template
}

fn template(pointer: &str, to: Value) -> Value {
    changed("template.yaml", &format!("/Resources/{pointer}"), to)
}

/// That a fault is named which holds all of the words.
fn names(faults: &[String], words: &[&str]) {
    let named = faults.iter().any(|fault| words.iter().all(|word| fault.contains(word)));
    assert!(named, "no fault names {words:?}:\n{}", faults.join("\n"));
}

#[test]
fn a_duration_that_is_not_protocol_s_is_named() {
    for (pointer, to, words) in [
        ("DeliverFunction/Properties/Timeout", json!(61), vec!["time limit of DeliverFunction"]),
        ("DeliverFunction/Properties/Timeout", json!(61), vec!["6*T_fn"]),
        ("DeliverFunction/Properties/Timeout", json!(45), vec!["T_token + 2*T_call"]),
        ("ApiFunction/Properties/Timeout", json!(29), vec!["API total"]),
        ("AuditFunction/Properties/Timeout", json!(60), vec!["time limit of AuditFunction"]),
        ("DeliveriesQueue/Properties/VisibilityTimeout", json!(75), vec!["lease < visibility"]),
        ("DeliveriesDeadQueue/Properties/VisibilityTimeout", json!(30), vec!["visibility of DeliveriesDeadQueue"]),
        ("DeliveriesQueue/Properties/MessageRetentionPeriod", json!(259_200), vec!["retention of DeliveriesQueue"]),
        ("DeliveriesDeadQueue/Properties/MessageRetentionPeriod", json!(345_600), vec!["retention of DeliveriesDead"]),
        ("DeliveriesQueue/Properties/RedrivePolicy/maxReceiveCount", json!(3), vec!["receives of DeliveriesQueue"]),
        ("RelayFunction/Properties/Events/Stream/Properties/MaximumBatchingWindowInSeconds", json!(5), vec!["window"]),
    ] {
        names(&timing::faults(&template(pointer, to), "production"), &words);
    }
    let short = changed("template.yaml", "/Mappings/Timing/short/Visibility", json!(47));
    names(&timing::faults(&short, "short"), &["short: ", "6*T_fn"]);
    assert!(timing::faults(&short, "production").is_empty(), "a profile is judged by its own numbers");
    names(&timing::faults(&short, "medium"), &["no profile"]);
}

#[test]
fn a_bound_or_a_schedule_that_is_not_protocol_s_is_named() {
    for (pointer, to, word) in [
        ("/Parameters/KeyValidDays/MinValue", json!(3), "MinValue"),
        ("/Parameters/KeyValidDays/MaxValue", json!(400), "MaxValue"),
        ("/Parameters/KeyValidDays/Default", json!(7), "Default"),
        ("/Parameters/Timing/AllowedValues/1", json!("quick"), "quick"),
        ("/Parameters/Timing/Default", json!("short"), "default of Timing"),
        ("/Resources/AuditFunction/Properties/Events/Hourly/Properties/Schedule", json!("rate(1 day)"), "schedule"),
        ("/Resources/AuditFunction/Properties/Events/Hourly", Value::Null, "schedule"),
        ("/Resources/AuditFunction/Properties/Events/Hourly/Properties/Enabled", json!(false), "schedule"),
        ("/Resources/AuditFunction/Properties/Events/Hourly/Properties/State", json!("DISABLED"), "schedule"),
        ("/Resources/AuditFunction/Properties/Events/Hourly/Properties/Input", json!("{}"), "schedule"),
    ] {
        names(&timing::fixed(&changed("template.yaml", pointer, to)), &[word]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_from_the_local_system_is_named() {
    let local = source::local(Timing::PRODUCTION).await.unwrap();
    let queue = json!({"Type": "AWS::SQS::Queue", "Properties": {}});
    let deliveries = "DeliverFunction/Properties/Events/Deliveries/Properties";
    let stream = "RelayFunction/Properties/Events/Stream/Properties";
    let eager = json!([{"Pattern": r#"{"dynamodb":{"Keys":{"sk":{"S":["M"]}}}}"#}]);
    for (pointer, to, word) in [
        ("OtherQueue", queue, "the set of queues"),
        ("ParkingQueue", Value::Null, "the set of queues"),
        ("DeliveriesQueue/Properties/VisibilityTimeout", json!(359), "the visibility of DeliveriesQueue"),
        ("ParkingQueue/Properties/MessageRetentionPeriod", json!(60), "the retention of ParkingQueue"),
        ("DeliveriesQueue/Properties/DelaySeconds", json!(5), "attributes of DeliveriesQueue"),
        ("DeliveriesQueue/Properties/RedrivePolicy", Value::Null, "the dead-letter queue of DeliveriesQueue"),
        ("DeliveriesDeadQueue/Properties/RedrivePolicy", json!({"maxReceiveCount": 1}), "receives of DeliveriesDead"),
        ("DeliveriesQueue/Properties/RedrivePolicy/maxReceiveCount", json!(9), "the receives of DeliveriesQueue"),
        ("DeadLetterFunction/Properties/Events/Deliveries", Value::Null, "the consumers of DeliveriesDeadQueue"),
        (&format!("{deliveries}/Queue"), json!({"Fn::GetAtt": ["ParkingQueue", "Arn"]}), "consumers of ParkingQueue"),
        (&format!("{deliveries}/FunctionResponseTypes"), Value::Null, "the response types of DeliverFunction"),
        (&format!("{deliveries}/BatchSize"), json!(1), "the batch of DeliverFunction"),
        (&format!("{deliveries}/MaximumBatchingWindowInSeconds"), json!(1), "attributes of the mapping"),
        (&format!("{deliveries}/ScalingConfig/MaximumConcurrency"), json!(1), "the concurrency of DeliverFunction"),
        ("Table/Properties/TimeToLiveSpecification/AttributeName", json!("expires"), "TimeToLiveSpecification"),
        ("Table/Properties/TimeToLiveSpecification/Enabled", json!(false), "TimeToLiveSpecification"),
        ("Table/Properties/StreamSpecification/StreamViewType", json!("NEW_IMAGE"), "StreamSpecification"),
        ("Table/Properties/KeySchema/1", Value::Null, "KeySchema"),
        ("Table/Properties/GlobalSecondaryIndexes", json!([{"IndexName": "x"}]), "GlobalSecondaryIndexes"),
        ("Table/Properties/BillingMode", json!("PROVISIONED"), "BillingMode"),
        ("Table/Properties/TableName", json!("sendonce"), "what else is said of the table"),
        (&format!("{stream}/FilterCriteria/Filters"), eager, "the stream's filter"),
        (&format!("{stream}/FilterCriteria"), Value::Null, "the stream's filter"),
        (&format!("{stream}/BatchSize"), json!(100), "the stream's batch"),
        (&format!("{stream}/FunctionResponseTypes"), json!([]), "the response types of RelayFunction"),
        (&format!("{stream}/StartingPosition"), json!("LATEST"), "StartingPosition"),
        (&format!("{stream}/BisectBatchOnFunctionError"), json!(false), "BisectBatchOnFunctionError"),
        (&format!("{stream}/MaximumRetryAttempts"), json!(3), "MaximumRetryAttempts"),
        (&format!("{stream}/MaximumRecordAgeInSeconds"), json!(60), "MaximumRecordAgeInSeconds"),
        (&format!("{stream}/Enabled"), json!(false), "attributes of the mapping of RelayFunction"),
        (&format!("{stream}/ParallelizationFactor"), json!(2), "attributes of the mapping of RelayFunction"),
        (&format!("{stream}/TumblingWindowInSeconds"), json!(30), "attributes of the mapping of RelayFunction"),
        (
            &format!("{stream}/MaximumBatchingWindowInSeconds"),
            Value::Null,
            "attributes of the mapping of RelayFunction",
        ),
    ] {
        names(&wiring::faults(&template(pointer, to), "production", &local), &[word]);
    }
    let narrow = changed("template.yaml", "/Parameters/DeliverConcurrency/MinValue", json!(1));
    names(&wiring::faults(&narrow, "production", &local), &["bounds of DeliverConcurrency"]);
    // And the other way round: what the local system has and the template has not.
    let template = yaml::load("template.yaml").unwrap();
    names(&wiring::faults(&template, "short", &local), &["visibility of DeliveriesQueue"]);
    let mut more = local.clone();
    more.queues.insert("others".to_owned(), local.queues["parking"].clone());
    more.table["GlobalSecondaryIndexes"] = json!([{"IndexName": "others"}]);
    let faults = wiring::faults(&template, "production", &more);
    names(&faults, &["the set of queues"]);
    names(&faults, &["GlobalSecondaryIndexes"]);
}

#[test]
fn a_stage_that_loses_its_table_is_named() {
    for (pointer, to, words) in [
        ("Table/DeletionPolicy", json!("Delete"), ["production", "DeletionPolicy"]),
        ("Table/UpdateReplacePolicy", Value::Null, ["production", "UpdateReplacePolicy"]),
        ("Table/Properties/DeletionProtectionEnabled", json!(false), ["production", "protection"]),
        ("Table/Properties/DeletionProtectionEnabled", json!(true), ["test", "protection"]),
        ("Table/Properties/PointInTimeRecoverySpecification", Value::Null, ["production", "recovery"]),
    ] {
        names(&wiring::kept(&template(pointer, to)), &words);
    }
    let default = changed("template.yaml", "/Parameters/Stage/Default", json!("test"));
    names(&wiring::kept(&default), &["default of Stage"]);
}

#[test]
fn a_variable_too_many_too_few_or_wrong_is_named() {
    for (pointer, to, words) in [
        ("ApiFunction/Properties/Environment/Variables/KEY_VALID_DAYS", Value::Null, ["variables of", "ApiFunction"]),
        ("ApiFunction/Properties/Environment/Variables/CORS_ORIGINS", json!("*"), ["ApiFunction", "CORS_ORIGINS"]),
        ("RelayFunction/Properties/Environment", Value::Null, ["RelayFunction", "PARKING_QUEUE_URL is missing"]),
        ("AuditFunction/Properties/Environment", json!({"Variables": {"X": "1"}}), ["variables of", "AuditFunction"]),
        ("DeliverFunction/Properties/Environment/Variables/SECRET_NAME", json!("one"), ["Deliver", "SECRET_NAME"]),
        (
            "DeadLetterFunction/Properties/Environment/Variables/PARKING_QUEUE_URL",
            json!({"Ref": "DeliveriesQueue"}),
            ["PARKING_QUEUE_URL", "DeadLetterFunction"],
        ),
        ("RelayFunction/Metadata/BuildProperties/Binary", json!("other"), ["RelayFunction", "no function"]),
    ] {
        names(&settings::faults(&template(pointer, to)), &words);
    }
    let silent = changed("template.yaml", "/Globals/Function/Environment/Variables/RUST_LOG", Value::Null);
    names(&settings::faults(&silent), &["variables of", "AuditFunction"]);
}

/// Where a role's statement with an action stands.
fn statement(template: &Value, role: &str, action: &str) -> usize {
    let statements = &template["Resources"][role]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"];
    let at = statements.as_array().unwrap().iter().position(|s| s["Action"].to_string().contains(action));
    at.unwrap_or_else(|| panic!("{role} has no statement with {action}"))
}

#[test]
fn an_action_too_many_or_too_few_is_named() {
    let operations: Operations = binary::operations().unwrap();
    let template_now = yaml::load("template.yaml").unwrap();
    for (role, action) in [
        ("ApiRole", "dynamodb:PutItem"),
        ("DeliverRole", "sqs:ChangeMessageVisibility"),
        ("DeliverRole", "sqs:ReceiveMessage"),
        ("DeliverRole", "secretsmanager:GetSecretValue"),
        ("RelayRole", "dynamodb:GetRecords"),
        ("RelayRole", "dynamodb:ListStreams"),
        ("AuditRole", "dynamodb:Scan"),
        ("DeadLetterRole", "logs:PutLogEvents"),
    ] {
        let at = statement(&template_now, role, action);
        let path = format!("{role}/Properties/Policies/0/PolicyDocument/Statement/{at}");
        names(&policy::faults(&template(&path, Value::Null), &operations), &[role, "lacks", action]);
        names(
            &policy::faults(&template(&format!("{path}/Resource"), json!("arn:other")), &operations),
            &[role, "arn:other"],
        );
        let more = template(&format!("{path}/Action"), json!([action, "dynamodb:DeleteItem"]));
        names(&policy::faults(&more, &operations), &[role, "allows dynamodb:DeleteItem", "without need"]);
    }
    for (pointer, to, word) in [
        ("ApiRole/Properties/ManagedPolicyArns", json!(["arn:aws:iam::aws:policy/Admin"]), "managed policies"),
        ("ApiFunction/Properties/Role", json!({"Fn::GetAtt": ["DeliverRole", "Arn"]}), "two functions"),
        ("ApiFunction/Properties/Role", Value::Null, "no role of its own"),
        ("Wide", json!({"Type": "AWS::IAM::Policy", "Properties": {"Roles": []}}), "Wide is AWS::IAM::Policy"),
        ("Wide", json!({"Type": "AWS::IAM::ManagedPolicy"}), "Wide is AWS::IAM::ManagedPolicy"),
        ("Wide", json!({"Type": "AWS::Serverless::Connector"}), "Wide has a connector"),
        ("ApiFunction/Connectors", json!({"Reads": {}}), "ApiFunction has a connector"),
        ("ApiFunction/Properties/Policies", json!(["AmazonSQSFullAccess"]), "ApiFunction has Policies"),
    ] {
        names(&policy::faults(&template(pointer, to), &operations), &[word]);
    }
    // Another provider's secrets, or everybody's.
    for (role, at) in [("DeliverRole", "/Resource/0"), ("RefundsRole", "/Resource"), ("PayoutRole", "/Resource")] {
        let statement = statement(&template_now, role, "secretsmanager:GetSecretValue");
        let path = format!("{role}/Properties/Policies/0/PolicyDocument/Statement/{statement}{at}");
        let resource = template_now.pointer(&format!("/Resources/{path}")).unwrap().to_string();
        for wide in [
            resource.replace("apns-??????", "*").replace("stripe-??????", "*"),
            resource.replace("stripe", "fcm").replace("apns", "stripe"),
        ] {
            let wide = serde_json::from_str(&wide).unwrap();
            names(&policy::faults(&template(&path, wide), &operations), &[role, "GetSecretValue", "without need"]);
        }
    }
    // The code begins to use something, or stops.
    let mut more = operations.clone();
    more.get_mut("relay").unwrap().insert(("dynamodb".to_owned(), "BatchGetItem".to_owned()));
    names(&policy::faults(&template_now, &more), &["RelayRole lacks dynamodb:BatchGetItem"]);
    more.get_mut("relay").unwrap().insert(("kms".to_owned(), "Decrypt".to_owned()));
    names(&policy::faults(&template_now, &more), &["nothing here knows"]);
    let mut less = operations;
    less.get_mut("audit").unwrap().retain(|(_, operation)| operation != "Scan");
    names(&policy::faults(&template_now, &less), &["AuditRole allows dynamodb:Scan", "without need"]);
    less.clear();
    names(&policy::faults(&template_now, &less), &["no binary"]);
}

#[test]
fn what_stays_with_the_stack_s_own_table_after_a_restore_is_named() {
    for (pointer, to, word) in [
        (
            "ApiRole/Properties/Policies/0/PolicyDocument/Statement/1/Resource",
            json!({"Fn::GetAtt": ["Table", "Arn"]}),
            "ApiRole",
        ),
        ("AlarmStack/Properties/Parameters/Table", json!({"Ref": "Table"}), "AlarmStack"),
        (
            "RelayFunction/Properties/Events/Stream/Properties/Stream",
            json!({"Fn::GetAtt": ["Table", "StreamArn"]}),
            "RelayFunction",
        ),
        (
            "RefundsRole/Properties/Policies/0/PolicyDocument/Statement/2/Resource",
            json!({"Fn::Sub": "${Table.Arn}/index/refunds"}),
            "RefundsRole",
        ),
        ("PayoutFunction/Properties/Environment/Variables/TABLE_NAME", json!({"Ref": "Table"}), "PayoutFunction"),
    ] {
        names(&wiring::restored(&template(pointer, to)), &[word, "the stack's own table"]);
    }
    let global =
        changed("template.yaml", "/Globals/Function/Environment/Variables/TABLE_NAME", json!({"Ref": "Table"}));
    names(&wiring::restored(&global), &["Globals", "the stack's own table"]);
    let output = changed("template.yaml", "/Outputs/TableName/Value", json!({"Ref": "Table"}));
    names(&wiring::restored(&output), &["Outputs", "the stack's own table"]);
    let short = changed("template.yaml", "/Parameters/LogRetentionDays/Default", json!(30));
    names(&wiring::restored(&short), &["LogRetentionDays"]);
    let stream = "RelayFunction/Properties/Events/Stream/Properties/Stream/Fn::If/0";
    names(&wiring::restored(&template(stream, json!("OwnTable"))), &["RestoredStreamArn", "though it is empty"]);
}

#[test]
fn a_route_that_leads_nowhere_is_named() {
    for (pointer, to, word) in [
        ("DefaultRoute", Value::Null, "what no route names"),
        ("DefaultRoute/Properties/Target", json!({"Fn::Sub": "integrations/${Other}"}), "what no route names"),
        ("SendRoute/Properties/Target", json!({"Fn::Sub": "integrations/${Other}"}), "who answers POST /v1/messages"),
        ("SendRoute/Properties/RouteKey", json!("POST /v2/messages"), "no function has a route"),
        ("ApiIntegration/Properties/PayloadFormatVersion", json!("1.0"), "payload format"),
        ("ApiIntegration/Properties/IntegrationType", json!("HTTP_PROXY"), "the type of ApiIntegration"),
        ("SendRoute/Properties/ApiId", json!({"Ref": "OtherApi"}), "the API of SendRoute"),
        ("ApiPermission", Value::Null, "may invoke"),
        ("ApiPermission/Properties/Principal", json!("*"), "Principal of ApiPermission"),
        ("ApiPermission/Properties/Action", json!("lambda:*"), "Action of ApiPermission"),
        ("ApiPermission/Properties/SourceArn", Value::Null, "SourceArn of ApiPermission"),
        ("HttpStage/Properties/StageName", json!("v1"), "StageName of HttpStage"),
        ("HttpStage/Properties/AutoDeploy", json!(false), "AutoDeploy of HttpStage"),
        ("HttpStage", Value::Null, "the number of stages"),
        ("HttpStage/Properties/DefaultRouteSettings/ThrottlingBurstLimit", Value::Null, "ThrottlingBurstLimit"),
        ("HttpStage/Properties/DefaultRouteSettings/DetailedMetricsEnabled", json!(true), "DetailedMetricsEnabled"),
    ] {
        names(&routes::faults(&template(pointer, to)), &[word]);
    }
}

#[test]
fn a_path_that_the_watch_takes_elsewhere_is_named() {
    let (template_now, manifest) = (yaml::load("template.yaml").unwrap(), router::manifest().unwrap());
    let webhooks = "\"/v1/webhooks/{*path}\" = \"refunds\"\n";
    for (row, to) in [
        (webhooks, ""),
        (webhooks, "\"/v1/webhooks/{*path}\" = \"api\"\n"),
        (webhooks, "\"/v1/hooks/{*path}\" = \"refunds\"\n"),
        ("\"/\" = \"api\"\n", ""),
        ("\"/v1/refunds\" = \"refunds\"\n", "\"/v1/refunds\" = \"refunds\"\n\"/v1/messages\" = \"refunds\"\n"),
    ] {
        assert!(manifest.contains(row), "Cargo.toml has no {row:?}");
        names(&router::faults(&template_now, &manifest.replace(row, to)), &["the watch's router is"]);
    }
    let list =
        manifest.replace(webhooks, "\"/v1/webhooks/{*path}\" = [{ method = \"POST\", function = \"refunds\" }]\n");
    names(&router::faults(&template_now, &list), &["not read here"]);
    for (pointer, to, word) in [
        ("WebhooksRoute", Value::Null, "the watch's router is"),
        ("WebhooksRoute/Properties/RouteKey", json!("POST /v1/webhooks/{rest+}"), "tells no methods apart"),
        ("DefaultRoute/Properties/Target", json!({"Fn::Sub": "integrations/${RefundsIntegration}"}), "router is"),
        ("ShowRoute/Properties/RouteKey", json!("GET /v1/refunds/{id}"), "tells no methods apart"),
    ] {
        names(&router::faults(&template(pointer, to), &manifest), &[word]);
    }
}

#[test]
fn a_log_that_is_kept_for_ever_or_is_nobody_s_is_named() {
    let group = json!({"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": {"Ref": "LogRetentionDays"}}});
    for (pointer, to, word) in [
        ("RelayLogs/Properties/RetentionInDays", Value::Null, "the log group RelayLogs"),
        ("GatewayLogs/Properties/RetentionInDays", json!(1), "the log group GatewayLogs"),
        ("ApiLogs/Properties/LogGroupClass", json!("INFREQUENT_ACCESS"), "the log group ApiLogs"),
        ("ApiLogs/DeletionPolicy", json!("Retain"), "the log group ApiLogs"),
        ("AuditLogs", Value::Null, "the set of log groups"),
        ("OtherLogs", group, "the set of log groups"),
        ("PayoutFunction/Properties/LoggingConfig", Value::Null, "LoggingConfig of PayoutFunction"),
        ("PayoutFunction/Properties/LoggingConfig/LogFormat", json!("JSON"), "LoggingConfig of PayoutFunction"),
        ("PayoutFunction/Properties/LoggingConfig/LogGroup/Ref", json!("ApiLogs"), "a log group of its own is false"),
        ("HttpStage/Properties/AccessLogSettings", Value::Null, "the set of log groups"),
    ] {
        names(&logs::faults(&template(pointer, to)), &[word]);
    }
}

#[test]
fn an_alarm_without_a_section_a_metric_or_a_topic_is_named() {
    let (file, runbook) = ("infra/aws/alarms.yaml", alarms::runbook().unwrap());
    let template_now = yaml::load("template.yaml").unwrap();
    for (pointer, to, word) in [
        ("Parked/Properties/AlarmDescription", json!("Something lies in the queue. docs/RUNBOOK.md#no"), "no section"),
        ("Parked/Properties/AlarmDescription", json!("docs/RUNBOOK.md#parked"), "no section"),
        ("Parked", Value::Null, "section parked of docs/RUNBOOK.md has no alarm"),
        ("HoldsFcm/Properties/AlarmActions", json!([]), "AlarmActions of HoldsFcm"),
        ("HoldsFcm/Properties/MetricName", json!("Holds"), "which nothing writes"),
        ("HoldsFcm/Properties/Dimensions", Value::Null, "dimensions of HoldsBegun"),
    ] {
        let alarms = changed(file, &format!("/Resources/{pointer}"), to);
        names(&alarms::faults(&template_now, &alarms, &runbook), &[word]);
    }
    let alarms = yaml::load(file).unwrap();
    let silent = runbook.replacen("**Never.**", "Never.", 1);
    names(&alarms::faults(&template_now, &alarms, &silent), &["relay-behind", "Never"]);
    for (pointer, to, word) in [
        ("AlarmStack", Value::Null, "nested stacks"),
        ("AlarmStack/Properties/Parameters/Table", Value::Null, "set of parameters"),
        ("AlarmStack/Properties/Parameters/RelayFunction", json!({"Ref": "ApiFunction"}), "the alarms' RelayFunction"),
    ] {
        names(&alarms::faults(&template(pointer, to), &alarms, &runbook), &[word]);
    }
}

#[test]
fn an_alarm_that_watches_something_else_is_named() {
    let topic = json!({"Fn::If": ["HasTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]});
    let letters = "DeadPayouts/Properties/Metrics";
    for (pointer, to, word) in [
        ("RelayBehind/Properties/Threshold", json!(900_000), "Threshold of RelayBehind"),
        ("RelayBehind/Properties/ComparisonOperator", json!("LessThanThreshold"), "ComparisonOperator of RelayBehind"),
        ("RelayBehind/Properties/Statistic", json!("Minimum"), "what RelayBehind watches"),
        ("OldDeliveries/Properties/Period", json!(60), "what OldDeliveries watches"),
        ("OldDeliveries/Properties/EvaluationPeriods", json!(1), "EvaluationPeriods of OldDeliveries"),
        ("DeadLetters/Properties/DatapointsToAlarm", json!(1), "DatapointsToAlarm of DeadLetters"),
        ("AuditSilent/Properties/TreatMissingData", json!("notBreaching"), "TreatMissingData of AuditSilent"),
        (
            "AuditSilent/Properties/ComparisonOperator",
            json!("GreaterThanThreshold"),
            "ComparisonOperator of AuditSilent",
        ),
        ("AuditSilent", Value::Null, "there is no alarm AuditSilent"),
        (
            "IndexWriteThrottles/Properties/Metrics/1/MetricStat/Metric/Dimensions/1",
            Value::Null,
            "what IndexWriteThrottles watches",
        ),
        ("OldPayouts/Properties/Dimensions/0/Value/Ref", json!("DeliveriesQueue"), "what OldPayouts watches"),
        ("WaitingPayouts/Properties/MetricName", json!("WaitingCopies"), "what WaitingPayouts watches"),
        ("Parked/Properties/TreatMissingData", json!("notBreaching"), "TreatMissingData of Parked"),
        ("HoldsApns/Properties/Dimensions/0/Value", json!("fcm"), "what HoldsApns watches"),
        ("HoldsApns/Properties/TreatMissingData", json!("notBreaching"), "TreatMissingData of HoldsApns"),
        ("HoldsApns/Properties/OKActions", topic, "OKActions of HoldsApns"),
        ("RelayBehind/Properties/OKActions", Value::Null, "OKActions of RelayBehind"),
        ("AuditErrors/Properties/EvaluationPeriods", json!(3), "EvaluationPeriods of AuditErrors"),
        ("PaidTwice/Properties/Dimensions/0/Value", json!("applied"), "what PaidTwice watches"),
        ("PaidTwice", Value::Null, "there is no alarm PaidTwice"),
        ("Other", json!({"Type": "AWS::CloudWatch::Alarm"}), "Other is in no row"),
        (&format!("{letters}/0/Expression"), json!("FILL(visible, 0) + hidden"), "what DeadPayouts watches"),
        (&format!("{letters}/1/MetricStat/Metric/Dimensions/0/Value/Ref"), json!("X"), "what DeadPayouts watches"),
        (&format!("{letters}/2/MetricStat/Stat"), json!("Average"), "what DeadPayouts watches"),
        (&format!("{letters}/2"), Value::Null, "what DeadPayouts watches"),
        ("TableReadThrottles/Properties/Metrics/0/Expression", json!("events"), "what TableReadThrottles watches"),
        ("TableReadThrottles/Properties/DatapointsToAlarm", json!(4), "DatapointsToAlarm of TableReadThrottles"),
        ("RelayErrors/Properties/Dimensions/0/Value/Ref", json!("ApiFunction"), "what RelayErrors watches"),
        ("RelayErrors", Value::Null, "there is no alarm RelayErrors"),
    ] {
        let alarms = changed("infra/aws/alarms.yaml", &format!("/Resources/{pointer}"), to);
        names(&alarm_table::faults(&alarms), &[word]);
    }
}

#[test]
fn a_query_that_finds_nothing_is_named() {
    let writers = runbook::writers().unwrap();
    let on = |log: &str, query: &str| runbook::faults(&format!("**Look.** `{query}` on {log} log."), &writers);
    let query = |query: &str| on("the deliver, the payout and the refunds function's", query);
    names(&query(r#"filter event = "payout" and state = "review""#), &["\"payout\"", "which nothing writes"]);
    names(&query(r#"filter event = "payout_state" | stats count(*) by message_id"#), &["message_id", "payout_state"]);
    names(&query("fields @timestamp"), &["no query"]);
    // A field that is called like a word of the language.
    let by = r#"filter event = "payout_state" and state = "review" | display code, by"#;
    names(&query(by), &["\"by\"", "backquotes"]);
    let by = "On the payout function's log and the refunds function's:\n\n    filter event = \"payout_state\" | display code, ";
    assert_eq!(runbook::faults(&format!("{by}`by`\n"), &writers), [""; 0]);
    names(&runbook::faults(&format!("{by}`count`\n"), &writers), &["\"count\"", "payout_state"]);
    names(&query(r#"filter message like "no such words" | stats count(*) by project"#), &["no such words"]);
    names(&query(r#"filter message like "tokens of a chunk bad" | stats sum(device)"#), &["\"device\"", "the line"]);
    let alone = "On the log of DELIVERFUNCTION:\n\n    filter event = \"settled\" | stats sum(spent)\n";
    names(&runbook::faults(alone, &writers), &["spent", "settled"]);
    // Each function has a log of its own.
    let paid = r#"filter event = "payout_state" and state = "paid" | stats latest(code) by refund_id"#;
    names(&on("the refunds function's", paid), &["of the payout function", "not named"]);
    names(&on("PAYOUTFUNCTION's", paid), &["of the refunds function", "not named"]);
    names(&on("the", r#"filter message like "tokens of a chunk bad" | stats sum(called)"#), &["deliver function"]);
    assert!(on("PAYOUTFUNCTION's and the refunds function's", paid).is_empty());
    let bad = r#"filter message like "tokens of a chunk bad" | stats sum(called) by project"#;
    assert!(on("the deliver function's", bad).is_empty());
    let mut fewer = writers.clone();
    fewer.get_mut("payout_state").unwrap().remove("payout");
    names(&runbook::contract(&fewer), &["who writes payout_state"]);
}

#[test]
fn a_loop_that_lambda_would_stop_is_named_and_one_that_is_not_meant_too() {
    for (pointer, to, words) in [
        ("DeliverFunction/Properties/RecursiveLoop", Value::Null, ["RecursiveLoop of DeliverFunction", "Allow"]),
        ("DeadLetterFunction/Properties/RecursiveLoop", json!("Terminate"), ["of DeadLetterFunction", "Terminate"]),
        ("PayoutFunction/Properties/RecursiveLoop", json!("Allow"), ["RecursiveLoop of PayoutFunction", "Null"]),
        // Letters that go nowhere do not come round.
        ("DeliveriesQueue/Properties/RedrivePolicy", Value::Null, ["of DeadLetterFunction", "Allow"]),
    ] {
        let mut template = template(pointer, to);
        if pointer.starts_with("DeliveriesQueue") {
            template["Resources"]["PayoutsQueue"]["Properties"]["RedrivePolicy"] = Value::Null;
        }
        names(&loops::faults(&template), &words);
    }
    // A function that begins to send to a queue that is its own, or another's on the way back to it.
    let template_now = yaml::load("template.yaml").unwrap();
    let mut more = template_now.clone();
    let statements = "/Resources/PayoutRole/Properties/Policies/0/PolicyDocument/Statement";
    let sends =
        json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["PayoutsQueue", "Arn"]}});
    more.pointer_mut(statements).unwrap().as_array_mut().unwrap().push(sends);
    names(&loops::faults(&more), &["RecursiveLoop of PayoutFunction", "Allow"]);
}

#[test]
fn a_parameter_that_the_functions_would_not_start_with_is_named() {
    for (parameter, pattern, word) in [
        ("StripeUrl", "https?://.+", "http://api.stripe.com"),
        ("StripeUrl", "https://.+", "http://127.0.0.1:12111"),
        ("StripeUrl", "https?://[^?#@ ]+", "99999"),
        ("CorsOrigins", ".*", "https://*.example"),
        ("CorsOrigins", "(https?://[a-z0-9.:-]+(, ?(?=h)|$))*", "http://localhost:70000"),
        ("CorsOrigins", "(https?://[a-z0-9.:-]+(, ?(?=h)|$))*", "https://192.168.1.300"),
        ("CorsOrigins", "(https?://[a-z0-9.:-]+(, ?(?=h)|$))*", "https://xn--\""),
        ("CorsOrigins", "https://.+", r#"may be """#),
        ("CorsOrigins", "(", "cannot be read"),
    ] {
        let changed = changed("template.yaml", &format!("/Parameters/{parameter}/AllowedPattern"), json!(pattern));
        names(&settings::patterns(&changed), &[parameter, word]);
    }
    names(
        &settings::patterns(&changed("template.yaml", "/Parameters/CorsOrigins/AllowedPattern", Value::Null)),
        &["*"],
    );
}

#[test]
fn a_sum_that_is_none_and_a_right_too_many_or_too_few_are_named() {
    let (readme, alarms) = (readme::readme().unwrap(), yaml::load("infra/aws/alarms.yaml").unwrap());
    names(&readme::costs(&readme.replace("| $1.17 |", "| $0.17 |"), &alarms), &["together, not what is said"]);
    names(&readme::costs(&readme.replace("Together $", "Together about $"), &alarms), &["None"]);
    let fewer = changed("infra/aws/alarms.yaml", "/Resources/RelayBehind", Value::Null);
    names(&readme::costs(&readme, &fewer), &["metrics that they look at"]);
    let mut operations = binary::operations_of_admin().unwrap();
    operations.insert(("sqs".to_owned(), "PurgeQueue".to_owned()));
    names(&readme::actions(&readme, &operations).unwrap(), &["sqs:PurgeQueue"]);
    names(&readme::actions(&readme.replace("GetPolicy, ", ""), &operations).unwrap(), &["lambda:GetPolicy"]);
    let unsaid = readme.replace("must allow it on `*`", "must allow it");
    names(&readme::actions(&unsaid, &operations).unwrap(), &["lambda:ListEventSourceMappings", "`*`"]);
}

#[test]
fn a_command_that_cannot_be_given_is_named() {
    let (readme, runbook) = (readme::readme().unwrap(), alarms::runbook().unwrap());
    let other = " --parameter-overrides Architecture=x86_64";
    for document in [&readme, &runbook] {
        names(&commands::faults("it", &document.replace(other, "")), &["x86_64", "`sam build && sam deploy"]);
        names(&commands::faults("it", &document.replace("version 2", "")), &["which version of the AWS CLI"]);
    }
    for tool in ["aws-sam-cli", "cargo-lambda"] {
        let older = readme.replace(&format!("{tool}=="), &format!("{tool}==0."));
        names(&commands::versions(&older).unwrap(), &[tool, "installed"]);
    }
    let hasty = runbook.replace("aws dynamodb wait table-exists", "true");
    names(&commands::faults("it", &hasty), &["still being updated", "--stream-specification"]);
}

#[test]
fn a_template_s_short_forms_are_read_as_their_long_ones() {
    let template = yaml::load("template.yaml").unwrap();
    let queue = &template["Resources"]["DeliveriesQueue"]["Properties"];
    assert_eq!(queue["RedrivePolicy"]["deadLetterTargetArn"], json!({"Fn::GetAtt": ["DeliveriesDeadQueue", "Arn"]}));
    assert_eq!(queue["VisibilityTimeout"], json!({"Fn::FindInMap": ["Timing", {"Ref": "Timing"}, "Visibility"]}));
    assert!(read::functions(&template).len() >= 5);
    assert!(yaml::load("no.yaml").unwrap_err().to_string().contains("no.yaml"));
}
