//! Every schedule of two consumers and up to two faults, and random schedules with many.
//!
//! A violation is reported with the shortest list of steps that leads to it.

mod checks;
mod moves;
mod world;

use protocol::content::Policy;
use std::collections::HashMap;
use world::{Action, World};

/// What an exploration has seen.
struct Explored {
    worlds: usize,
}

/// Visits every world reachable from `start`, nearest first.
fn explore(start: World) -> Explored {
    let mut worlds = vec![start.clone()];
    let mut came_from: Vec<Option<(usize, Action)>> = vec![None];
    let mut known = HashMap::from([(start, 0)]);
    let mut at = 0;
    while at < worlds.len() {
        let world = worlds[at].clone();
        let checked = world.check().and_then(|()| if world.running.is_empty() { world.check_drains() } else { Ok(()) });
        if let Err(broken) = checked {
            panic!("{broken}\n{}", story(&worlds, &came_from, at, None));
        }
        for action in world.moves() {
            let next = match world.apply(action) {
                Ok(next) => next,
                Err(broken) => panic!("{broken}\n{}", story(&worlds, &came_from, at, Some(action))),
            };
            if let Err(broken) = world.check_step(action, &next) {
                panic!("{broken}\n{}", story(&worlds, &came_from, at, Some(action)));
            }
            if !known.contains_key(&next) {
                known.insert(next.clone(), worlds.len());
                worlds.push(next);
                came_from.push(Some((at, action)));
            }
        }
        at += 1;
    }
    Explored { worlds: worlds.len() }
}

/// How a world came about, step by step.
fn story(worlds: &[World], came_from: &[Option<(usize, Action)>], at: usize, last: Option<Action>) -> String {
    let mut steps: Vec<String> = last.iter().map(|action| format!("{action:?}")).collect();
    let mut here = at;
    while let Some((before, action)) = came_from[here] {
        steps.push(format!("{action:?}  [now {}]", worlds[here].now));
        here = before;
    }
    steps.reverse();
    format!("{}\nthe world before: {:?}", steps.join("\n"), worlds[at])
}

fn explored(policy: Policy, devices: usize, copies: usize, faults: u8) {
    let seen = explore(World::new(policy, devices, copies, faults));
    println!("{policy:?}, {devices} devices, {copies} copies, {faults} faults: {} worlds", seen.worlds);
    assert!(seen.worlds > 10, "nothing was explored");
}

#[test]
fn one_device_one_copy_at_least_once() {
    explored(Policy::AtLeastOnce, 1, 1, 2);
}

#[test]
fn one_device_one_copy_at_most_once() {
    explored(Policy::AtMostOnce, 1, 1, 2);
}

#[test]
fn two_devices_two_copies_at_least_once() {
    explored(Policy::AtLeastOnce, 2, 2, 2);
}

#[test]
fn two_devices_two_copies_at_most_once() {
    explored(Policy::AtMostOnce, 2, 2, 2);
}
#[test]
fn one3a() {
    explored(Policy::AtLeastOnce, 1, 1, 3);
}
#[test]
fn one3b() {
    explored(Policy::AtMostOnce, 1, 1, 3);
}
