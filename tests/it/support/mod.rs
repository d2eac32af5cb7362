//! What all tests share: the system, a client, waiting, and the queue's own door.

mod app;
mod body;
mod gate;
mod http;
pub(crate) mod logs;
mod queues;
mod refund;
mod table;
mod wait;

pub(crate) use app::TestApp;
pub(crate) use body::{push, push_to, tokens};
pub(crate) use gate::{Consumer, Gate};
pub(crate) use http::{Answer, HttpClient};
pub(crate) use queues::{DEAD, DELIVERIES, PARKING, PAYOUTS, PAYOUTS_DEAD, Queues};
pub(crate) use refund::{first_payout, refund, trail};
pub(crate) use table::Table;
pub(crate) use wait::{DEADLINE, eventually};
