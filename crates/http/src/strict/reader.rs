//! The reader: one pass, from bytes to a tree.

use super::{
    Json, Number, Object, Refusal, RefusalKind,
    pointer::Path,
    text::{BadText, string},
};
use std::{borrow::Cow, collections::HashSet};

/// Deepest nesting, the outermost value as 1.
pub const DEPTH_MAX: usize = 64;
/// Up to so many members names are compared one by one; beyond it a set takes over, so that time stays linear.
const COMPARED_MAX: usize = 16;

/// Reads one JSON object and nothing after it.
///
/// # Errors
/// The first rule that is broken, with its place.
pub fn read(body: &[u8]) -> Result<Object<'_>, Refusal> {
    let invalid =
        |detail: &str| Refusal { kind: RefusalKind::InvalidJson, pointer: String::new(), detail: detail.to_owned() };
    let text = std::str::from_utf8(body)
        .map_err(|error| invalid(&format!("The body is not UTF-8 at byte {}.", error.valid_up_to())))?;
    if text.starts_with('\u{feff}') {
        return Err(invalid("The body starts with a byte order mark."));
    }
    let mut reader = Reader { text, at: 0, path: Path::default() };
    reader.space();
    let value = reader.value(1)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.invalid("text follows the value"));
    }
    match value {
        Json::Object(object) => Ok(object),
        _ => Err(invalid("The body must be a JSON object.")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: Path<'a>,
}

impl<'a> Reader<'a> {
    fn refusal(&self, kind: RefusalKind, detail: String) -> Refusal {
        Refusal { kind, pointer: self.path.pointer(), detail }
    }

    fn invalid(&self, what: &str) -> Refusal {
        self.refusal(RefusalKind::InvalidJson, format!("Not JSON at byte {}: {what}.", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, Refusal> {
        match self.peek() {
            Some(b'{' | b'[') if depth > DEPTH_MAX => Err(self.invalid(&format!("nesting beyond {DEPTH_MAX} levels"))),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.invalid("a value is expected")),
            None => Err(self.invalid("the text ends early")),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, Refusal> {
        if self.rest().starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.invalid("a value is expected"))
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Refusal> {
        self.at += 1;
        let (value, taken) = string(self.rest()).map_err(|BadText(what)| self.invalid(what))?;
        self.at += taken;
        Ok(value)
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from { Err(self.invalid("a number needs a digit here")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json<'a>, Refusal> {
        let from = self.at;
        self.take(b'-');
        if self.take(b'0') {
            if let Some(b'0'..=b'9') = self.peek() {
                return Err(self.invalid("a number does not start with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let number = Number::new(self.text.get(from..self.at).unwrap_or_default());
        if number.is_exact() {
            Ok(Json::Number(number))
        } else {
            let detail = "An integer lies within ±(2^53−1), and no number overflows a double: send it as a string.";
            Err(self.refusal(RefusalKind::NumberNotExact, detail.to_owned()))
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, Refusal> {
        self.at += 1;
        let mut elements = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            self.space();
            self.path.element(elements.len());
            elements.push(self.value(depth + 1)?);
            self.path.leave();
            self.space();
            if self.take(b']') {
                return Ok(Json::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.invalid("a comma or ] is expected"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, Refusal> {
        self.at += 1;
        let mut object = Object::default();
        let mut names: HashSet<Cow<'a, str>> = HashSet::new();
        self.space();
        if self.take(b'}') {
            return Ok(Json::Object(object));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.invalid("a member's name is expected"));
            }
            let name = self.string()?;
            let seen = if object.members.len() < COMPARED_MAX {
                object.members.iter().any(|(member, _)| *member == name)
            } else {
                if names.is_empty() {
                    names.extend(object.members.iter().map(|(member, _)| member.clone()));
                }
                !names.insert(name.clone())
            };
            self.path.member(name);
            if seen {
                let detail = "An object names this member twice; which one is meant cannot be known.";
                return Err(self.refusal(RefusalKind::DuplicateMember, detail.to_owned()));
            }
            self.space();
            if !self.take(b':') {
                return Err(self.invalid("a colon is expected"));
            }
            self.space();
            let value = self.value(depth + 1)?;
            let name = self.path.leave().unwrap_or_default();
            object.members.push((name, value));
            self.space();
            if self.take(b'}') {
                return Ok(Json::Object(object));
            }
            if !self.take(b',') {
                return Err(self.invalid("a comma or } is expected"));
            }
        }
    }
}
