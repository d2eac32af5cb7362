//! The rows of the refunds function's routes.

use super::{Answer, Route, Row};
use crate::{Code, Scope};

/// A route of the refunds function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundRoute {
    /// Create a refund.
    Create,
    /// List refunds of one status.
    List,
    /// Show a refund.
    Show,
    /// Approve a refund.
    Approve,
    /// Reject a refund.
    Reject,
    /// Pay again what failed.
    Retry,
    /// End a review.
    Resolve,
    /// Hear the payment provider.
    Webhook,
}

const fn row(route: RefundRoute, method: &'static str, path: &'static str, scope: Scope) -> Row {
    Row {
        route: Route::Refunds(route),
        method,
        path,
        id: "",
        summary: "",
        scope: Some(scope),
        answers: &[],
        codes: &[],
    }
}

/// What a decision may be refused with.
const DECISION: &[Code] =
    &[Code::Unauthorized, Code::Forbidden, Code::NotFound, Code::RefundNotPending, Code::Unavailable];

pub(super) const CREATE: Row = Row {
    id: "createRefund",
    summary: "Ask for a refund, once.",
    answers: &[
        Answer { status: 201, when: "Created by this request; it waits for a decision.", schema: "RefundCreated" },
        Answer {
            status: 200,
            when: "Created by an earlier request with the same key and meaning (`duplicate_ignored`, with the first id \
                   and the header Idempotent-Replayed: true). A refund's key never expires.",
            schema: "RefundCreated",
        },
    ],
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
        Code::IdempotencyKeyReused,
        Code::Unavailable,
    ],
    ..row(RefundRoute::Create, "post", "/v1/refunds", Scope::RefundsCreate)
};

pub(super) const LIST: Row = Row {
    id: "listRefunds",
    summary: "List the refunds of one status, newest first.",
    answers: &[Answer { status: 200, when: "A page of them.", schema: "RefundPage" }],
    codes: &[Code::Unauthorized, Code::Forbidden, Code::ValidationFailed, Code::Unavailable],
    ..row(RefundRoute::List, "get", "/v1/refunds", Scope::RefundsRead)
};

pub(super) const SHOW: Row = Row {
    id: "getRefund",
    summary: "Show a refund, its payout and what happened to it.",
    answers: &[Answer { status: 200, when: "The refund.", schema: "Refund" }],
    codes: &[Code::Unauthorized, Code::Forbidden, Code::NotFound, Code::Unavailable],
    ..row(RefundRoute::Show, "get", "/v1/refunds/{id}", Scope::RefundsRead)
};

pub(super) const APPROVE: Row = Row {
    id: "approveRefund",
    summary: "Approve a refund. The first decision counts.",
    answers: &[Answer {
        status: 200,
        when: "Approved by this request (`approved`) or by an earlier one (`already_approved`): the same payout, and \
               who decided when. A body is ignored.",
        schema: "Decided",
    }],
    codes: DECISION,
    ..row(RefundRoute::Approve, "post", "/v1/refunds/{id}/approve", Scope::RefundsDecide)
};

pub(super) const REJECT: Row = Row {
    id: "rejectRefund",
    summary: "Reject a refund. The first decision counts.",
    answers: &[Answer {
        status: 200,
        when: "Rejected by this request (`rejected`) or by an earlier one (`already_rejected`). A body is ignored.",
        schema: "Decided",
    }],
    codes: DECISION,
    ..row(RefundRoute::Reject, "post", "/v1/refunds/{id}/reject", Scope::RefundsDecide)
};

pub(super) const RETRY: Row = Row {
    id: "retryPayout",
    summary: "Pay again what failed: a new payout takes the failed one's place.",
    answers: &[Answer {
        status: 200,
        when: "The successor, made by this request (`retried`) or by an earlier one (`already_retried`).",
        schema: "Retried",
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
        Code::ValidationFailed,
        Code::NotFound,
        Code::PayoutBusy,
        Code::PayoutNotFailed,
        Code::Unavailable,
    ],
    ..row(RefundRoute::Retry, "post", "/v1/refunds/{id}/payout/retry", Scope::RefundsDecide)
};

pub(super) const RESOLVE: Row = Row {
    id: "resolvePayout",
    summary: "End a review: say whether the provider paid.",
    answers: &[Answer {
        status: 200,
        when: "Ended by this request (`resolved`), or it says so already (`already_resolved`).",
        schema: "Resolved",
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
        Code::ValidationFailed,
        Code::NotFound,
        Code::PayoutNotInReview,
        Code::Unavailable,
    ],
    ..row(RefundRoute::Resolve, "post", "/v1/refunds/{id}/payout/resolve", Scope::RefundsDecide)
};

pub(super) const WEBHOOK: Row = Row {
    id: "paymentsWebhook",
    summary: "Hear from the payment provider what became of a payout.",
    scope: None,
    answers: &[Answer {
        status: 200,
        when: "It was applied, or it has no effect: an event that was applied before, one that comes too late, one about a \
               refund that was not made here, or one of another type.",
        schema: "WebhookHeard",
    }],
    codes: &[Code::BodyTooLarge, Code::SignatureInvalid, Code::InvalidJson, Code::Unavailable],
    ..row(RefundRoute::Webhook, "post", "/v1/webhooks/payments/{project}", Scope::RefundsDecide)
};
