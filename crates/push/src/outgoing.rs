//! What is sent to a device, besides the device itself.

use bytes::Bytes;
use protocol::content::Content;
use std::{fmt, sync::OnceLock};

/// One message on its way out, the same for all its devices.
pub struct Outgoing<'a> {
    /// The message's id: in the data of every push, and the collapse id unless the caller gave one.
    pub message_id: &'a str,
    /// What is sent.
    pub content: &'a Content,
    /// When the provider may give up, in milliseconds since the Unix epoch. Once past, it is told "now or never".
    pub expires_ms: u64,
    /// APNs' body, which names no device and no time: built for the first that needs it.
    for_apns: OnceLock<Bytes>,
}

impl<'a> Outgoing<'a> {
    /// The message of this id.
    #[must_use]
    pub fn new(message_id: &'a str, content: &'a Content, expires_ms: u64) -> Self {
        Self { message_id, content, expires_ms, for_apns: OnceLock::new() }
    }

    /// What makes a repeat replace its first on the screen: the caller's collapse key, else the message id.
    #[must_use]
    pub fn collapse_id(&self) -> &str {
        self.content.collapse_key.as_deref().unwrap_or(self.message_id)
    }

    pub(crate) fn apns_body(&self) -> Bytes {
        let build = || Bytes::from(crate::apns::payload::build(self.message_id, self.content).to_string());
        self.for_apns.get_or_init(build).clone()
    }
}

impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a person is told is nobody else's business, so only the id is shown.
        f.debug_struct("Outgoing").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}
