//! The refunds function's settings.

use axum::http::HeaderValue;
use payments::PaymentsSettings;
use platform::{EnvReader, SettingsError};
use protocol::timing::Timing;
use sendonce_http::cors_origins;

/// What the environment must say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TABLE_NAME`: the DynamoDB table.
    pub table: String,
    /// `PAYOUTS_QUEUE_URL`: where payouts are enqueued.
    pub payouts_url: String,
    /// `SECRET_NAME`: the name of a project's provider secret, with `{project}` and `{provider}`.
    pub payments: PaymentsSettings,
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
        let payouts_url = env.payouts_queue();
        let payments = PaymentsSettings::read(&mut env);
        let cors = cors_origins(&mut env);
        let timing = env.timing();
        env.logs();
        env.finish(Self { table, payouts_url, payments, cors, timing })
    }
}
