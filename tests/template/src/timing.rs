//! The durations: each is the one that `protocol` has for the profile, and together they hold its inequalities.

use crate::{
    Faults, equal,
    read::{events, function, functions, number, of_function, of_type},
    resolve::resolve,
};
use protocol::{
    audit::{INVOCATION_MAX, INVOKED_EVERY},
    timing::{KEY_VALID_DAYS_DEFAULT, KEY_VALID_DAYS_MAX, KEY_VALID_DAYS_MIN, RECEIVES_MAX, Timing},
};
use serde_json::{Value, json};

/// A duration of the template, in ms.
fn ms(value: &Value) -> Option<u64> {
    number(value).map(|seconds| seconds.saturating_mul(1_000))
}

/// What is wrong with the durations of a profile.
#[must_use]
pub fn faults(template: &Value, profile: &str) -> Faults {
    let Some(timing) = Timing::named(profile) else { return vec![format!("there is no profile {profile}")] };
    let template = resolve(template, &[("Timing", profile)].into());
    let mut faults = Vec::new();
    let mut declared = timing;
    for own in functions(&template) {
        let limit = match own.binary {
            "api" | "refunds" => timing.api_total,
            "audit" => INVOCATION_MAX,
            _ => timing.function,
        };
        let is = ms(of_function(&template, own, "Timeout"));
        equal(&mut faults, &format!("{profile}: the time limit of {}", own.name), is, Some(limit));
        match own.binary {
            "api" => declared.api_total = is.unwrap_or_default(),
            "deliver" => declared.function = is.unwrap_or_default(),
            _ => {}
        }
    }
    for (name, queue) in of_type(&template, "AWS::SQS::Queue") {
        let queue = &queue["Properties"];
        let visibility = ms(&queue["VisibilityTimeout"]);
        equal(&mut faults, &format!("{profile}: the visibility of {name}"), visibility, Some(timing.visibility));
        declared.visibility = declared.visibility.min(visibility.unwrap_or_default());
        let dead = queue["RedrivePolicy"].is_null();
        let retention = if dead { Timing::DEAD_LETTER_RETENTION } else { Timing::QUEUE_RETENTION };
        let is = ms(&queue["MessageRetentionPeriod"]);
        equal(&mut faults, &format!("{profile}: the retention of {name}"), is, Some(retention));
        let receives = number(&queue["RedrivePolicy"]["maxReceiveCount"]);
        let must = (!dead).then_some(u64::from(RECEIVES_MAX));
        equal(&mut faults, &format!("{profile}: the receives of {name}"), receives, must);
    }
    if let Some(relay) = function(&template, "relay") {
        for stream in events(relay, "DynamoDB") {
            declared.window = ms(&stream["MaximumBatchingWindowInSeconds"]).unwrap_or(u64::MAX);
            equal(&mut faults, &format!("{profile}: the stream's window"), declared.window, timing.window);
        }
    }
    // The numbers above are equal to the profile's; should protocol change its own, these still hold them together.
    faults.extend(declared.violations().into_iter().map(|rule| format!("{profile}: {rule}")));
    faults
}

/// What is wrong with what no profile changes: the schedule, and the bounds of the parameters.
#[must_use]
pub fn fixed(template: &Value) -> Faults {
    let mut faults = Vec::new();
    let days = &template["Parameters"]["KeyValidDays"];
    for (member, must) in
        [("Default", KEY_VALID_DAYS_DEFAULT), ("MinValue", KEY_VALID_DAYS_MIN), ("MaxValue", KEY_VALID_DAYS_MAX)]
    {
        equal(&mut faults, &format!("KeyValidDays' {member}"), number(&days[member]), Some(must));
    }
    for profile in template["Parameters"]["Timing"]["AllowedValues"].as_array().into_iter().flatten() {
        let known = profile.as_str().and_then(Timing::named).is_some();
        equal(&mut faults, &format!("that Timing's {profile} is a profile"), known, true);
    }
    equal(
        &mut faults,
        "the default of Timing",
        template["Parameters"]["Timing"]["Default"].as_str(),
        Some("production"),
    );
    let hours = INVOKED_EVERY / 3_600_000;
    let rate = if hours == 1 { "rate(1 hour)".to_owned() } else { format!("rate({hours} hours)") };
    let schedules: Vec<&Value> =
        function(template, "audit").map(|audit| events(audit, "Schedule").collect()).unwrap_or_default();
    // The whole of it: with one member more it could be switched off, or give the function an input that it does not expect.
    equal(&mut faults, "the audit's schedule", schedules, vec![&json!({ "Schedule": rate })]);
    faults
}
