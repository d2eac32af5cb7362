//! The dead-letter function's settings.

use platform::{EnvReader, SettingsError};
use protocol::timing::Timing;

/// What the environment must say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TABLE_NAME`: the DynamoDB table.
    pub table: String,
    /// `DELIVERIES_QUEUE_URL`: where chunks' letters are re-driven to.
    pub deliveries_url: String,
    /// `PAYOUTS_QUEUE_URL`: where payouts' letters are re-driven to.
    pub payouts_url: String,
    /// `PARKING_QUEUE_URL`: where letters are put that cannot be processed.
    pub parking_url: String,
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
        let payouts_url = env.payouts_queue();
        let parking_url = env.parking_queue();
        let timing = env.timing();
        env.logs();
        env.finish(Self { table, deliveries_url, payouts_url, parking_url, timing })
    }
}
