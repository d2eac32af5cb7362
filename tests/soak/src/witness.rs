//! What the proxy, the processes and the ledger saw, in the oracle's words.

use crate::{
    clients::Seen,
    evidence::{Call, Fault, Harm, Hit, Look, Work, Write},
    plan::Send,
    scripts::{is_ambiguous, is_permanent, message_of, silence_says_nothing, variant_of},
    tally::Tally,
};
use fault::{
    World,
    journal::{End, Invoked},
    proxy::Exchange,
};
use sandbox::Entry;
use serde_json::Value;
use std::collections::HashSet;

/// Devices of the messages with which `World::drained` knows that the relay is done.
const BARRIER: &str = "barrier-";

/// What a copy of the dead-letter function holds, and no other.
pub(crate) const REDRIVE: &str = "redrive";
/// What happens to a send that never arrives.
const NOT_SENT: [&str; 3] = ["drop_request", "error", "fail_entries"];

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    /// Faults that may excuse something.
    pub(crate) faults: Vec<Fault>,
    /// Records that arrived.
    pub(crate) records: Vec<Write>,
    /// Claims that arrived.
    pub(crate) claims: Vec<Write>,
    /// Invocations of consumers that are over.
    pub(crate) works: Vec<Work>,
    /// Moves of the clocks.
    pub(crate) jumps: Vec<(u64, u64)>,
    /// The owners' tokens of those claims.
    tokens: HashSet<String>,
    /// Calls that never reached their provider.
    dropped: Vec<Call>,
}

/// The chunks that an event of copies holds.
#[must_use]
pub(crate) fn chunks_of(event: &Value) -> Vec<(String, usize)> {
    let records = event["Records"].as_array().map_or(&[][..], Vec::as_slice);
    let chunk = |record: &Value| {
        let body: Value = serde_json::from_str(record["body"].as_str()?).ok()?;
        let chunk = usize::try_from(body["chunk"].as_u64()?).ok()?;
        Some((body["id"].as_str()?.to_owned(), chunk))
    };
    records.iter().filter_map(chunk).collect()
}

/// The chunk that a write of a delivery item is about: its message's id is the hash in one key and the nonce in the other.
fn chunk_of_write(body: &Value) -> Option<(String, usize)> {
    let hash = body["Key"]["pk"]["S"].as_str()?.strip_prefix("K#")?;
    let (nonce, chunk) = body["Key"]["sk"]["S"].as_str()?.strip_prefix("D#")?.split_once('#')?;
    Some((format!("msg_{hash}{nonce}"), chunk.parse().ok()?))
}

fn device_of_call(exchange: &Exchange) -> Option<(String, String)> {
    let body = exchange.json();
    let token = match exchange.operation.as_str() {
        "apns" => exchange.path.rsplit('/').next()?,
        _ => body["message"]["token"].as_str()?,
    };
    Some((message_of(&body)?.to_owned(), token.to_owned()))
}

fn side(operation: &str) -> &'static str {
    match operation {
        "PutItem" | "UpdateItem" | "GetItem" | "BatchGetItem" | "Query" | "Scan" => "table",
        "SendMessageBatch" | "ChangeMessageVisibility" => "queue",
        "fcm" | "apns" => "provider",
        _ => "credentials",
    }
}

impl Witness {
    /// Takes what was seen since it was last asked.
    pub(crate) fn listen(&mut self, world: &World, tally: &mut Tally) {
        for exchange in world.proxy.take_log() {
            if let Some(done) = exchange.done {
                tally.add(&format!("{}: {done}", side(&exchange.operation)), 1);
                let redrive = exchange.operation == "SendMessageBatch" && exchange.holds(REDRIVE);
                tally.add("queue: a re-drive failed", usize::from(redrive && NOT_SENT.contains(&done)));
            }
            match exchange.operation.as_str() {
                "fcm" | "apns" => self.call(&exchange, tally),
                "UpdateItem" => self.write(&exchange, tally),
                _ => {}
            }
        }
        for invoked in world.fleet.take_invoked() {
            self.invoked(&invoked, tally);
        }
        let jumps = world.jumps();
        tally.add("clocks moved", jumps.len() - self.jumps.len());
        self.jumps = jumps.into_iter().map(|jump| (jump.from_ms, jump.to_ms)).collect();
    }

    fn call(&mut self, exchange: &Exchange, tally: &mut Tally) {
        let name = match exchange.done {
            Some("drop_request") => "call lost on its way",
            Some("apply_drop_response") => "answer lost on its way back",
            // Whoever shares a connection with a call that ends it loses the answer too, delayed or not.
            _ if exchange.status.is_none() => "connection ended during the call",
            _ => return,
        };
        let Some((message, token)) = device_of_call(exchange) else { return };
        tally.add("provider: no answer through the proxy", usize::from(name == "connection ended during the call"));
        let (at_ms, harm) = (exchange.at_ms, Harm::Answer);
        if exchange.done == Some("drop_request") {
            let (message, token) = (message.clone(), token.clone());
            self.dropped.push(Call {
                message,
                token,
                variant: variant_of(&exchange.json()),
                at_ms,
                accepted: false,
                permanent: false,
                lost: Some(name),
                error: false,
            });
        }
        self.faults.push(Fault { name, hit: Hit::Device(message, token), from_ms: at_ms, to_ms: at_ms, harm });
    }

    fn write(&mut self, exchange: &Exchange, tally: &mut Tally) {
        let body = exchange.json();
        let Some((message, chunk)) = chunk_of_write(&body) else { return };
        let values: Vec<&Value> =
            body["ExpressionAttributeValues"].as_object().map_or(Vec::new(), |values| values.values().collect());
        let in_flight = values.iter().any(|value| value["S"] == "I");
        // The only binary attribute is the owner's token, fresh for each claim. Whoever comes too late joins its outcome
        // to a claim of somebody else, and leaves that one its token.
        let token = values.iter().find_map(|value| value["B"].as_str()).filter(|_| in_flight);
        let joins = token.is_some_and(|token| self.tokens.contains(token));
        let claims = in_flight && !joins;
        let applied = exchange.status.or(exchange.lost_status) == Some(200);
        if applied && !joins {
            self.tokens.extend(token.map(ToOwned::to_owned));
            let of = if claims { &mut self.claims } else { &mut self.records };
            let (sent_ms, at_ms) = (exchange.from_ms, exchange.at_ms);
            let by = exchange.by.clone().unwrap_or_default();
            of.push(Write { message: message.clone(), chunk, by, sent_ms, at_ms });
        }
        let (name, harm) = if claims { ("claim lost", Harm::Claim) } else { ("record lost", Harm::Record) };
        if matches!(exchange.done, Some("drop_request" | "apply_drop_response" | "error" | "hold")) {
            // A held write is in the log once it is let go; its client gave up some time before.
            let (from_ms, to_ms) = (exchange.from_ms, exchange.at_ms);
            self.faults.push(Fault { name, hit: Hit::Chunk(message, chunk), from_ms, to_ms, harm });
            if !claims {
                tally.add("table: record lost", 1);
            }
        }
    }

    fn invoked(&mut self, invoked: &Invoked, tally: &mut Tally) {
        let broke = match invoked.end {
            End::Returned => None,
            End::Broke => Some("killed between call and record"),
            End::TimedOut => Some("invocation ran out of time"),
        };
        tally.add("invocations killed", usize::from(invoked.end == End::Broke));
        tally.add("invocations out of time", usize::from(invoked.end == End::TimedOut));
        if invoked.function != "deliver" {
            return;
        }
        let (from_ms, to_ms) = (invoked.from_ms, invoked.to_ms);
        let works = chunks_of(&invoked.event).into_iter();
        let work = |(message, chunk)| Work { message, chunk, by: invoked.by.clone(), from_ms, to_ms, broke };
        self.works.extend(works.map(work));
    }

    /// Every call that a provider got, and those that got lost before.
    #[must_use]
    pub(crate) fn calls(&self, ledger: &[Entry], sends: &[Send], tally: &mut Tally) -> Vec<Call> {
        let scripts = sends.iter().flat_map(|send| &send.scripts);
        let not_processed: HashSet<&str> =
            scripts.filter(|(_, script)| !silence_says_nothing(script)).map(|(token, _)| token.as_str()).collect();
        let mut calls = self.dropped.clone();
        for entry in ledger {
            let (Some(token), Some(message)) = (entry.token.as_deref(), message_of(&entry.payload)) else { continue };
            if token.starts_with(BARRIER) {
                continue;
            }
            tally.add(kind(entry), 1);
            let silent = !entry.answered && (entry.accepted || !not_processed.contains(token));
            let lost = match (silent, is_ambiguous(entry)) {
                (true, _) => Some("provider never answered"),
                (_, true) => Some("provider's error may follow an acceptance"),
                _ => None,
            };
            let (message, token) = (message.to_owned(), token.to_owned());
            let (accepted, permanent, error) = (entry.accepted, is_permanent(entry), is_ambiguous(entry));
            let variant = variant_of(&entry.payload);
            calls.push(Call { message, token, variant, at_ms: entry.at, accepted, permanent, lost, error });
        }
        calls.sort_by_key(|call| call.at_ms);
        calls
    }
}

fn kind(entry: &Entry) -> &'static str {
    match (entry.accepted, entry.answered, entry.status) {
        (true, true, _) => "provider: accepted",
        (true, false, _) => "provider: silent after accepting",
        (false, false, _) => "provider: silent without accepting",
        (_, _, Some(429)) => "provider: answered 429",
        (_, _, Some(500..)) => "provider: answered 5xx",
        _ if is_permanent(entry) => "provider: refused for good",
        _ => "provider: refused otherwise",
    }
}

/// Every look at one device of a message; where a look did not name it, its word is empty.
#[must_use]
pub(crate) fn by_device(looks: &[Seen], device: usize) -> Vec<Look> {
    let look = |seen: &Seen| {
        let (asked_ms, told_ms) = (seen.asked_ms, seen.told_ms);
        Look { asked_ms, told_ms, word: seen.words.get(device).cloned().unwrap_or_default() }
    };
    looks.iter().map(look).collect()
}
