//! The log groups: every function and the HTTP API's stage writes to one of its own, which is kept as long as the parameter
//! says. A group that Lambda makes by itself is kept for ever, and paid for.

use crate::{
    Faults, equal,
    read::{functions, named, of_type},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with the log groups.
#[must_use]
pub fn faults(template: &Value) -> Faults {
    let mut faults = Faults::new();
    // The whole of it: groups of another class make no metrics of our lines, and README says that logs go with the stack.
    let must = json!({
        "Type": "AWS::Logs::LogGroup",
        "Properties": {"RetentionInDays": {"Ref": "LogRetentionDays"}},
    });
    let groups: BTreeMap<&str, &Value> = of_type(template, "AWS::Logs::LogGroup").collect();
    for (name, group) in &groups {
        equal(&mut faults, &format!("the log group {name}"), *group, &must);
    }
    let mut written = BTreeSet::new();
    for function in functions(template) {
        let config = &function.properties["LoggingConfig"];
        let group = named(&config["LogGroup"]).unwrap_or_default();
        // With a format or a level beside it, Lambda would wrap our lines or leave some out.
        let must = json!({"LogGroup": {"Ref": group}});
        equal(&mut faults, &format!("LoggingConfig of {}", function.name), config, &must);
        equal(&mut faults, &format!("that {} has a log group of its own", function.name), written.insert(group), true);
    }
    for (name, stage) in of_type(template, "AWS::ApiGatewayV2::Stage") {
        let group = named(&stage["Properties"]["AccessLogSettings"]["DestinationArn"]).unwrap_or_default();
        equal(&mut faults, &format!("that {name} has a log group of its own"), written.insert(group), true);
    }
    equal(&mut faults, "the set of log groups", groups.keys().copied().collect(), written);
    faults
}
