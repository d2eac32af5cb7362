//! The payout function's settings.

use payments::PaymentsSettings;
use platform::{EnvReader, SettingsError};
use protocol::timing::Timing;

/// What the environment must say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TABLE_NAME`: the DynamoDB table.
    pub table: String,
    /// `PAYOUTS_QUEUE_URL`: the queue whose copies it consumes.
    pub payouts_url: String,
    /// `SECRET_NAME`: the name of a project's provider secret, with `{project}` and `{provider}`. `STRIPE_URL`: where the
    /// payment provider is.
    pub payments: PaymentsSettings,
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
        let timing = env.timing();
        env.logs();
        env.finish(Self { table, payouts_url, payments, timing })
    }
}
