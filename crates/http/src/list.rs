//! The query of a list: how many rows, and where to go on. The same for every list.
//!
//! A cursor is a place in a list, as the list's own text in base64url: callers hand it back as it is.

use crate::{
    Fault, Problem,
    query::{self, NotUtf8},
};
use data_encoding::BASE64URL_NOPAD;

/// Rows of a page when none are asked for (design section 3).
pub const LIMIT_DEFAULT: u16 = 20;
/// Rows of a page at most (design section 3).
pub const LIMIT_MAX: u16 = 100;

/// What a list was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<P> {
    /// Rows at most, 1 to [`LIMIT_MAX`].
    pub limit: u16,
    /// The last row that the caller has.
    pub after: Option<P>,
}

impl<P> Asked<P> {
    /// Reads a query. `place` reads a place of this list.
    ///
    /// # Errors
    /// 400 validation_failed, with every parameter that is wrong.
    pub fn read(query: Option<&str>, place: impl Fn(&str) -> Option<P>) -> Result<Self, Problem> {
        Self::read_with(query, place, Ok(())).map(|((), asked)| asked)
    }

    /// The same for a list that has a parameter of its own, whose fault is told with the others.
    ///
    /// # Errors
    /// 400 validation_failed, with every parameter that is wrong.
    pub fn read_with<T>(
        query: Option<&str>,
        place: impl Fn(&str) -> Option<P>,
        own: Result<T, Fault>,
    ) -> Result<(T, Self), Problem> {
        let limit = match query::first(query, "limit") {
            None => Some(LIMIT_DEFAULT),
            Some(text) => text.ok().and_then(|text| limit(&text)),
        };
        let limit = limit.ok_or_else(|| {
            Fault::at("", format!("Give the query parameter limit as a whole number from 1 to {LIMIT_MAX}."))
        });
        let after = match query::first(query, "cursor") {
            None => Some(None),
            Some(text) => cursor(text, place).map(Some),
        };
        let after = after.ok_or_else(|| {
            Fault::at("", "Give the query parameter cursor as a next_cursor of this list, or leave it out.")
        });
        match (own, limit, after) {
            (Ok(own), Ok(limit), Ok(after)) => Ok((own, Self { limit, after })),
            (own, limit, after) => {
                Err(Problem::validation_failed([own.err(), limit.err(), after.err()].into_iter().flatten().collect()))
            }
        }
    }
}

fn limit(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|limit| digits && (1..=LIMIT_MAX).contains(limit))
}

fn cursor<P>(text: Result<String, NotUtf8>, place: impl Fn(&str) -> Option<P>) -> Option<P> {
    let bytes = BASE64URL_NOPAD.decode(text.ok()?.as_bytes()).ok()?;
    place(std::str::from_utf8(&bytes).ok()?)
}

/// The cursor of a place.
#[must_use]
pub fn to_cursor(place: &str) -> String {
    BASE64URL_NOPAD.encode(place.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Asked<u8>, Vec<String>> {
        Asked::read(Some(query), |text| text.parse().ok())
            .map_err(|problem| problem.errors().iter().map(|fault| fault.detail.clone()).collect())
    }

    #[test]
    fn limits_are_whole_numbers_of_their_range_and_cursors_places_of_the_list() {
        assert_eq!(Asked::read(None, |_| Some(())).unwrap(), Asked { limit: 20, after: None });
        assert_eq!(read("limit=1&x=y"), Ok(Asked { limit: 1, after: None }));
        assert_eq!(
            read("limit=100&limit=0"),
            Ok(Asked { limit: 100, after: None }),
            "of repeated ones the first counts"
        );
        assert_eq!(read(&format!("cursor={}", to_cursor("7"))), Ok(Asked { limit: 20, after: Some(7) }));
        for wrong in ["", "0", "101", "-1", "%2B5", "5.0", "1e1", "five", "99999999", "%FF", "%31%"] {
            let faults = read(&format!("limit={wrong}")).unwrap_err();
            assert!(faults.len() == 1 && faults[0].contains("limit"), "{wrong}: {faults:?}");
        }
        for wrong in ["", "7", "%FF", "====", &to_cursor("seven"), &format!("{}=", to_cursor("7"))] {
            let faults = read(&format!("cursor={wrong}")).unwrap_err();
            assert!(faults.len() == 1 && faults[0].contains("cursor"), "{wrong}: {faults:?}");
        }
        assert_eq!(read("limit=0&cursor=").unwrap_err().len(), 2, "all faults together");
    }
}
