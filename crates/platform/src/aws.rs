//! How AWS clients are made: one TLS provider (aws-lc-rs), explicit timeouts, and the SDK's own variables for region,
//! credentials and endpoints.
//!
//! The Rust SDK sets no timeouts by itself (awslabs/aws-sdk-rust issue 1034); a client without them can outlive the
//! lease it works under. Each attempt is shorter than the whole operation, so that a lost answer leaves room for one
//! more try (issue 558 there).

use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_credential_types::{Credentials, provider::ProvideCredentials};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use std::{path::PathBuf, time::Duration};

/// Limits of one call to AWS, in milliseconds of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwsTimeouts {
    /// Time to open a connection.
    pub connect_ms: u64,
    /// Time for one try, connecting included.
    pub attempt_ms: u64,
    /// Time for all tries together.
    pub operation_ms: u64,
    /// Tries in all; 1 means that the SDK never repeats.
    pub tries: u32,
}

impl AwsTimeouts {
    /// One try that may take all of the budget: for a send that somebody else repairs.
    #[must_use]
    pub fn once(operation_ms: u64) -> Self {
        Self { connect_ms: operation_ms, attempt_ms: operation_ms, operation_ms, tries: 1 }
    }

    /// The split used everywhere: a fifth of the budget to connect, two fifths for one try, three tries at most.
    #[must_use]
    pub fn within(operation_ms: u64) -> Self {
        Self { connect_ms: operation_ms / 5, attempt_ms: operation_ms * 2 / 5, operation_ms, tries: 3 }
    }
}

/// The configuration from which clients are made: region, credentials and endpoints from the environment.
pub async fn aws_config(timeouts: AwsTimeouts) -> SdkConfig {
    loader(timeouts).load().await
}

/// The configuration for a stand-in on this machine: its URL, and credentials that mean nothing.
pub async fn aws_config_at(timeouts: AwsTimeouts, endpoint_url: &str) -> SdkConfig {
    loader(timeouts)
        .endpoint_url(endpoint_url)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::from_keys("local", "local", None))
        .load()
        .await
}

/// The configuration of a command that a person runs: as [`aws_config()`], in this region if one is named.
///
/// # Errors
/// What is missing, before anything is asked: the SDK itself would say so once for each call, in its own words.
pub async fn aws_config_for_person(timeouts: AwsTimeouts, region: Option<String>) -> Result<SdkConfig, AwsMissing> {
    let mut loader = loader(timeouts);
    if let Some(region) = region {
        loader = loader.region(Region::new(region));
    }
    let config = loader.load().await;
    // A profile that is nowhere is the reason, whatever else is missing because of it.
    let missing = |what: AwsMissing| if profile_is_nowhere() { AwsMissing::Profile } else { what };
    if config.region().is_none() {
        return Err(missing(AwsMissing::Region));
    }
    let provider = config.credentials_provider().ok_or_else(|| missing(AwsMissing::Credentials))?;
    provider.provide_credentials().await.map_err(|_| missing(AwsMissing::Credentials))?;
    Ok(config)
}

/// Whether AWS_PROFILE names a profile that neither of AWS's two files has.
fn profile_is_nowhere() -> bool {
    let Some(profile) = std::env::var("AWS_PROFILE").ok().filter(|profile| !profile.is_empty()) else { return false };
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let file = |variable: &str, usual: &str| std::env::var_os(variable).map_or_else(|| home.join(usual), PathBuf::from);
    let files = [file("AWS_CONFIG_FILE", ".aws/config"), file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")];
    !files.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| has_profile(&text, &profile)))
}

/// Whether a file has a section of this profile: `[profile NAME]` in the one file, `[NAME]` in the other (AWS SDKs and Tools
/// Reference Guide, "Shared config and credentials files").
fn has_profile(text: &str, profile: &str) -> bool {
    text.lines().any(|line| {
        let name = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name.trim());
        name.is_some_and(|name| name.strip_prefix("profile ").map_or(name, str::trim) == profile)
    })
}

/// What nobody can talk to AWS without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AwsMissing {
    /// No region.
    #[error("no AWS region is set: give --region, or set AWS_REGION")]
    Region,
    /// A profile that is not there.
    #[error(
        "the profile that AWS_PROFILE names is neither in AWS's config file nor in its credentials file (~/.aws/config, \
         ~/.aws/credentials)"
    )]
    Profile,
    /// No credentials, in none of the places where the SDK looks.
    #[error(
        "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (`aws configure \
         export-credentials --format env` of the AWS CLI, version 2, prints them for any profile), or AWS_PROFILE"
    )]
    Credentials,
}

fn loader(timeouts: AwsTimeouts) -> ConfigLoader {
    let http = aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).build_https();
    let limits = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(timeouts.connect_ms))
        .operation_attempt_timeout(Duration::from_millis(timeouts.attempt_ms))
        .operation_timeout(Duration::from_millis(timeouts.operation_ms))
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .timeout_config(limits)
        .retry_config(RetryConfig::standard().with_max_attempts(timeouts.tries))
}

#[cfg(test)]
mod tests {
    use super::has_profile;

    #[test]
    fn a_profile_is_a_section_of_either_file() {
        let text = "[default]\nregion = eu-west-1\n\n [ profile  work ] # mine\nregion = us-east-1\n[keys]\n";
        for there in ["default", "work", "keys"] {
            assert!(has_profile(text, there), "{there}");
        }
        for nowhere in ["nope", "wor", "region", "profile work"] {
            assert!(!has_profile(text, nowhere), "{nowhere}");
        }
    }
}
