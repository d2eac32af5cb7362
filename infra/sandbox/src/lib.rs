//! The providers on this machine: APNs, FCM with its OAuth endpoint, and Stripe's refunds with their webhooks, refusing what
//! the real ones refuse; and Secrets Manager.
//!
//! Started by `infra/local` and by tests, on one port of 127.0.0.1 for HTTP/1 and HTTP/2 with prior knowledge. It
//! guarantees that whatever reached a provider is in the ledger before it is answered, and that each device's script is
//! used up in order; a test reads the ledger to learn what a device would have got. It keeps everything in memory, the
//! ledger also in a file if asked to ([`Sandbox::keep_ledger`]), and knows nothing of messages, claims or letters. It
//! shows device tokens in full, so it must not listen where others can reach it.
//!
//! A provider has a folder (`apns`, `fcm`, `stripe`); `http2` is the server that plays faults frame by frame; the ledger, the
//! scripts and the page are shared by all of them.

mod apns;
mod fcm;
mod http2;
mod key;
mod ledger;
mod ledger_file;
mod line;
mod oauth;
mod page;
mod respond;
mod routes;
mod script;
mod secrets;
mod serve;
mod state;
mod stripe;

pub use ledger::{Entry, LEDGER_MAX_ENTRIES, Provider};
pub use script::{Outcome, SCRIPT_MAX_OUTCOMES, SCRIPTS_MAX, ScriptFault};
pub use state::{Sandbox, SandboxError};
pub use stripe::{SettleFault, Webhook};
