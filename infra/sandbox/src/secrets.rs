//! AWS Secrets Manager, as much as handing out credentials needs: GetSecretValue, PutSecretValue and CreateSecret.
//!
//! The service's code reads its credentials through the AWS SDK, here as in AWS. Requests need not be signed.
//! Source: AWS Secrets Manager API reference; protocol AWS JSON 1.1.

use crate::{Sandbox, respond::aws};
use axum::{extract::State, response::Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Secrets that are kept at most; AWS allows 500,000 per region.
const SECRETS_MAX: usize = 10_000;
/// Longest secret, in bytes (AWS Secrets Manager quotas).
const SECRET_MAX_BYTES: usize = 65_536;

struct Secret {
    text: String,
    version: String,
    created_ms: u64,
}

#[derive(Default)]
pub(crate) struct Secrets {
    by_name: HashMap<String, Secret>,
    versions: u64,
}

impl Secrets {
    /// Stores a secret and gives its version.
    pub(crate) fn put(&mut self, name: &str, text: String, version: Option<String>, now_ms: u64) -> String {
        self.versions += 1;
        let version = version.unwrap_or_else(|| format!("00000000-0000-4000-8000-{:012x}", self.versions));
        self.by_name.insert(name.to_owned(), Secret { text, version: version.clone(), created_ms: now_ms });
        version
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    secret_id: Option<String>,
    name: Option<String>,
    secret_string: Option<String>,
    client_request_token: Option<String>,
}

struct Fault(&'static str, &'static str);

pub(crate) async fn handle(State(sandbox): State<Sandbox>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
    match answer(&sandbox, target, &body) {
        Ok(body) => aws(StatusCode::OK, &body),
        Err(Fault(code, message)) => aws(StatusCode::BAD_REQUEST, &json!({"__type": code, "Message": message})),
    }
}

fn answer(sandbox: &Sandbox, target: &str, body: &[u8]) -> Result<Value, Fault> {
    let request: Request =
        serde_json::from_slice(body).map_err(|_| Fault("SerializationException", "The body is not such a request."))?;
    match target {
        "secretsmanager.GetSecretValue" => get(sandbox, request),
        "secretsmanager.PutSecretValue" => put(sandbox, request),
        "secretsmanager.CreateSecret" => create(sandbox, request),
        _ => {
            Err(Fault("UnknownOperationException", "The sandbox has GetSecretValue, PutSecretValue and CreateSecret."))
        }
    }
}

const NOT_FOUND: Fault = Fault("ResourceNotFoundException", "Secrets Manager can't find the specified secret.");

fn get(sandbox: &Sandbox, request: Request) -> Result<Value, Fault> {
    let name = named(request.secret_id)?;
    let state = sandbox.state();
    let secret = state.secrets.by_name.get(&name).ok_or(NOT_FOUND)?;
    // The protocol writes an instant as seconds, with a fraction.
    let created = secret.created_ms as f64 / 1_000.0;
    Ok(json!({
        "ARN": arn(&name), "Name": name, "VersionId": secret.version, "SecretString": secret.text,
        "VersionStages": ["AWSCURRENT"], "CreatedDate": created,
    }))
}

fn put(sandbox: &Sandbox, request: Request) -> Result<Value, Fault> {
    let name = named(request.secret_id)?;
    let text = text(request.secret_string)?;
    let mut state = sandbox.state();
    if !state.secrets.by_name.contains_key(&name) {
        return Err(NOT_FOUND);
    }
    let version = state.secrets.put(&name, text, request.client_request_token, sandbox.shared.clock.now_ms());
    Ok(json!({"ARN": arn(&name), "Name": name, "VersionId": version, "VersionStages": ["AWSCURRENT"]}))
}

fn create(sandbox: &Sandbox, request: Request) -> Result<Value, Fault> {
    let name = named(request.name)?;
    let text = text(request.secret_string)?;
    let mut state = sandbox.state();
    if state.secrets.by_name.contains_key(&name) {
        return Err(Fault("ResourceExistsException", "The operation failed because the secret already exists."));
    }
    if state.secrets.by_name.len() >= SECRETS_MAX {
        return Err(Fault("LimitExceededException", "The sandbox keeps no more secrets."));
    }
    let version = state.secrets.put(&name, text, request.client_request_token, sandbox.shared.clock.now_ms());
    Ok(json!({"ARN": arn(&name), "Name": name, "VersionId": version}))
}

/// A secret is named by its name or its ARN.
fn named(id: Option<String>) -> Result<String, Fault> {
    let id = id.filter(|id| !id.is_empty()).ok_or(Fault("InvalidParameterException", "A secret must be named."))?;
    let name = id.strip_prefix(ARN_PREFIX).and_then(|rest| rest.strip_suffix(ARN_SUFFIX));
    Ok(name.unwrap_or(&id).to_owned())
}

fn text(secret: Option<String>) -> Result<String, Fault> {
    let text = secret.ok_or(Fault("InvalidParameterException", "The sandbox keeps SecretString only."))?;
    if text.len() > SECRET_MAX_BYTES {
        return Err(Fault("InvalidParameterException", "A secret has at most 65536 bytes."));
    }
    Ok(text)
}

const ARN_PREFIX: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:";
const ARN_SUFFIX: &str = "-SndBox";

fn arn(name: &str) -> String {
    format!("{ARN_PREFIX}{name}{ARN_SUFFIX}")
}
