//! The store against DynamoDB's own evaluation, in this process: conditions, round trips, units, lost answers.

mod api_keys;
mod conditions;
mod dead_tokens;
mod expressions;
mod holds;
mod lost_answers;
mod older;
mod older_settings;
mod projects;
mod provider_token;
mod refund_list;
mod refund_support;
mod refund_units;
mod refunds;
mod round_trip;
mod scan;
mod stream;
pub(crate) mod support;
mod units;
