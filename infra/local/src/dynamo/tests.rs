//! The local DynamoDB on a real file: speed, trimming, expiry, what is kept and what is removed.

use super::{
    testing::{Fixture, TABLE},
    *,
};
use serde_json::json;
use std::time::Instant;

fn records(dynamo: &Dynamo) -> (i64, i64) {
    let connection = dynamo.stream.lock().unwrap();
    let counted = "SELECT COUNT(*), MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records";
    connection.query_row(counted, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[tokio::test]
async fn trims_behind_the_checkpoint_but_never_the_last_record() {
    let fixture = Fixture::start(None, Clock::system()).await;
    fixture.put(0, 1_200, 1).await;
    let (count, last) = records(&fixture.dynamo);
    assert_eq!(count, 1_200);
    // Sequence numbers count up by one or jump with the clock, so the checkpoint is taken from the records.
    let nth = "SELECT sequence_number FROM _stream_records ORDER BY id LIMIT 1 OFFSET 1100";
    let stored: String = fixture.dynamo.stream.lock().unwrap().query_row(nth, [], |row| row.get(0)).unwrap();
    let public = (SEQUENCE_OFFSET + stored.parse::<u128>().unwrap()).to_string();
    assert_eq!(fixture.dynamo.trim("other", &public).await.unwrap(), 0);
    assert_eq!(fixture.dynamo.trim(TABLE, &public).await.unwrap(), 1_100);
    assert_eq!(records(&fixture.dynamo), (100, last));
    let beyond = (SEQUENCE_OFFSET + u128::try_from(i64::MAX).unwrap()).to_string();
    assert_eq!(fixture.dynamo.trim(TABLE, &beyond).await.unwrap(), 99);
    assert_eq!(records(&fixture.dynamo), (1, last));
    assert!(matches!(fixture.dynamo.trim(TABLE, "17").await, Err(DynamoError::Sequence(_))));
}

#[tokio::test]
async fn sweeps_by_the_local_clock() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let now_s = clock.now_ms() / 1_000;
    fixture.put(0, 450, now_s + 3_000).await;
    fixture.put(450, 460, now_s + 30_000).await;
    assert_eq!(fixture.dynamo.sweeper().sweep_ttl().await.unwrap(), 0);
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(fixture.dynamo.sweeper().sweep_ttl().await.unwrap(), 450);
    assert_eq!(fixture.count().await, 10);
}

#[tokio::test]
async fn a_data_folder_keeps_items_and_a_temporary_one_goes_away() {
    let kept = Folder::create().unwrap();
    let dir = kept.path().join("data");
    let first = Fixture::start(Some(dir.clone()), Clock::system()).await;
    first.put(0, 10, 1).await;
    first.dynamo.stop().await.unwrap();
    let second = Fixture::start(Some(dir), Clock::system()).await;
    assert_eq!(second.count().await, 10);
    assert_eq!(second.stream_arn, first.stream_arn);

    let temporary = Fixture::start(None, Clock::system()).await;
    let path = temporary.dynamo._folder.as_ref().unwrap().path().to_owned();
    assert!(path.exists());
    temporary.dynamo.stop().await.unwrap();
    assert!(!path.exists());
}

/// The guarantee of this module's head: without the index the last 5,000 are ten times slower than the first.
#[tokio::test]
async fn writes_as_fast_after_20_000_records() {
    let fixture = Fixture::start(None, Clock::system()).await;
    let database = fixture.dynamo.database.clone();
    let timed = move |from: usize| {
        let start = Instant::now();
        for n in from..from + 5_000 {
            let put = json!({
                "TableName": TABLE, "ConditionExpression": "attribute_not_exists(pk)",
                "Item": {"pk": {"S": format!("K#{n}")}, "sk": {"S": "M"}, "pl": {"S": "x".repeat(400)}},
            });
            database.put_item(serde_json::from_value(put).unwrap()).unwrap();
        }
        start.elapsed()
    };
    let times = tokio::task::spawn_blocking(move || [0, 5_000, 10_000, 15_000].map(timed)).await.unwrap();
    eprintln!("5,000 puts each: {times:?}");
    assert!(times[3] <= times[0] * 2, "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trimming_beside_writes_fails_none_of_them() {
    let fixture = Fixture::start(None, Clock::system()).await;
    let database = fixture.dynamo.database.clone();
    let write = move || {
        for n in 0..3_000 {
            let item = json!({"TableName": TABLE, "Item": {"pk": {"S": format!("K#{n}")}, "sk": {"S": "M"}}});
            database.put_item(serde_json::from_value(item).unwrap()).unwrap();
        }
    };
    let writer = tokio::task::spawn_blocking(write);
    let beyond = (SEQUENCE_OFFSET + u128::try_from(i64::MAX).unwrap()).to_string();
    let mut removed = 0;
    while !writer.is_finished() {
        removed += fixture.dynamo.trim(TABLE, &beyond).await.unwrap();
    }
    writer.await.unwrap();
    removed += fixture.dynamo.trim(TABLE, &beyond).await.unwrap();
    assert_eq!(removed, 2_999);
}
