//! The api function's settings.

use axum::http::HeaderValue;
use platform::{EnvReader, SettingsError};
use protocol::timing::{KEY_VALID_DAYS_DEFAULT, KEY_VALID_DAYS_MAX, KEY_VALID_DAYS_MIN, Timing};
use sendonce_http::cors_origins;

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
        let cors = cors_origins(&mut env);
        let timing = env.timing();
        env.logs();
        env.finish(Self { table, deliveries_url, key_valid_days, cors, timing })
    }
}
