//! The refunds function's part of the document: parameters, bodies and schemas.

use super::{
    examples,
    schemas::{key, most, nullable, object, reference, words},
};
use platform::events::WEBHOOK_OUTCOMES;
use protocol::refund::{payout::STATES, request::REASONS, trail::What};
use sendonce_http::refund_rules as rules;
use serde_json::{Value, json};

/// Of the outcomes of webhooks, those that are answers; the others are refusals.
const WEBHOOK_ANSWERS: usize = 7;
const STATUSES: [&str; 3] = ["pending", "approved", "rejected"];

/// Adds what an operation takes.
pub(super) fn describe(operation_id: &str, operation: &mut Value) {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": reference("RefundId")});
    let body = |schema: &str| json!({"required": true, "content": {"application/json": {"schema": reference(schema)}}});
    match operation_id {
        "createRefund" => {
            operation["parameters"] = json!([{
                "name": "Idempotency-Key", "in": "header", "required": false, "schema": {"type": "string"},
                "description": "The key, if the body does not name it, as for messages. It is valid for ever.",
            }]);
            operation["requestBody"] = body("RefundRequest");
            operation["requestBody"]["content"]["application/json"]["examples"] = examples::refunds();
        }
        "listRefunds" => {
            operation["parameters"] = json!([
                {"name": "status", "in": "query", "required": true, "schema": words(&STATUSES)},
                {"name": "limit", "in": "query", "required": false,
                    "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}},
                {"name": "cursor", "in": "query", "required": false, "schema": {"type": "string"},
                    "description": "The next_cursor of the page before."},
            ]);
        }
        "getRefund" | "approveRefund" | "rejectRefund" => operation["parameters"] = json!([id]),
        "retryPayout" => {
            operation["parameters"] = json!([id]);
            operation["requestBody"] = body("RetryRequest");
        }
        "paymentsWebhook" => {
            operation["parameters"] = json!([
                {"name": "project", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "Stripe-Signature", "in": "header", "required": true, "schema": {"type": "string"},
                    "description": "Over the body's bytes, with a secret of the project."},
            ]);
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema":
                {"type": "object", "description": "An event of Stripe's."}}}});
        }
        "resolvePayout" => {
            operation["parameters"] = json!([id]);
            operation["requestBody"] = body("ResolveRequest");
        }
        _ => {}
    }
}

fn text(limit: &sendonce_http::Rule) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most(limit), "description": limit.text()})
}

fn request_members() -> Value {
    let reasons: Vec<&str> = REASONS.iter().map(|reason| reason.as_str()).collect();
    json!({
        "idempotency_key": nullable(key(), "Here or in the Idempotency-Key header: names the refund, 1 to 128 bytes."),
        "order_id": text(&rules::ORDER_ID),
        "payment_id": text(&rules::PAYMENT_ID),
        "amount": {"type": "integer", "minimum": 1, "maximum": most(&rules::AMOUNT), "description":
            "In the currency's minor unit. That the refunds of a payment stay within it is the provider's rule."},
        "currency": {"type": "string", "pattern": "^[A-Za-z]{3}$", "description": "ISO 4217, in either case."},
        "reason": words(&reasons),
        "note": nullable(json!({"type": "string", "maxLength": most(&rules::NOTE)}), "For whoever decides."),
    })
}

/// A refund; `rows` are without events.
fn refund(whole: bool) -> Value {
    let when = || reference("Timestamp");
    let maybe = |schema: Value| json!({"oneOf": [schema, {"type": "null"}]});
    let mut members = vec![
        "id",
        "idempotency_key",
        "request_hash",
        "status",
        "order_id",
        "payment_id",
        "amount",
        "currency",
        "reason",
        "note",
        "created_at",
        "created_by",
        "decided_at",
        "decided_by",
        "payout",
    ];
    let mut properties = request_members();
    properties["id"] = reference("RefundId");
    properties["idempotency_key"] = key();
    properties["request_hash"] = json!({"type": "string", "pattern": "^v[0-9]+:[0-9a-f]{64}$"});
    properties["status"] = words(&STATUSES);
    properties["currency"] = json!({"type": "string", "pattern": "^[a-z]{3}$"});
    properties["created_at"] = when();
    properties["created_by"] = json!({"type": "string", "description": "The name of an API key."});
    properties["decided_at"] = maybe(when());
    properties["decided_by"] = json!({"type": ["string", "null"], "description": "The name of an API key."});
    properties["payout"] = maybe(reference("Payout"));
    if whole {
        members.push("events");
        properties["events"] = json!({"type": "array", "items": reference("RefundEvent"),
            "description": "What happened, oldest first: at most 50 lines, of which the first two are kept."});
    }
    object(&members, &members, properties)
}

fn payout() -> Value {
    let states: Vec<&str> = STATES.iter().map(|state| state.as_str()).collect();
    let members = ["id", "number", "status", "provider_id", "reason", "first_call_at", "calls"];
    object(
        &members,
        &members,
        json!({
            "id": reference("PayoutId"),
            "number": {"type": "integer", "minimum": 1, "description": "1, and one more after each retry."},
            "status": {"type": "string", "enum": states, "description":
                "due: to be called for, or, with a reason and a first call, refused and to be looked for. submitted: the provider has not decided. paid, which a provider may still take \
                 back. failed: final for this payout; see retry. review: nobody can know; see resolve."},
            "provider_id": {"type": ["string", "null"], "description": "The provider's id of it."},
            "reason": {"oneOf": [reference("Reason"), {"type": "null"}], "description":
                "Why it failed, is in review, or was refused; or what kept the last call from doing anything."},
            "first_call_at": {"oneOf": [reference("Timestamp"), {"type": "null"}]},
            "calls": {"type": "integer", "minimum": 0, "description": "How many calls may have been made."},
        }),
    )
}

fn event() -> Value {
    let what: Vec<&str> = What::ALL.iter().map(|what| what.as_str()).collect();
    object(
        &["at", "what", "by", "payout", "reference", "code"],
        &["at", "what", "by"],
        json!({
            "at": reference("Timestamp"),
            "what": words(&what),
            "by": {"type": "string", "description":
                "The name of an API key; `payout` for what the provider answered; or the id of a provider's event."},
            "payout": {"type": "integer", "minimum": 1, "description": "The number of the payout that it is about."},
            "reference": {"type": "string", "description": "The provider's id of that payout, where it got a state; of an event, what it is about."},
            "code": {"type": "string", "description": "Why that payout failed, is in review, or was refused; of an event, what it said."},
        }),
    )
}

/// All schemas by name.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let request = ["idempotency_key", "order_id", "payment_id", "amount", "currency", "reason", "note"];
    let decided = ["status", "id", "payout_id", "result", "decided_by", "decided_at"];
    let required = ["order_id", "payment_id", "amount", "currency", "reason"];
    let retried = ["id", "payout_id", "retry_of", "result"];
    let resolved = ["id", "payout_status", "result"];
    let reason = ["code", "detail"];
    vec![
        (
            "WebhookHeard",
            object(
                &["result"],
                &["result"],
                json!({"result": words(&WEBHOOK_OUTCOMES.map(|outcome| outcome.word)[..WEBHOOK_ANSWERS])}),
            ),
        ),
        ("RefundId", json!({"type": "string", "pattern": "^rf_[a-z2-7]{40}$"})),
        ("PayoutId", json!({"type": "string", "pattern": "^payout_rf_[a-z2-7]{40}_[1-9][0-9]*$"})),
        ("RefundRequest", object(&request, &required, request_members())),
        (
            "RefundCreated",
            object(
                &["status", "id"],
                &["status", "id"],
                json!({"status": words(&["pending", "duplicate_ignored"]), "id": reference("RefundId")}),
            ),
        ),
        ("Refund", refund(true)),
        ("RefundRow", refund(false)),
        (
            "RefundPage",
            object(
                &["refunds", "next_cursor"],
                &["refunds", "next_cursor"],
                json!({
                    "refunds": {"type": "array", "items": reference("RefundRow")},
                    "next_cursor": {"type": ["string", "null"], "description": "Null at the end."},
                }),
            ),
        ),
        ("Payout", payout()),
        ("RefundEvent", event()),
        ("Reason", object(&reason, &reason, json!({"code": {"type": "string"}, "detail": {"type": "string"}}))),
        (
            "Decided",
            object(
                &decided,
                &["status", "id", "result", "decided_by", "decided_at"],
                json!({
                    "status": words(&["approved", "rejected"]),
                    "id": reference("RefundId"),
                    "payout_id": {"oneOf": [reference("PayoutId")], "description":
                        "The first payout, at first and ever after; only if it is approved."},
                    "result": words(&["approved", "already_approved", "rejected", "already_rejected"]),
                    "decided_by": {"type": "string"},
                    "decided_at": reference("Timestamp"),
                }),
            ),
        ),
        ("RetryRequest", object(&["payout_id"], &["payout_id"], json!({"payout_id": reference("PayoutId")}))),
        (
            "Retried",
            object(
                &retried,
                &retried,
                json!({
                    "id": reference("RefundId"),
                    "payout_id": {"oneOf": [reference("PayoutId")], "description": "The successor."},
                    "retry_of": reference("PayoutId"),
                    "result": words(&["retried", "already_retried"]),
                }),
            ),
        ),
        (
            "ResolveRequest",
            object(
                &["payout_id", "outcome", "reference"],
                &["outcome"],
                json!({
                    "payout_id": {"oneOf": [reference("PayoutId"), {"type": "null"}], "description":
                        "The payout that you looked at. If it is not the refund's current one, nothing is changed."},
                    "outcome": words(&["paid", "not_paid"]),
                    "reference": nullable(
                        json!({"type": "string", "minLength": 1, "maxLength": most(&rules::REFERENCE), "pattern": "^[!-~]*$"}),
                        "The provider's id of what it paid; with paid, and only then.",
                    ),
                }),
            ),
        ),
        (
            "Resolved",
            object(
                &resolved,
                &resolved,
                json!({
                    "id": reference("RefundId"),
                    "payout_status": words(&["paid", "failed"]),
                    "result": words(&["resolved", "already_resolved"]),
                }),
            ),
        ),
    ]
}
