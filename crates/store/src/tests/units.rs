//! Write units, as the table reports them (design: "Units to reach").

use super::support::{FCM_NAME, database, delivery, id, message, request};
use crate::{AcceptWrite, DeliveryWrite, Store, attr::Item, message as message_item};
use aws_sdk_dynamodb::types::AttributeValue;
use protocol::{
    answer::Answer,
    claim::{ChunkFacts, Claim, claim},
    content::{Platform, Policy},
    delivery::Delivery,
    expect::Expect,
    ids::{MessageId, OwnerToken},
    message::Message,
    record::{Learned, record},
};

async fn accept(store: &Store, message: &Message) -> f64 {
    match store.accept(message, message.at_ms).await {
        AcceptWrite::Accepted { units: Some(units) } => units,
        other => panic!("{other:?}"),
    }
}

async fn write(store: &Store, id: MessageId, item: &Delivery, expect: Expect) -> f64 {
    match store.write_delivery(id, 0, item, expect).await {
        DeliveryWrite::Written { units: Some(units) } => units,
        other => panic!("{other:?}"),
    }
}

/// The size of an item by DynamoDB's rules ("DynamoDB item sizes and formats"); numbers are counted at their longest.
fn size(item: &Item) -> usize {
    fn of(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::B(blob) => blob.as_ref().len(),
            AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
            AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + of(value)).sum::<usize>(),
            other => panic!("no such attribute in a message: {other:?}"),
        }
    }
    item.iter().map(|(name, value)| name.len() + of(value)).sum()
}

#[tokio::test]
async fn accepting_one_device_takes_one_unit() {
    let (_, store) = database().await;
    for platform in [Platform::Ios, Platform::Android, Platform::Web] {
        let key = format!("order-1042-shipped-{platform:?}");
        let mut request = request(1, "");
        request.to[0].platform = platform;
        // Token and payload together: 700 bytes.
        let mut mine = message(id(&key, 1), &key, &request);
        let payload = serde_json::to_string(&mine.content).unwrap().len();
        let body = "b".repeat(700 - payload - mine.devices[0].token.0.len());
        if let Some(shown) = &mut mine.content.notification {
            shown.body = body;
        }
        let (token, payload) = (mine.devices[0].token.0.len(), serde_json::to_string(&mine.content).unwrap().len());
        assert_eq!(token + payload, 700);
        assert!(
            (accept(&store, &mine).await - 1.0).abs() < f64::EPSILON,
            "{}",
            size(&message_item::encode(&mine).unwrap())
        );
    }
}

#[tokio::test]
async fn accepting_takes_one_unit_for_each_kilobyte_begun() {
    let (_, store) = database().await;
    for (number, (devices, body)) in
        [(1, 2_000), (1, 4_000), (20, 100), (100, 300), (500, 4_000)].into_iter().enumerate()
    {
        let key = format!("k{number}");
        let mine = message(id(&key, 1), &key, &request(devices, &"b".repeat(body)));
        let size = size(&message_item::encode(&mine).unwrap());
        // Sizes of numbers are estimates, so a size within 20 bytes of a step says nothing.
        assert!((20..1_004).contains(&(size % 1_024)), "choose another body: {size}");
        let expected = size.div_ceil(1_024);
        let units = accept(&store, &mine).await;
        assert!((units - expected as f64).abs() < f64::EPSILON, "{size} bytes took {units}");
    }
}

/// Claim and record of a chunk whose every call is answered like this.
async fn claim_and_record(store: &Store, number: u8, devices: usize, answer: impl Fn(usize) -> Answer) -> [f64; 2] {
    let facts =
        ChunkFacts { deliver_by_ms: 1_790_086_400_000, policy: Policy::AtLeastOnce, devices, expires_s: 1_793_888_000 };
    let now = 1_790_000_000_000;
    let id = id("k", number);
    let Claim::Run(held, expect) = claim(None, &facts, OwnerToken([0xa5; 16]), now, 75_000) else { panic!("no claim") };
    let claimed = write(store, id, &held, expect).await;
    let answers = (0..devices).map(|device| Some(answer(device))).collect();
    let learned = Learned { held: held.clone(), answers, retry_at_ms: now + 10_000 };
    let item = record(&held, &learned, Policy::AtLeastOnce, now + 500).expect("something was learned");
    let recorded = write(store, id, &item, Expect::Version(held.version)).await;
    assert_eq!(store.delivery(id, 0).await.unwrap(), Some(item));
    [claimed, recorded]
}

#[tokio::test]
async fn claiming_and_recording_twenty_accepted_devices_takes_one_unit_each() {
    let (_, store) = database().await;
    // FCM: the same project, another name for each; a project id may have 30 characters.
    let longest = FCM_NAME.replace("some-project-id", "a-project-id-of-30-characters-");
    for (number, name) in [FCM_NAME, &longest].into_iter().enumerate() {
        let fcm = |device| Answer::Accepted { provider_id: format!("{}{device:02}", &name[..name.len() - 2]) };
        let units = claim_and_record(&store, number as u8, 20, fcm).await;
        assert_eq!(units.map(f64::to_bits), [1.0, 1.0].map(f64::to_bits), "{name}: {units:?}");
    }
    let apns = |device| Answer::Accepted { provider_id: format!("A1B2C3D4-E5F6-7890-ABCD-EF01234567{device:02}") };
    let units = claim_and_record(&store, 9, 20, apns).await;
    assert_eq!(units.map(f64::to_bits), [1.0, 1.0].map(f64::to_bits), "APNs: {units:?}");
}

#[tokio::test]
async fn a_lost_condition_is_one_request_that_writes_nothing() {
    let (upstream, direct) = database().await;
    let (proxy, url) = super::support::Proxy::start(&upstream).await;
    let store = super::support::store_at(&url, 10_000).await;
    let first = message(id("k", 1), "k", &request(1, "body"));
    accept(&store, &first).await;
    write(&store, first.id, &delivery(1), Expect::Absent).await;
    proxy.seen();

    let second = message(id("k", 2), "k", &request(1, "another"));
    assert!(matches!(store.accept(&second, second.at_ms).await, AcceptWrite::Taken(_)));
    let stale = Delivery { attempt: 9, ..delivery(1) };
    for expect in [Expect::Absent, Expect::Version(7)] {
        let outcome = store.write_delivery(first.id, 0, &stale, expect).await;
        assert!(matches!(outcome, DeliveryWrite::Conflict(Some(_))), "{outcome:?}");
    }
    let operations: Vec<String> = proxy.seen().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(operations, ["PutItem", "UpdateItem", "UpdateItem"], "the loser never reads again");
    let stored = direct.message(first.id.key).await.unwrap().unwrap();
    assert_eq!((stored.message, stored.deliveries), (first, vec![Some(delivery(1))]));
}
