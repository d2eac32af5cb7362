//! Which deployment is meant: the local system, an emulator, or AWS, and the clients for it.
//!
//! Read from the options, else from the stack's outputs, else from the variables that the functions read too (TABLE_NAME,
//! DELIVERIES_QUEUE_URL, SECRET_NAME, TIMING, and the SDK's own). Nothing is connected before a command asks for a client,
//! so a command that needs no queue asks for none.

use crate::{
    args::Where,
    failure::{Failure, said},
    outputs,
};
use aws_config::SdkConfig;
use payments::PaymentsSettings;
use platform::{AwsTimeouts, Clock, EnvReader, aws_config_at, aws_config_for_person};
use protocol::timing::Timing;
use push::PushSettings;
use std::collections::BTreeMap;
use store::{Store, StoreError};

/// How long one call may take, in ms: a person waits.
const LIMIT_MS: u64 = 15_000;
/// The local system's table.
const LOCAL_TABLE: &str = "sendonce";

/// A service that commands talk to.
#[derive(Clone, Copy, Debug)]
enum Service {
    DynamoDb,
    Sqs,
    SecretsManager,
}

impl Service {
    /// The SDK's variable for its endpoint.
    fn variable(self) -> &'static str {
        match self {
            Self::DynamoDb => "AWS_ENDPOINT_URL_DYNAMODB",
            Self::Sqs => "AWS_ENDPOINT_URL_SQS",
            Self::SecretsManager => "AWS_ENDPOINT_URL_SECRETS_MANAGER",
        }
    }

    /// Where the local system has it, unless its flags say otherwise. Secrets are the provider sandbox's.
    fn local(self) -> &'static str {
        match self {
            Self::DynamoDb => "http://127.0.0.1:8000",
            Self::Sqs => "http://127.0.0.1:9324",
            Self::SecretsManager => "http://127.0.0.1:8090",
        }
    }
}

/// A deployment.
#[derive(Debug)]
pub(crate) struct Place {
    given: Where,
    outputs: BTreeMap<String, String>,
    pub(crate) clock: Clock,
    pub(crate) timing: Timing,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Place {
    pub(crate) fn new(given: Where) -> Result<Self, Failure> {
        let mut env = EnvReader::process();
        env.logs();
        env.finish(())?;
        let outputs = given.outputs.as_deref().map(outputs::read).transpose()?.unwrap_or_default();
        let mut place = Self { given, outputs, clock: Clock::system(), timing: Timing::PRODUCTION };
        let default = if place.is_local() { "short" } else { "production" };
        let name = place.given.timing.clone().or_else(|| place.setting("TIMING")).unwrap_or_else(|| default.to_owned());
        place.timing =
            Timing::named(&name).ok_or_else(|| said(format!("--timing is production or short, not {name}")))?;
        Ok(place)
    }

    pub(crate) fn is_local(&self) -> bool {
        self.given.local
    }

    /// An output of the stack, if outputs were given and this is one of them.
    pub(crate) fn output(&self, name: &str) -> Option<String> {
        self.outputs.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// What a variable of the functions says: the stack's output that is named like it, or the variable itself.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.output(&outputs::of_variable(name)).or_else(|| variable(name))
    }

    /// The table's name.
    pub(crate) fn table(&self) -> Result<String, Failure> {
        let given = self.given.table.clone().or_else(|| self.output("TableName")).or_else(|| variable("TABLE_NAME"));
        let table = given.or_else(|| self.given.local.then(|| LOCAL_TABLE.to_owned())).ok_or_else(|| {
            said("no table is named: give --outputs or --table NAME, set TABLE_NAME, or give --local")
        })?;
        // By the functions' own rule, before the SDK says it in words of its own.
        let mut env = EnvReader::from_source(|_| Some(table.clone()));
        let read = env.table();
        env.finish(read).map_err(|_| {
            let rule = "letters, digits, '_', '-' and '.'";
            said(format!(
                "the table cannot be {table:?} (--table, TABLE_NAME): the name of a DynamoDB table has {rule}"
            ))
        })
    }

    /// The SDK's configuration for a person, in a region that there can be.
    async fn config_of_aws(&self) -> Result<SdkConfig, Failure> {
        let config = aws_config_for_person(AwsTimeouts::within(LIMIT_MS), self.given.region.clone()).await?;
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        // It becomes part of a host's name.
        if !region.is_empty() && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return Ok(config);
        }
        Err(said(format!("the region cannot be {region:?} (--region, AWS_REGION): one is named like eu-west-1")))
    }

    /// The SDK's configuration for a service.
    async fn config(&self, service: Service) -> Result<SdkConfig, Failure> {
        let limits = AwsTimeouts::within(LIMIT_MS);
        if self.given.local {
            // One variable for all of AWS names an emulator, and the local system's secrets never live in one.
            let for_all = match service {
                Service::DynamoDb | Service::Sqs => variable("AWS_ENDPOINT_URL"),
                Service::SecretsManager => None,
            };
            let url = variable(service.variable()).or(for_all).unwrap_or_else(|| service.local().to_owned());
            return Ok(aws_config_at(limits, &url).await);
        }
        self.config_of_aws().await
    }

    /// The table.
    pub(crate) async fn store(&self) -> Result<Store, Failure> {
        let table = self.table()?;
        Ok(Store::new(aws_sdk_dynamodb::Client::new(&self.config(Service::DynamoDb).await?), table))
    }

    /// The queues.
    pub(crate) async fn sqs(&self) -> Result<aws_sdk_sqs::Client, Failure> {
        Ok(aws_sdk_sqs::Client::new(&self.config(Service::Sqs).await?))
    }

    /// The secrets.
    pub(crate) async fn secrets(&self) -> Result<aws_sdk_secretsmanager::Client, Failure> {
        Ok(aws_sdk_secretsmanager::Client::new(&self.config(Service::SecretsManager).await?))
    }

    /// How secrets are named.
    pub(crate) fn secret_name(&self) -> Result<PushSettings, Failure> {
        let mut env = EnvReader::from_source(|name| self.setting(name));
        let settings = PushSettings::read(&mut env);
        Ok(env.finish(settings)?)
    }

    /// How the payment provider's secrets are named, and where it is. The local system has it where its secrets are.
    pub(crate) fn payments(&self) -> Result<PaymentsSettings, Failure> {
        let sandbox = || {
            let secrets = Service::SecretsManager;
            variable(secrets.variable()).unwrap_or_else(|| secrets.local().to_owned())
        };
        let mut env = EnvReader::from_source(|name| {
            self.setting(name).or_else(|| (name == "STRIPE_URL" && self.given.local).then(sandbox))
        });
        let settings = PaymentsSettings::read(&mut env);
        Ok(env.finish(settings)?)
    }

    /// Lambda: the configuration to sign with, and where it is if not where AWS has it.
    pub(crate) async fn lambda(&self) -> Result<(SdkConfig, Option<String>), Failure> {
        let config = self.config_of_aws().await?;
        let endpoint = variable("AWS_ENDPOINT_URL_LAMBDA").or_else(|| config.endpoint_url().map(str::to_owned));
        Ok((config, endpoint))
    }

    /// What the table's refusal means here.
    pub(crate) fn failed(&self, error: StoreError) -> Failure {
        match error {
            StoreError::NoTable { .. } => Failure::NoTable {
                table: self.table().unwrap_or_default(),
                place: if self.given.local {
                    "the local system".to_owned()
                } else {
                    "this account and region".to_owned()
                },
            },
            StoreError::Unavailable { .. } if self.given.local => Failure::Said(format!(
                "{error}. Is the local system running (`cargo run`)? On other ports than the usual ones, set {} and \
                 its like.",
                Service::DynamoDb.variable()
            )),
            error => Failure::Store(error),
        }
    }

    /// A queue as it was named, or as the stack's outputs or the variable name it, or the local system's of this suffix.
    pub(crate) fn queue_name(&self, named: Option<&str>, name: &str, suffix: &str) -> Result<String, Failure> {
        let given = named.map(str::to_owned).or_else(|| self.setting(name));
        match (given, self.given.local) {
            (Some(given), _) => Ok(given),
            (None, true) => Ok(format!("{}-{suffix}", self.table()?)),
            (None, false) => Err(said(format!("no queue is named: give --outputs, or set {name}"))),
        }
    }
}
