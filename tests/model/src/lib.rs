//! The protocol, model-checked: every schedule of a small world under every pair of faults.
//!
//! `messages` is the model of accept, inline send, relay, delivery and dead letters. It holds no decision and no order
//! of steps: it creates protocol's machines, hands each pending effect's outcome back in every way that a network, a
//! crash or a provider allows (done; done and the answer lost; done and met by the client's own repeat; never arrived;
//! held and late; the invocation dead before or after), and reads what is stored through `protocol::status`. Called by
//! `tests/`, where the state counts are pinned and each seeded mistake must be caught.
//!
//! Shown, in every reachable state of the configurations in `tests/messages.rs`: G1, G2, G3, G4 (a copy is in a queue
//! while a chunk is not done; a fair run without faults ends every accepted chunk), G5, G6 and G8.
//!
//! What is abstracted:
//! - **Time.** A message is before its deadline, after it, or after the clock rule; a lease is live or over; a retry is
//!   due at any time; visibility, delay and backoff may pass at any moment. An invocation is on time or has slept past
//!   its lease. A machine is told a clock value that fits; its own end of invocation is not approached otherwise.
//! - **Steps that nobody else sees** (prepare, read, look-up, release) belong to the step before or after them, and an
//!   outcome is heard when it happens. No effect depends on the clock, so hearing late is time passing first.
//! - **SQS** keeps what it confirmed, in any order, more than once, and may give up on any copy that was received. The
//!   **stream** is lossless and repeats what its checkpoint has not passed. **DynamoDB** is linearizable per item; the
//!   relay's query may be stale. The TTL deletion of a message item is not modelled: the clock decides, not the deletion.
//! - **Sizes.** One to three requests, one or two chunks of one or two devices, one to three consumers, one relay, one
//!   dead-letter handler; two faults, of any kinds (`MODEL_MORE_FAULTS`: more). Attempts never reach their limit.
//! - **The hold and the audit** are in worlds of their own, with one fault besides. A hold is what whoever prepares is
//!   told, set and lifted at any moment; who sets it, and its probes, are not here. The audit adds a copy at any moment.
//! - **Not here:** records that cannot be read and entries that SQS refuses (parked), batches of more than ten entries,
//!   throttling (a lost request), validation. `protocol`'s own tests have exact times, waits and counters.
//!
//! `refunds` is the model of decisions, payouts, their relay, dead letters, retries and events, with G7; its header says
//! what it abstracts.
//!
//! Parts that all models share: `search` (every state), `shortest` (the shortest counterexample), `trace` (how it is
//! told, also as JSON), `shared` (cheap states), `faults` (budgets), `drained` (the memory of "drains").

pub mod drained;
pub mod faults;
pub mod messages;
pub mod refunds;
pub mod search;
pub mod shared;
pub mod shortest;
pub mod trace;
