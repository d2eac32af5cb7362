//! The routes, as one table: what each takes, who may call it, and every answer it can give.
//!
//! The router is built from it, so a route without a row is not served; the OpenAPI document and the tests of auth and
//! errors are read off it, so a row without its answers is noticed.

mod refunds;

pub use refunds::RefundRoute;

use crate::{Code, Scope};

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Accept a message.
    Send,
    /// Find a message by its idempotency key.
    Find,
    /// Show a message by its id.
    Show,
    /// List the tokens that are no device's any more.
    InvalidTokens,
    /// Is this instance alive?
    Healthz,
    /// This contract, for machines.
    OpenApi,
    /// A route of the refunds function.
    Refunds(RefundRoute),
}

/// A successful answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// When it is given.
    pub when: &'static str,
    /// The schema of its body.
    pub schema: &'static str,
}

/// What the table says of a route.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The route.
    pub route: Route,
    /// Its method, lower case.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// Its name in generated clients.
    pub id: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The scope that an API key needs; `None` needs no key.
    pub scope: Option<Scope>,
    /// Its successful answers.
    pub answers: &'static [Answer],
    /// Every code it can be refused with.
    pub codes: &'static [Code],
}

const MESSAGE: Answer = Answer { status: 200, when: "The message.", schema: "Message" };

/// The table.
pub const ROUTES: [Row; 14] = [
    Row {
        route: Route::Send,
        method: "post",
        path: "/v1/messages",
        id: "sendMessage",
        summary: "Send a push notification, once.",
        scope: Some(Scope::MessagesSend),
        answers: &[Answer {
            status: 202,
            when: "Accepted by this request (`queued`), or by an earlier one with the same key and meaning \
                   (`duplicate_ignored`, with the first id and the header Idempotent-Replayed: true).",
            schema: "Accepted",
        }],
        codes: &[
            Code::Unauthorized,
            Code::Forbidden,
            Code::UnsupportedMediaType,
            Code::BodyTooLarge,
            Code::InvalidJson,
            Code::DuplicateMember,
            Code::NumberNotExact,
            Code::UnknownMember,
            Code::IdempotencyKeyMissing,
            Code::IdempotencyKeyConflict,
            Code::IdempotencyKeyInvalid,
            Code::ValidationFailed,
            Code::PayloadTooLargeForProvider,
            Code::IdempotencyKeyReused,
            Code::Unavailable,
        ],
    },
    Row {
        route: Route::Find,
        method: "get",
        path: "/v1/messages",
        id: "findMessage",
        summary: "Find the message under an idempotency key.",
        scope: Some(Scope::MessagesRead),
        answers: &[MESSAGE],
        codes: &[
            Code::Unauthorized,
            Code::Forbidden,
            Code::ValidationFailed,
            Code::IdempotencyKeyInvalid,
            Code::NotFound,
            Code::Unavailable,
        ],
    },
    Row {
        route: Route::Show,
        method: "get",
        path: "/v1/messages/{id}",
        id: "getMessage",
        summary: "Show a message and what became of it, device by device.",
        scope: Some(Scope::MessagesRead),
        answers: &[MESSAGE],
        codes: &[Code::Unauthorized, Code::Forbidden, Code::NotFound, Code::Unavailable],
    },
    Row {
        route: Route::InvalidTokens,
        method: "get",
        path: "/v1/invalid-tokens",
        id: "listInvalidTokens",
        summary: "List the device tokens that a provider called dead, for you to delete.",
        scope: Some(Scope::MessagesRead),
        answers: &[Answer { status: 200, when: "A page of the list, the latest first.", schema: "InvalidTokens" }],
        codes: &[Code::Unauthorized, Code::Forbidden, Code::ValidationFailed, Code::Unavailable],
    },
    Row {
        route: Route::Healthz,
        method: "get",
        path: "/healthz",
        id: "healthz",
        summary: "Say that this instance is alive. It asks no other service.",
        scope: None,
        answers: &[Answer { status: 200, when: "Alive.", schema: "Health" }],
        codes: &[],
    },
    Row {
        route: Route::OpenApi,
        method: "get",
        path: "/openapi.json",
        id: "openapi",
        summary: "This document.",
        scope: None,
        answers: &[Answer { status: 200, when: "The document.", schema: "Document" }],
        codes: &[],
    },
    refunds::CREATE,
    refunds::LIST,
    refunds::SHOW,
    refunds::APPROVE,
    refunds::REJECT,
    refunds::RETRY,
    refunds::RESOLVE,
    refunds::WEBHOOK,
];

impl Route {
    /// The scope that an API key needs for it.
    #[must_use]
    pub fn scope(self) -> Option<Scope> {
        ROUTES.iter().find(|row| row.route == self).and_then(|row| row.scope)
    }
}
