//! The condition shapes of `protocol::expect`, as DynamoDB expressions.
//!
//! One place for all of them, and for the one that no item of ours needs: over an item that cannot be read. Tests hold
//! each to what DynamoDB's own evaluation does. Those that only the admin command needs are here as well.

use crate::{
    attr::{n, s},
    names::{APPS, EXPIRES, PAYOUT_ID, PK, REVOKED, STATUS, VERSION},
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{expect::Expect, refund::Status};

/// A condition with its placeholders.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) expression: &'static str,
    pub(crate) names: Vec<(&'static str, &'static str)>,
    pub(crate) values: Vec<(&'static str, AttributeValue)>,
}

/// Renders a condition.
pub(crate) fn render(expect: Expect) -> Condition {
    match expect {
        Expect::Absent => {
            Condition { expression: "attribute_not_exists(#c_pk)", names: vec![("#c_pk", PK)], values: vec![] }
        }
        Expect::AbsentOrExpired { now_s } => Condition {
            expression: "attribute_not_exists(#c_pk) OR #c_exp < :c_now",
            names: vec![("#c_pk", PK), ("#c_exp", EXPIRES)],
            values: vec![(":c_now", n(now_s))],
        },
        Expect::Version(version) => {
            Condition { expression: "#c_v = :c_v", names: vec![("#c_v", VERSION)], values: vec![(":c_v", n(version))] }
        }
        Expect::RefundPending => Condition {
            expression: "#c_st = :c_st",
            names: vec![("#c_st", STATUS)],
            values: vec![(":c_st", s(Status::Pending.as_str()))],
        },
        Expect::Payout { payout, version } => Condition {
            expression: "#c_po = :c_po AND #c_v = :c_v",
            names: vec![("#c_po", PAYOUT_ID), ("#c_v", VERSION)],
            values: vec![(":c_po", s(payout.to_string())), (":c_v", n(version))],
        },
    }
}

/// An API key that is there and valid for longer than until `at_ms`.
pub(crate) fn valid_beyond(at_ms: u64) -> Condition {
    Condition {
        expression: "attribute_exists(#c_pk) AND (attribute_not_exists(#c_end) OR #c_end > :c_at)",
        names: vec![("#c_pk", PK), ("#c_end", REVOKED)],
        values: vec![(":c_at", n(at_ms))],
    }
}

/// An API key that is there and whose end nobody has set.
pub(crate) fn without_end() -> Condition {
    Condition {
        expression: "attribute_exists(#c_pk) AND attribute_not_exists(#c_end)",
        names: vec![("#c_pk", PK), ("#c_end", REVOKED)],
        values: vec![],
    }
}

/// A project whose apps are exactly these.
pub(crate) fn apps_are(apps: AttributeValue) -> Condition {
    Condition { expression: "#c_apps = :c_apps", names: vec![("#c_apps", APPS)], values: vec![(":c_apps", apps)] }
}

/// An item whose version is exactly this, whatever type it has; `None`: an item without a version.
pub(crate) fn unreadable(version: Option<AttributeValue>) -> Condition {
    match version {
        Some(version) => {
            Condition { expression: "#c_v = :c_v", names: vec![("#c_v", VERSION)], values: vec![(":c_v", version)] }
        }
        None => Condition {
            expression: "attribute_exists(#c_pk) AND attribute_not_exists(#c_v)",
            names: vec![("#c_pk", PK), ("#c_v", VERSION)],
            values: vec![],
        },
    }
}
