//! Every scope that an API key may have, as its item spells it.
//!
//! For whoever makes keys: the admin command and the local system. [`Scope`] is what routes ask for.

use crate::Scope;

/// All of them.
pub const SCOPES: [&str; 5] = [
    Scope::MessagesSend.as_str(),
    Scope::MessagesRead.as_str(),
    Scope::RefundsCreate.as_str(),
    Scope::RefundsDecide.as_str(),
    Scope::RefundsRead.as_str(),
];
/// Those that change nothing.
pub const READ_SCOPES: [&str; 2] = [Scope::MessagesRead.as_str(), Scope::RefundsRead.as_str()];
