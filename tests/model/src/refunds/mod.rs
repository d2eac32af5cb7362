//! Decisions, payouts, the relay, dead letters, retries and events of one refund, as one model.
//!
//! Every decision and every order of steps is protocol's: the model creates its machines and hands each pending effect's
//! outcome back in every way that a network, a crash or a provider allows. Called by the tests through
//! `Refunds::new(config)`.
//!
//! What is abstracted:
//! - **Time.** The window of the current payout's key is open, over, or settled (whoever found it open has ended and its
//!   call has arrived), and open again once its only call is taken back; the provider forgets keys only after it is
//!   settled; a failed payout's waiting time passes when nobody who read it before still runs and no call of it is on its
//!   way, and so does that of one that was refused. These are `Timing`'s inequalities. Waits and visibility may pass at
//!   any time.
//! - **Steps that nobody else sees** (read, prepare, release) belong to the step before or after them. The relay's
//!   batch, a dead letter, a retry, a resolve and an event are one step each, besides a crash before the end.
//! - **SQS** keeps what it confirmed, in any order, more than once; a copy delivered twice is two copies, which is
//!   weaker, since deleting one deletes the other in truth. The **stream** is lossless. The audit is not here, nor the
//!   making of a refund; of the **trail** the lines on which a decision rests, and no bound.
//! - **A write of a consumer** may be held, and arrive at any time after its sender gave up: its condition alone decides.
//! - **The provider** remembers a key's first answer, refusals included, or refuses without remembering; a listing is
//!   whole, or (stale) empty. Its events are lost never, late always. A 500 that is remembered is a lost answer.
//! - **People** resolve a review by what the provider shows at that moment, and retry once.

mod checks;
mod config;
mod consumer;
mod drains;
mod moves;
mod mutation;
mod people;
mod provider;
mod seeded;
mod stories;
mod tell;
mod world;

pub use config::Config;
pub use moves::Action;
pub use mutation::Mutation;
pub use seeded::{SEEDED, Seeded};
pub use stories::{STORIES, Story, Told};
pub use world::World;

use crate::drained::Drained;
use stateright::{Model, Property};

/// The model of one configuration.
#[derive(Debug)]
pub struct Refunds {
    config: Config,
    drained: Drained,
}

impl Refunds {
    /// The model of this configuration.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, drained: Drained::default() }
    }

    fn has(&self, mutation: Mutation) -> bool {
        self.config.mutation == Some(mutation) || self.config.also == Some(mutation)
    }
}

impl Model for Refunds {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.start()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.moves(world, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.apply(world, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        checks::properties()
    }
}
