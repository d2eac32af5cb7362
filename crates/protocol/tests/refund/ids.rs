//! Ids, fingerprints and words of refunds.

use super::{payout, pending, request};
use protocol::{
    fingerprint::{Fingerprint, refund_value},
    refund::{
        Status,
        id::{PayoutId, RefundId},
        payout::{STATES, State},
        request::{REASONS, RefundRequest, Why},
        trail::What,
    },
};

#[test]
fn ids_are_read_exactly_as_they_are_written() {
    let id = pending().id;
    let text = id.to_string();
    assert!(text.starts_with("rf_") && text.len() == 43, "{text}");
    assert_eq!(RefundId::parse(&text), Some(id));
    for number in [1, 9, 10, u16::MAX] {
        let text = payout(number).to_string();
        assert_eq!(text, format!("payout_{id}_{number}"));
        assert!(text.len() <= 56);
        assert_eq!(PayoutId::parse(&text), Some(payout(number)));
    }
    let wrong = ["_0", "_01", "_+1", "_-1", "_65536", "_", "", "_1 ", "__1", "_1_1"];
    for end in wrong {
        assert_eq!(PayoutId::parse(&format!("payout_{id}{end}")), None, "{end}");
    }
    assert_eq!(PayoutId::parse(&format!("payout_{}_1", text.to_uppercase())), None);
    assert_eq!(RefundId::parse(&text.replace("rf_", "msg_")), None);
    assert_eq!(RefundId::parse(&format!("{text}a")), None);
    assert_eq!(payout(1).successor(), Some(payout(2)));
    assert_eq!(payout(u16::MAX).successor(), None, "an id is never given twice");
}

#[test]
fn version_1_of_a_refund_s_fingerprint_hashes_this_text() {
    let expected = r#"{"amount":4200,"currency":"usd","order_id":"order-1042","payment_id":"pi_1","reason":"requested_by_customer"}"#;
    assert_eq!(refund_value(&request()).to_canonical(), expected);
    let of_refund = Fingerprint::of_refund("acme", "k", &request());
    assert_eq!(of_refund.to_string(), "v1:fb30c14ba1ecd42bc26ebf09960b3d8f57153464f841bc5b214bb1791816bccf");
    assert_eq!(pending().fingerprint, of_refund);
}

#[test]
fn every_change_of_meaning_changes_the_fingerprint_and_a_later_rule_is_undecidable() {
    type Change = fn(&mut RefundRequest);
    let changes: [Change; 7] = [
        |r| r.order.push('0'),
        |r| r.payment.push('0'),
        |r| r.amount += 1,
        |r| r.currency = "eur".into(),
        |r| r.reason = Why::Other,
        |r| r.note = Some("n".into()),
        |r| std::mem::swap(&mut r.order, &mut r.payment),
    ];
    let mine = Fingerprint::of_refund("acme", "k", &request());
    for change in changes {
        let mut other = request();
        change(&mut other);
        assert_eq!(Fingerprint::matches_refund(&mine, "acme", "k", &other), Some(false), "{other:?}");
    }
    assert_eq!(Fingerprint::matches_refund(&mine, "acme", "k", &request()), Some(true));
    assert_eq!(Fingerprint::matches_refund(&mine, "globex", "k", &request()), Some(false));
    let later = Fingerprint { version: 2, ..mine };
    assert_eq!(Fingerprint::matches_refund(&later, "acme", "k", &request()), None);
}

#[test]
fn words_are_read_exactly_as_they_are_written() {
    for state in STATES {
        assert_eq!(State::parse(state.as_str()), Some(state));
    }
    for reason in REASONS {
        assert_eq!(Why::parse(reason.as_str()), Some(reason));
    }
    for what in What::ALL {
        assert_eq!(What::parse(what.as_str()), Some(what));
    }
    for status in [Status::Pending, Status::Approved, Status::Rejected] {
        assert_eq!(Status::parse(status.as_str()), Some(status));
    }
    assert_eq!((State::parse("Due"), Why::parse(""), Status::parse("paid")), (None, None, None));
}
