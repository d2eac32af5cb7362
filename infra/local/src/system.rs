//! Starting everything in the right order, and ending it.

use crate::{
    control::Control,
    crash::Crashes,
    data::{self, Data},
    dynamo::Dynamo,
    elsewhere::Functions,
    front::front,
    functions::{Deployment, Endpoints, deploy, deploy_elsewhere},
    inline::InlineSwitch,
    invoke::Function,
    pollers,
    ports::bind,
    ready::Ready,
    resources::{self, NAME, PROJECTS, Queues, create_queues, queue_arn, seed_api_keys, seed_projects},
    schedule,
    stream::{self, checkpoint::Checkpoints, filter::matches},
};
use anyhow::Context;
use aws_sdk_dynamodbstreams::Client as StreamsClient;
use axum::{Router, http::HeaderValue};
use local_sqs::Sqs;
use platform::{AwsTimeouts, Clock, aws_config_at};
use protocol::{audit::INVOKED_EVERY, timing::Timing};
use sandbox::Sandbox;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::Store;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

/// How often expired items are deleted, in local time. AWS takes up to days; nothing relies on it.
const SWEEP_EVERY_MS: u64 = 60_000;
/// How long open requests may take to end after a stop, in real time.
const DRAIN: Duration = Duration::from_secs(5);

/// How to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Port of the API; 0: any.
    pub api_port: u16,
    /// Port of the built-in DynamoDB; 0: any.
    pub dynamodb_port: u16,
    /// Port of the built-in SQS; 0: any.
    pub sqs_port: u16,
    /// Port of the sandbox; 0: any.
    pub sandbox_port: u16,
    /// A DynamoDB to use instead of the built-in one.
    pub dynamodb_url: Option<String>,
    /// An SQS to use instead of the built-in one.
    pub sqs_url: Option<String>,
    /// The table's name, and the start of the queues' names: systems that share a service need different ones.
    pub name: String,
    /// The folder that keeps everything over a restart; none: nothing is kept.
    pub data: Option<PathBuf>,
    /// Origins whose pages may call the API; none switches CORS off.
    pub cors: Vec<HeaderValue>,
    /// The durations.
    pub timing: Timing,
    /// Where the functions run.
    pub functions: Functions,
    /// Under which URL the functions reach the providers, if not the sandbox's own: something may stand in between.
    pub provider_url: Option<String>,
}

impl Options {
    /// The usual [`Options::name`].
    pub const NAME: &str = NAME;

    /// Everything built in, on free ports, with the short durations: what a test starts.
    #[must_use]
    pub fn free_ports() -> Self {
        Self {
            api_port: 0,
            dynamodb_port: 0,
            sqs_port: 0,
            sandbox_port: 0,
            dynamodb_url: None,
            sqs_url: None,
            name: Self::NAME.to_owned(),
            data: None,
            cors: Vec::new(),
            timing: Timing::SHORT,
            functions: Functions::Here,
            provider_url: None,
        }
    }
}

/// A running system.
#[derive(Debug)]
pub struct System {
    ready: Ready,
    environment: BTreeMap<&'static str, String>,
    mappings: Vec<(String, String)>,
    control: Control,
    sandbox: Sandbox,
    store: Store,
    sqs: Option<Sqs>,
    dynamo: Option<Dynamo>,
    stop_front: watch::Sender<bool>,
    front: JoinSet<()>,
    stop_pollers: watch::Sender<bool>,
    pollers: JoinSet<()>,
    stop_services: watch::Sender<bool>,
    services: JoinSet<()>,
    /// Last, so that the folder is free only once nothing uses it any more.
    _data: Option<Arc<Data>>,
}

impl System {
    /// Starts everything; returns once every part answers.
    ///
    /// # Errors
    /// What could not be started, and which flag helps where a port is in use.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let faults = options.timing.violations();
        anyhow::ensure!(faults.is_empty(), "{}", faults.join("\n"));
        let data = options.data.as_deref().map(Data::open).transpose()?.map(Arc::new);
        let clock = data.as_ref().map_or_else(Clock::system, |data| data.clock());
        let timing = options.timing;

        // All ports first: a port in use is said before anything runs.
        let (api_listener, api_url) = bind(options.api_port, "--port").await?;
        let (sandbox_listener, sandbox_url) = bind(options.sandbox_port, "--sandbox-port").await?;
        let (stop_services, services_stop) = watch::channel(false);
        let (stop_front, front_stop) = watch::channel(false);
        let (stop_pollers, pollers_stop) = watch::channel(false);
        let (mut services, mut front_tasks, mut pollers) = (JoinSet::new(), JoinSet::new(), JoinSet::new());

        let (dynamo, dynamodb_url) = match options.dynamodb_url {
            Some(url) => (None, url),
            None => {
                let (listener, _) = bind(options.dynamodb_port, "--dynamodb-port").await?;
                let dynamo = start_dynamo(listener, data.as_deref(), clock.clone()).await?;
                let url = dynamo.url().to_owned();
                (Some(dynamo), url)
            }
        };
        let (sqs, sqs_url) = match options.sqs_url {
            Some(url) => (None, url),
            None => {
                let (listener, url) = bind(options.sqs_port, "--sqs-port").await?;
                let sqs = match &data {
                    Some(data) => kept(data, data::SQS, |file| Ok(Sqs::open(clock.clone(), url.clone(), file)?))?,
                    None => Sqs::new(clock.clone(), url.clone()),
                };
                services.spawn(serve(listener, sqs.router(), services_stop.clone()));
                (Some(sqs), url)
            }
        };
        let provider_url = options.provider_url.unwrap_or_else(|| sandbox_url.clone());
        let sandbox = Sandbox::new(clock.clone(), provider_url.clone())?;
        let checkpoints = match &data {
            Some(data) => {
                kept(data, data::LEDGER, |file| Ok(sandbox.keep_ledger(file)?))?;
                let file = data.file(data::CHECKPOINTS)?;
                Checkpoints::file(file.clone()).with_context(|| unusable(&file))?
            }
            None => Checkpoints::memory(),
        };
        sandbox.send_webhooks_to(&format!("{api_url}/v1/webhooks/payments")).map_err(anyhow::Error::msg)?;
        let mut webhook_secrets = BTreeMap::new();
        for (project, apps) in PROJECTS {
            sandbox.seed_project_with(project, apps)?;
            webhook_secrets.extend(sandbox.webhook_secret(project).map(|secret| (project.to_owned(), secret)));
        }

        let limits = AwsTimeouts::within(Timing::PRODUCTION.record);
        let endpoints = Endpoints {
            dynamodb: dynamodb_url,
            table: options.name.clone(),
            sqs: sqs_url,
            sandbox: sandbox_url,
            stripe: provider_url,
        };
        let dynamodb_config = aws_config_at(limits, &endpoints.dynamodb).await;
        let store = Store::new(aws_sdk_dynamodb::Client::new(&dynamodb_config), &endpoints.table);
        let stream_arn = store.create_table().await.context("the table could not be created")?;
        seed_projects(&store).await?;
        let api_keys = seed_api_keys(&store).await?;
        let sqs_client = aws_sdk_sqs::Client::new(&aws_config_at(limits, &endpoints.sqs).await);
        let queues = create_queues(&sqs_client, &options.name, &timing).await?;

        let (crashes, inline) = (Crashes::default(), InlineSwitch::default());
        let here = matches!(options.functions, Functions::Here);
        let deployment = match options.functions {
            Functions::Here => deploy(&endpoints, &queues, timing, &clock, &crashes, &inline, &options.cors).await,
            Functions::Elsewhere(elsewhere) => deploy_elsewhere(elsewhere, timing, &clock),
        };
        let environment = environment(&endpoints, &queues);
        let control = Control {
            clock: clock.clone(),
            data: data.clone(),
            here,
            crashes,
            inline,
            sqs: sqs.clone(),
            sandbox: sandbox.clone(),
            pausable: vec![
                deployment.deliver.clone(),
                deployment.payout.clone(),
                deployment.relay.clone(),
                deployment.dead_letter.clone(),
                deployment.audit.clone(),
            ],
            audit: deployment.audit.clone(),
        };
        {
            let (sandbox, extra) = (sandbox.clone(), control.clone().router());
            let stop = services_stop.clone();
            services.spawn(async move { sandbox.serve(sandbox_listener, extra, stop).await });
        }
        front_tasks.spawn(serve(api_listener, front(deployment.api.clone(), deployment.refunds.clone()), front_stop));
        let streams = StreamsClient::new(&dynamodb_config);
        let mappings = spawn_pollers(&mut pollers, &deployment, &queues, sqs_client, &clock, &pollers_stop).await?;
        spawn_stream(
            &mut pollers,
            &deployment.relay,
            streams,
            stream_arn,
            endpoints.table,
            checkpoints,
            dynamo.as_ref(),
            timing,
            &clock,
            &pollers_stop,
        );
        pollers.spawn(schedule::run(deployment.audit.clone(), INVOKED_EVERY, clock.clone(), pollers_stop.clone()));
        if let Some(dynamo) = &dynamo {
            pollers.spawn(sweep(dynamo.sweeper(), clock.clone(), pollers_stop.clone()));
        }

        let ready = Ready {
            ready: true,
            api: api_url,
            console: None,
            dynamodb: endpoints.dynamodb,
            sqs: endpoints.sqs,
            sandbox: endpoints.sandbox,
            api_keys,
            webhook_secrets,
        };
        Ok(Self {
            ready,
            environment,
            mappings,
            control,
            sandbox,
            store,
            sqs,
            dynamo,
            stop_front,
            front: front_tasks,
            stop_pollers,
            pollers,
            stop_services,
            services,
            _data: data,
        })
    }

    /// URLs and keys.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The variables that a function in another process needs: the services' addresses, the table and the queues.
    /// `TIMING` is the caller's to add.
    #[must_use]
    pub fn environment(&self) -> &BTreeMap<&'static str, String> {
        &self.environment
    }

    /// The queues that have a consumer, by their URL, each with its function's name.
    #[must_use]
    pub fn mappings(&self) -> &[(String, String)] {
        &self.mappings
    }

    /// What POST /control does.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The provider sandbox.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The table, for tests that look at items.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The built-in SQS, if that is what runs.
    #[must_use]
    pub fn sqs(&self) -> Option<&Sqs> {
        self.sqs.as_ref()
    }

    /// The one clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.control.clock
    }

    /// Ends everything in order: no new requests, running invocations to their end, then the stand-ins.
    ///
    /// # Errors
    /// When the database does not stop cleanly.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.stop_front.send_replace(true);
        drain(&mut self.front).await;
        self.stop_pollers.send_replace(true);
        // An invocation ends at its own timeout at the latest, so this wait is bounded.
        while self.pollers.join_next().await.is_some() {}
        self.stop_services.send_replace(true);
        drain(&mut self.services).await;
        if let Some(dynamo) = self.dynamo.take() {
            dynamo.stop().await?;
        }
        Ok(())
    }
}

/// What `open` makes of a file of the folder, which may not be missing from then on.
fn kept<T>(data: &Data, name: &str, open: impl FnOnce(&Path) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let file = data.file(name)?;
    let opened = open(&file).with_context(|| unusable(&file))?;
    data.made(name)?;
    Ok(opened)
}

fn unusable(file: &Path) -> String {
    format!("--data: the file {} cannot be used", file.display())
}

async fn start_dynamo(listener: TcpListener, data: Option<&Data>, clock: Clock) -> anyhow::Result<Dynamo> {
    let Some(data) = data else { return Ok(Dynamo::start(listener, None, clock).await?) };
    let file = data.file(data::DYNAMODB)?;
    let folder = file.parent().map(Path::to_owned);
    let dynamo = Dynamo::start(listener, folder, clock).await.with_context(|| unusable(&file))?;
    data.made(data::DYNAMODB)?;
    Ok(dynamo)
}

/// See [`System::environment`]. Credentials mean nothing to the stand-ins; the SDK wants some.
fn environment(endpoints: &Endpoints, queues: &Queues) -> BTreeMap<&'static str, String> {
    let local = || "local".to_owned();
    BTreeMap::from([
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.clone()),
        ("AWS_ENDPOINT_URL_SQS", endpoints.sqs.clone()),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", endpoints.sandbox.clone()),
        ("STRIPE_URL", endpoints.stripe.clone()),
        ("AWS_REGION", resources::REGION.to_owned()),
        ("AWS_ACCESS_KEY_ID", local()),
        ("AWS_SECRET_ACCESS_KEY", local()),
        ("TABLE_NAME", endpoints.table.clone()),
        ("DELIVERIES_QUEUE_URL", queues.deliveries.clone()),
        ("PAYOUTS_QUEUE_URL", queues.payouts.clone()),
        ("PARKING_QUEUE_URL", queues.parking.clone()),
    ])
}

async fn drain(tasks: &mut JoinSet<()>) {
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, all).await.is_err() {
        tasks.shutdown().await;
    }
}

async fn serve(listener: TcpListener, router: Router, stop: pollers::Stop) {
    let served = axum::serve(listener, router).with_graceful_shutdown(async move { pollers::stopped(&stop).await });
    if let Err(error) = served.await {
        tracing::error!(error = %error, "a server of the local system ended");
    }
}

async fn sweep(sweeper: crate::dynamo::Sweeper, clock: Clock, stop: pollers::Stop) {
    loop {
        let next = clock.now_ms().saturating_add(SWEEP_EVERY_MS);
        tokio::select! {
            () = pollers::stopped(&stop) => return,
            () = clock.sleep_until(next) => {}
        }
        if let Err(error) = sweeper.sweep_ttl().await {
            tracing::warn!(error = %error, "expired items were not swept");
        }
    }
}

async fn spawn_pollers(
    tasks: &mut JoinSet<()>,
    deployment: &Deployment,
    queues: &Queues,
    client: aws_sdk_sqs::Client,
    clock: &Clock,
    stop: &pollers::Stop,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut mappings = Vec::new();
    for (url, function) in [
        (&queues.deliveries, &deployment.deliver),
        (&queues.payouts, &deployment.payout),
        (&queues.dead_letters, &deployment.dead_letter),
        (&queues.payout_dead_letters, &deployment.dead_letter),
    ] {
        let arn = queue_arn(&client, url).await?;
        let source = pollers::sqs::SqsSource::new(client.clone(), url.clone(), arn, resources::REGION.to_owned());
        mappings.push((source.queue_url.clone(), function.name().to_owned()));
        tasks.spawn(pollers::sqs::run(source, function.clone(), clock.clone(), stop.clone()));
    }
    Ok(mappings)
}

#[expect(clippy::too_many_arguments, reason = "one call, in one place")]
fn spawn_stream(
    tasks: &mut JoinSet<()>,
    relay: &Function,
    client: StreamsClient,
    stream_arn: String,
    table: String,
    checkpoints: Checkpoints,
    dynamo: Option<&Dynamo>,
    timing: Timing,
    clock: &Clock,
    stop: &pollers::Stop,
) {
    let trim = dynamo.map(|dynamo| {
        let trimmer = dynamo.trimmer();
        Arc::new(move |before: String| {
            let (trimmer, table) = (trimmer.clone(), table.clone());
            let trimmed: futures_util::future::BoxFuture<'static, ()> = Box::pin(async move {
                if let Err(error) = trimmer.trim(&table, &before).await {
                    tracing::warn!(error = %error, "stream records were not trimmed");
                }
            });
            trimmed
        }) as stream::Trim
    });
    let source = stream::StreamSource {
        client,
        stream_arn,
        region: resources::REGION.to_owned(),
        window_ms: timing.window,
        filter: relay_filter(),
        checkpoints,
        trim,
    };
    tasks.spawn(stream::run(source, relay.clone(), clock.clone(), stop.clone()));
}

/// The relay's filter criteria.
fn relay_filter() -> stream::Filter {
    let pattern: Value = serde_json::from_str(relay::EVENT_FILTER).unwrap_or_default();
    Arc::new(move |record| matches(&pattern, record))
}
