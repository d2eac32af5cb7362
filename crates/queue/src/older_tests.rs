//! Queue messages as an earlier version sent them, written down here once and never changed: copies live for days, so
//! whatever the code becomes, it reads them. A new form is one more text beside these.

use crate::{DeliverV1, Envelope, Origin, PayoutV1};
use protocol::{
    content::{Content, Device, Notification, Platform, Policy, Priority, Token},
    ids::{KeyHash, MessageId, Nonce, Operation},
    refund::id::{PayoutId, RefundId},
};

const DELIVER: &str = r#"{"type":"deliver_v1","id":"msg_weqv5675gi23gfmyq2gerfucid3czvjnaebagbaf","project":"acme","chunk":3,"at":1795978800123,"deliver_by":1796065200123,"expires_at":1796065200124,"valid_until":1798570801,"policy":"O","devices":[{"platform":"ios","token":"c0ffee"},{"platform":"android","token":"pixel-of-ada"},{"platform":"web","token":"browser-of-ada"}],"content":{"notification":{"title":"Shipped","body":"On its way.","image":"https://a.example/i.png"},"data":{"order":"1042"},"collapse_key":"order","app":"com.example.acme","priority":"normal"},"origin":"inline"}"#;

/// The least that a copy can be.
const SILENT: &str = r#"{"type":"deliver_v1","id":"msg_weqv5675gi23gfmyq2gerfucid3czvjnaebagbaf","project":"acme","chunk":0,"at":1795978800123,"deliver_by":1796065200123,"expires_at":1796065200124,"valid_until":1798570801,"policy":"L","devices":[{"platform":"android","token":"pixel-of-ada"}],"content":{"data":{"order":"1042"},"priority":"high"},"origin":"relay"}"#;

const PAYOUT: &str = r#"{"type":"payout_v1","payout":"payout_rf_a26zcvhrgoegecf66w67emv5p4c3buf2aydqqcik_2","project":"acme","origin":"inline"}"#;

fn deliver() -> DeliverV1 {
    let device = |platform, token: &str| Device { platform, token: Token(token.to_owned()) };
    let key = KeyHash::of(Operation::Message, "acme", "order-1042-shipped");
    DeliverV1 {
        id: MessageId { key, nonce: Nonce([1, 2, 3, 4, 5]) },
        project: "acme".to_owned(),
        chunk: 3,
        at: 1_795_978_800_123,
        deliver_by: 1_796_065_200_123,
        expires_at: 1_796_065_200_124,
        valid_until: 1_798_570_801,
        policy: Policy::AtMostOnce,
        devices: vec![
            device(Platform::Ios, "c0ffee"),
            device(Platform::Android, "pixel-of-ada"),
            device(Platform::Web, "browser-of-ada"),
        ],
        content: Content {
            notification: Some(Notification {
                title: "Shipped".to_owned(),
                body: "On its way.".to_owned(),
                image: Some("https://a.example/i.png".to_owned()),
            }),
            data: [("order".to_owned(), "1042".to_owned())].into(),
            collapse_key: Some("order".to_owned()),
            app: Some("com.example.acme".to_owned()),
            priority: Priority::Normal,
        },
        origin: Origin::Inline,
    }
}

#[test]
fn a_chunk_s_copy_of_an_earlier_version_is_read() {
    assert_eq!(Envelope::parse(DELIVER), Ok(Envelope::Deliver(deliver())));
    let mut silent = deliver();
    silent.chunk = 0;
    silent.policy = Policy::AtLeastOnce;
    silent.devices = vec![silent.devices[1].clone()];
    let data = silent.content.data;
    silent.content = Content { notification: None, data, collapse_key: None, app: None, priority: Priority::High };
    silent.origin = Origin::Relay;
    assert_eq!(Envelope::parse(SILENT), Ok(Envelope::Deliver(silent.clone())));
    for (word, origin) in [("retry", Origin::Retry), ("redrive", Origin::Redrive), ("audit", Origin::Audit)] {
        silent.origin = origin;
        let body = SILENT.replace("relay", word);
        assert_eq!(Envelope::parse(&body), Ok(Envelope::Deliver(silent.clone())), "{word}");
    }
}

#[test]
fn a_payout_s_copy_of_an_earlier_version_is_read() {
    let key = KeyHash::of(Operation::Refund, "acme", "order-1042-refund");
    let refund = RefundId { key, nonce: Nonce([6, 7, 8, 9, 10]) };
    let copy = |origin| {
        let payout = PayoutV1 { payout: PayoutId { refund, number: 2 }, project: "acme".to_owned(), origin };
        Ok(Envelope::Payout(payout))
    };
    assert_eq!(Envelope::parse(PAYOUT), copy(Origin::Inline));
    for (word, origin) in
        [("relay", Origin::Relay), ("retry", Origin::Retry), ("redrive", Origin::Redrive), ("audit", Origin::Audit)]
    {
        assert_eq!(Envelope::parse(&PAYOUT.replace("inline", word)), copy(origin), "{word}");
    }
}
