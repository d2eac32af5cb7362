//! Integration tests: the whole system in this process on free ports, reached through HTTP and the queue.
//!
//! Every test starts its own system with the short durations and says three things about it: what the API answered,
//! what reached the provider (the sandbox's ledger), and how GET tells the story. Time passes by moving the system's
//! clock. That something does not happen is shown by draining (`TestApp::drained`), never by waiting a while.
//!
//! G1 to G8 in the modules' headers are the guarantees of the design, section 1.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod support;

mod access;
mod admin;
mod admin_edges;
mod admin_exits;
mod ambiguous;
mod api_crashes;
mod api_keys;
mod apps;
mod audit;
mod bodies;
mod canaries;
mod consumers;
mod contract;
mod copies;
mod data_dir;
mod dead_letters;
mod deadlines;
mod deliver_crashes;
mod deliver_figures;
mod devices;
mod doctor;
mod doctor_world;
mod figures;
mod first_send;
mod garbage;
mod hold;
mod hold_faults;
mod http_reference;
mod invalid_tokens;
mod ios;
mod key_expiry;
mod keys;
mod load;
mod observability;
mod payout_crashes;
mod payouts;
mod payouts_crowd;
mod payouts_refused;
mod payouts_untouched;
mod payouts_window;
mod process;
mod program;
mod provider;
mod push_reference;
mod racing;
mod refund_crashes;
mod refund_lists;
mod refund_objects;
mod refund_payouts;
mod refund_signatures;
mod refund_ways_out;
mod refund_webhooks;
mod refunds;
mod refunds_unavailable;
mod refusals;
mod relay_crashes;
mod second_reading;
mod spelling;
mod stalls;
mod wire;
