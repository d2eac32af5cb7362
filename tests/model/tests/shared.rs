//! The parts that all models share.

use model::{
    faults::choices,
    shortest::shortest,
    trace::{Do, Tell, Trace, TraceStep},
};
use stateright::{Model, Property};

/// Counts by one or by two; 5 is wrong.
struct Counting;

impl Model for Counting {
    type State = u8;
    type Action = u8;

    fn init_states(&self) -> Vec<u8> {
        vec![0]
    }

    fn actions(&self, state: &u8, actions: &mut Vec<u8>) {
        if *state < 9 {
            actions.extend([1, 2]);
        }
    }

    fn next_state(&self, state: &u8, action: u8) -> Option<u8> {
        Some(state + action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("below ten", |_, state| *state < 11),
            Property::always("not five", |_, state| *state != 5),
        ]
    }
}

impl Tell for Counting {
    fn tell(&self, before: &u8, action: &u8) -> TraceStep {
        let what = if *action == 1 { Do::Apply } else { Do::CrashBefore };
        TraceStep::new("counter", 0, "add", what, before.to_string())
    }
}

#[test]
fn a_counterexample_is_the_shortest() {
    let found = shortest(&Counting, "", 100).unwrap();
    assert_eq!((found.property, found.steps.len()), ("not five", 3));
    assert_eq!(found.steps.iter().sum::<u8>(), 5);
    assert!(shortest(&Counting, "below ten", 100).is_none(), "9 is where it stops, 10 is fine");
}

/// Three states are too few to know.
#[test]
#[should_panic(expected = "given up after 3 states")]
fn a_search_that_is_given_up_is_not_one_that_found_nothing() {
    let _ = shortest(&Counting, "not five", 3);
}

#[test]
fn a_trace_numbers_effects_that_were_asked_for_and_survives_json() {
    let trace: Trace = shortest(&Counting, "not five", 100).unwrap().trace(&Counting);
    let told: Vec<(Do, u32, &str)> = trace.steps.iter().map(|s| (s.r#do, s.nth, s.about.as_str())).collect();
    assert_eq!(told, [(Do::Apply, 1, "0"), (Do::CrashBefore, 2, "1"), (Do::CrashBefore, 2, "3")]);
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["steps"][1]["do"], "crash_before");
    assert_eq!(serde_json::from_value::<Trace>(json).unwrap(), trace);
}

#[test]
fn budgets_are_choices_with_repetition() {
    assert_eq!([0, 1, 2, 3].map(|faults| choices(faults).len()), [1, 8, 36, 120]);
}
