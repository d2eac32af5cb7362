//! The store against DynamoDB's own evaluation, in this process: conditions, round trips, units, lost answers.

mod api_keys;
mod conditions;
mod expressions;
mod lost_answers;
mod projects;
mod round_trip;
mod stream;
mod support;
mod units;
