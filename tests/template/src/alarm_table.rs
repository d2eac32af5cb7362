//! What each alarm watches, from when on it calls, and whether it says that it is over: the numbers, once more and by
//! hand, so that a slip in infra/aws/alarms.yaml is told from a decision.

use crate::{Faults, equal, read::of_type};
use serde_json::{Value, json};

/// The value of a metric's dimension.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// A parameter of the alarms' stack, which names a resource.
    Parameter(&'static str),
    /// One of our own words.
    Word(&'static str),
}

/// A metric that an alarm watches.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// What the alarm's expression calls it; empty where there is no expression.
    id: &'static str,
    namespace: &'static str,
    metric: &'static str,
    dimension: Option<(&'static str, Of)>,
}

/// How several metrics become one number.
#[derive(Clone, Copy, Debug)]
enum Joined {
    /// There is one.
    Alone,
    /// All together, one that says nothing counting as 0.
    Sum,
    /// In these words of metric math.
    By(&'static str),
}

/// An alarm.
#[derive(Clone, Copy, Debug)]
struct Row {
    alarm: &'static str,
    series: &'static [Series],
    joined: Joined,
    statistic: &'static str,
    /// In seconds.
    period: u64,
    /// It calls when so many of so many periods are above the threshold.
    periods: (u64, u64),
    threshold: u64,
    missing: &'static str,
    /// It ends when what it tells of ends, and says so. The others tell of something that happened: when they are quiet
    /// again, nobody has mended it yet.
    ends: bool,
}

const fn lambda(id: &'static str, metric: &'static str, function: &'static str) -> Series {
    Series { id, namespace: "AWS/Lambda", metric, dimension: Some(("FunctionName", Of::Parameter(function))) }
}

const fn sqs(id: &'static str, metric: &'static str, queue: &'static str) -> Series {
    Series { id, namespace: "AWS/SQS", metric, dimension: Some(("QueueName", Of::Parameter(queue))) }
}

const fn gateway(id: &'static str, metric: &'static str) -> Series {
    Series { id, namespace: "AWS/ApiGateway", metric, dimension: Some(("ApiId", Of::Parameter("HttpApiId"))) }
}

const fn table(id: &'static str, metric: &'static str) -> Series {
    Series { id, namespace: "AWS/DynamoDB", metric, dimension: Some(("TableName", Of::Parameter("Table"))) }
}

const fn ours(id: &'static str, metric: &'static str, dimension: Option<(&'static str, Of)>) -> Series {
    Series { id, namespace: "Sendonce", metric, dimension }
}

const VISIBLE: &str = "ApproximateNumberOfMessagesVisible";
const HIDDEN: &str = "ApproximateNumberOfMessagesNotVisible";
const AGE: &str = "ApproximateAgeOfOldestMessage";

/// One metric, the sum of five minutes, above 0.
const fn row(alarm: &'static str, series: &'static [Series]) -> Row {
    let (joined, statistic, missing) = (Joined::Alone, "Sum", "notBreaching");
    Row { alarm, series, joined, statistic, period: 300, periods: (1, 1), threshold: 0, missing, ends: true }
}

const ALARMS: &[Row] = &[
    Row {
        statistic: "Maximum",
        threshold: 300_000,
        ..row("RelayBehind", &[lambda("", "IteratorAge", "RelayFunction")])
    },
    Row {
        joined: Joined::Sum,
        statistic: "Maximum",
        periods: (3, 3),
        ..row(
            "DeadLetters",
            &[
                sqs("visible", VISIBLE, "DeliveriesDeadQueue"),
                sqs("hidden", HIDDEN, "DeliveriesDeadQueue"),
                sqs("visiblePayouts", VISIBLE, "PayoutsDeadQueue"),
                sqs("hiddenPayouts", HIDDEN, "PayoutsDeadQueue"),
            ],
        )
    },
    Row {
        statistic: "Minimum",
        threshold: 900,
        periods: (3, 3),
        ..row("OldDeliveries", &[sqs("", AGE, "DeliveriesQueue")])
    },
    Row { statistic: "Minimum", threshold: 900, periods: (3, 3), ..row("OldPayouts", &[sqs("", AGE, "PayoutsQueue")]) },
    Row { period: 900, periods: (3, 4), ..row("WaitingPayouts", &[ours("", "PayoutsWaiting", None)]) },
    Row { statistic: "Maximum", missing: "ignore", ..row("Parked", &[sqs("", VISIBLE, "ParkingQueue")]) },
    Row {
        joined: Joined::Sum,
        period: 3_600,
        ends: false,
        ..row("AuditFindings", &[ours("found", "AuditFound", None), ours("broken", "AuditNotRepaired", None)])
    },
    Row { period: 3_600, ..row("AuditErrors", &[lambda("", "Errors", "AuditFunction")]) },
    Row { period: 3_600, ..row("AuditFailures", &[ours("", "AuditFailed", None)]) },
    Row {
        period: 60,
        missing: "ignore",
        ends: false,
        ..row("HoldsApns", &[ours("", "HoldsBegun", Some(("provider", Of::Word("apns"))))])
    },
    Row {
        period: 60,
        missing: "ignore",
        ends: false,
        ..row("HoldsFcm", &[ours("", "HoldsBegun", Some(("provider", Of::Word("fcm"))))])
    },
    Row { ends: false, ..row("PayoutsInReview", &[ours("", "PayoutStates", Some(("state", Of::Word("review"))))]) },
    Row { ends: false, ..row("PaidTwice", &[ours("", "Webhooks", Some(("outcome", Of::Word("given_up"))))]) },
    Row { ends: false, ..row("PayoutsDoubled", &[ours("", "PayoutsDoubled", None)]) },
    Row {
        joined: Joined::By("IF(requests > 0, 100 * FILL(errors, 0) / requests, 0)"),
        threshold: 1,
        periods: (2, 2),
        ..row("ServerErrors", &[gateway("errors", "5xx"), gateway("requests", "Count")])
    },
    Row {
        joined: Joined::Sum,
        periods: (3, 3),
        ..row(
            "FunctionErrors",
            &[
                lambda("apiFunction", "Errors", "ApiFunction"),
                lambda("deliverFunction", "Errors", "DeliverFunction"),
                lambda("relayFunction", "Errors", "RelayFunction"),
                lambda("deadLetterFunction", "Errors", "DeadLetterFunction"),
                lambda("refundsFunction", "Errors", "RefundsFunction"),
                lambda("payoutFunction", "Errors", "PayoutFunction"),
            ],
        )
    },
    Row {
        joined: Joined::Sum,
        periods: (3, 3),
        ..row(
            "FunctionThrottles",
            &[
                lambda("apiFunction", "Throttles", "ApiFunction"),
                lambda("deliverFunction", "Throttles", "DeliverFunction"),
                lambda("relayFunction", "Throttles", "RelayFunction"),
                lambda("deadLetterFunction", "Throttles", "DeadLetterFunction"),
                lambda("refundsFunction", "Throttles", "RefundsFunction"),
                lambda("payoutFunction", "Throttles", "PayoutFunction"),
                lambda("auditFunction", "Throttles", "AuditFunction"),
            ],
        )
    },
    Row {
        joined: Joined::Sum,
        periods: (3, 3),
        ..row("TableThrottles", &[table("reads", "ReadThrottleEvents"), table("writes", "WriteThrottleEvents")])
    },
];

impl Series {
    fn metric(&self) -> Value {
        let mut metric = json!({"Namespace": self.namespace, "MetricName": self.metric});
        if let Some((name, of)) = self.dimension {
            let value = match of {
                Of::Parameter(parameter) => json!({"Ref": parameter}),
                Of::Word(word) => json!(word),
            };
            metric["Dimensions"] = json!([{"Name": name, "Value": value}]);
        }
        metric
    }
}

impl Row {
    /// What it says of its metrics, in CloudFormation's words, sorted by their ids.
    fn watched(&self) -> Value {
        if let (Joined::Alone, [only]) = (self.joined, self.series) {
            let mut watched = only.metric();
            watched["Statistic"] = json!(self.statistic);
            watched["Period"] = json!(self.period);
            return watched;
        }
        let expression = match self.joined {
            Joined::By(text) => text.to_owned(),
            Joined::Alone | Joined::Sum => {
                let filled: Vec<String> = self.series.iter().map(|s| format!("FILL({}, 0)", s.id)).collect();
                filled.join(" + ")
            }
        };
        let mut metrics: Vec<Value> = self
            .series
            .iter()
            .map(|series| {
                let stat = json!({"Stat": self.statistic, "Period": self.period, "Metric": series.metric()});
                json!({"Id": series.id, "ReturnData": false, "MetricStat": stat})
            })
            .collect();
        metrics.push(json!({"Id": "total", "Expression": expression}));
        json!({"Metrics": sorted(metrics)})
    }

    fn compare(&self, alarm: &Value, faults: &mut Faults) {
        let name = self.alarm;
        let (breaching, of) = self.periods;
        for (member, must) in [
            ("Threshold", json!(self.threshold)),
            ("ComparisonOperator", json!("GreaterThanThreshold")),
            ("EvaluationPeriods", json!(of)),
            ("DatapointsToAlarm", json!(breaching)),
            ("TreatMissingData", json!(self.missing)),
        ] {
            equal(faults, &format!("{member} of {name}"), &alarm[member], &must);
        }
        equal(faults, &format!("what {name} watches"), watched(alarm), self.watched());
        let told = alarm["OKActions"]["Fn::If"][0] == "HasTopic"
            && alarm["OKActions"].to_string().contains(r#"{"Ref":"AlarmTopicArn"}"#);
        let says = if alarm["OKActions"].is_null() { "nothing" } else { "something" };
        let is = if told { "that it is over" } else { says };
        let must = if self.ends { "that it is over" } else { "nothing" };
        equal(faults, &format!("what OKActions of {name} tell the topic"), is, must);
    }
}

fn sorted(mut metrics: Vec<Value>) -> Vec<Value> {
    metrics.sort_by_key(|metric| metric["Id"].to_string());
    metrics
}

/// What an alarm watches, without what is only for people.
fn watched(alarm: &Value) -> Value {
    let of = |names: &[&str]| -> Value {
        let members = names.iter().filter(|name| !alarm[**name].is_null());
        members.map(|name| ((*name).to_owned(), alarm[*name].clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let Some(metrics) = alarm["Metrics"].as_array() else {
        return of(&["Namespace", "MetricName", "Dimensions", "Statistic", "Period"]);
    };
    let mut metrics = metrics.clone();
    for metric in metrics.iter_mut().filter_map(Value::as_object_mut) {
        metric.remove("Label");
    }
    json!({"Metrics": sorted(metrics)})
}

/// What differs between the alarms and the table.
#[must_use]
pub fn faults(alarms: &Value) -> Faults {
    let mut faults = Faults::new();
    let declared: Vec<(&str, &Value)> = of_type(alarms, "AWS::CloudWatch::Alarm").collect();
    for row in ALARMS {
        match declared.iter().find(|(name, _)| *name == row.alarm) {
            Some((_, alarm)) => row.compare(&alarm["Properties"], &mut faults),
            None => faults.push(format!("there is no alarm {}", row.alarm)),
        }
    }
    for (name, _) in declared.iter().filter(|(name, _)| ALARMS.iter().all(|row| row.alarm != *name)) {
        faults.push(format!("{name} is in no row of the table"));
    }
    faults
}
