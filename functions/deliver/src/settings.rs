//! The deliver function's settings.

use platform::{EnvReader, SettingsError};
use protocol::timing::Timing;
use push::PushSettings;

/// What the environment must say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `TABLE_NAME`: the DynamoDB table.
    pub table: String,
    /// `DELIVERIES_QUEUE_URL`: the queue whose copies it consumes.
    pub deliveries_url: String,
    /// `SECRET_NAME`: the name of a project's provider secret, with `{project}` and `{provider}`.
    pub push: PushSettings,
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
        let push = PushSettings::read(&mut env);
        let timing = env.timing();
        env.logs();
        env.finish(Self { table, deliveries_url, push, timing })
    }
}
