//! What one client wants to send, and what it does when it gets no answer: from the seed alone.

use crate::{
    dice::Dice,
    scripts::{TITLE, script},
};
use serde_json::{Value, json};

/// Devices that many messages go to.
const SHARED_DEVICES: usize = 40;
/// Every so many sends a device's provider does not answer at all: each costs the call's whole time, in real time.
const HANGS_EVERY: usize = 500;

/// One idempotency key and everything that is done with it.
#[derive(Clone, Debug)]
pub(crate) struct Send {
    /// The key.
    pub(crate) key: String,
    /// Under at_most_once.
    pub(crate) once: bool,
    /// Platform and token, in order.
    pub(crate) devices: Vec<(&'static str, String)>,
    ttl_seconds: u32,
    collapse_key: Option<String>,
    /// What the provider does with the next requests for these devices.
    pub(crate) scripts: Vec<(String, Value)>,
    /// The inline send is lost on its way.
    pub(crate) inline_lost: bool,
    /// No record of the first chunk's first attempt arrives.
    pub(crate) record_lost: bool,
    /// Another body races for the key.
    pub(crate) races: bool,
    /// Requests after the first answer.
    pub(crate) repeats: Vec<Repeat>,
    /// The client never asks again when it got no answer.
    pub(crate) gives_up: bool,
}

/// Another request with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The same bytes.
    Same,
    /// The same request in another spelling.
    Respelled,
    /// Another request.
    Other,
}

impl Send {
    /// The `number`-th.
    #[must_use]
    pub(crate) fn new(seed: u64, number: usize) -> Self {
        let mut dice = Dice::new(seed, "send", number);
        let key = format!("soak-{seed:x}-{number:06}");
        let count = match dice.below(100) {
            0..60 => 1,
            60..85 => dice.between(2, 4),
            85..95 => dice.between(5, 15),
            _ => dice.between(20, 45),
        };
        let mut devices: Vec<(&'static str, String)> = Vec::new();
        let mut scripts = Vec::new();
        for at in 0..count {
            let platform = *dice.pick(&["android", "android", "ios", "web"]);
            let shared = dice.percent(10);
            let name = if shared { dice.below(SHARED_DEVICES) } else { number };
            let token = match (platform, shared) {
                ("ios", true) => format!("{name:064x}"),
                ("ios", false) => format!("a{number:031x}{at:032x}"),
                (_, true) => format!("shared-{platform}-{name:06}"),
                _ => format!("device-{number:06}-{at:02}"),
            };
            if devices.iter().any(|(_, other)| *other == token) {
                continue;
            }
            if !shared && dice.percent(12) {
                scripts.push((token.clone(), script(&mut dice, platform)));
            }
            devices.push((platform, token));
        }
        let hang = match number % HANGS_EVERY {
            7 => Some("hang"),
            8 => Some("hang_after_accept"),
            _ => None,
        };
        if let Some(hang) = hang {
            let token = format!("device-{number:06}-99");
            scripts.push((token.clone(), json!([hang])));
            devices.push(("android", token));
        }
        let repeats = (0..[0, 0, 1, 1, 2, 3][dice.below(6)])
            .map(|_| *dice.pick(&[Repeat::Same, Repeat::Same, Repeat::Respelled, Repeat::Other]))
            .collect();
        Self {
            key,
            once: dice.percent(40),
            devices,
            ttl_seconds: if dice.percent(6) { 120 } else { 259_200 },
            collapse_key: dice.percent(20).then(|| format!("collapse-{}", number % 7)),
            scripts,
            inline_lost: dice.percent(8),
            record_lost: dice.percent(3),
            races: dice.percent(3),
            repeats,
            gives_up: dice.percent(5),
        }
    }

    /// The request: 0 is what the client means, 1 another one.
    #[must_use]
    pub(crate) fn body(&self, variant: u8) -> Value {
        let to: Vec<Value> =
            self.devices.iter().map(|(platform, token)| json!({"platform": platform, "token": token})).collect();
        let mut body = json!({
            "idempotency_key": self.key,
            "to": to,
            "notification": {"title": format!("{TITLE}{variant}"), "body": "Order 1042 is on its way."},
            "ttl_seconds": self.ttl_seconds,
            "delivery": if self.once { "at_most_once" } else { "at_least_once" },
        });
        if let Some(key) = &self.collapse_key {
            body["collapse_key"] = json!(key);
        }
        body
    }

    /// The request of variant 0 in other bytes: white space, an escape, a number's other form, a default said.
    #[must_use]
    pub(crate) fn respelled(&self) -> String {
        let mut body = self.body(0);
        body["priority"] = json!("high");
        body["data"] = json!({});
        let text = format!("{body:#}");
        let ttl = format!("\"ttl_seconds\": {}", self.ttl_seconds);
        text.replace("\"Variant 0\"", "\"\\u0056ariant 0\"").replace(&ttl, &format!("{ttl}.0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_is_another_text_and_the_same_request() {
        let send = Send::new(1, 3);
        let text = send.respelled();
        assert!(text.contains("\\u0056ariant") && text.contains(".0"));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["notification"], send.body(0)["notification"]);
        assert_ne!(send.body(0), send.body(1));
    }

    #[test]
    fn sends_have_everything() {
        let sends: Vec<Send> = (0..600).map(|number| Send::new(7, number)).collect();
        let most = sends.iter().map(|send| send.devices.len()).max();
        assert!(most > Some(20) && most <= Some(46), "{most:?}");
        for platform in ["android", "ios", "web"] {
            assert!(sends.iter().any(|send| send.devices.iter().any(|(of, _)| *of == platform)), "{platform}");
        }
        assert!(sends.iter().any(|send| send.once) && sends.iter().any(|send| !send.once));
        assert!(sends.iter().any(|send| send.races) && sends.iter().any(|send| send.gives_up));
    }
}
