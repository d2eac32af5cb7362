//! What the calls of one copy said of its devices, until it is told.
//!
//! Used by [`crate::receive`]. A provider that calls one token bad is believed; one that calls most of a chunk's bad more
//! probably speaks of the credentials, and then none of them is listed as dead.

use crate::tokens::News;
use protocol::{
    answer::{Answer, Reason},
    content::Device,
    dead_token::Said,
    hold::Provider,
};

/// What APNs says of a token that is none, and of every good one if the secret names the wrong environment (Apple,
/// "Handling notification responses from APNs"). A token that really ended is 410.
const WRONG_HERE: &str = "BadDeviceToken";
/// Fewer devices than this are too few to tell a fault of the credentials from one of the tokens.
const CALLED_MIN: usize = 5;
/// More than one in so many must be called bad. Half: a list with some wrong tokens is usual, one with mostly wrong ones
/// is not, and good tokens that were reported as dead are gone for good (expo/expo issue 18650: "guard against mass
/// deletion" of tokens after a provider's false answers).
const ONE_IN: usize = 2;

/// What was said, and by how many.
#[derive(Debug, Default)]
pub(crate) struct Notes<'a> {
    news: Vec<News<'a>>,
    /// Devices for which APNs was called.
    called: usize,
    not_called: Option<Reason>,
}

/// Most of a chunk's devices were called bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// Devices for which APNs was called.
    pub(crate) called: usize,
    /// Those whose token it called bad.
    pub(crate) refused: usize,
}

impl<'a> Notes<'a> {
    /// What came of a device, and what that says of its token.
    pub(crate) fn add(&mut self, device: &'a Device, answer: &Answer, said: Option<Said>) {
        match answer {
            Answer::NotCalled(reason) => {
                self.not_called.get_or_insert_with(|| reason.clone());
            }
            _ if Provider::of(device.platform) == Provider::Apns => self.called = self.called.saturating_add(1),
            _ => {}
        }
        self.news.extend(said.map(|said| News { device, said }));
    }

    /// Why a device was not called, if one was not: the first reason.
    pub(crate) fn not_called(&self) -> Option<&Reason> {
        self.not_called.as_ref()
    }

    /// What is to be believed of it; of what is not, `doubted` hears.
    pub(crate) fn news(self, doubted: impl FnOnce(Doubt)) -> Vec<News<'a>> {
        let refused = self.news.iter().filter(|news| is_wrong_here(news)).count();
        if self.called < CALLED_MIN || refused.saturating_mul(ONE_IN) <= self.called {
            return self.news;
        }
        doubted(Doubt { called: self.called, refused });
        self.news.into_iter().filter(|news| !is_wrong_here(news)).collect()
    }
}

fn is_wrong_here(news: &News<'_>) -> bool {
    matches!(&news.said, Said::Dead { reason, .. } if reason == WRONG_HERE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::content::{Platform, Token};

    fn device(platform: Platform) -> Device {
        Device { platform, token: Token("c0ffee".to_owned()) }
    }

    fn permanent() -> Answer {
        Answer::Permanent(Reason { code: WRONG_HERE.to_owned(), detail: String::new() })
    }

    fn dead(reason: &str) -> Option<Said> {
        Some(Said::Dead { since_ms: 1, reason: reason.to_owned() })
    }

    /// So many devices called bad, so many ended, so many silent: how many are listed, and whether anything is doubted.
    fn listed(bad: usize, ended: usize, silent: usize) -> (usize, Option<Doubt>) {
        let (ios, android) = (device(Platform::Ios), device(Platform::Android));
        let mut notes = Notes::default();
        (0..bad).for_each(|_| notes.add(&ios, &permanent(), dead(WRONG_HERE)));
        (0..ended).for_each(|_| notes.add(&ios, &permanent(), dead("Unregistered")));
        (0..silent).for_each(|_| notes.add(&ios, &permanent(), None));
        // Another provider's devices do not count, nor does who was not called.
        (0..9).for_each(|_| notes.add(&android, &permanent(), None));
        let reason = Reason { code: "token_timeout".to_owned(), detail: String::new() };
        (0..9).for_each(|_| notes.add(&ios, &Answer::NotCalled(reason.clone()), None));
        assert_eq!(notes.not_called(), Some(&reason));
        let mut doubt = None;
        let news = notes.news(|found| doubt = Some(found));
        (news.len(), doubt)
    }

    #[test]
    fn most_of_a_chunk_is_not_believed_and_a_few_are() {
        assert_eq!(listed(4, 0, 0), (4, None), "too few to tell");
        assert_eq!(listed(5, 0, 0), (0, Some(Doubt { called: 5, refused: 5 })));
        assert_eq!(listed(3, 0, 2), (0, Some(Doubt { called: 5, refused: 3 })));
        assert_eq!(listed(10, 0, 10), (10, None), "half of them");
        assert_eq!(listed(11, 0, 9), (0, Some(Doubt { called: 20, refused: 11 })));
        assert_eq!(listed(0, 20, 0), (20, None), "each has its own end");
        assert_eq!(listed(12, 8, 0), (8, Some(Doubt { called: 20, refused: 12 })));
        assert_eq!(listed(1, 0, 19), (1, None));
    }
}
