//! Instants as people and JSON read them: RFC 3339, UTC, always three digits of milliseconds.

use time::{OffsetDateTime, macros::format_description};

/// Renders milliseconds since the Unix epoch, for example `2026-11-29T19:00:00.123Z`. A time beyond the year 9999
/// renders as the last instant that RFC 3339 can write.
#[must_use]
pub fn rfc3339_ms(ms: u64) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .ok()
        .and_then(|at| at.format(&format).ok())
        .unwrap_or_else(|| "9999-12-31T23:59:59.999Z".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn milliseconds_are_always_written() {
        assert_eq!(super::rfc3339_ms(1_795_978_800_000), "2026-11-29T19:00:00.000Z");
        assert_eq!(super::rfc3339_ms(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
