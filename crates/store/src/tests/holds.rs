//! Hold items against the database: of two who write at once one wins, and knows it.

use super::support::{Answer, Proxy, database, store_at};
use crate::{HoldWrite, Store};
use protocol::{
    answer::Reason,
    expect::Expect,
    hold::{Gate, Hold, Prober, Provider, gate, lifted, refused},
    ids::OwnerToken,
    timing::Timing,
};

const CHUNK: Prober = Prober { nonce: protocol::ids::Nonce([1; 5]), chunk: 3 };
const T: Timing = Timing::PRODUCTION;

fn me(number: u8) -> OwnerToken {
    OwnerToken([number; 16])
}

fn reason() -> Reason {
    Reason { code: "InvalidProviderToken".to_owned(), detail: "APNs answered 403".to_owned() }
}

async fn begin(store: &Store, number: u8) -> (Hold, HoldWrite) {
    let (hold, expect) = refused(None, &reason(), "v1", None, me(number), 1_000, &T).expect("nothing to write");
    let write = store.write_hold("acme", Provider::Apns, &hold, expect).await;
    (hold, write)
}

#[tokio::test]
async fn of_two_who_begin_or_probe_in_the_same_millisecond_one_does() {
    let (_, store) = database().await;
    assert_eq!(store.hold("acme", Provider::Apns).await.expect("read"), None);
    let (hold, first) = begin(&store, 1).await;
    assert!(matches!(first, HoldWrite::Written));
    let (_, second) = begin(&store, 2).await;
    let HoldWrite::Conflict(Some(winner)) = second else { panic!("both began it") };
    assert_eq!(winner, hold);

    let due = hold.probe_at_ms;
    let mut written = Vec::new();
    for number in [3, 4] {
        let Gate::Probe(next, expect) = gate(Some(&hold), None, CHUNK, me(number), due, &T) else { panic!("not due") };
        written.push(matches!(store.write_hold("acme", Provider::Apns, &next, expect).await, HoldWrite::Written));
    }
    assert_eq!(written, [true, false]);

    let probe = store.hold("acme", Provider::Apns).await.expect("read").expect("stored");
    let (item, expect) = lifted(&probe, me(5), due + 1);
    assert!(matches!(store.write_hold("acme", Provider::Apns, &item, expect).await, HoldWrite::Written));
    assert_eq!(store.hold("acme", Provider::Apns).await.expect("read"), Some(item));
    // Neither the other provider nor another project is touched.
    for (project, provider) in [("acme", Provider::Fcm), ("globex", Provider::Apns)] {
        assert_eq!(store.hold(project, provider).await.expect("read"), None);
    }
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_meets_itself() {
    let (upstream, plain) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    let store = store_at(&url, 6_000).await;
    proxy.lose(&[Answer::Close]);
    let (hold, write) = begin(&store, 1).await;
    assert!(matches!(write, HoldWrite::Written), "{write:?}");
    assert_eq!(plain.hold("acme", Provider::Apns).await.expect("read"), Some(hold.clone()));
    let stale = plain.write_hold("acme", Provider::Apns, &hold, Expect::Version(9)).await;
    assert!(matches!(stale, HoldWrite::Written), "its own item is its own, whatever was expected");
}
