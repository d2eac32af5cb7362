//! What is played through the deployed HTTP API, step by step.

use crate::{
    admin::{LEFT_OUT, Sendonce},
    alarms,
    emulator::Emulator,
    processes::stop,
    providers::{self, PROJECTS},
    say,
    stack::Sam,
};
use anyhow::{Context, bail, ensure};
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use aws_sdk_sqs::types::QueueAttributeName;
use fault::http::Answer;
use http::Method;
use platform::{AwsTimeouts, aws_config_at};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};
use store::Store;

/// Real time within which everything that is waited for must have happened: the short durations, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);
/// Pause between two looks at what tells nobody that it changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The table's attribute by which DynamoDB deletes what is over.
const TTL_ATTRIBUTE: &str = "exp";
/// What is switched off while a letter dies, and the relay, which would send another copy.
const CONSUMERS: [&str; 3] = ["DeliverFunction", "RelayFunction", "DeadLetterFunction"];

/// Who sends a dead letter back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Redrive {
    /// The dead-letter function.
    Function,
    /// A person, with the admin command.
    Person,
}

/// Deploys, plays and deletes.
pub(crate) async fn play(emulator: &Path, sam: &Path, sendonce: &Path) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("sendonce-deploy-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let emulator = Emulator::start(emulator, &folder).await?;
    let (sandbox, sandbox_url) = providers::start().await?;
    say(&format!("the emulator answers at {}, the sandbox at {sandbox_url}", emulator.url));
    let sam = Sam { program: sam, emulator: &emulator };
    // It is run in a folder of its own.
    let sendonce = std::path::absolute(sendonce)?;
    let played = steps(&sam, &sandbox_url, &sendonce, &folder).await;
    let played = played.with_context(|| format!("the end of what the emulator said:\n{}", emulator.said()));
    stop(sandbox).await;
    stop(emulator.child).await;
    // What is left in the folder is the log, and it was shown if it was needed.
    let _ = std::fs::remove_dir_all(&folder);
    played
}

/// Runs one step and says how long it took.
async fn step<T>(name: &str, step: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let began = Instant::now();
    let done = step.await.with_context(|| name.to_owned())?;
    say(&format!("{:>6.1} s  {name}", began.elapsed().as_secs_f64()));
    Ok(done)
}

async fn steps(sam: &Sam<'_>, sandbox: &str, sendonce: &Path, folder: &Path) -> anyhow::Result<()> {
    let stripe = format!("StripeUrl={sandbox}");
    step("sam deploy", sam.deploy(std::slice::from_ref(&stripe))).await?;
    let listed = step("the stack's outputs", sam.list_outputs()).await?;
    let admin = Sendonce::new(sendonce, &sam.emulator.url, sandbox, folder, &listed)?;
    let mut world =
        World { emulator: sam.emulator, sandbox, outputs: Sam::outputs(&listed)?, admin, keys: BTreeMap::new() };
    step("the doctor names what the emulator left out, and nothing else", world.doctored()).await?;
    for (name, apps) in PROJECTS {
        let key = step("a project, its API key, its credentials", world.admin.make_project(name, apps)).await?;
        world.keys.insert(name.to_owned(), key);
    }
    let id = step("a send reaches the provider once", world.send("deploy-1", "device-of-deploy-1")).await?;
    step("its repeat is ignored, another body refused", world.repeats(&id)).await?;
    step("another project sees nothing of it", world.other_project(&id)).await?;
    step("sendonce shows it", world.admin.shows_sent(&id, "deploy-1")).await?;
    step("what no route names is refused in our words", world.unknown_routes()).await?;
    step("a dead letter is re-driven, and sent once", world.dead_letter("deploy-dead", Redrive::Function)).await?;
    step("a person re-drives one, and it is sent once", world.dead_letter("deploy-worn", Redrive::Person)).await?;
    step("a refund is approved twice and paid once", world.refund()).await?;
    step("an audit finds nothing", world.admin.audits()).await?;
    step("the doctor names a mapping that is off", world.mapping_off()).await?;
    step("the alarms are deployed, and one is heard", alarms::deployed(sam, &world.sqs().await, &world.outputs))
        .await?;
    let cors = "CorsOrigins=https://console.example".to_owned();
    ensure!(world.allowed_origin().await?.is_none(), "CORS is on before it is switched on");
    step("sam deploy with another parameter", sam.change(&[cors])).await?;
    let outputs = Sam::outputs(&sam.list_outputs().await?)?;
    ensure!(outputs == world.outputs, "an output has changed: {outputs:?} was {:?}", world.outputs);
    ensure!(world.allowed_origin().await?.as_deref() == Some("https://console.example"), "the parameter has no effect");
    sam.emulator.number_concurrency(world.output("DeliverFunction")?).await?;
    step("what was sent before is still known", world.repeats(&id)).await?;
    step("sends go on", world.send("deploy-2", "device-of-deploy-2")).await?;
    step("the doctor finds nothing", world.admin.doctor_finds_nothing()).await?;
    let own = world.output("TableName")?.to_owned();
    let restored = step("a restored table takes the stack's own's place", world.restored(sam)).await?;
    step("sends go on there, and nothing is known of those before", world.forgotten("deploy-1", &id)).await?;
    step("sam delete", sam.delete()).await?;
    ensure!(sam.list_outputs().await.is_err(), "the stack is still there");
    ensure!(world.table_is_gone(&own).await?, "the table of a test stage is still there");
    ensure!(!world.table_is_gone(&restored).await?, "a table that was never the stack's is gone with it");
    Ok(())
}

struct World<'a> {
    emulator: &'a Emulator,
    sandbox: &'a str,
    outputs: BTreeMap<String, String>,
    admin: Sendonce,
    /// Each project's API key, as it was shown.
    keys: BTreeMap<String, String>,
}

fn push(key: &str, token: &str) -> Value {
    json!({"idempotency_key": key, "to": [{"platform": "android", "token": token}],
           "notification": {"title": "Shipped", "body": "It is on its way."}})
}

impl World<'_> {
    fn output(&self, name: &str) -> anyhow::Result<&str> {
        self.outputs.get(name).map(String::as_str).with_context(|| format!("the stack has no output {name}"))
    }

    async fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&aws_config_at(AwsTimeouts::within(20_000), &self.emulator.url).await)
    }

    async fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&aws_config_at(AwsTimeouts::within(20_000), &self.emulator.url).await)
    }

    /// What a restore from a backup leaves beside the stack's own table, with what RUNBOOK has a person give it; then the
    /// stack is told of it. Its name.
    async fn restored(&mut self, sam: &Sam<'_>) -> anyhow::Result<String> {
        let name = format!("{}-restored", self.output("TableName")?);
        let store = Store::new(self.dynamodb().await, name.clone());
        let stream = store.create_table().await?;
        let alone = sam.change(&[format!("RestoredTable={name}")]).await;
        ensure!(alone.is_err(), "a table is taken without its stream");
        sam.change(&[format!("RestoredTable={name}"), format!("RestoredStreamArn={stream}")]).await?;
        let listed = sam.list_outputs().await?;
        self.outputs = Sam::outputs(&listed)?;
        self.admin.told(&listed)?;
        ensure!(self.output("TableName")? == name, "the stack's table is {}", self.output("TableName")?);
        self.emulator.number_concurrency(self.output("DeliverFunction")?).await?;
        self.admin.doctor_finds_nothing().await?;
        for (project, apps) in PROJECTS {
            let key = self.admin.make_key(project, apps).await?;
            self.keys.insert(project.to_owned(), key);
        }
        Ok(name)
    }

    /// A key that was used is free again, and what was sent under it is sent once more.
    async fn forgotten(&self, key: &str, id: &str) -> anyhow::Result<()> {
        let before = self.call(&Method::GET, &format!("/v1/messages/{id}"), "acme", None).await?;
        ensure!(before.status == 404, "the table before is still read: {}", before.body);
        let token = "device-of-restored";
        ensure!(self.send(key, token).await? != id, "the id is the one of before");
        Ok(())
    }

    async fn table_is_gone(&self, table: &str) -> anyhow::Result<bool> {
        let described = self.dynamodb().await.describe_table().table_name(table).send().await;
        Ok(described.is_err_and(|e| e.as_service_error().is_some_and(|e| e.is_resource_not_found_exception())))
    }

    /// What the emulator left out is named and made good by hand; then the stack is what the design needs.
    async fn doctored(&self) -> anyhow::Result<()> {
        self.admin.doctor_finds(&LEFT_OUT).await?;
        self.emulator.number_concurrency(self.output("DeliverFunction")?).await?;
        for function in ["DeliverFunction", "DeadLetterFunction"] {
            self.emulator.allow_loops(self.output(function)?).await?;
        }
        let spec = TimeToLiveSpecification::builder().attribute_name(TTL_ATTRIBUTE).enabled(true).build()?;
        let update = self.dynamodb().await.update_time_to_live().table_name(self.output("TableName")?);
        update.time_to_live_specification(spec).send().await?;
        self.admin.doctor_finds_nothing().await
    }

    /// What somebody switched off and forgot is named.
    async fn mapping_off(&self) -> anyhow::Result<()> {
        let relay = self.output("RelayFunction")?;
        self.emulator.consume(relay, false).await?;
        self.admin.doctor_finds(&[("mapping relay", "Enabled")]).await?;
        self.emulator.consume(relay, true).await?;
        self.admin.doctor_finds_nothing().await
    }

    /// A request through the deployed API, by the host name that API Gateway gave it.
    async fn call(&self, method: &Method, path: &str, project: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
        let host =
            self.output("ApiUrl")?.split_once("://").map_or("", |(_, host)| host).trim_end_matches('/').to_owned();
        let (name, _) = host.split_once(':').unwrap_or((&host, ""));
        let host = format!("{name}:{}", self.emulator.port);
        let bearer = format!("Bearer {}", self.keys.get(project).context("the project has no key")?);
        let mut headers =
            vec![("host", host.as_str()), ("authorization", &bearer), ("origin", "https://console.example")];
        headers.extend(body.map(|_| ("content-type", "application/json")));
        let body = body.map(Value::to_string).unwrap_or_default();
        let url = format!("{}{path}", self.emulator.url);
        self.emulator.http.send(method, &url, &headers, body).await.map_err(|error| anyhow::anyhow!(error))
    }

    async fn post(&self, project: &str, body: &Value, status: u16) -> anyhow::Result<Answer> {
        let answer = self.call(&Method::POST, "/v1/messages", project, Some(body)).await?;
        ensure!(answer.status == status, "a send was answered {} {}", answer.status, answer.body);
        Ok(answer)
    }

    /// How often the provider was called for a device.
    async fn calls(&self, token: &str) -> anyhow::Result<usize> {
        let ledger = format!("{}/ledger?token={token}", self.sandbox);
        let answer = self.emulator.http.send(&Method::GET, &ledger, &[], "").await;
        let answer = answer.map_err(|error| anyhow::anyhow!(error))?;
        answer.body.as_array().map(Vec::len).context("the ledger is no list")
    }

    async fn reaches(&self, id: &str, status: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let answer = self.call(&Method::GET, &format!("/v1/messages/{id}"), "acme", None).await?;
            ensure!(answer.status == 200, "{id} was answered {} {}", answer.status, answer.body);
            if answer.body["status"] == status {
                return Ok(());
            }
            ensure!(began.elapsed() < DEADLINE, "{id} is not {status} but {}", answer.body);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn send(&self, key: &str, token: &str) -> anyhow::Result<String> {
        let answer = self.post("acme", &push(key, token), 202).await?;
        ensure!(answer.body["status"] == "queued", "the send says {}", answer.body);
        let id = answer.body["id"].as_str().context("no id")?.to_owned();
        self.reaches(&id, "sent").await?;
        ensure!(self.calls(token).await? == 1, "{token} was not called once");
        Ok(id)
    }

    async fn repeats(&self, id: &str) -> anyhow::Result<()> {
        let first = push("deploy-1", "device-of-deploy-1");
        let again = self.post("acme", &first, 202).await?;
        ensure!(again.body == json!({"status": "duplicate_ignored", "id": id}), "the repeat says {}", again.body);
        ensure!(again.headers.contains_key("idempotent-replayed"), "the repeat has no Idempotent-Replayed");
        let mut other = first;
        other["notification"]["title"] = json!("Delayed");
        let refused = self.post("acme", &other, 422).await?;
        ensure!(refused.body["code"] == "idempotency_key_reused", "another body says {}", refused.body);
        ensure!(self.calls("device-of-deploy-1").await? == 1, "the device was called again");
        Ok(())
    }

    /// Created, approved, approved again, paid.
    async fn refund(&self) -> anyhow::Result<()> {
        let body = json!({"idempotency_key": "deploy-refund", "order_id": "o-1", "payment_id": "pi_deploy",
                          "amount": 1_250, "currency": "usd", "reason": "requested_by_customer"});
        let created = self.call(&Method::POST, "/v1/refunds", "acme", Some(&body)).await?;
        ensure!(created.status == 201, "the refund was answered {} {}", created.status, created.body);
        let id = created.body["id"].as_str().context("no id")?.to_owned();
        let approve = format!("/v1/refunds/{id}/approve");
        let mut payout = Value::Null;
        for result in ["approved", "already_approved"] {
            let decided = self.call(&Method::POST, &approve, "acme", None).await?;
            ensure!(decided.status == 200 && decided.body["result"] == result, "approve says {}", decided.body);
            ensure!(payout.is_null() || payout == decided.body["payout_id"], "two payouts: {}", decided.body);
            payout = decided.body["payout_id"].clone();
        }
        self.until("the refund is paid", async || {
            let shown = self.call(&Method::GET, &format!("/v1/refunds/{id}"), "acme", None).await?;
            ensure!(shown.status == 200, "the refund is answered {} {}", shown.status, shown.body);
            Ok(shown.body["payout"]["status"] == "paid" && shown.body["payout"]["id"] == payout)
        })
        .await?;
        ensure!(self.calls("pi_deploy").await? == 1, "the payment provider was not called once");
        Ok(())
    }

    async fn other_project(&self, id: &str) -> anyhow::Result<()> {
        let hidden = self.call(&Method::GET, &format!("/v1/messages/{id}"), "globex", None).await?;
        ensure!(hidden.status == 404, "globex sees {}", hidden.body);
        let own = self.post("globex", &push("deploy-1", "device-of-globex"), 202).await?;
        ensure!(own.body["status"] == "queued" && own.body["id"] != id, "globex's key is acme's: {}", own.body);
        Ok(())
    }

    async fn unknown_routes(&self) -> anyhow::Result<()> {
        for (method, path, status, code) in [
            (Method::GET, "/v1/nothing", 404, "not_found"),
            (Method::DELETE, "/v1/messages", 405, "method_not_allowed"),
            (Method::GET, "/v1/messages/", 404, "not_found"),
        ] {
            let answer = self.call(&method, path, "acme", None).await?;
            let said = (answer.status.as_u16(), answer.body["code"].as_str());
            ensure!(said == (status, Some(code)), "{method} {path} is answered {said:?}");
        }
        let healthy = self.call(&Method::GET, "/healthz", "acme", None).await?;
        ensure!(healthy.status == 200, "/healthz is answered {}", healthy.status);
        Ok(())
    }

    /// The header by which a browser is told that a page may read the answer.
    async fn allowed_origin(&self) -> anyhow::Result<Option<String>> {
        let answer = self.call(&Method::GET, "/healthz", "acme", None).await?;
        let header = answer.headers.get("access-control-allow-origin").and_then(|value| value.to_str().ok());
        Ok(header.map(str::to_owned))
    }

    /// Every copy that a queue holds, hidden or not.
    async fn left(&self, sqs: &aws_sdk_sqs::Client, queue: &str) -> anyhow::Result<u64> {
        let answer = sqs
            .get_queue_attributes()
            .queue_url(queue)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessages)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
            .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesDelayed)
            .send()
            .await?;
        Ok(answer.attributes.unwrap_or_default().values().filter_map(|count| count.parse::<u64>().ok()).sum())
    }

    async fn until(&self, what: &str, mut look: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
        let began = Instant::now();
        while !look().await? {
            if began.elapsed() > DEADLINE {
                bail!("waited {DEADLINE:?} in vain: {what}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Switches the consumers on or off.
    async fn consume(&self, functions: &[&str], enabled: bool) -> anyhow::Result<()> {
        for function in functions {
            self.emulator.consume(self.output(function)?, enabled).await?;
        }
        Ok(())
    }

    /// A copy is received by nobody who handles it until SQS gives it up; then it is sent again.
    async fn dead_letter(&self, key: &str, by: Redrive) -> anyhow::Result<()> {
        let (queue, dead) = (self.output("DeliveriesQueueUrl")?, self.output("DeliveriesDeadQueueUrl")?);
        let sqs = self.sqs().await;
        let empty = async || Ok(self.left(&sqs, dead).await? == 0 && self.left(&sqs, queue).await? == 0);
        // The relay was quicker than the deliveries before, and its copies come later.
        self.until("the queues are empty", empty).await?;
        self.consume(&CONSUMERS, false).await?;
        let token = format!("device-of-{key}");
        let accepted = self.post("acme", &push(key, &token), 202).await?;
        let id = accepted.body["id"].as_str().context("no id")?.to_owned();
        self.until("the copy becomes a dead letter", async || {
            sqs.receive_message().queue_url(queue).max_number_of_messages(10).visibility_timeout(0).send().await?;
            Ok(self.left(&sqs, dead).await? == 1 && self.left(&sqs, queue).await? == 0)
        })
        .await?;
        ensure!(self.calls(&token).await? == 0, "the device was called without a consumer");
        match by {
            Redrive::Function => self.consume(&["DeadLetterFunction"], true).await?,
            Redrive::Person => self.admin.redrives(&id).await?,
        }
        self.until("the letter is a copy again", async || {
            Ok(self.left(&sqs, dead).await? == 0 && self.left(&sqs, queue).await? == 1)
        })
        .await?;
        self.consume(&CONSUMERS, true).await?;
        self.reaches(&id, "sent").await?;
        self.until("the queues are empty again", empty).await?;
        ensure!(self.calls(&token).await? == 1, "the device was not called once");
        Ok(())
    }
}
