//! The alarms: their stack, deployed beside the service's with a topic, and one of them heard there.
//!
//! In AWS it is nested in the service's stack. Here it is one of its own, because `sam delete` does not know a nested
//! template that lies anywhere but in AWS's own S3.

use crate::{
    emulator::Emulator,
    stack::{NAME, Sam},
};
use anyhow::{Context, ensure};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where they are written down.
const TEMPLATE: &str = "infra/aws/alarms.yaml";
/// The emulator refuses `Metrics` of `AWS::CloudWatch::Alarm`, several metrics in one alarm. So these are not deployed here.
const REFUSED: [&str; 8] = [
    "AuditFindings",
    "DeadLetters",
    "DeadPayouts",
    "IndexReadThrottles",
    "IndexWriteThrottles",
    "ServerErrors",
    "TableReadThrottles",
    "TableWriteThrottles",
];
/// What is said of an alarm over one metric by its dimensions, if it is not the name of a part of the stack.
const WORDS: [&str; 4] = ["apns", "fcm", "review", "given_up"];
/// The alarm that is made to call.
const HEARD: &str = "relay-behind";

/// The template without the alarms over several metrics, and the names of those.
fn known(template: &str) -> anyhow::Result<(String, BTreeSet<&str>)> {
    let (head, resources) = template.split_once("\nResources:\n").context("the template has no resources")?;
    let mut kept = format!("{head}\nResources:\n");
    let (mut refused, mut rest) = (BTreeSet::new(), resources);
    while !rest.is_empty() {
        // A resource goes to the next line that is indented as far as its name is, or less.
        let next = rest.match_indices("\n  ").find(|(at, _)| !rest[at + 3..].starts_with([' ', '#']));
        let (resource, after) = rest.split_at(next.map_or(rest.len(), |(at, _)| at + 1));
        if resource.contains("\n      Metrics:\n") {
            let lines = resource.lines().filter_map(|line| line.strip_prefix("  "));
            refused
                .extend(lines.filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| line.strip_suffix(':')));
        } else {
            kept.push_str(resource);
        }
        rest = after;
    }
    Ok((kept, refused))
}

/// What the service's stack gives to the nested one, by the stack's outputs.
fn parameters(outputs: &BTreeMap<String, String>, topic: &str) -> anyhow::Result<BTreeMap<&'static str, String>> {
    let output =
        |name: &str| outputs.get(name).map(String::as_str).with_context(|| format!("there is no output {name}"));
    let mut given = BTreeMap::from([("Service", NAME.to_owned()), ("AlarmTopicArn", topic.to_owned())]);
    for function in [
        "ApiFunction",
        "DeliverFunction",
        "RelayFunction",
        "DeadLetterFunction",
        "RefundsFunction",
        "PayoutFunction",
        "AuditFunction",
    ] {
        given.insert(function, output(function)?.to_owned());
    }
    for (queue, url) in [
        ("DeliveriesQueue", "DeliveriesQueueUrl"),
        ("DeliveriesDeadQueue", "DeliveriesDeadQueueUrl"),
        ("PayoutsQueue", "PayoutsQueueUrl"),
        ("PayoutsDeadQueue", "PayoutsDeadQueueUrl"),
        ("ParkingQueue", "ParkingQueueUrl"),
    ] {
        given.insert(queue, output(url)?.rsplit('/').next().unwrap_or_default().to_owned());
    }
    given.insert("Table", output("TableName")?.to_owned());
    let host = output("ApiUrl")?.split_once("://").map_or("", |(_, host)| host);
    given.insert("HttpApiId", host.split('.').next().unwrap_or_default().to_owned());
    Ok(given)
}

/// Deploys them with a topic that a queue hears; each is what it must be, and one that calls is heard.
pub(crate) async fn deployed(
    sam: &Sam<'_>,
    sqs: &aws_sdk_sqs::Client,
    outputs: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let written = std::fs::read_to_string(TEMPLATE)?;
    let (template, refused) = known(&written)?;
    ensure!(
        refused == BTreeSet::from(REFUSED),
        "alarms over several metrics are {refused:?}, which must be listed here"
    );
    let topic = sam.emulator.topic("sendonce-alarms").await?;
    let queue = sqs.create_queue().queue_name("sendonce-alarms-heard").send().await?;
    let queue = queue.queue_url.context("the queue has no URL")?;
    let asked =
        sqs.get_queue_attributes().queue_url(&queue).attribute_names(QueueAttributeName::QueueArn).send().await?;
    let arn = asked.attributes.and_then(|mut all| all.remove(&QueueAttributeName::QueueArn)).context("no ARN")?;
    sam.emulator.subscribe(&topic, &arn).await?;

    let given = parameters(outputs, &topic)?;
    sam.deploy_alarms(&template, given.iter().map(|(name, value)| format!("{name}={value}")).collect()).await?;
    let alarms = described(sam.emulator).await?;
    let all = written.matches("Type: AWS::CloudWatch::Alarm").count();
    ensure!(alarms.len() + REFUSED.len() == all, "{} of {all} alarms are there", alarms.len());
    for alarm in &alarms {
        let told = &alarm["AlarmActions"];
        let section = alarm["AlarmDescription"].as_str().is_some_and(|text| text.contains("docs/RUNBOOK.md#"));
        ensure!(*told == json!([topic]) && section, "an alarm tells {told}, and is {alarm}");
        for dimension in alarm["Dimensions"].as_array().into_iter().flatten() {
            let value = dimension["Value"].as_str().unwrap_or_default();
            let known = WORDS.contains(&value) || given.values().any(|name| name == value);
            ensure!(known, "nothing here is called {value}, which {} watches", alarm["AlarmName"]);
        }
    }

    let call = json!({"AlarmName": format!("{NAME}-{HEARD}"), "StateValue": "ALARM", "StateReason": "as a test"});
    sam.emulator.cloudwatch("SetAlarmState", &call).await?;
    let heard = sqs.receive_message().queue_url(&queue).wait_time_seconds(10).send().await?;
    let said = heard.messages().first().and_then(|message| message.body.as_deref()).unwrap_or_default().to_owned();
    let known = said.contains(&format!("docs/RUNBOOK.md#{HEARD}")) && said.contains("ALARM");
    ensure!(known, "the topic's queue heard {said:?}");
    sam.delete_alarms().await?;
    let left = described(sam.emulator).await?;
    ensure!(left.is_empty(), "{} alarms are still there", left.len());
    Ok(())
}

/// The alarms that there are.
async fn described(emulator: &Emulator) -> anyhow::Result<Vec<Value>> {
    let answer = emulator.cloudwatch("DescribeAlarms", &json!({"MaxRecords": 100})).await?;
    Ok(answer["MetricAlarms"].as_array().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_over_several_metrics_is_taken_out_with_its_comment() {
        let alarm =
            |name: &str, metrics: &str| format!("  # Of {name}.\n  {name}:\n    Properties:\n      {metrics}\n");
        let template =
            format!("A: 1\nResources:\n{}{}", alarm("One", "MetricName: m"), alarm("Two", "Metrics:\n        - x"));
        let (rest, refused) = known(&template).unwrap();
        assert_eq!(refused, BTreeSet::from(["Two"]));
        assert!(rest.contains("One:") && !rest.contains("Two:") && rest.starts_with("A: 1\nResources:\n"), "{rest}");
        let written =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/aws/alarms.yaml")).unwrap();
        assert_eq!(known(&written).unwrap().1, BTreeSet::from(REFUSED));
    }
}
