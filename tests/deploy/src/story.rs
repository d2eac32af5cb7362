//! What is played through the deployed HTTP API, step by step.

use crate::{
    emulator::Emulator,
    processes::stop,
    providers::{self, PROJECTS},
    say,
    stack::Sam,
};
use anyhow::{Context, bail, ensure};
use aws_sdk_sqs::types::QueueAttributeName;
use fault::http::Answer;
use http::Method;
use platform::{AwsTimeouts, aws_config_at};
use sendonce_http::SCOPES;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};
use store::{ApiKey, Project, SeedOutcome, Store};

/// Real time within which everything that is waited for must have happened: the short durations, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);
/// Pause between two looks at what tells nobody that it changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A project's API key in the deployed system.
fn api_key(project: &str) -> String {
    format!("deploy_{project}_key")
}

/// Deploys, plays and deletes.
pub(crate) async fn play(emulator: &Path, sam: &Path) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("sendonce-deploy-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let emulator = Emulator::start(emulator, &folder).await?;
    let (sandbox, sandbox_url) = providers::start().await?;
    providers::carry_secrets(&sandbox_url, &emulator.url).await?;
    say(&format!("the emulator answers at {}, the sandbox at {sandbox_url}", emulator.url));
    let sam = Sam { program: sam, emulator: &emulator };
    let played = steps(&sam, &sandbox_url).await;
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

async fn steps(sam: &Sam<'_>, sandbox: &str) -> anyhow::Result<()> {
    let stripe = format!("StripeUrl={sandbox}");
    step("sam deploy", sam.deploy(std::slice::from_ref(&stripe))).await?;
    let outputs = step("the stack's outputs", sam.outputs()).await?;
    let world = World { emulator: sam.emulator, sandbox, outputs };
    let deliver = world.output("DeliverFunction")?;
    sam.emulator.number_concurrency(deliver).await?;
    step("projects and API keys", world.seed()).await?;
    let id = step("a send reaches the provider once", world.send("deploy-1", "device-of-deploy-1")).await?;
    step("its repeat is ignored, another body refused", world.repeats(&id)).await?;
    step("another project sees nothing of it", world.other_project(&id)).await?;
    step("what no route names is refused in our words", world.unknown_routes()).await?;
    step("a dead letter is re-driven, and sent once", world.dead_letter()).await?;
    step("a refund is approved twice and paid once", world.refund()).await?;
    let cors = "CorsOrigins=https://console.example".to_owned();
    ensure!(world.allowed_origin().await?.is_none(), "CORS is on before it is switched on");
    step("sam deploy with another parameter", sam.deploy(&[stripe, cors])).await?;
    ensure!(world.allowed_origin().await?.as_deref() == Some("https://console.example"), "the parameter has no effect");
    sam.emulator.number_concurrency(deliver).await?;
    step("what was sent before is still known", world.repeats(&id)).await?;
    step("sends go on", world.send("deploy-2", "device-of-deploy-2")).await?;
    step("sam delete", sam.delete()).await?;
    ensure!(sam.outputs().await.is_err(), "the stack is still there");
    ensure!(world.table_is_gone().await?, "the table of a test stage is still there");
    Ok(())
}

struct World<'a> {
    emulator: &'a Emulator,
    sandbox: &'a str,
    outputs: BTreeMap<String, String>,
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

    async fn table_is_gone(&self) -> anyhow::Result<bool> {
        let described = self.dynamodb().await.describe_table().table_name(self.output("TableName")?).send().await;
        Ok(described.is_err_and(|e| e.as_service_error().is_some_and(|e| e.is_resource_not_found_exception())))
    }

    async fn seed(&self) -> anyhow::Result<()> {
        let store = Store::new(self.dynamodb().await, self.output("TableName")?);
        for (name, apps) in PROJECTS {
            let project = Project { apps: apps.iter().map(|app| (*app).to_owned()).collect() };
            ensure!(matches!(store.add_project(name, &project).await, SeedOutcome::Stored), "{name} was not stored");
            let key = ApiKey {
                project: name.to_owned(),
                name: format!("deploy@{name}.example"),
                scopes: SCOPES.map(str::to_owned).to_vec(),
                revoked_at_ms: None,
            };
            let hash = Sha256::digest(api_key(name).as_bytes()).into();
            ensure!(matches!(store.add_api_key(&hash, &key).await, SeedOutcome::Stored), "its key was not stored");
        }
        Ok(())
    }

    /// A request through the deployed API, by the host name that API Gateway gave it.
    async fn call(&self, method: &Method, path: &str, project: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
        let host =
            self.output("ApiUrl")?.split_once("://").map_or("", |(_, host)| host).trim_end_matches('/').to_owned();
        let (name, _) = host.split_once(':').unwrap_or((&host, ""));
        let host = format!("{name}:{}", self.emulator.port);
        let bearer = format!("Bearer {}", api_key(project));
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

    /// A copy is received by nobody who handles it until SQS gives it up; the dead-letter function sends it again.
    async fn dead_letter(&self) -> anyhow::Result<()> {
        let (deliver, relay) = (self.output("DeliverFunction")?, self.output("RelayFunction")?);
        let dead_letter = self.output("DeadLetterFunction")?;
        let (queue, dead) = (self.output("DeliveriesQueueUrl")?, self.output("DeliveriesDeadQueueUrl")?);
        let sqs = aws_sdk_sqs::Client::new(&aws_config_at(AwsTimeouts::within(20_000), &self.emulator.url).await);
        let empty = async || Ok(self.left(&sqs, dead).await? == 0 && self.left(&sqs, queue).await? == 0);
        // The relay was quicker than the deliveries before, and its copies come later.
        self.until("the queues are empty", empty).await?;
        for function in [deliver, relay, dead_letter] {
            self.emulator.consume(function, false).await?;
        }
        let token = "device-of-deploy-dead";
        let accepted = self.post("acme", &push("deploy-dead", token), 202).await?;
        let id = accepted.body["id"].as_str().context("no id")?.to_owned();
        self.until("the copy becomes a dead letter", async || {
            sqs.receive_message().queue_url(queue).max_number_of_messages(10).visibility_timeout(0).send().await?;
            Ok(self.left(&sqs, dead).await? == 1 && self.left(&sqs, queue).await? == 0)
        })
        .await?;
        ensure!(self.calls(token).await? == 0, "the device was called without a consumer");
        self.emulator.consume(dead_letter, true).await?;
        self.until("the letter is a copy again", async || {
            Ok(self.left(&sqs, dead).await? == 0 && self.left(&sqs, queue).await? == 1)
        })
        .await?;
        for function in [deliver, relay] {
            self.emulator.consume(function, true).await?;
        }
        self.reaches(&id, "sent").await?;
        self.until("the queues are empty again", empty).await?;
        ensure!(self.calls(token).await? == 1, "the device was not called once");
        Ok(())
    }
}
