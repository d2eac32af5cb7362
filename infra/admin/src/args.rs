//! The command line.

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use push::Provider;
use std::path::PathBuf;

/// Looks after a Sendonce deployment: on this machine (--local), in an emulator, or in AWS.
///
/// Region, credentials and endpoints are found where every AWS tool finds them (AWS_REGION, AWS_PROFILE,
/// AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, …). Exit codes: 0 done; 1 not done, or not all of it, stderr says why; 2 the command
/// line; 3 done, and what was found needs a person.
#[derive(Clone, Debug, Parser)]
#[command(name = "sendonce", version)]
pub struct Cli {
    /// Which deployment.
    #[command(flatten)]
    pub place: Where,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Which deployment is meant.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Which deployment")]
pub struct Where {
    /// The local system of `cargo run`, on its usual ports; the variables AWS_ENDPOINT_URL_… name other ones.
    #[arg(long, global = true)]
    pub local: bool,
    /// The DynamoDB table [default: the output TableName, or TABLE_NAME].
    #[arg(long, global = true, value_name = "NAME")]
    pub table: Option<String>,
    /// A file with the outputs of the deployed stack, in JSON as `sam list stack-outputs --output json` or `aws
    /// cloudformation describe-stacks` prints them; "-" reads stdin. They name the table, the queues, the secrets and
    /// the functions, before any variable does.
    #[arg(long, global = true, value_name = "FILE")]
    pub outputs: Option<PathBuf>,
    /// The AWS region [default: AWS_REGION, or the profile's].
    #[arg(long, global = true, value_name = "NAME")]
    pub region: Option<String>,
    /// The deployment's durations, production or short [default: the output Timing, or TIMING; without either short with
    /// --local, as `cargo run` has them, and else production].
    #[arg(long, global = true, value_name = "NAME")]
    pub timing: Option<String>,
    /// One line of JSON instead of text, on stdout, and {"error": …} on stderr.
    #[arg(long, global = true)]
    pub json: bool,
}

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Projects: create, list, show, and which apps their messages may name.
    #[command(subcommand)]
    Projects(Projects),
    /// API keys of a project: create, list, rotate, revoke. A key is shown once, and only its hash is stored.
    #[command(subcommand)]
    Keys(Keys),
    /// Provider credentials: store them, and ask the provider whether it takes them.
    #[command(subcommand)]
    Credentials(Credentials),
    /// Messages: look one up.
    #[command(subcommand)]
    Messages(Messages),
    /// Copies that were received too often: show them, send them back.
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Makes one whole audit: chunks and payouts that seem to have no copy are enqueued again, and counted.
    ///
    /// Reads the whole table. The queues are DELIVERIES_QUEUE_URL and PAYOUTS_QUEUE_URL, or the stack's outputs. Exit code 3:
    /// something was enqueued again, or only a person can repair it; 1: it did not come to its end.
    Audit,
    /// Compares a deployment with what the design needs, and names each setting that is wrong.
    ///
    /// The table (keys, stream, time to live, indexes, encryption, recovery), the queues (visibility, retention, sizes, policies, redrive),
    /// the event source mappings (batches, partial failures, filters, concurrency, windows, destinations, and consumers that
    /// nobody expects) and the functions (timeouts, runtime, loops, limits, who may invoke them and by which URL, settings,
    /// variables that are no settings, and what must be the same in all: secrets' names as the output SecretName or
    /// SECRET_NAME says, the payment provider's address as StripeUrl or STRIPE_URL says, or Stripe's own). It only reads.
    /// Exit code 3: something is wrong. The local system has no Lambda: there it looks at the table and the queues. Without
    /// the outputs DeliveriesDeadQueueUrl and PayoutsDeadQueueUrl it cannot tell dead-letter queues that are exchanged.
    ///
    /// It does not look at whether the audit's schedule is switched on (the alarm audit-silent tells), the HTTP API's routes
    /// and throttling, the functions' roles and code, and whether it was built for their processor, what else a function may
    /// have (a VPC, layers, file systems, a key for its variables, tracing), what else the table and the queues may have
    /// (replicas, limits of throughput, a policy of the table, long polling), the alarms and their topic, how long logs are
    /// kept, and the providers' secrets (`credentials check` asks for them).
    ///
    /// A look that fails ends it: what was found before is said, with what failed. Exit code 1.
    Doctor(Doctor),
}

/// What a deployment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The table can be restored to any second and is protected from deletion.
    Production,
    /// It need not be.
    Test,
}

/// What is compared.
#[derive(Args, Clone, Debug)]
pub struct Doctor {
    /// The stack's parameter Stage [default: the output Stage, or production].
    #[arg(long)]
    pub stage: Option<Stage>,
    /// The parking queue, by name or URL [default: the output ParkingQueueUrl, or PARKING_QUEUE_URL].
    #[arg(long, value_name = "QUEUE")]
    pub parking_queue: Option<String>,
    /// The name of a function, as api=NAME; likewise refunds, deliver, payout, relay, dead-letter, audit [default: the
    /// stack's outputs].
    #[arg(long = "function", value_name = "KIND=NAME")]
    pub functions: Vec<String>,
}

/// Commands about projects.
#[derive(Clone, Debug, Subcommand)]
pub enum Projects {
    /// Creates a project.
    Create {
        /// Its name: 1 to 64 lower-case letters, digits, '-' and '_', a letter or a digit first.
        name: String,
        /// A bundle id that its messages may name; the first is the default. May be repeated.
        #[arg(long = "app", value_name = "BUNDLE_ID")]
        apps: Vec<String>,
    },
    /// Lists the projects.
    List,
    /// Shows a project's settings.
    Show {
        /// Its name.
        name: String,
    },
    /// Replaces the list of apps that a project's messages may name. In use within the key cache's time (60 s).
    SetApps {
        /// Its name.
        name: String,
        /// A bundle id; the first is the default. May be repeated; none at all leaves no app to name.
        #[arg(long = "app", value_name = "BUNDLE_ID")]
        apps: Vec<String>,
    },
}

/// Whose API key.
#[derive(Args, Clone, Debug)]
pub struct OneKey {
    /// The key's id, as `keys list` shows it.
    pub id: String,
    /// The project that it belongs to.
    #[arg(long, value_name = "NAME")]
    pub project: String,
}

/// Commands about API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum Keys {
    /// Creates an API key and shows it, this once.
    #[command(group(ArgGroup::new("may").required(true).multiple(false)))]
    Create {
        /// The project whose messages it can see and send.
        #[arg(long, value_name = "NAME")]
        project: String,
        /// Who acts with it, for example ada@acme.example: decisions are recorded under this name.
        #[arg(long, value_name = "WHO")]
        name: String,
        /// What it may do: messages:send, messages:read, refunds:create, refunds:decide, refunds:read. May be repeated.
        #[arg(long = "scope", value_name = "SCOPE", group = "may")]
        scopes: Vec<String>,
        /// Everything.
        #[arg(long, group = "may")]
        all_scopes: bool,
        /// Everything that only reads.
        #[arg(long, group = "may")]
        read_only: bool,
    },
    /// Lists a project's API keys, without the keys themselves.
    List {
        /// The project.
        #[arg(long, value_name = "NAME")]
        project: String,
    },
    /// Creates a key with the same name and scopes, shows it, and ends the old one a while later.
    ///
    /// A key gets one successor: of several rotations at the same time one shows a key, and the others say so.
    Rotate {
        /// The old one.
        #[command(flatten)]
        key: OneKey,
        /// How long the old one goes on working, in hours, 0 to 8760.
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u64).range(0..=8_760))]
        overlap_hours: u64,
    },
    /// Ends a key. It stops everywhere within the key cache's time (60 s).
    ///
    /// The end that is written lies 15 minutes back, so that it has come on every clock, even if this machine's is ahead.
    Revoke(OneKey),
}

/// A provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// Apple Push Notification service.
    Apns,
    /// Firebase Cloud Messaging.
    Fcm,
    /// Stripe, for refunds.
    Stripe,
}

impl ProviderName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Apns, Self::Fcm, Self::Stripe];

    /// Its name, in the names of secrets too.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apns => Provider::Apns.as_str(),
            Self::Fcm => Provider::Fcm.as_str(),
            Self::Stripe => payments::PROVIDER,
        }
    }
}

/// Apple's two worlds.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Environment {
    /// Devices that got the app from Xcode.
    Sandbox,
    /// Devices that got it from the App Store or TestFlight.
    Production,
}

/// Commands about credentials. Secrets are named by the output SecretName, or SECRET_NAME [default:
/// sendonce/{project}/{provider}].
#[derive(Clone, Debug, Subcommand)]
pub enum Credentials {
    /// Stores a project's credentials in AWS Secrets Manager, and then checks them.
    ///
    /// What cannot be a credential of this provider is refused before anything is stored: members that nobody reads, or that
    /// are there twice, keys of another kind. Exit code 3: they are stored, and the provider refuses them or did not
    /// answer.
    Put(PutCredentials),
    /// Asks the providers whether they take a project's credentials as they are stored now. No device is reached, and nothing
    /// is paid: Stripe is asked for the refunds of a payment that nobody has, so whether a restricted key may write them,
    /// and whether the webhook secrets are the right ones, is not known by it.
    ///
    /// Stripe is at STRIPE_URL [default: its own address, and with --local the sandbox]. Exit code 3: refused; 1: a provider
    /// did not answer.
    Check {
        /// The project.
        #[arg(long, value_name = "NAME")]
        project: String,
        /// One provider only [default: each that has credentials].
        #[arg(long)]
        provider: Option<ProviderName>,
    },
}

/// What to store.
#[derive(Args, Clone, Debug)]
pub struct PutCredentials {
    /// The project.
    #[arg(long, value_name = "NAME")]
    pub project: String,
    /// The provider.
    #[arg(long)]
    pub provider: ProviderName,
    /// fcm: the service account's key file as Google's console gives it. apns: Apple's .p8 file, with the two ids
    /// below, or the whole secret as JSON. stripe: {"api_key": "sk_…", "webhook_secrets": ["whsec_…", …]}; without webhook
    /// secrets the project's webhooks are refused. "-" reads stdin.
    #[arg(long, value_name = "PATH")]
    pub file: PathBuf,
    /// apns: the id of the key in a .p8 file.
    #[arg(long, value_name = "ID", requires = "team_id")]
    pub key_id: Option<String>,
    /// apns: the id of the team that the key belongs to.
    #[arg(long, value_name = "ID", requires = "key_id")]
    pub team_id: Option<String>,
    /// apns: which of Apple's two environments the key is used in.
    #[arg(long, default_value = "production")]
    pub environment: Environment,
    /// Do not ask the provider.
    #[arg(long)]
    pub no_check: bool,
}

/// Commands about messages.
#[derive(Clone, Debug, Subcommand)]
pub enum Messages {
    /// Shows a message, by its id or by its project and idempotency key.
    #[command(group(ArgGroup::new("which").required(true).multiple(false)))]
    Show {
        /// Its id, msg_….
        #[arg(group = "which")]
        id: Option<String>,
        /// Its idempotency key, with --project.
        #[arg(long, value_name = "KEY", group = "which", requires = "project")]
        key: Option<String>,
        /// Its project, with --key.
        #[arg(long, value_name = "NAME", requires = "key")]
        project: Option<String>,
        /// The items as they are stored, with what each attribute means. Tokens stay masked.
        #[arg(long)]
        raw: bool,
    },
}

/// A queue of dead letters.
#[derive(Args, Clone, Debug)]
pub struct DeadQueue {
    /// The dead-letter queue, by name or URL; any queue of ours can be named, the parking queue too [default: the one
    /// that the queue of --of sends its dead letters to].
    #[arg(long, value_name = "QUEUE")]
    pub queue: Option<String>,
    /// The queue whose dead letters are meant, by name or URL [default: DELIVERIES_QUEUE_URL].
    #[arg(long, value_name = "QUEUE", conflicts_with = "queue")]
    pub of: Option<String>,
}

/// Commands about dead letters.
#[derive(Clone, Debug, Subcommand)]
pub enum DeadLetters {
    /// Shows letters and gives them back at once. Each look counts as a receive.
    ///
    /// The dead-letter function takes letters as they come, so what is here waits for it, or was left by it.
    Show {
        /// Where.
        #[command(flatten)]
        queue: DeadQueue,
        /// At most so many, 1 to 100.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Sends letters back to the queue they came from: each is deleted only after SQS confirmed its copy.
    ///
    /// The consumer claims before it sends, so a letter whose chunk is done is only thrown away. Ends once as many were
    /// handled as there were at the start. Exit code 3: some were left, because somebody else holds them.
    Redrive {
        /// Where from.
        #[command(flatten)]
        queue: DeadQueue,
        /// Where to, by name or URL: a queue that sends its dead letters there, and no other [default: the one that does].
        #[arg(long, value_name = "QUEUE")]
        to: Option<String>,
        /// At most so many.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
}
