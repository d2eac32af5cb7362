//! The emulator: started on a free port of this machine, and asked through its own HTTP interface for what the story
//! needs of Lambda, CloudWatch and SNS.

use crate::processes::command;
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use fault::http::HttpClient;
use http::Method;
use serde_json::{Value, json};
use std::{
    fs::File,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::{Child, Command};

/// Real time for it to answer after its start.
const STARTS_WITHIN: Duration = Duration::from_secs(90);
/// Pause between two looks at what tells nobody that it changed.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Of the emulator's log, how much is shown with a failure, in bytes.
const LOG_TAIL: usize = 6_000;

/// The running emulator.
pub(crate) struct Emulator {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) http: HttpClient,
    log: PathBuf,
}

/// The region of everything here.
const REGION: &str = "us-east-1";
/// Where one tool or another looks for a region.
const REGION_VARIABLES: [&str; 3] = ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"];
const README: &str = include_str!("../../../README.md");

/// The variables by which README's section "Deploy" has a person say the region: the tools here are told by no others.
fn exported() -> impl Iterator<Item = &'static str> {
    let section = README.split("\n## Deploy\n").nth(1).unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    export "));
    let words = lines.flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    words.filter_map(|word| word.split_once('=')).map(|(name, _)| name).filter(|name| name.ends_with("_REGION"))
}

/// What every client of it needs to know: where it is, and credentials that mean nothing.
pub(crate) fn environment<'a>(command: &'a mut Command, url: &str) -> &'a mut Command {
    command.env("AWS_ENDPOINT_URL", url);
    for name in REGION_VARIABLES {
        command.env_remove(name);
    }
    for name in exported() {
        command.env(name, REGION);
    }
    command
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_EC2_METADATA_DISABLED", "true");
    command.env("SAM_CLI_TELEMETRY", "0").env("AWS_MAX_ATTEMPTS", "2")
}

impl Emulator {
    /// Starts it in `folder`, which takes its log.
    pub(crate) async fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        // A port that was free a moment ago; should somebody be quicker, the emulator ends and so does this.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let (url, log) = (format!("http://127.0.0.1:{port}"), folder.join("emulator.log"));
        let mut start = command(program);
        environment(&mut start, &url);
        // By default it listens on every interface, and opens ports for IoT and SFTP as well.
        start.env("GATEWAY_PORT", port.to_string()).env("BIND_HOST", "127.0.0.1").env("MINISTACK_HOST", "localhost");
        start.env("IOT_MTLS_ENABLED", "0").env("SFTP_ENABLED", "0").env("PERSIST_STATE", "0").env("LOG_LEVEL", "INFO");
        let child = start
            .current_dir(folder)
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .spawn()
            .context("the emulator cannot be started")?;
        let mut emulator = Self { child, url, port, http: HttpClient::default(), log };
        let answers = async {
            loop {
                if let Some(status) = emulator.child.try_wait()? {
                    bail!("the emulator ended with {status}:\n{}", emulator.said());
                }
                if emulator.lambda(&Method::GET, "functions", &Value::Null).await.is_ok() {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        match tokio::time::timeout(STARTS_WITHIN, answers).await {
            Ok(started) => started?,
            Err(_) => bail!("the emulator does not answer:\n{}", emulator.said()),
        }
        Ok(emulator)
    }

    /// The end of its log.
    pub(crate) fn said(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text[text.len().saturating_sub(LOG_TAIL)..]).into_owned()
    }

    /// A call of Lambda's API as it was at first.
    async fn lambda(&self, method: &Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.lambda_since("2015-03-31", method, path, body).await
    }

    /// A call of Lambda's API; each operation's path begins with the day of its version.
    async fn lambda_since(&self, version: &str, method: &Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let url = format!("{}/{version}/{path}", self.url);
        let signed =
            "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0";
        let headers = [("authorization", signed), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.http.send(method, &url, &headers, body).await.map_err(|error| anyhow::anyhow!(error))?;
        ensure!(answer.status.is_success(), "{method} {url}: {} {}", answer.status, answer.body);
        Ok(answer.body)
    }

    /// A call of another service's API, whose signature says which it is; the answer as it came.
    async fn call(&self, service: &str, headers: &[(&str, &str)], body: String) -> anyhow::Result<Bytes> {
        let signed = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        let mut all = vec![("authorization", signed.as_str())];
        all.extend(headers);
        let answer = self.http.send(&Method::POST, &self.url, &all, body).await;
        let answer = answer.map_err(|error| anyhow::anyhow!(error))?;
        let said = String::from_utf8_lossy(&answer.bytes);
        ensure!(answer.status.is_success(), "{service} answers {}: {said}", answer.status);
        Ok(answer.bytes)
    }

    /// A call of CloudWatch's API.
    pub(crate) async fn cloudwatch(&self, operation: &str, body: &Value) -> anyhow::Result<Value> {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        let headers = [("x-amz-target", target.as_str()), ("content-type", "application/x-amz-json-1.0")];
        let answer = self.call("monitoring", &headers, body.to_string()).await?;
        serde_json::from_slice(&answer).with_context(|| format!("{operation} answers no JSON"))
    }

    /// Makes an SNS topic; its ARN.
    pub(crate) async fn topic(&self, name: &str) -> anyhow::Result<String> {
        let answer = self.sns(format!("Action=CreateTopic&Version=2010-03-31&Name={name}")).await?;
        let arn = answer.split_once("<TopicArn>").and_then(|(_, rest)| rest.split_once("</TopicArn>"));
        arn.map(|(arn, _)| arn.to_owned()).with_context(|| format!("SNS answers {answer}"))
    }

    /// Has a queue hear what a topic says.
    pub(crate) async fn subscribe(&self, topic: &str, queue: &str) -> anyhow::Result<()> {
        let subscribe = format!("Action=Subscribe&Version=2010-03-31&TopicArn={topic}&Protocol=sqs&Endpoint={queue}");
        self.sns(subscribe).await.map(drop)
    }

    async fn sns(&self, form: String) -> anyhow::Result<String> {
        let answer = self.call("sns", &[("content-type", "application/x-www-form-urlencoded")], form).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The event source mappings of a function.
    async fn mappings(&self, function: &str) -> anyhow::Result<Vec<Value>> {
        let listed = format!("event-source-mappings/?FunctionName={function}");
        let answer = self.lambda(&Method::GET, &listed, &Value::Null).await?;
        let mappings = answer["EventSourceMappings"].as_array().cloned().unwrap_or_default();
        ensure!(!mappings.is_empty(), "{function} has no event source mapping");
        Ok(mappings)
    }

    /// Gives a function's mappings their concurrency as a number. CloudFormation makes a number of a parameter where one
    /// is due; this emulator leaves it the text that it is, and then its own poller fails on it.
    pub(crate) async fn number_concurrency(&self, function: &str) -> anyhow::Result<()> {
        for mapping in self.mappings(function).await? {
            if let Some(text) = mapping["ScalingConfig"]["MaximumConcurrency"].as_str() {
                let most: u32 = text.parse().with_context(|| format!("{function} has the concurrency {text}"))?;
                let one = format!("event-source-mappings/{}", mapping["UUID"].as_str().unwrap_or_default());
                let scaling = json!({"ScalingConfig": {"MaximumConcurrency": most}});
                self.lambda(&Method::PUT, &one, &scaling).await?;
            }
        }
        Ok(())
    }

    /// Tells Lambda that a function is meant to come round to itself, which this emulator's CloudFormation does not.
    pub(crate) async fn allow_loops(&self, function: &str) -> anyhow::Result<()> {
        let path = format!("functions/{function}/recursion-config");
        self.lambda_since("2024-08-31", &Method::PUT, &path, &json!({"RecursiveLoop": "Allow"})).await.map(drop)
    }

    /// Switches all of a function's event source mappings on or off, and returns once they are.
    pub(crate) async fn consume(&self, function: &str, enabled: bool) -> anyhow::Result<()> {
        for mapping in self.mappings(function).await? {
            let one = format!("event-source-mappings/{}", mapping["UUID"].as_str().unwrap_or_default());
            self.lambda(&Method::PUT, &one, &json!({"Enabled": enabled})).await?;
            let wanted = if enabled { "Enabled" } else { "Disabled" };
            let switched = async {
                while self.lambda(&Method::GET, &one, &Value::Null).await?["State"] != wanted {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                anyhow::Ok(())
            };
            tokio::time::timeout(STARTS_WITHIN, switched).await.with_context(|| format!("{one} is not {wanted}"))??;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readme_has_a_person_export_says_the_region_to_every_tool() {
        // `sendonce` and the functions read the one, `sam` the other.
        assert_eq!(exported().collect::<Vec<_>>(), ["AWS_REGION", "AWS_DEFAULT_REGION"]);
    }
}
