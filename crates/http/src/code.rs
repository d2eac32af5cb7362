//! Every error code of the API: its status, what it means, and what the caller should do.
//!
//! The one table behind problem details, the OpenAPI document and the HTTP reference. A code is part of the contract:
//! it is never renamed, and a new one is made only if a caller must act differently on it.

use axum::http::StatusCode;

/// An error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The body is no JSON object, or not I-JSON.
    InvalidJson,
    /// An object names a member twice.
    DuplicateMember,
    /// A number would be rounded.
    NumberNotExact,
    /// A member has no meaning.
    UnknownMember,
    /// There is no idempotency key.
    IdempotencyKeyMissing,
    /// Body and header name different keys.
    IdempotencyKeyConflict,
    /// The key breaks a rule.
    IdempotencyKeyInvalid,
    /// A member breaks a rule.
    ValidationFailed,
    /// A provider would refuse the payload's size.
    PayloadTooLargeForProvider,
    /// No valid API key.
    Unauthorized,
    /// The API key lacks a scope.
    Forbidden,
    /// Nothing here that this caller may know of.
    NotFound,
    /// The route does not take this method.
    MethodNotAllowed,
    /// The body is too large.
    BodyTooLarge,
    /// The body's type or encoding is not taken.
    UnsupportedMediaType,
    /// The key belongs to another request.
    IdempotencyKeyReused,
    /// The refund was decided the other way.
    RefundNotPending,
    /// Callers of the failed payout may still be at it.
    PayoutBusy,
    /// The payout has not failed.
    PayoutNotFailed,
    /// The payout is not in review.
    PayoutNotInReview,
    /// A webhook that is not signed by the provider.
    SignatureInvalid,
    /// The outcome is not known.
    Unavailable,
}

/// What the table says of a code.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The code.
    pub code: Code,
    /// Its word in `code`.
    pub word: &'static str,
    /// Its status.
    pub status: StatusCode,
    /// What happened.
    pub means: &'static str,
    /// What the caller should do.
    pub advice: &'static str,
}

const fn row(code: Code, word: &'static str, status: StatusCode, means: &'static str, advice: &'static str) -> Row {
    Row { code, word, status, means, advice }
}

const FIX: &str = "Fix the request; the same key works.";

/// The table, in the order in which a request is refused.
pub const CODES: [Row; 22] = [
    row(
        Code::NotFound,
        "not_found",
        StatusCode::NOT_FOUND,
        "There is no such route, or nothing under this id or key that this API key may see.",
        "Do not retry. An id of another project, of a reused key, or past its key's validity is not found either.",
    ),
    row(
        Code::MethodNotAllowed,
        "method_not_allowed",
        StatusCode::METHOD_NOT_ALLOWED,
        "The route does not take this method.",
        "Use a method that `Allow` lists.",
    ),
    row(
        Code::Unauthorized,
        "unauthorized",
        StatusCode::UNAUTHORIZED,
        "There is no API key, or it is unknown or revoked.",
        "Send a valid key. Do not retry with this one.",
    ),
    row(
        Code::Forbidden,
        "forbidden",
        StatusCode::FORBIDDEN,
        "The API key lacks the scope that the detail names.",
        "Use a key with that scope.",
    ),
    row(
        Code::UnsupportedMediaType,
        "unsupported_media_type",
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The body is not declared as application/json in UTF-8, or it has a content encoding.",
        "Send `Content-Type: application/json` and no Content-Encoding.",
    ),
    row(
        Code::BodyTooLarge,
        "body_too_large",
        StatusCode::PAYLOAD_TOO_LARGE,
        "The body is larger than 256 KiB.",
        "Send fewer devices in each message.",
    ),
    row(
        Code::InvalidJson,
        "invalid_json",
        StatusCode::BAD_REQUEST,
        "The body is no JSON object, or not I-JSON: not UTF-8, a byte order mark, a lone surrogate, nesting beyond 64.",
        FIX,
    ),
    row(
        Code::DuplicateMember,
        "duplicate_member",
        StatusCode::BAD_REQUEST,
        "An object names a member twice, so which one is meant cannot be known.",
        FIX,
    ),
    row(
        Code::NumberNotExact,
        "number_not_exact",
        StatusCode::BAD_REQUEST,
        "An integer lies beyond ±(2^53−1) or a number overflows a double, so readers would round it.",
        "Send it as a string.",
    ),
    row(
        Code::UnknownMember,
        "unknown_member",
        StatusCode::BAD_REQUEST,
        "A member has no meaning here. A typo must not become a silent difference.",
        FIX,
    ),
    row(
        Code::IdempotencyKeyMissing,
        "idempotency_key_missing",
        StatusCode::BAD_REQUEST,
        "There is no idempotency key, neither in the body nor in the header.",
        "Name the event, for example order-1042-shipped, and use that name on every retry.",
    ),
    row(
        Code::IdempotencyKeyConflict,
        "idempotency_key_conflict",
        StatusCode::BAD_REQUEST,
        "The body and the Idempotency-Key header name different keys.",
        "Send one of them, or the same in both.",
    ),
    row(
        Code::IdempotencyKeyInvalid,
        "idempotency_key_invalid",
        StatusCode::BAD_REQUEST,
        "The idempotency key breaks a rule: 1 to 128 bytes, no control characters, not only white space.",
        FIX,
    ),
    row(
        Code::ValidationFailed,
        "validation_failed",
        StatusCode::BAD_REQUEST,
        "Members break rules; `errors` lists all of them.",
        FIX,
    ),
    row(
        Code::PayloadTooLargeForProvider,
        "payload_too_large_for_provider",
        StatusCode::BAD_REQUEST,
        "What would be sent is larger than the provider takes.",
        "Shorten the notification or the data.",
    ),
    row(
        Code::IdempotencyKeyReused,
        "idempotency_key_reused",
        StatusCode::UNPROCESSABLE_ENTITY,
        "The key was used for a request that means something else.",
        "Do not retry. The first body gives the first id; a new intent needs a new key.",
    ),
    row(
        Code::RefundNotPending,
        "refund_not_pending",
        StatusCode::CONFLICT,
        "The refund was decided the other way before; `decided_by` and `decided_at` say by whom and when.",
        "Do not retry: a decision is final.",
    ),
    row(
        Code::PayoutBusy,
        "payout_busy",
        StatusCode::CONFLICT,
        "The payout failed a moment ago, and a call for it may still be under way.",
        "Wait for Retry-After and ask again.",
    ),
    row(
        Code::PayoutNotFailed,
        "payout_not_failed",
        StatusCode::CONFLICT,
        "Only a failed payout can be retried, and this one has not failed.",
        "Read the refund. A payout in review is resolved first.",
    ),
    row(
        Code::PayoutNotInReview,
        "payout_not_in_review",
        StatusCode::CONFLICT,
        "The refund has no payout, or its payout is not in review and has another end, or it is not the one that was named.",
        "Read the refund.",
    ),
    row(
        Code::SignatureInvalid,
        "signature_invalid",
        StatusCode::BAD_REQUEST,
        "A webhook is not signed with a secret of the project in its address, or the signature is older than 5 minutes.",
        "For the provider. Store the endpoint's secret with the project, and look at this machine's clock.",
    ),
    row(
        Code::Unavailable,
        "unavailable",
        StatusCode::SERVICE_UNAVAILABLE,
        "The outcome is not known.",
        "Wait for Retry-After and send the same request, with the same key if it has one: it resolves the outcome.",
    ),
];

impl Code {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // Each code has one row; a test holds the table to it.
        CODES.iter().find(|row| row.code == self).unwrap_or(&CODES[CODES.len() - 1])
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_has_one_row_and_one_word() {
        let codes: HashSet<Code> = CODES.iter().map(|row| row.code).collect();
        let words: HashSet<&str> = CODES.iter().map(|row| row.word).collect();
        assert_eq!((codes.len(), words.len()), (CODES.len(), CODES.len()));
        for row in CODES {
            assert_eq!(row.code.row().word, row.word);
            assert!(row.status.is_client_error() || row.status.is_server_error());
        }
    }
}
