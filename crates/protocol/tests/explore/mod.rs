//! Every schedule of two consumers, a dead-letter handler and up to two faults, and random schedules with many.
//!
//! A violation is reported with the shortest list of steps that leads to it.

mod checks;
mod graves;
mod moves;
mod random;
mod world;

use crate::common::POLICIES;
use protocol::{
    content::Policy,
    machine::{Named, deliver::Outcome},
};
use std::collections::{BTreeSet, HashMap};
use world::{Action, Waiting, World};

/// Every world reachable from `start`, nearest first.
fn explore(start: World) -> Vec<World> {
    let mut worlds = vec![start.clone()];
    let mut came_from: Vec<Option<(usize, Action)>> = vec![None];
    let mut known = HashMap::from([(start, 0)]);
    let mut at = 0;
    while at < worlds.len() {
        let world = worlds[at].clone();
        let checked = world.check().and_then(|()| {
            if world.running.is_empty() && world.grave.is_none() { world.check_drains() } else { Ok(()) }
        });
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
    worlds
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

/// What is reached at all: a check that never sees a case proves nothing about it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reached {
    letters: BTreeSet<char>,
    second_accepted: bool,
    successor: bool,
    stalled: bool,
    late_write: bool,
    redriven: bool,
    settled_from_the_grave: bool,
}

impl Reached {
    fn note(&mut self, world: &World) {
        self.letters.extend(world.item.iter().flat_map(|item| &item.devices).map(|device| device.letter.as_char()));
        self.second_accepted |= world.truth.iter().any(|truth| truth.accepted > 1);
        self.successor |=
            world.running.iter().any(|run| run.waiting.contains(&Waiting::Done(Outcome::SuccessorConfirmed)));
        self.stalled |= world.running.iter().any(|run| run.stalled);
        self.late_write |= !world.network.is_empty();
        let in_hand = world.grave.as_ref().map(|grave| grave.effect.name());
        self.redriven |= in_hand == Some("redrive");
        self.settled_from_the_grave |= in_hand == Some("settle");
    }
}

fn explored(policy: Policy, devices: usize, copies: usize, faults: u8) {
    let worlds = explore(World::new(policy, devices, copies, faults));
    println!("{policy:?}, {devices} devices, {copies} copies, {faults} faults: {} worlds", worlds.len());
    let mut reached = Reached::default();
    for world in &worlds {
        reached.note(world);
    }
    let again = policy == Policy::AtLeastOnce;
    let letters = if again { "PABUSFE" } else { "PUSFE" };
    let expected = Reached {
        letters: letters.chars().filter(|letter| faults > 2 || *letter != 'B').collect(),
        second_accepted: again,
        successor: true,
        stalled: true,
        late_write: true,
        redriven: true,
        settled_from_the_grave: true,
    };
    reached.letters.retain(|letter| faults > 2 || *letter != 'B');
    assert_eq!(reached, expected);
}

/// How many faults a world may have: `usual`, and as many more as `EXPLORE_MORE_FAULTS` says. One more takes minutes and
/// gigabytes (10 million worlds in all), in a release build; run it when the deliver machine, the claim, the record or a
/// letter changes.
fn budget(usual: u8) -> u8 {
    let more =
        std::env::var("EXPLORE_MORE_FAULTS").map_or(0, |text| text.parse().expect("EXPLORE_MORE_FAULTS: a number"));
    usual + more
}

#[test]
fn one_device_and_two_faults() {
    for policy in POLICIES {
        explored(policy, 1, 1, budget(2));
    }
}

#[test]
fn one_device_with_two_copies_and_one_fault() {
    for policy in POLICIES {
        explored(policy, 1, 2, budget(1));
    }
}

#[test]
fn two_devices_and_two_faults() {
    for policy in POLICIES {
        explored(policy, 2, 1, budget(2));
    }
}
