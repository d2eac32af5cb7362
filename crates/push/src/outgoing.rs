//! What is sent to a device, besides the device itself.

use protocol::content::Content;
use std::fmt;

/// One message on its way out, the same for all its devices.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// The message's id: in the data of every push, and the collapse id unless the caller gave one.
    pub message_id: &'a str,
    /// What is sent.
    pub content: &'a Content,
    /// When the provider may give up, in milliseconds since the Unix epoch. Once past, it is told "now or never".
    pub expires_ms: u64,
}

impl Outgoing<'_> {
    /// What makes a repeat replace its first on the screen: the caller's collapse key, else the message id.
    #[must_use]
    pub fn collapse_id(&self) -> &str {
        self.content.collapse_key.as_deref().unwrap_or(self.message_id)
    }
}

impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a person is told is nobody else's business, so only the id is shown.
        f.debug_struct("Outgoing").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}
