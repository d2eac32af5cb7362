//! The environment: every function's variables are those that its settings ask for, and no other.

use crate::{
    Faults, equal,
    read::{functions, named},
    resolve::resolve,
};
use fancy_regex::Regex;
use platform::{EnvReader, SettingsError};
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::BTreeSet};

/// Reads a function's settings as its main does.
type Read = fn(EnvReader<'_>) -> Result<(), SettingsError>;

/// Every function by its binary. One that is missing here is a fault of the template's function.
const SETTINGS: [(&str, Read); 7] = [
    ("api", |env| api::Settings::read(env).map(drop)),
    ("deliver", |env| deliver::Settings::read(env).map(drop)),
    ("relay", |env| relay::Settings::read(env).map(drop)),
    ("dead-letter", |env| dead_letter::Settings::read(env).map(drop)),
    ("audit", |env| audit::Settings::read(env).map(drop)),
    ("refunds", |env| refunds::Settings::read(env).map(drop)),
    ("payout", |env| payout::Settings::read(env).map(drop)),
];

/// The binaries whose settings are known here.
#[must_use]
pub fn binaries() -> BTreeSet<&'static str> {
    SETTINGS.iter().map(|(binary, _)| *binary).collect()
}

/// What a function says of an environment that has only these variables: every fault of its settings.
#[must_use]
pub fn refusals(binary: &str, set: &[(&str, &str)]) -> Vec<String> {
    let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let read = SETTINGS.iter().find(|(name, _)| *name == binary).map(|(_, read)| read);
    read.and_then(|read| read(EnvReader::from_source(value)).err()).map(|refused| refused.0).unwrap_or_default()
}

/// Values of a parameter that becomes a variable of a function, good ones and bad ones.
const SAMPLES: [(&str, &str, &str, &[&str]); 2] = [
    (
        "StripeUrl",
        "STRIPE_URL",
        "payout",
        &[
            "https://api.stripe.com",
            "https://stripe.example/",
            "http://127.0.0.1:12111",
            "http://localhost:8090",
            "http://[::1]:8090",
            "http://api.stripe.com",
            "http://127.0.0.1.example",
            "ftp://127.0.0.1",
            "api.stripe.com",
            "https://",
            "https://Stripe.example:65535/v1",
            "https://192.168.1.30",
            "https://[::1]:8090",
            "http://[::1]:8090/a/b",
            "https://stripe.example:99999",
            "https://stripe.example:65536",
            "https://stripe.example:0",
            "https://stripe.example:",
            "https://stripe.example?k=v",
            "https://stripe.example/?k=v",
            "https://stripe.example/#f",
            "https://user:word@stripe.example",
            "https://user@stripe.example",
            "https://...",
            "https://a..b",
            "https://-a.example",
            "https://1.2.3",
            "https://192.168.1.300",
            "https://stripe.example/a b",
            "http://LOCALHOST",
            "HTTPS://stripe.example",
        ],
    ),
    (
        "CorsOrigins",
        "CORS_ORIGINS",
        "api",
        &[
            "",
            "https://console.example",
            "https://console.example,http://127.0.0.1:5173",
            "https://a.example, https://b.example:8443",
            "*",
            "https://*.example",
            "https://a.example/",
            "https://a.example,x",
            "https://A.example",
            "https://a.example:443",
            "a.example",
            "http://a.example:443",
            "https://a.example:80",
            "http://a.example:80",
            "http://a.example:80,https://b.example",
            "https://b.example,https://a.example:443",
            "http://a:65535",
            "http://a:65536",
            "http://localhost:70000",
            "http://localhost:0",
            "http://localhost:080",
            "http://localhost:",
            "https://192.168.1.30",
            "https://192.168.1.300",
            "https://192.168.01.3",
            "https://1.2.3",
            "https://1.2.3.4.5",
            "https://a.0x7f",
            "https://xn--",
            "https://xn--bcher-kva.example",
            "https://a_b.example",
            "https://a-.example",
            "https://-a.example",
            "https://a..example",
            "https://.example",
            "https://a.example.",
            "http://[::1]:5173",
            "http://[fe80::1]",
            "https://user@a.example",
            "https://a.example?k",
            "ftp://a.example",
        ],
    ),
];

/// Where a variable leads: the resource that its value must refer to.
const REFERS: [(&str, &str); 4] = [
    ("TABLE_NAME", "Table"),
    ("DELIVERIES_QUEUE_URL", "DeliveriesQueue"),
    ("PAYOUTS_QUEUE_URL", "PayoutsQueue"),
    ("PARKING_QUEUE_URL", "ParkingQueue"),
];

/// The variables of a function: those of all functions, and its own.
#[must_use]
pub fn variables(template: &Value, properties: &Value) -> Map<String, Value> {
    let mut all = Map::new();
    for place in [&template["Globals"]["Function"], properties] {
        all.extend(place["Environment"]["Variables"].as_object().cloned().unwrap_or_default());
    }
    all
}

/// What is wrong with the functions' variables.
#[must_use]
pub fn faults(template: &Value) -> Faults {
    let template = resolve(template, &[("CorsOrigins", "https://console.example")].into());
    let mut faults = Vec::new();
    for function in functions(&template) {
        let set = variables(&template, function.properties);
        let Some((_, read)) = SETTINGS.iter().find(|(binary, _)| *binary == function.binary) else {
            faults.push(format!("{}: no function has the binary {:?}", function.name, function.binary));
            continue;
        };
        let asked = RefCell::new(BTreeSet::new());
        let env = EnvReader::from_source(|name| {
            asked.borrow_mut().insert(name.to_owned());
            set.get(name).map(|value| value_of(name, value))
        });
        if let Err(refused) = read(env) {
            faults.push(format!("{}: {refused}", function.name));
        }
        let names: BTreeSet<String> = set.keys().cloned().collect();
        equal(&mut faults, &format!("the set of variables of {}", function.name), names, asked.into_inner());
        for (variable, resource) in REFERS {
            if let Some(value) = set.get(variable) {
                equal(&mut faults, &format!("{variable} of {}", function.name), named(value), Some(resource));
            }
        }
    }
    faults
}

/// Where a parameter's pattern and the settings judge a value differently: the stack would take what no function starts
/// with, or refuse what they all take.
#[must_use]
pub fn patterns(template: &Value) -> Faults {
    let mut faults = Faults::new();
    for (parameter, variable, binary, samples) in SAMPLES {
        let pattern = template["Parameters"][parameter]["AllowedPattern"].as_str().unwrap_or(".*");
        // CloudFormation holds the whole value to it.
        let Ok(pattern) = Regex::new(&format!("^(?:{pattern})$")) else {
            faults.push(format!("the pattern of {parameter} cannot be read"));
            continue;
        };
        for value in samples {
            let refused = refusals(binary, &[(variable, value)]).iter().any(|fault| fault.starts_with(variable));
            let is = pattern.is_match(value).unwrap_or_default();
            equal(&mut faults, &format!("that {parameter} may be {value:?}"), is, !refused);
        }
    }
    faults
}

/// What a variable will be: a queue's value is its URL.
fn value_of(name: &str, value: &Value) -> String {
    // What only AWS knows.
    let text = text(value).replace("AWS::StackName", "sendonce");
    if name.ends_with("_QUEUE_URL") { format!("https://sqs.eu-west-1.amazonaws.com/123456789012/{text}") } else { text }
}

/// What a value will be like. A resource's name is only known to AWS, and here stands for itself.
fn text(value: &Value) -> String {
    if let Some((Some(form), parts)) = value["Fn::Sub"].as_array().map(|sub| (sub[0].as_str(), &sub[1])) {
        let parts = parts.as_object().into_iter().flatten();
        return parts.fold(form.to_owned(), |form, (name, part)| form.replace(&format!("${{{name}}}"), &text(part)));
    }
    let written = value.as_str().or_else(|| value["Fn::Sub"].as_str()).or_else(|| named(value));
    written.map_or_else(|| value.to_string(), str::to_owned)
}
