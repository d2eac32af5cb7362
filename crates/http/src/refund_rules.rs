//! The rules of refunds' bodies, as one table: where, what, its limit, and where the limit comes from.
//!
//! The refunds function validates by them; the OpenAPI document and the HTTP reference show them.

use crate::{OURS, rules};

/// Longest order id and payment id, in characters.
const NAME_MAX: usize = 128;
/// Longest reference of the provider's, in characters: as many as are kept of an id of its.
const REFERENCE_MAX: usize = 255;
/// The largest integer that every reader of JSON holds exactly, 2^53 − 1 (RFC 7493 section 2.2).
const AMOUNT_MAX: usize = 9_007_199_254_740_991;

rules! {
    ORDER_ID = "/order_id", "Give a string of {min} to {max} characters.", Some((1, NAME_MAX)), OURS;
    PAYMENT_ID = "/payment_id", "Give the provider's id of the payment, a string of {min} to {max} characters.",
        Some((1, NAME_MAX)), OURS;
    AMOUNT = "/amount", "Give a whole number of the currency's minor unit, from {min} to {max}.",
        Some((1, AMOUNT_MAX)), "RFC 7493, section 2.2: the largest integer that is exact everywhere";
    CURRENCY = "/currency", "Give three letters, for example usd.", None, "ISO 4217";
    REASON = "/reason", "Give duplicate, fraudulent, requested_by_customer or other.", None, OURS;
    NOTE = "/note", "Give a string of at most {max} characters.", Some((0, 500)), OURS;
    PAYOUT_ID = "/payout_id", "Give the id of a payout.", None, OURS;
    OUTCOME = "/outcome", "Give paid or not_paid.", None, OURS;
    REFERENCE = "/reference", "With paid, give the provider's id of what it paid, {min} to {max} visible ASCII characters without spaces; with not_paid, that of what you looked at, if there is one.",
        Some((1, REFERENCE_MAX)), OURS;
}
