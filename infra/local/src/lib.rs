//! The whole system on one machine: the stand-ins, the pollers, and the functions through the handlers that AWS runs.
//!
//! `cargo run` starts it for people; tests start it in-process on free ports. It guarantees that every part is reached
//! as in AWS (through HTTP, queues and the stream), that everything binds to 127.0.0.1, and that one clock, which can
//! be moved, rules all of it. Nothing in the functions knows that it exists.

pub mod args;
pub mod control;
pub mod crash;
mod data;
pub mod dynamo;
pub mod elsewhere;
mod front;
mod functions;
mod inline;
pub mod invoke;
mod linger;
pub mod pollers;
mod ports;
pub mod ready;
mod resources;
mod schedule;
pub mod stream;
mod system;
pub mod watched;

pub use elsewhere::Functions;
pub use system::{Options, System};
