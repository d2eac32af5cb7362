//! Random schedules: more devices, copies, consumers and faults than can be explored to the end.

use super::world::{Action, World};
use crate::common::POLICIES;
use proptest::{collection, prelude::*, sample::Index};
use protocol::content::Policy;

/// Faults are plenty; what keeps a walk interesting is that most steps are none.
fn pick(world: &World, at: &Index, faulty: bool) -> Option<Action> {
    let moves = world.moves();
    let free: Vec<Action> = moves
        .iter()
        .copied()
        .filter(|action| world.apply(*action).is_ok_and(|next| next.budget == world.budget))
        .collect();
    let choice = if faulty || free.is_empty() { moves } else { free };
    (!choice.is_empty()).then(|| choice[at.index(choice.len())])
}

fn walk(policy: Policy, devices: usize, copies: usize, steps: &[(Index, u8)]) -> Result<(), String> {
    let mut world = World { consumers: 3, ..World::new(policy, devices, copies, 60) };
    let mut story = Vec::new();
    for (at, chance) in steps {
        // One step in five may be a fault.
        let Some(action) = pick(&world, at, *chance < 51) else { break };
        story.push(format!("{action:?}"));
        let told = |broken: String| format!("{broken}\n{}", story.join("\n"));
        let next = world.apply(action).map_err(told)?;
        next.check().map_err(told)?;
        world.check_step(action, &next).map_err(told)?;
        world = next;
    }
    let mut rest = world;
    // Consumers that are still at it die; what they had called may be called again.
    while !rest.running.is_empty() && rest.budget > 0 {
        rest = rest.apply(Action::Crash(0))?;
    }
    rest.check_drains().map_err(|broken| format!("{broken}\n{}", story.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_random_schedule_breaks_a_rule(
        policy in prop::sample::select(POLICIES.to_vec()),
        devices in 1_usize..4,
        copies in 1_usize..4,
        steps in collection::vec(any::<(Index, u8)>(), 0..150),
    ) {
        if let Err(broken) = walk(policy, devices, copies, &steps) {
            prop_assert!(false, "{}", broken);
        }
    }
}
