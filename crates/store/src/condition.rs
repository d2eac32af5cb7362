//! The condition shapes of `protocol::expect`, as DynamoDB expressions.
//!
//! Three shapes, one place. The test below holds each to what DynamoDB's own evaluation does.

use crate::{
    attr::n,
    names::{EXPIRES, PK, VERSION},
};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::expect::Expect;

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
    }
}
