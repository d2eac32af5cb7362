//! Lambda's API, as much of it as the doctor asks: six kinds of GET.
//!
//! Signed by the crate that the AWS SDKs sign with, with the SDK's own region, credentials and endpoint variables. Its own
//! SDK has more code than DynamoDB's, which is the largest of the tree. A question is asked again, after a pause, while the
//! network fails, Lambda is throttled or it fails itself; all of them only read. Source: AWS Lambda API reference,
//! GetFunctionConfiguration, GetFunctionConcurrency, GetFunctionRecursionConfig, GetPolicy, ListFunctionUrlConfigs,
//! ListEventSourceMappings. Their paths and members are listed in tests/it/lambda_api.tsv, which tests/deploy/run compares
//! with the model that AWS's own clients are made from.

use crate::failure::{Failure, said};
use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use platform::Clock;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};
use tokio::time::timeout;

/// How long one question may take, each time that it is asked.
const LIMIT: Duration = Duration::from_secs(15);
/// How often a question is asked at most.
const ATTEMPTS: u32 = 5;
/// The pause before it is asked a second time, in ms; each later one is twice as long, 7.5 s together. Lambda answers 15
/// such requests a second for an account and region (AWS Lambda developer guide, "Lambda quotas", "API requests": the rest of
/// the control plane API), whoever they come from, and a stack is some forty: what is throttled has its turn within seconds.
const PAUSE_MS: u64 = 500;
/// What Lambda calls its refusal when something is not there (AWS Lambda API reference, "Common error types" of each
/// operation): another 404 says that nobody understood the question.
const NOT_THERE: &str = "ResourceNotFoundException";
/// The header in which AWS's REST services name the exception (Smithy, "AWS restJson1 protocol", "Operation error
/// serialization").
const ERROR_TYPE: &str = "x-amzn-errortype";
/// Longest answer that is read, in bytes.
const ANSWER_MAX: usize = 4 * 1024 * 1024;
/// What stays as it is in a path or a query (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A way to Lambda.
pub(super) struct Lambda {
    config: SdkConfig,
    endpoint: String,
    region: String,
    clock: Clock,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// An answer of Lambda's.
struct Answered {
    status: StatusCode,
    /// The exception's name, as the header has it.
    error: Option<String>,
    body: Bytes,
}

impl Answered {
    /// Whether it is this exception: the header says so, or a member of the body for those who send no header.
    fn is(&self, exception: &str, body: &Value) -> bool {
        let members = ["__type", "Type", "code"].into_iter().filter_map(|name| body[name].as_str());
        let mut said = self.error.as_deref().into_iter().chain(members);
        // "namespace#Name:where it is described": both ends may be there, and mean nothing.
        said.any(|said| said.split(':').next().and_then(|said| said.rsplit('#').next()) == Some(exception))
    }
}

impl Lambda {
    /// `endpoint`: where Lambda is, if not where AWS has it.
    pub(super) fn new(config: SdkConfig, endpoint: Option<String>, clock: Clock) -> Result<Self, Failure> {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://lambda.{region}.{suffix}"));
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { config, endpoint: endpoint.trim_end_matches('/').to_owned(), region, clock, client })
    }

    /// A function's configuration; none if there is no such function.
    pub(super) async fn function(&self, name: &str) -> Result<Option<Value>, Failure> {
        self.get("GetFunctionConfiguration", &format!("/2015-03-31/functions/{}/configuration", encoded(name))).await
    }

    /// How many instances a function may have at once, if that is limited.
    pub(super) async fn concurrency(&self, name: &str) -> Result<Option<u64>, Failure> {
        let path = format!("/2019-09-30/functions/{}/concurrency", encoded(name));
        let answer = self.get("GetFunctionConcurrency", &path).await?;
        Ok(answer.and_then(|answer| answer["ReservedConcurrentExecutions"].as_u64()))
    }

    /// What becomes of a function that is invoked in a loop, `Allow` or `Terminate`; none where nobody can tell, as in an
    /// emulator.
    pub(super) async fn recursive_loop(&self, name: &str) -> Result<Option<String>, Failure> {
        let path = format!("/2024-08-31/functions/{}/recursion-config", encoded(name));
        let answer = self.get("GetFunctionRecursionConfig", &path).await?;
        Ok(answer.and_then(|answer| answer["RecursiveLoop"].as_str().map(str::to_owned)))
    }

    /// Who may invoke a function, as a policy; none if nobody was let.
    pub(super) async fn policy(&self, name: &str) -> Result<Option<Value>, Failure> {
        let answer = self.get("GetPolicy", &format!("/2015-03-31/functions/{}/policy", encoded(name))).await?;
        Ok(answer.and_then(|answer| serde_json::from_str(answer["Policy"].as_str()?).ok()))
    }

    /// The URLs by which a function can be called without API Gateway, its aliases' too.
    pub(super) async fn urls(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let answer =
            self.get("ListFunctionUrlConfigs", &format!("/2021-10-31/functions/{}/urls", encoded(name))).await?;
        Ok(answer.and_then(|answer| answer["FunctionUrlConfigs"].as_array().cloned()).unwrap_or_default())
    }

    /// The event source mappings of a function.
    pub(super) async fn mappings(&self, name: &str) -> Result<Vec<Value>, Failure> {
        self.list("FunctionName", name).await
    }

    /// The event source mappings from a source, whoever's they are.
    pub(super) async fn consumers(&self, source: &str) -> Result<Vec<Value>, Failure> {
        let mut all = self.list("EventSourceArn", source).await?;
        // An emulator may list others too.
        all.retain(|mapping| mapping["EventSourceArn"] == source);
        Ok(all)
    }

    async fn list(&self, by: &str, value: &str) -> Result<Vec<Value>, Failure> {
        let mut mappings = Vec::new();
        let mut marker: Option<String> = None;
        loop {
            let mut path = format!("/2015-03-31/event-source-mappings?{by}={}", encoded(value));
            if let Some(marker) = marker {
                path = format!("{path}&Marker={}", encoded(&marker));
            }
            let answer = self.get("ListEventSourceMappings", &path).await?.unwrap_or_default();
            mappings.extend(answer["EventSourceMappings"].as_array().cloned().unwrap_or_default());
            match &answer["NextMarker"] {
                Value::String(next) if !next.is_empty() => marker = Some(next.clone()),
                _ => return Ok(mappings),
            }
        }
    }

    /// What is there; none if Lambda says that there is none.
    async fn get(&self, operation: &'static str, path: &str) -> Result<Option<Value>, Failure> {
        let failed = |detail: String| Failure::Aws { service: "Lambda", operation, detail };
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            if let Some(doublings) = attempt.checked_sub(1) {
                self.clock.sleep_until(self.clock.now_ms() + (PAUSE_MS << doublings)).await;
            }
            match timeout(LIMIT, self.once(path)).await {
                Ok(Ok(answer)) if answer.status == StatusCode::OK => {
                    let read = serde_json::from_slice(&answer.body);
                    return read.map(Some).map_err(|_| failed("its answer is no JSON".to_owned()));
                }
                Ok(Ok(answer)) => {
                    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                    if answer.status == StatusCode::NOT_FOUND && answer.is(NOT_THERE, &said) {
                        return Ok(None);
                    }
                    let message = said["Message"].as_str().or_else(|| said["message"].as_str()).unwrap_or("no message");
                    last = format!("{}: {message}", answer.status);
                    if !answer.status.is_server_error() && answer.status != StatusCode::TOO_MANY_REQUESTS {
                        break;
                    }
                }
                Ok(Err(detail)) => last = detail,
                Err(_) => last = format!("no answer within {} s", LIMIT.as_secs()),
            }
        }
        Err(failed(last))
    }

    async fn once(&self, path: &str) -> Result<Answered, String> {
        let request = self.signed(path).await.map_err(|failure| failure.to_string())?;
        let answer = self.client.request(request).await.map_err(|error| platform::causes(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|error| error.to_string())?;
        let error = head.headers.get(ERROR_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Answered { status: head.status, error, body: body.to_bytes() })
    }

    async fn signed(&self, path: &str) -> Result<Request<Full<Bytes>>, Failure> {
        let cannot = |what: &dyn std::fmt::Display| said(format!("a question to Lambda could not be signed: {what}"));
        let provider = self.config.credentials_provider().ok_or(platform::AwsMissing::Credentials)?;
        let credentials = provider.provide_credentials().await.map_err(|_| platform::AwsMissing::Credentials)?;
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("lambda")
            .time(UNIX_EPOCH + Duration::from_millis(self.clock.now_ms()))
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| cannot(&error))?
            .into();
        let uri = format!("{}{path}", self.endpoint);
        let mut request = Request::get(&uri).body(Full::default()).map_err(|error| cannot(&error))?;
        let signable = SignableRequest::new("GET", uri.as_str(), std::iter::empty(), SignableBody::Bytes(&[]));
        let (instructions, _) =
            sign(signable.map_err(|error| cannot(&error))?, &params).map_err(|error| cannot(&error))?.into_parts();
        instructions.apply_to_request_http1x(&mut request);
        Ok(request)
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_exception_that_is_named_says_that_nothing_is_there() {
        let is = |error: Option<&str>, body: Value| {
            let error = error.map(str::to_owned);
            Answered { status: StatusCode::NOT_FOUND, error, body: Bytes::new() }.is(NOT_THERE, &body)
        };
        let user = json!({"Type": "User", "Message": "Function not found"});
        assert!(is(Some("ResourceNotFoundException"), user.clone()));
        assert!(is(Some("ResourceNotFoundException:http://internal.amazon.com/coral/com.amazonaws/"), user.clone()));
        assert!(is(None, json!({"__type": "com.amazonaws.lambda#ResourceNotFoundException"})));
        assert!(is(None, json!({"Type": "ResourceNotFoundException"})));
        assert!(!is(None, user.clone()), "a 404 of whoever is in between");
        assert!(!is(None, Value::Null));
        assert!(!is(Some("UnknownOperationException"), user));
    }
}
