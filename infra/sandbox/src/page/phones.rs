//! What is on the screens: only what a device got, and of those that replace each other only the last.
//!
//! Called with the ledger, newest first; the order stays. What it keeps is bounded by the constants here.

use super::content::{Content, app, data, platform};
use crate::ledger::{Entry, Provider};
use std::collections::HashMap;

/// Entries looked at; what is older is on no screen.
pub(super) const ENTRIES_MAX: usize = 2_000;
/// Phones shown: those that got something last.
const PHONES_MAX: usize = 64;
/// Notifications on one phone.
const NOTIFICATIONS_MAX: usize = 20;
/// Silent pushes listed on one phone. A bound of their own, so that they do not push notifications off the screen.
const SILENT_MAX: usize = 5;

/// All phones, the one that got something last first.
#[derive(Default)]
pub(super) struct Screens<'a> {
    pub(super) phones: Vec<Phone<'a>>,
    /// Phones beyond the bound.
    pub(super) left_off: usize,
    /// `None` for a phone beyond the bound.
    known: HashMap<(Provider, &'a str), Option<usize>>,
}

pub(super) struct Phone<'a> {
    pub(super) provider: Provider,
    pub(super) platform: &'static str,
    pub(super) token: &'a str,
    /// Newest first.
    pub(super) lines: Vec<Line<'a>>,
    /// Lines beyond the bounds.
    pub(super) left_off: usize,
    pub(super) notifications: usize,
    silent: usize,
    /// By app and collapse id; `None` for one beyond the bound.
    replaceable: HashMap<(&'a str, &'a str), Option<usize>>,
}

pub(super) struct Line<'a> {
    pub(super) at: u64,
    pub(super) app: &'a str,
    pub(super) what: What<'a>,
}

pub(super) enum What<'a> {
    Notification { content: Content<'a>, replaced: usize },
    Silent { data: String },
}

impl<'a> Screens<'a> {
    pub(super) fn of(newest_first: impl Iterator<Item = &'a Entry>) -> Self {
        let mut screens = Self::default();
        // Whatever else the sandbox stands for has no screen.
        for entry in newest_first.filter(|entry| entry.accepted && ["apns", "fcm"].contains(&entry.provider)) {
            if let Some(phone) = entry.token.as_deref().and_then(|token| screens.phone(entry, token)) {
                phone.add(entry);
            }
        }
        screens
    }

    fn phone(&mut self, entry: &'a Entry, token: &'a str) -> Option<&mut Phone<'a>> {
        let place = *self.known.entry((entry.provider, token)).or_insert_with(|| {
            if self.phones.len() >= PHONES_MAX {
                self.left_off += 1;
                return None;
            }
            self.phones.push(Phone::new(entry, token));
            Some(self.phones.len() - 1)
        });
        self.phones.get_mut(place?)
    }

    pub(super) fn notifications(&self) -> usize {
        self.phones.iter().map(|phone| phone.notifications).sum()
    }
}

impl<'a> Phone<'a> {
    fn new(entry: &Entry, token: &'a str) -> Self {
        Self {
            provider: entry.provider,
            platform: platform(entry),
            token,
            lines: Vec::new(),
            left_off: 0,
            notifications: 0,
            silent: 0,
            replaceable: HashMap::new(),
        }
    }

    fn add(&mut self, entry: &'a Entry) {
        let (at, app) = (entry.at, app(entry));
        let content = Content::of(entry);
        if content.is_silent() {
            let what = (self.silent < SILENT_MAX).then(|| What::Silent { data: data(entry) });
            self.silent += 1;
            self.push(at, app, what);
            return;
        }
        let key = entry.collapse_id.as_deref().map(|id| (app, id));
        match key.and_then(|key| self.replaceable.get(&key)) {
            // A later one has taken its place: it came first in this walk.
            Some(place) => {
                if let Some(What::Notification { replaced, .. }) =
                    place.and_then(|at| Some(&mut self.lines.get_mut(at)?.what))
                {
                    *replaced += 1;
                }
            }
            None => {
                let fits = self.notifications < NOTIFICATIONS_MAX;
                self.replaceable.extend(key.map(|key| (key, fits.then_some(self.lines.len()))));
                self.notifications += usize::from(fits);
                self.push(at, app, fits.then_some(What::Notification { content, replaced: 0 }));
            }
        }
    }

    fn push(&mut self, at: u64, app: &'a str, what: Option<What<'a>>) {
        match what {
            Some(what) => self.lines.push(Line { at, app, what }),
            None => self.left_off += 1,
        }
    }
}
