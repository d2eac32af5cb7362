//! What a send means, independently of the code under test, and single changes of it.

use proptest::prelude::*;
use std::collections::BTreeMap;

/// A send's meaning: everything that counts, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meaning {
    pub(crate) key: String,
    /// No two alike.
    pub(crate) to: Vec<(&'static str, String)>,
    pub(crate) notification: Option<(String, String, Option<String>)>,
    pub(crate) data: BTreeMap<String, String>,
    pub(crate) collapse_key: Option<String>,
    /// Which of [`APPS`].
    pub(crate) app: usize,
    pub(crate) ttl: u32,
    pub(crate) normal: bool,
    pub(crate) at_most_once: bool,
}

/// The project's apps; the first is the default.
pub(crate) const APPS: [&str; 3] = ["com.example.shop", "com.example.shop.beta", "com.example.Shop"];
const TTL_MAX: u32 = 2_419_200;

/// Text with the characters that careless code confuses: composed and decomposed, look-alikes, noncharacters, controls,
/// surrogate pairs.
fn text(min: usize, max: usize) -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        'é', '\u{301}', 'e', 'K', '\u{212a}', 'ſ', 's', '\0', '\u{7f}', '\u{ffff}', '\u{fffe}', '\u{feff}', '😀', '"',
        '\\', '/', '\n', '1', 'İ', 'ß',
    ]);
    prop::collection::vec(prop_oneof![4 => prop::char::range(' ', '~'), 2 => odd, 1 => any::<char>()], min..max)
        .prop_map(|chars| chars.into_iter().collect())
}

fn device() -> impl Strategy<Value = (&'static str, String)> {
    (prop::sample::select(vec!["android", "web"]), "[!-~]{1,12}")
}

fn name() -> impl Strategy<Value = String> {
    text(0, 6).prop_filter("reserved by FCM or ours", |name| !reserved(name))
}

fn reserved(name: &str) -> bool {
    ["message_id", "aps", "from", "message_type"].contains(&name)
        || name.starts_with("google")
        || name.starts_with("gcm")
}

fn key() -> impl Strategy<Value = String> {
    text(1, 20).prop_map(|text| {
        // Mended rather than thrown away: a long run would give up after too many that were.
        let mut key: String = text.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
        if !is_key(&key) {
            key.push('k');
        }
        key
    })
}

fn is_key(key: &str) -> bool {
    (1..=128).contains(&key.len()) && !key.chars().any(char::is_control) && !key.chars().all(char::is_whitespace)
}

pub(crate) fn meaning() -> impl Strategy<Value = Meaning> {
    let notification = prop::option::of((
        text(1, 8),
        text(1, 8),
        prop::option::of(
            prop::sample::select(vec!["https://a.example/x.png", "HTTPS://b.example"]).prop_map(str::to_owned),
        ),
    ));
    let collapse = prop::option::of(text(1, 8).prop_filter("too long", |key| key.len() <= 64));
    (
        key(),
        prop::collection::vec(device(), 1..5),
        notification,
        prop::collection::btree_map(name(), text(0, 6), 0..4),
        collapse,
        0..APPS.len(),
        prop_oneof![Just(86_400), 0..=TTL_MAX],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(key, to, notification, mut data, collapse_key, app, ttl, normal, at_most_once)| {
            let mut unique: Vec<(&str, String)> = Vec::new();
            for device in to {
                if !unique.contains(&device) {
                    unique.push(device);
                }
            }
            if notification.is_none() && data.is_empty() {
                data.insert("a".to_owned(), "b".to_owned());
            }
            Meaning { key, to: unique, notification, data, collapse_key, app, ttl, normal, at_most_once }
        })
}

/// One change of meaning.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    kind: usize,
    place: prop::sample::Index,
    c: char,
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    (0..Change::KINDS, any::<prop::sample::Index>(), prop_oneof![prop::char::range('a', 'z'), any::<char>()])
        .prop_map(|(kind, place, c)| Change { kind, place, c })
}

impl Change {
    pub(crate) const KINDS: usize = 17;

    pub(crate) fn kind(&self) -> usize {
        self.kind
    }

    /// Replaces one code point, or adds one to an empty text.
    fn one_character(&self, text: &str) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        match chars.len() {
            0 => chars.push(self.c),
            len => chars[self.place.index(len)] = self.c,
        }
        chars.into_iter().collect()
    }

    /// The other meaning; `None` where this change changes nothing here, or breaks a rule.
    pub(crate) fn apply(&self, m: &Meaning) -> Option<Meaning> {
        let mut other = m.clone();
        match self.kind {
            0 => other.key = self.one_character(&m.key),
            1 => {
                let at = self.place.index(m.to.len());
                other.to[at].0 = if m.to[at].0 == "web" { "android" } else { "web" };
            }
            2 => other.to[self.place.index(m.to.len())].1.push(self.c),
            3 => other.to.reverse(),
            4 => other.to.push(("web", "one-more-device".to_owned())),
            5 => {
                other.to.pop();
            }
            6 => other.notification.as_mut()?.0 = self.one_character(&m.notification.as_ref()?.0),
            7 => other.notification.as_mut()?.1.push(self.c),
            8 => {
                let image = &mut other.notification.as_mut()?.2;
                *image = if image.is_some() { None } else { Some("https://c.example/".to_owned()) };
            }
            9 => {
                let name = m.data.keys().nth(self.place.index(m.data.len().max(1)))?.clone();
                let value = other.data.get_mut(&name)?;
                *value = self.one_character(value);
            }
            10 => {
                let name = m.data.keys().nth(self.place.index(m.data.len().max(1)))?.clone();
                let value = other.data.remove(&name)?;
                other.data.insert(format!("{name}{}", self.c), value);
            }
            11 => {
                other.data.insert("one more".to_owned(), String::new());
            }
            12 => other.collapse_key = Some(self.one_character(m.collapse_key.as_deref().unwrap_or(""))),
            13 => other.ttl = if m.ttl == 0 { 1 } else { m.ttl - 1 },
            14 => other.app = self.place.index(APPS.len()),
            15 => other.normal = !m.normal,
            _ => other.at_most_once = !m.at_most_once,
        }
        (other != *m && other.is_valid()).then_some(other)
    }
}

impl Meaning {
    fn is_valid(&self) -> bool {
        let unique = self.to.iter().enumerate().all(|(i, device)| !self.to[..i].contains(device));
        let tokens =
            self.to.iter().all(|(_, token)| !token.is_empty() && token.bytes().all(|b| (b'!'..=b'~').contains(&b)));
        let collapse = self.collapse_key.as_ref().is_none_or(|key| !key.is_empty() && key.len() <= 64);
        let names = self.data.keys().all(|name| !reserved(name));
        is_key(&self.key) && !self.to.is_empty() && unique && tokens && collapse && names
    }
}
