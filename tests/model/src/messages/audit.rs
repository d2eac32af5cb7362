//! The audit in the model's world: a copy for a chunk that is unfinished, whether one is in a queue or not.
//!
//! A pass, its pages and its saves are one step for each chunk: a page that is repeated adds a copy, as another pass does.
//! The judgement is protocol's. A message may be audited at any moment, which is more than its range allows.

use super::{Messages, config::TIMING, world::World};
use protocol::audit::{Progress, judge};

impl Messages {
    /// The chunks to which the audit may add a copy now.
    pub(super) fn audited<'a>(&'a self, world: &'a World) -> impl Iterator<Item = (u8, u8)> + 'a {
        let finds = move |(message, chunk): &(u8, u8)| {
            let progress = self.item(world, *message, *chunk).map(|item| Progress::from(&**item));
            judge(progress.as_ref(), TIMING.visibility, self.now(world, *message, false)).is_some()
        };
        self.accepted(world).filter(move |_| world.audits > 0).filter(finds)
    }

    pub(super) fn audit(world: &mut World, message: u8, chunk: u8) {
        world.audits -= 1;
        world.enqueue(message, chunk, true, false);
    }
}
