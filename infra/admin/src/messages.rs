//! Looking a message up.

use crate::{
    answer::Answer,
    args::Messages,
    failure::{Failure, said},
    place::Place,
    table::table,
};
use protocol::ids::{KeyHash, MessageId, Operation};
use serde_json::{Value, json};
use store::{RawItem, Store, StoredMessage};

pub(crate) async fn run(place: &Place, command: Messages) -> Result<Answer, Failure> {
    let Messages::Show { id, key, project, raw } = command;
    let which = match (id, key, project) {
        (Some(id), _, _) => {
            let parsed = MessageId::parse(&id);
            Which::Id(parsed.ok_or_else(|| said(format!("{id} is no message id: msg_ and 40 more characters")))?)
        }
        (None, Some(key), Some(project)) => Which::Key(KeyHash::of(Operation::Message, &project, &key)),
        // The command line allows nothing else.
        _ => return Err(said("give a message id, or --project and --key")),
    };
    let store = place.store().await?;
    if raw { shown_raw(place, &store, which).await } else { shown(place, &store, which).await }
}

/// How a message is named.
#[derive(Clone, Copy)]
enum Which {
    Id(MessageId),
    Key(KeyHash),
}

impl Which {
    fn key(self) -> KeyHash {
        match self {
            Self::Id(id) => id.key,
            Self::Key(key) => key,
        }
    }
}

async fn shown(place: &Place, store: &Store, which: Which) -> Result<Answer, Failure> {
    let stored = store.message(which.key()).await.map_err(|error| {
        let failure = place.failed(error);
        said(format!("{failure} (--raw shows the items as they are)"))
    })?;
    let stored = stored.ok_or_else(|| said(NOTHING))?;
    if let Which::Id(id) = which
        && stored.message.id != id
    {
        return Err(said(format!(
            "the message {id} is gone: its idempotency key was used again when its validity was over, by {}",
            stored.message.id
        )));
    }
    let now_ms = place.clock.now_ms();
    let shown = api::shown(store, &stored, now_ms, &place.timing).await.map_err(|error| place.failed(error))?;
    let mut value =
        serde_json::to_value(shown).map_err(|error| said(format!("the answer has no JSON form: {error}")))?;
    value["project"] = json!(stored.message.project);
    // GET answers 404 from then on; whoever looks here wants to know.
    value["key_valid"] = json!(stored.message.valid_until_s >= now_ms / 1_000);
    value["chunks"] = json!({"all": stored.deliveries.len(), "begun": begun(&stored)});
    let text = text(&value, &stored);
    Ok(Answer::new(value, text))
}

const NOTHING: &str = "there is no such message: none was ever accepted, or it was deleted after its key's validity";

fn begun(stored: &StoredMessage) -> usize {
    stored.deliveries.iter().flatten().count()
}

fn text(value: &Value, stored: &StoredMessage) -> String {
    let word = |name: &str| value[name].as_str().unwrap_or("-").to_owned();
    let mut lines = String::new();
    for (label, said) in [
        ("message", word("id")),
        ("project", word("project")),
        ("key", word("idempotency_key")),
        ("status", word("status")),
        ("delivery", word("delivery")),
        ("created", word("created_at")),
        ("deliver by", word("deliver_by")),
        ("expires", word("expires_at")),
        ("chunks", format!("{}, begun {}", stored.deliveries.len(), begun(stored))),
    ] {
        lines.push_str(&format!("{label:<12}{said}\n"));
    }
    if value["key_valid"] == false {
        lines.push_str("The validity of its key is over: GET answers 404, and the key may be used again.\n");
    }
    if let Some(held) = value["held"].as_object() {
        let word = |name: &str| held.get(name).and_then(Value::as_str).unwrap_or("-");
        lines.push_str(&format!(
            "Held since {}: {} refuses the project's credentials ({}). `sendonce credentials check` asks it.\n",
            word("since"),
            word("provider"),
            word("reason")
        ));
    }
    let rows: Vec<_> = value["deliveries"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|device| {
            let word = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), str::to_owned);
            [
                device["index"].to_string(),
                word(&device["platform"]),
                word(&device["token"]),
                word(&device["status"]),
                device["attempts"].to_string(),
                word(&device["last_error"]["code"]),
                word(&device["updated_at"]),
            ]
        })
        .collect();
    lines.push_str(&table(["DEVICE", "PLATFORM", "TOKEN", "STATUS", "CALLS", "LAST ERROR", "UPDATED"], &rows));
    lines
}

async fn shown_raw(place: &Place, store: &Store, which: Which) -> Result<Answer, Failure> {
    let items = store.raw_message(which.key()).await.map_err(|error| place.failed(error))?;
    if items.is_empty() {
        return Err(said(NOTHING));
    }
    let mut text = String::new();
    for item in &items {
        text.push_str(&format!("{}\n", item.sort_key));
        let rows: Vec<_> = item
            .attributes
            .iter()
            .map(|attribute| {
                let means =
                    if attribute.means.is_empty() { "(this version does not know it)" } else { attribute.means };
                [format!("  {}", attribute.name), attribute.value.to_string(), means.to_owned()]
            })
            .collect();
        // The first line is the head, and its columns speak for themselves.
        text.push_str(table(["", "", ""], &rows).split_once('\n').map_or("", |(_, rows)| rows));
    }
    Ok(Answer::new(json!({"items": items.iter().map(raw_json).collect::<Vec<_>>()}), text))
}

fn raw_json(item: &RawItem) -> Value {
    let attributes = item.attributes.iter().map(|attribute| {
        let spelt = json!({"means": attribute.means, "value": attribute.value});
        (attribute.name.clone(), spelt)
    });
    json!({"sort_key": item.sort_key, "attributes": attributes.collect::<serde_json::Map<_, _>>()})
}
