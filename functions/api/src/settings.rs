//! The api function's settings.

use axum::http::HeaderValue;
use platform::{EnvReader, SettingsError};
use protocol::timing::{KEY_VALID_DAYS_DEFAULT, KEY_VALID_DAYS_MAX, KEY_VALID_DAYS_MIN, Timing};

/// What the environment must say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TABLE_NAME`: the DynamoDB table.
    pub table: String,
    /// `DELIVERIES_QUEUE_URL`: where chunks are enqueued.
    pub deliveries_url: String,
    /// `KEY_VALID_DAYS`: 4 to 365, default 30.
    pub key_valid_days: u64,
    /// `CORS_ORIGINS`: origins whose pages may call the API, separated by commas; empty (default) switches CORS off.
    pub cors: Vec<HeaderValue>,
    /// `TIMING`: `production` (default) or `short`.
    pub timing: Timing,
}

impl Settings {
    /// Reads them.
    ///
    /// # Errors
    /// Every bad or missing one, and every inequality of the timing that does not hold.
    pub fn read(mut env: EnvReader<'_>) -> Result<Self, SettingsError> {
        let table = env.table();
        let deliveries_url = env.deliveries_queue();
        let allowed = format!("a number of days from {KEY_VALID_DAYS_MIN} to {KEY_VALID_DAYS_MAX}");
        let key_valid_days = env.or("KEY_VALID_DAYS", KEY_VALID_DAYS_DEFAULT, allowed, |days| {
            (KEY_VALID_DAYS_MIN..=KEY_VALID_DAYS_MAX).contains(days)
        });
        let allowed = "origins such as https://console.example, separated by commas";
        let origins = env.or("CORS_ORIGINS", String::new(), allowed, |text: &String| cors(text).is_some());
        let timing = env.timing();
        env.finish(Self { table, deliveries_url, key_valid_days, cors: cors(&origins).unwrap_or_default(), timing })
    }
}

/// The origins of a list; `None` if one is no origin.
fn cors(text: &str) -> Option<Vec<HeaderValue>> {
    text.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(parse_origin).collect()
}

/// An origin as a browser sends it: scheme, host, port, nothing after it, no wildcard (RFC 6454 section 7).
#[must_use]
pub fn parse_origin(text: &str) -> Option<HeaderValue> {
    let url = url::Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    let exact = !text.contains('*') && url.origin().ascii_serialization() == text;
    (web && exact).then(|| HeaderValue::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_a_list_without_paths() {
        assert_eq!(cors("").unwrap().len(), 0);
        assert_eq!(cors("https://a.example, http://127.0.0.1:5173").unwrap().len(), 2);
        for wrong in [
            "*",
            "a.example",
            "https://a.example/",
            "https://a.example,x",
            "https://*.example",
            "https://A.example",
            "https://a.example:443",
        ] {
            assert_eq!(cors(wrong), None, "{wrong}");
        }
    }
}
