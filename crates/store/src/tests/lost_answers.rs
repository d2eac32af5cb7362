//! Writes that happened while their answers were lost: "was it me?", and no longer than the operation may take.

use super::support::{Answer, Proxy, database, delivery, id, message, request, store_at};
use crate::{AcceptWrite, DeliveryWrite, Store, StoreError};
use protocol::{
    accept::{Conflict, on_conflict},
    claim::{ChunkFacts, Claim, claim},
    content::Policy,
    expect::Expect,
    ids::OwnerToken,
};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const OPERATION_MS: u64 = 1_500;

/// Long enough for two repeats, each of which the SDK puts off by up to one and two seconds.
const WITH_REPEATS_MS: u64 = 6_000;

async fn behind_a_proxy(operation_ms: u64) -> (Proxy, Store) {
    let (upstream, _) = database().await;
    let (proxy, url) = Proxy::start(&upstream).await;
    (proxy, store_at(&url, operation_ms).await)
}

#[tokio::test]
async fn an_accept_whose_answer_was_lost_meets_itself() {
    for (number, lost) in [vec![Answer::Close], vec![Answer::Withhold], vec![Answer::Close; 2]].iter().enumerate() {
        let (proxy, store) = behind_a_proxy(WITH_REPEATS_MS).await;
        let request = request(1, "body");
        let mine = message(id("k", 1), "k", &request);
        proxy.lose(lost);
        let AcceptWrite::Taken(prior) = store.accept(&mine, mine.at_ms).await else { panic!("case {number}") };
        assert_eq!(prior.id, mine.id);
        assert_eq!(on_conflict(&prior, &mine, &request), Conflict::Mine);
        assert_eq!(proxy.seen().len(), lost.len() + 1, "one try for each lost answer, and the last");
    }
}

#[tokio::test]
async fn an_accept_over_an_expired_message_meets_itself_too() {
    let (proxy, store) = behind_a_proxy(WITH_REPEATS_MS).await;
    let request = request(1, "body");
    let old = message(id("k", 1), "k", &request);
    assert!(matches!(store.accept(&old, old.at_ms).await, AcceptWrite::Accepted { .. }));
    let after = (old.valid_until_s + 1) * 1_000;
    let mut mine = message(id("k", 2), "k", &request);
    mine.valid_until_s += 100_000;
    proxy.lose(&[Answer::Close]);
    let AcceptWrite::Taken(prior) = store.accept(&mine, after).await else { panic!("not taken") };
    assert_eq!(on_conflict(&prior, &mine, &request), Conflict::Mine);
    let stored = store.message(mine.id.key).await.expect("read").expect("stored");
    assert_eq!(stored.message, mine);
}

#[tokio::test]
async fn another_request_s_message_is_not_mine() {
    let (_, store) = behind_a_proxy(WITH_REPEATS_MS).await;
    let request = request(1, "body");
    let first = message(id("k", 1), "k", &request);
    assert!(matches!(store.accept(&first, first.at_ms).await, AcceptWrite::Accepted { .. }));
    let second = message(id("k", 2), "k", &request);
    // To the last second of its validity.
    let AcceptWrite::Taken(prior) = store.accept(&second, first.valid_until_s * 1_000 + 999).await else {
        panic!("not taken")
    };
    assert_eq!(on_conflict(&prior, &second, &request), Conflict::Duplicate(first.id));
    let other = super::support::request(1, "another body");
    assert_eq!(on_conflict(&prior, &message(second.id, "k", &other), &other), Conflict::Reused);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_resumed_by_its_owner_only() {
    let (proxy, store) = behind_a_proxy(WITH_REPEATS_MS).await;
    let facts = ChunkFacts { deliver_by_ms: u64::MAX, policy: Policy::AtMostOnce, devices: 20, expires_s: 9 };
    let (mine, other) = (OwnerToken([1; 16]), OwnerToken([2; 16]));
    let Claim::Run(item, expect) = claim(None, &facts, mine, 1_000, 75_000) else { panic!("no claim") };
    proxy.lose(&[Answer::Close]);
    let DeliveryWrite::Conflict(Some(stored)) = store.write_delivery(id("k", 1), 0, &item, expect).await else {
        panic!("no conflict")
    };
    assert_eq!(stored, item);
    assert_eq!(claim(Some(&stored), &facts, mine, 1_001, 75_000), Claim::Resume(item));
    assert_eq!(claim(Some(&stored), &facts, other, 1_001, 75_000), Claim::Busy(76_000));
}

#[tokio::test]
async fn a_write_without_any_answer_is_unknown_and_may_have_happened() {
    for lost in [Answer::Close, Answer::Withhold] {
        let (proxy, store) = behind_a_proxy(OPERATION_MS).await;
        let request = request(1, "body");
        let mine = message(id("k", 1), "k", &request);
        proxy.lose(&[lost; 9]);
        let started = Instant::now();
        let outcome = store.accept(&mine, mine.at_ms).await;
        assert!(matches!(outcome, AcceptWrite::Unknown(StoreError::Unavailable { .. })), "{outcome:?}");
        assert!(started.elapsed() < Duration::from_millis(OPERATION_MS + 500), "{:?}", started.elapsed());
        proxy.lose(&[]);
        let stored = store.message(mine.id.key).await.expect("read").expect("it had happened");
        assert_eq!(stored.message, mine);
    }
}

#[tokio::test]
async fn a_table_that_never_answers_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let hole = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    let store = store_at(&url, OPERATION_MS).await;
    let limit = Duration::from_millis(OPERATION_MS + 500);
    let started = Instant::now();
    let mine = message(id("k", 1), "k", &request(1, "body"));
    assert!(matches!(store.accept(&mine, mine.at_ms).await, AcceptWrite::Unknown(_)));
    assert!(started.elapsed() < limit, "accept took {:?}", started.elapsed());
    let started = Instant::now();
    let claimed = store.write_delivery(mine.id, 0, &delivery(1), Expect::Absent).await;
    assert!(matches!(claimed, DeliveryWrite::Unknown(StoreError::Unavailable { .. })));
    assert!(store.delivery(mine.id, 0).await.is_err());
    assert!(started.elapsed() < 2 * limit, "claim and read took {:?}", started.elapsed());
    hole.abort();
}

#[tokio::test]
async fn a_table_that_refuses_connections_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let store = store_at(&url, OPERATION_MS).await;
    let mine = message(id("k", 1), "k", &request(1, "body"));
    let outcome = store.accept(&mine, mine.at_ms).await;
    assert!(matches!(outcome, AcceptWrite::Unknown(StoreError::Unavailable { operation: "PutItem", .. })));
}

/// DynamoDB's answers hold whole messages. One that cannot be read is an error, and an error is logged.
#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_quoted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 16_384];
                while connection.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                    let body = r#"{"Item":{"tk":{"S":"a-device-token"}}, cut off"#;
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length:";
                    let answer = format!("{head} {}\r\n\r\n{body}", body.len());
                    if connection.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let store = store_at(&url, OPERATION_MS).await;
    let mine = message(id("k", 1), "k", &request(1, "body"));
    let read = store.delivery(mine.id, 0).await.expect_err("it cannot be read");
    let AcceptWrite::Unknown(written) = store.accept(&mine, mine.at_ms).await else { panic!("not unknown") };
    for error in [read, written] {
        let said = format!("{error} {error:?}");
        assert!(said.contains("did not answer") && !said.contains("a-device-token"), "{said}");
    }
}
