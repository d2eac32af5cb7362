//! From the bytes and headers of a send to its key and its typed request: pure, so that it can be attacked with random
//! input without a server.
//!
//! In two steps, since the apps of the project are looked up between them, and only for a request that names one.

use crate::validate;
use axum::{body::Bytes, http::HeaderMap};
use protocol::content::SendRequest;
use sendonce_http::{Problem, key, parse_object, strict::Object};

/// A send whose syntax, members and key are in order, and whose values are not looked at yet.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    body: Object<'a>,
    key: String,
}

impl<'a> Draft<'a> {
    /// The first step.
    ///
    /// # Errors
    /// In this order: syntax, unknown members, the key.
    pub(crate) fn read(headers: &HeaderMap, body: &'a Bytes) -> Result<Self, Problem> {
        let body = parse_object(body)?;
        validate::known(&body)?;
        let key = key::idempotency_key(headers, &body)?;
        Ok(Self { body, key })
    }

    /// Whether it names an app, so that [`Draft::finish`] needs the project's.
    pub(crate) fn names_app(&self) -> bool {
        validate::names_app(&self.body)
    }

    /// The second step: the key and the typed request. `apps` are the project's, the default first.
    ///
    /// # Errors
    /// What validation refuses.
    pub(crate) fn finish(self, apps: &[String]) -> Result<(String, SendRequest), Problem> {
        let request = validate::send_request(&self.body, apps)?;
        Ok((self.key, request))
    }
}

/// Reads a send whose content type and size are already accepted, for a project with these apps.
///
/// # Errors
/// In this order: syntax, unknown members, the key, validation. Nothing was stored.
pub fn read_send(headers: &HeaderMap, body: &Bytes, apps: &[String]) -> Result<(String, SendRequest), Problem> {
    Draft::read(headers, body)?.finish(apps)
}
