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
    /// A second dimension.
    also: Option<(&'static str, Of)>,
}

/// How several metrics become one number.
#[derive(Clone, Copy, Debug)]
enum Joined {
    /// There is one.
    Alone,
    /// All together: they are always written together, so that none takes the others with it by its silence.
    Sum,
    /// There is one, and its silence counts as 0.
    Filled,
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
    /// It calls when so many of so many periods are beyond the threshold.
    periods: (u64, u64),
    threshold: u64,
    /// On which side of it.
    comparison: &'static str,
    missing: &'static str,
    /// It ends when what it tells of ends, and says so. The others tell of something that happened: when they are quiet
    /// again, nobody has mended it yet.
    ends: bool,
}

const fn series(
    id: &'static str,
    namespace: &'static str,
    metric: &'static str,
    dimension: Option<(&'static str, Of)>,
) -> Series {
    Series { id, namespace, metric, dimension, also: None }
}

const fn lambda(id: &'static str, metric: &'static str, function: &'static str) -> Series {
    series(id, "AWS/Lambda", metric, Some(("FunctionName", Of::Parameter(function))))
}

const fn sqs(id: &'static str, metric: &'static str, queue: &'static str) -> Series {
    series(id, "AWS/SQS", metric, Some(("QueueName", Of::Parameter(queue))))
}

const fn gateway(id: &'static str, metric: &'static str) -> Series {
    series(id, "AWS/ApiGateway", metric, Some(("ApiId", Of::Parameter("HttpApiId"))))
}

const fn table(id: &'static str, metric: &'static str) -> Series {
    series(id, "AWS/DynamoDB", metric, Some(("TableName", Of::Parameter("Table"))))
}

/// Of the table's one global index. A local one has the table's own throughput.
const fn index(id: &'static str, metric: &'static str) -> Series {
    Series { also: Some(("GlobalSecondaryIndexName", Of::Word("refunds"))), ..table(id, metric) }
}

const fn ours(id: &'static str, metric: &'static str, dimension: Option<(&'static str, Of)>) -> Series {
    series(id, "Sendonce", metric, dimension)
}

const VISIBLE: &str = "ApproximateNumberOfMessagesVisible";
const HIDDEN: &str = "ApproximateNumberOfMessagesNotVisible";
const AGE: &str = "ApproximateAgeOfOldestMessage";

/// One metric, the sum of five minutes, above 0.
const fn row(alarm: &'static str, series: &'static [Series]) -> Row {
    let (joined, statistic, missing) = (Joined::Alone, "Sum", "notBreaching");
    let comparison = "GreaterThanThreshold";
    Row {
        alarm,
        series,
        joined,
        statistic,
        period: 300,
        periods: (1, 1),
        threshold: 0,
        comparison,
        missing,
        ends: true,
    }
}

/// The same in three periods in a row.
const fn lasting(alarm: &'static str, series: &'static [Series]) -> Row {
    Row { periods: (3, 3), ..row(alarm, series) }
}

/// The same for letters of one queue, in whatever state.
const fn letters(alarm: &'static str, series: &'static [Series]) -> Row {
    Row { joined: Joined::Sum, statistic: "Maximum", ..lasting(alarm, series) }
}

/// In three periods of four, since the last one may be filled because it is late.
const fn filled(alarm: &'static str, series: &'static [Series]) -> Row {
    Row { joined: Joined::Filled, periods: (3, 4), ..row(alarm, series) }
}

const ALARMS: &[Row] = &[
    Row {
        statistic: "Maximum",
        threshold: 300_000,
        ..row("RelayBehind", &[lambda("", "IteratorAge", "RelayFunction")])
    },
    letters(
        "DeadLetters",
        &[sqs("visible", VISIBLE, "DeliveriesDeadQueue"), sqs("hidden", HIDDEN, "DeliveriesDeadQueue")],
    ),
    letters("DeadPayouts", &[sqs("visible", VISIBLE, "PayoutsDeadQueue"), sqs("hidden", HIDDEN, "PayoutsDeadQueue")]),
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
        period: 3_600,
        periods: (3, 3),
        threshold: 1,
        comparison: "LessThanThreshold",
        missing: "breaching",
        ..row("AuditSilent", &[lambda("", "Invocations", "AuditFunction")])
    },
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
    Row { period: 3_600, ends: false, ..row("PayoutsLeftInReview", &[ours("", "PayoutsInReview", None)]) },
    Row { ends: false, ..row("PaidTwice", &[ours("", "Webhooks", Some(("outcome", Of::Word("given_up"))))]) },
    Row { ends: false, ..row("PayoutsDoubled", &[ours("", "PayoutsDoubled", None)]) },
    Row {
        joined: Joined::By("100 * errors / requests"),
        threshold: 1,
        periods: (2, 2),
        ..row("ServerErrors", &[gateway("errors", "5xx"), gateway("requests", "Count")])
    },
    lasting("ApiErrors", &[lambda("", "Errors", "ApiFunction")]),
    lasting("DeliverErrors", &[lambda("", "Errors", "DeliverFunction")]),
    lasting("RelayErrors", &[lambda("", "Errors", "RelayFunction")]),
    lasting("DeadLetterErrors", &[lambda("", "Errors", "DeadLetterFunction")]),
    lasting("RefundsErrors", &[lambda("", "Errors", "RefundsFunction")]),
    lasting("PayoutErrors", &[lambda("", "Errors", "PayoutFunction")]),
    lasting("ApiThrottles", &[lambda("", "Throttles", "ApiFunction")]),
    lasting("DeliverThrottles", &[lambda("", "Throttles", "DeliverFunction")]),
    lasting("RelayThrottles", &[lambda("", "Throttles", "RelayFunction")]),
    lasting("DeadLetterThrottles", &[lambda("", "Throttles", "DeadLetterFunction")]),
    lasting("RefundsThrottles", &[lambda("", "Throttles", "RefundsFunction")]),
    lasting("PayoutThrottles", &[lambda("", "Throttles", "PayoutFunction")]),
    lasting("AuditThrottles", &[lambda("", "Throttles", "AuditFunction")]),
    filled("TableReadThrottles", &[table("events", "ReadThrottleEvents")]),
    filled("TableWriteThrottles", &[table("events", "WriteThrottleEvents")]),
    filled("IndexReadThrottles", &[index("events", "ReadThrottleEvents")]),
    filled("IndexWriteThrottles", &[index("events", "WriteThrottleEvents")]),
];

impl Series {
    fn metric(&self) -> Value {
        let mut metric = json!({"Namespace": self.namespace, "MetricName": self.metric});
        let dimensions = self.dimension.into_iter().chain(self.also).map(|(name, of)| {
            let value = match of {
                Of::Parameter(parameter) => json!({"Ref": parameter}),
                Of::Word(word) => json!(word),
            };
            json!({"Name": name, "Value": value})
        });
        let dimensions: Vec<Value> = dimensions.collect();
        if !dimensions.is_empty() {
            metric["Dimensions"] = json!(dimensions);
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
        let ids = || self.series.iter().map(|series| series.id);
        let expression = match self.joined {
            Joined::By(text) => text.to_owned(),
            Joined::Alone | Joined::Sum => ids().collect::<Vec<_>>().join(" + "),
            Joined::Filled => ids().map(|id| format!("FILL({id}, 0)")).collect(),
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
            ("ComparisonOperator", json!(self.comparison)),
            ("EvaluationPeriods", json!(of)),
            ("TreatMissingData", json!(self.missing)),
        ] {
            equal(faults, &format!("{member} of {name}"), &alarm[member], &must);
        }
        // Left out, it is the number of periods (AWS CloudFormation, AWS::CloudWatch::Alarm).
        let is = if alarm["DatapointsToAlarm"].is_null() {
            &alarm["EvaluationPeriods"]
        } else {
            &alarm["DatapointsToAlarm"]
        };
        equal(faults, &format!("DatapointsToAlarm of {name}"), is, &json!(breaching));
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
