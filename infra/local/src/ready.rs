//! What is printed when everything answers: one line of JSON for programs, and a command to paste for people.

use serde::Serialize;
use std::{collections::BTreeMap, path::Path};

/// The ready line.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// Always true.
    pub ready: bool,
    /// The API.
    pub api: String,
    /// The console, once there is one.
    pub console: Option<String>,
    /// DynamoDB.
    pub dynamodb: String,
    /// SQS.
    pub sqs: String,
    /// The provider sandbox, and POST /control.
    pub sandbox: String,
    /// API keys by name.
    pub api_keys: BTreeMap<String, String>,
    /// Webhook secrets by project.
    pub webhook_secrets: BTreeMap<String, String>,
}

impl Ready {
    /// What a person can do next where the functions are watched at `watch_url`; `variables` are theirs.
    #[must_use]
    pub fn services_hint(&self, watch_url: &str, env_file: Option<&Path>, variables: &str) -> String {
        let address = watch_url.trim_start_matches("http://");
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "80"));
        let file = env_file.map_or_else(|| "FILE".to_owned(), |file| file.display().to_string());
        let put = if env_file.is_some() {
            String::new()
        } else {
            format!("\nPut these lines into a file, or give --env-file FILE next time:\n\n{variables}")
        };
        format!(
            "\nThe services are ready (Ctrl-C ends them). The functions are to be watched at {watch_url}:\n{put}\n  cargo \
             lambda watch -A {host} -P {port} --env-file {file}\n\nThen requests work at {watch_url} and at {}, and each \
             change of a function's code is built and used at its next event.\n",
            self.api
        )
    }

    /// What a person can do next.
    #[must_use]
    pub fn hint(&self) -> String {
        let (api, sandbox) = (&self.api, &self.sandbox);
        let key = self.api_keys.get("acme").map_or("", String::as_str);
        format!(
            r#"
Sendonce is ready on {api} (Ctrl-C ends it). Send a push:

  curl -i {api}/v1/messages -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '
    {{"idempotency_key": "order-1042-shipped",
     "to": [{{"platform": "android", "token": "pixel-of-ada-0001"}}],
     "notification": {{"title": "Shipped", "body": "Order 1042 is on its way."}}}}'

Send it again: the answer is duplicate_ignored with the same id, and the phone got it once:

  curl {sandbox}/ledger

How it went:

  curl '{api}/v1/messages?idempotency_key=order-1042-shipped' -H 'Authorization: Bearer {key}'

Crash the next API invocation between its write and its queue send; the message arrives all the same:

  curl {sandbox}/control -d '{{"crash": "api", "at": "after_put"}}'
"#
        )
    }
}
