//! Against a real dynoxide with a small table; what only AWS does, against a scripted endpoint (`fake`).

use super::*;
use crate::{
    dynamo::testing::Fixture,
    invoke::{Handler, Invocation},
};
use serde_json::json;
use std::sync::Mutex;
use tokio::{sync::watch, task::JoinHandle, time::timeout};

/// What each invocation was given, by item number, and the rule by which it answers.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Vec<usize>>>>);

impl Seen {
    fn batches(&self) -> Vec<Vec<usize>> {
        self.0.lock().unwrap().clone()
    }

    fn function(
        &self,
        clock: &Clock,
        rule: impl Fn(&[(usize, String)]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Function {
        let (seen, rule) = (self.clone(), Arc::new(rule));
        let handler: Handler = Arc::new(move |event, _: Invocation| {
            let (seen, rule) = (seen.clone(), rule.clone());
            Box::pin(async move {
                let records: Vec<(usize, String)> = (event["Records"].as_array().unwrap().iter())
                    .map(|record| {
                        let change = &record["dynamodb"];
                        let pk = change["Keys"]["pk"]["S"].as_str().unwrap();
                        let sequence = change["SequenceNumber"].as_str().unwrap();
                        (pk.trim_start_matches("K#").parse().unwrap(), sequence.to_owned())
                    })
                    .collect();
                seen.0.lock().unwrap().push(records.iter().map(|(n, _)| *n).collect());
                rule(&records)
            })
        });
        Function::new("relay", 60_000, clock.clone(), handler)
    }

    /// Waits until the invocations satisfy `done`.
    async fn until(&self, done: impl Fn(&[Vec<usize>]) -> bool) -> Vec<Vec<usize>> {
        let wait = async {
            while !done(&self.batches()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(timeout(Duration::from_secs(20), wait).await.is_ok(), "{} invocations", self.batches().len());
        self.batches()
    }
}

fn succeeds(_: &[(usize, String)]) -> Result<Value, String> {
    Ok(json!({"batchItemFailures": []}))
}

fn only_messages() -> Filter {
    Arc::new(|record| record["dynamodb"]["Keys"]["sk"]["S"] == "M" && record["dynamodb"]["NewImage"].is_object())
}

fn source(fixture: &Fixture, filter: Filter, window_ms: u64) -> StreamSource {
    StreamSource {
        client: fixture.streams.clone(),
        stream_arn: fixture.stream_arn.clone(),
        region: "local".into(),
        window_ms,
        filter,
        checkpoints: Checkpoints::memory(),
        trim: None,
    }
}

fn start(source: &StreamSource, function: &Function, clock: &Clock) -> (watch::Sender<bool>, JoinHandle<()>) {
    let (stop, stopping) = watch::channel(false);
    (stop, tokio::spawn(run(source.clone(), function.clone(), clock.clone(), stopping)))
}

async fn end((stop, task): (watch::Sender<bool>, JoinHandle<()>)) {
    stop.send_replace(true);
    timeout(Duration::from_secs(5), task).await.expect("stops promptly").unwrap();
}

#[tokio::test]
async fn filters_collects_for_the_window_and_goes_on_from_the_checkpoint() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let source = source(&fixture, only_messages(), 3_600_000);
    let seen = Seen::default();
    let function = seen.function(&clock, succeeds);
    fixture.put(0, 30, 1).await;
    let running = start(&source, &function, &clock);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(seen.batches().is_empty(), "the window is an hour of the local clock");
    fixture.put(30, 40, 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    clock.advance(Duration::from_secs(3_601));
    let expected: Vec<usize> = (0..40).step_by(2).collect();
    assert_eq!(seen.until(|b| !b.is_empty()).await, [expected]);
    end(running).await;

    fixture.put(40, 44, 1).await;
    let again = start(&StreamSource { window_ms: 0, ..source }, &function, &clock);
    assert_eq!(seen.until(|b| b.concat().contains(&42)).await[1..].concat(), [40, 42]);
    end(again).await;
}

#[tokio::test]
async fn a_full_batch_does_not_wait_and_passed_records_are_trimmed() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let trimmed = Arc::new(Mutex::new(Vec::new()));
    let (trims, trimmer) = (trimmed.clone(), fixture.dynamo.trimmer());
    let trim: Trim = Arc::new(move |sequence| {
        let (trims, trimmer) = (trims.clone(), trimmer.clone());
        Box::pin(async move {
            let removed = trimmer.trim(crate::dynamo::testing::TABLE, &sequence).await.unwrap();
            trims.lock().unwrap().push(removed);
        })
    });
    let source = StreamSource { trim: Some(trim), ..source(&fixture, Arc::new(|_| true), 3_600_000) };
    let seen = Seen::default();
    fixture.put(0, 2_100, 1).await;
    let running = start(&source, &seen.function(&clock, succeeds), &clock);
    let batches = seen.until(|b| b.len() >= 2).await;
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 1_000]);
    assert_eq!(batches.concat(), (0..2_000).collect::<Vec<_>>());
    // The second invocation was seen; its checkpoint and trim still follow before the poller looks at the stop.
    end(running).await;
    assert_eq!(*trimmed.lock().unwrap(), [999, 1_000]);
}

#[tokio::test]
async fn reported_failures_repeat_from_the_lowest() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let source = source(&fixture, Arc::new(|_| true), 0);
    let (seen, asked) = (Seen::default(), Mutex::new(0));
    fixture.put(0, 10, 1).await;
    let function = seen.function(&clock, move |records| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        // First 7 and 3 fail, then 3 itself once more, then nothing.
        let failed: Vec<usize> = [vec![7, 3], vec![3], vec![]][(*asked - 1).min(2)].clone();
        let failed = failed.iter().map(|n| &records.iter().find(|(item, _)| item == n).unwrap().1);
        Ok(json!({"batchItemFailures": failed.map(|id| json!({"itemIdentifier": id})).collect::<Vec<_>>()}))
    });
    let running = start(&source, &function, &clock);
    let (all, rest) = ((0..10).collect::<Vec<_>>(), (3..10).collect::<Vec<_>>());
    assert_eq!(seen.until(|b| b.len() >= 3).await, [all, rest.clone(), rest]);
    end(running).await;
}

#[tokio::test]
async fn a_failing_record_is_found_by_halving_and_holds_back_what_follows() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let source = source(&fixture, Arc::new(|_| true), 0);
    let (seen, poisoned) = (Seen::default(), Arc::new(Mutex::new(true)));
    fixture.put(0, 16, 1).await;
    let poison = poisoned.clone();
    let function = seen.function(&clock, move |records| {
        if *poison.lock().unwrap() && records.iter().any(|(n, _)| *n == 5) {
            Err("poison".into())
        } else {
            succeeds(records)
        }
    });
    let running = start(&source, &function, &clock);
    let batches = seen.until(|b| b.iter().filter(|b| **b == [5]).count() >= 3).await;
    let ranges = [0..16, 0..8, 0..4, 4..8, 4..6, 4..5, 5..6].map(Iterator::collect::<Vec<usize>>);
    assert_eq!(batches[..7], ranges);
    assert!(batches[7..].iter().all(|batch| *batch == [5]), "nothing overtakes it: {batches:?}");
    *poisoned.lock().unwrap() = false;
    let after = seen.until(|b| b.last().is_some_and(|b| b.contains(&15))).await;
    let healed = after.iter().rposition(|batch| *batch == [5]).unwrap();
    assert_eq!(after[healed..].concat(), (5..16).collect::<Vec<_>>());
    end(running).await;
}

#[tokio::test]
async fn an_unusable_answer_fails_the_whole_batch() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let source = source(&fixture, Arc::new(|_| true), 0);
    let seen = Seen::default();
    fixture.put(0, 2, 1).await;
    let wrong = |_: &[(usize, String)]| Ok(json!({"batchItemFailures": [{"itemIdentifer": "1"}]}));
    let running = start(&source, &seen.function(&clock, wrong), &clock);
    let batches = seen.until(|b| b.len() >= 3).await;
    assert_eq!(batches[..3], [vec![0, 1], vec![0], vec![0]]);
    end(running).await;
    assert_eq!(source.checkpoints.get(&source.stream_arn, "shardId-00000001-items"), None);
}

#[tokio::test]
async fn a_pause_holds_invocations_back_and_a_stop_lets_the_running_one_end() {
    let clock = Clock::system();
    let fixture = Fixture::start(None, clock.clone()).await;
    let source = source(&fixture, Arc::new(|_| true), 0);
    let (release, released) = watch::channel(false);
    let handler: Handler = Arc::new(move |_, _| {
        let mut released = released.clone();
        Box::pin(async move {
            released.wait_for(|released| *released).await.unwrap();
            Ok(Value::Null)
        })
    });
    let function = Function::new("relay", 60_000, clock.clone(), handler);
    function.pause();
    let (stop, task) = start(&source, &function, &clock);
    fixture.put(0, 5, 1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(function.invocations(), 0);
    function.resume();
    while function.invocations() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stop.send_replace(true);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!task.is_finished());
    release.send_replace(true);
    timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
    assert!(source.checkpoints.get(&source.stream_arn, "shardId-00000001-items").is_some());
}

#[tokio::test]
async fn parents_come_first_and_lost_iterators_are_replaced() {
    let clock = Clock::system();
    let (url, calls) = fake::serve().await;
    let fixture = Fixture::start(None, clock.clone()).await;
    let config = fixture.streams.config().to_builder().endpoint_url(url).build();
    let client = Client::from_conf(config);
    let source = StreamSource { client, stream_arn: "arn:fake".into(), ..source(&fixture, Arc::new(|_| true), 0) };
    source.checkpoints.save("arn:fake", "child", fake::OLD).await.unwrap();
    let seen = Seen::default();
    let running = start(&source, &seen.function(&clock, succeeds), &clock);
    let batches = seen.until(|b| b.concat().len() >= 4).await;
    end(running).await;
    assert_eq!(batches.concat(), [1, 2, 3, 4]);
    let calls = calls.lock().unwrap().clone();
    assert_eq!(calls[..3], ["parent TRIM_HORIZON", "parent TRIM_HORIZON", "child AFTER_SEQUENCE_NUMBER"]);
    assert_eq!(calls[3], "child TRIM_HORIZON");
}
