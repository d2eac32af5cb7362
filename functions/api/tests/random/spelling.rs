//! One meaning in many spellings: member order, white space, escapes, numbers, defaults, nulls, duplicates, and the key
//! in the body, in the header, or in both.

use super::meaning::{APPS, Meaning};
use proptest::prelude::*;

/// Choices, used up in order and then from the start.
#[derive(Clone, Debug)]
pub(crate) struct Spelling(Vec<u8>);

pub(crate) fn spelling() -> impl Strategy<Value = Spelling> {
    prop::collection::vec(any::<u8>(), 1..64).prop_map(Spelling)
}

struct Writer<'a> {
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl Writer<'_> {
    /// A number below `n`.
    fn choose(&mut self, n: usize) -> usize {
        usize::from(*self.choices.next().unwrap()) % n
    }

    fn space(&mut self) -> &'static str {
        ["", "", " ", "\n", "\t ", "\r\n"][self.choose(6)]
    }

    fn string(&mut self, text: &str) -> String {
        let mut out = String::from("\"");
        for c in text.chars() {
            let must = c < ' ' || c == '"' || c == '\\';
            let short = match c {
                '"' => Some("\\\""),
                '\\' => Some("\\\\"),
                '\n' => Some("\\n"),
                '\t' => Some("\\t"),
                '\r' => Some("\\r"),
                '\u{8}' => Some("\\b"),
                '\u{c}' => Some("\\f"),
                '/' => Some("\\/"),
                _ => None,
            };
            match (self.choose(4), short) {
                (0 | 1, _) if !must => out.push(c),
                (2, Some(short)) => out.push_str(short),
                (how, _) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        out.push_str(&if how == 3 { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
                    }
                }
            }
        }
        out.push('"');
        out
    }

    fn integer(&mut self, n: u32) -> String {
        match self.choose(6) {
            0 => format!("{n}.0"),
            1 => format!("{n}e0"),
            // Zero with a zero behind it is no JSON number.
            2 if n > 0 => format!("{n}0E-1"),
            3 if n.is_multiple_of(10) => format!("{}e+1", n / 10),
            4 => format!("{n}.000e00"),
            _ => n.to_string(),
        }
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let with = self.choose(at + 1);
            items.swap(at, with);
        }
    }

    fn object(&mut self, mut members: Vec<(&str, String)>) -> String {
        self.shuffle(&mut members);
        let mut out = String::from("{");
        for (at, (name, value)) in members.into_iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            for part in [self.space(), &self.string(name), self.space(), ":", self.space(), &value, self.space()] {
                out.push_str(part);
            }
        }
        out.push('}');
        out
    }

    /// Absent or null, as JSON writes "nothing".
    fn nothing<'n>(&mut self, members: &mut Vec<(&'n str, String)>, name: &'n str) {
        if self.choose(3) == 0 {
            members.push((name, "null".to_owned()));
        }
    }
}

/// The key header, if any, and the body.
pub(crate) fn write(m: &Meaning, how: &Spelling) -> (Option<String>, String) {
    let mut w = Writer { choices: how.0.iter().cycle() };
    let mut members = Vec::new();

    let ascii = m.key.bytes().all(|b| (b' '..=b'~').contains(&b));
    let place = if ascii { w.choose(3) } else { 0 };
    let header = (place > 0).then(|| {
        let plain = !m.key.contains([',', '"', ' ', '\t']) && w.choose(2) == 0;
        if plain { m.key.clone() } else { format!("\"{}\"", m.key.replace('\\', "\\\\").replace('"', "\\\"")) }
    });
    if place != 1 {
        members.push(("idempotency_key", w.string(&m.key)));
    } else {
        w.nothing(&mut members, "idempotency_key");
    }

    let mut entries: Vec<String> = Vec::new();
    for (at, (platform, token)) in m.to.iter().enumerate() {
        let pair = vec![("platform", w.string(platform)), ("token", w.string(token))];
        entries.push(w.object(pair));
        // A duplicate of an earlier entry changes nothing.
        if w.choose(4) == 0 {
            let (platform, token) = &m.to[w.choose(at + 1)];
            let pair = vec![("platform", w.string(platform)), ("token", w.string(token))];
            entries.push(w.object(pair));
        }
    }
    members.push(("to", format!("[{}{}]", entries.join(" ,"), w.space())));

    match &m.notification {
        None => w.nothing(&mut members, "notification"),
        Some((title, body, image)) => {
            let mut shown = vec![("title", w.string(title)), ("body", w.string(body))];
            match image {
                Some(image) => shown.push(("image", w.string(image))),
                None => w.nothing(&mut shown, "image"),
            }
            members.push(("notification", w.object(shown)));
        }
    }
    if m.data.is_empty() {
        match w.choose(3) {
            0 => members.push(("data", "null".to_owned())),
            1 => members.push(("data", "{ }".to_owned())),
            _ => {}
        }
    } else {
        let pairs = m.data.iter().map(|(name, value)| (name.as_str(), w.string(value))).collect();
        members.push(("data", w.object(pairs)));
    }
    match &m.collapse_key {
        None => w.nothing(&mut members, "collapse_key"),
        Some(key) => members.push(("collapse_key", w.string(key))),
    }
    // The default, named or not.
    if m.app == 0 && w.choose(2) == 0 {
        w.nothing(&mut members, "app");
    } else {
        members.push(("app", w.string(APPS[m.app])));
    }
    if m.ttl == 86_400 && w.choose(2) == 0 {
        w.nothing(&mut members, "ttl_seconds");
    } else {
        members.push(("ttl_seconds", w.integer(m.ttl)));
    }
    for (name, changed, word, default) in
        [("priority", m.normal, "normal", "high"), ("delivery", m.at_most_once, "at_most_once", "at_least_once")]
    {
        if changed {
            members.push((name, w.string(word)));
        } else if w.choose(2) == 0 {
            members.push((name, w.string(default)));
        } else {
            w.nothing(&mut members, name);
        }
    }
    let body = format!("{}{}{}", w.space(), w.object(members), w.space());
    (header, body)
}
