//! Examples. A test sends every request example through the running system and holds the answer to its schema.

use sendonce_http::Code;
use serde_json::{Value, json};

/// Sends that are accepted, by name.
pub(crate) fn sends() -> Value {
    json!({
        "shipped": {
            "summary": "A notification to one device.",
            "value": {
                "idempotency_key": "order-1042-shipped",
                "to": [{"platform": "android", "token": "pixel-of-ada-0001"}],
                "notification": {"title": "Shipped", "body": "Order 1042 is on its way."},
            },
        },
        "everything": {
            "summary": "Every member, all platforms.",
            "value": {
                "idempotency_key": "order-1042-delivered",
                "to": [
                    {"platform": "android", "token": "pixel-of-ada-0001"},
                    {"platform": "web", "token": "browser-of-ada-0002"},
                    {"platform": "ios", "token": "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"},
                ],
                "notification": {
                    "title": "Delivered",
                    "body": "Order 1042 is at your door.",
                    "image": "https://shop.example/1042.png",
                },
                "data": {"order": "1042"},
                "collapse_key": "order-1042",
                "app": "com.example.acme.beta",
                "ttl_seconds": 3600,
                "priority": "high",
                "delivery": "at_most_once",
            },
        },
        "silent": {
            "summary": "Data for the app, nothing on the screen.",
            "value": {
                "idempotency_key": "sync-2026-11-29",
                "to": [{"platform": "android", "token": "pixel-of-ada-0001"}],
                "data": {"sync": "inbox"},
                "ttl_seconds": 0,
            },
        },
    })
}

/// Refunds that are created, by name.
pub(crate) fn refunds() -> Value {
    json!({
        "returned": {
            "summary": "A part of a payment, given back.",
            "value": {
                "idempotency_key": "order-1042-refund",
                "order_id": "order-1042",
                "payment_id": "pi_3MtwBwLkdIwHu7ix28a3tqPa",
                "amount": 4200,
                "currency": "usd",
                "reason": "requested_by_customer",
            },
        },
        "noted": {
            "summary": "With a note for whoever decides.",
            "value": {
                "idempotency_key": "order-1043-refund",
                "order_id": "order-1043",
                "payment_id": "pi_3MtwBwLkdIwHu7ix28a3tqPb",
                "amount": 990,
                "currency": "eur",
                "reason": "duplicate",
                "note": "Charged twice on Sunday; see the ticket.",
            },
        },
    })
}

/// What an error looks like.
pub(crate) fn problem(code: Code) -> Value {
    let row = code.row();
    let mut problem = json!({
        "type": "about:blank",
        "title": row.status.canonical_reason(),
        "status": row.status.as_u16(),
        "detail": row.means,
        "code": row.word,
    });
    if code == Code::RefundNotPending {
        problem["decided_by"] = json!("grace@acme.example");
        problem["decided_at"] = json!("2026-11-29T19:00:00.123Z");
    }
    // Every 400 about the body says where; a signature is a header's.
    if row.status.as_u16() == 400 && code != Code::SignatureInvalid {
        problem["errors"] = json!([{"pointer": "/idempotency_key", "detail": row.means}]);
    }
    problem
}
