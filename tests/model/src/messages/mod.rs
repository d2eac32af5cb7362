//! Accept, inline send, relay, delivery and dead letters, as one model.
//!
//! Every decision and every order of steps is protocol's: the model creates its machines, hands each pending effect's
//! outcome back in every way that a network, a crash or a provider allows, and looks at what is stored through
//! `protocol::status`. Called by the tests through `Messages::new(config)`.

mod api;
mod audit;
mod checks;
mod config;
mod deliver;
mod drains;
mod letters;
mod moves;
mod mutation;
mod relay;
mod seeded;
mod stories;
mod tell;
mod time;
mod world;

pub use config::{Asked, Config};
pub use moves::Action;
pub use mutation::Mutation;
pub use seeded::{SEEDED, Seeded};
pub use stories::{STORIES, Story};
pub use world::World;

use crate::drained::Drained;
use config::Request;
use stateright::{Model, Property};
use world::{Chunk, Life, Phase, Truth};

/// The model of one configuration.
#[derive(Debug)]
pub struct Messages {
    config: Config,
    requests: Vec<Request>,
    drained: Drained,
}

impl Messages {
    /// The model of this configuration.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let requests = config::requests(&config);
        Self { config, requests, drained: Drained::default() }
    }

    fn has(&self, mutation: Mutation) -> bool {
        self.config.mutation == Some(mutation)
    }

    fn start(&self) -> World {
        let chunk =
            Chunk { item: None, truth: vec![Truth::default(); self.config.devices], windows: 0, unrecorded: false };
        let life = Life {
            accepted: false,
            phase: Phase::Open,
            inline_tried: false,
            chunks: vec![chunk; usize::from(self.config.chunks)],
        };
        let slots = self.requests.iter().map(|request| request.slot + 1).max().unwrap_or(0);
        World {
            budget: self.config.faults,
            apis: (0..self.requests.len()).map(|request| self.api_starts(request)).collect(),
            lives: vec![life; self.requests.len()],
            keys: vec![None; slots],
            stream: Vec::new(),
            relay: None,
            queue: Vec::new(),
            dead: Vec::new(),
            letter: None,
            runs: Vec::new(),
            network: Vec::new(),
            audits: self.config.audits,
            held: false,
            holds: self.config.holds,
            broken: world::Broken::default(),
        }
    }
}

impl Model for Messages {
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
