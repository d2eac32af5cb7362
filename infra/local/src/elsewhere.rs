//! Functions that run in other processes, while this one has the services, the pollers and the API's front.
//!
//! Chosen by `Options::functions`; tests put processes of their own behind it. It guarantees that such a function is
//! invoked exactly as one of this process is: by the same pollers, with the same timeout. An invocation that runs out
//! of time is dropped, which closes its request; whoever runs the process decides what that does to it.

use crate::invoke::{Handler, Invocation};
use axum::Router;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use std::fmt;

/// Where the functions run.
#[derive(Clone, Debug, Default)]
pub enum Functions {
    /// In this process, where `POST /control` can crash them and break their inline send.
    #[default]
    Here,
    /// In others.
    Elsewhere(Elsewhere),
}

/// How functions of other processes are reached.
#[derive(Clone)]
pub struct Elsewhere {
    /// Passes a request on to the api function.
    pub api: Router,
    /// Passes a request on to the refunds function.
    pub refunds: Router,
    /// Passes a batch of copies on.
    pub deliver: Handler,
    /// Passes a batch of payouts' copies on.
    pub payout: Handler,
    /// Passes a batch of stream records on.
    pub relay: Handler,
    /// Passes a batch of dead letters on.
    pub dead_letter: Handler,
    /// Passes the schedule's event on.
    pub audit: Handler,
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").finish_non_exhaustive()
    }
}

/// The header that tells a function when its invocation is ended, in ms since the Unix epoch (AWS Lambda developer
/// guide, "Using the Lambda runtime API": next invocation).
pub const DEADLINE_HEADER: &str = "lambda-runtime-deadline-ms";

/// A client of Lambda's Invoke operation. Clones share connections.
#[derive(Clone)]
pub struct Invoker(Client<HttpConnector, Full<axum::body::Bytes>>);

impl fmt::Debug for Invoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invoker").finish_non_exhaustive()
    }
}

impl Default for Invoker {
    fn default() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }
}

impl Invoker {
    /// Invokes `function` at `base_url`, once, and reads its answer. `headers` go along with the request.
    ///
    /// # Errors
    /// When nobody answers, with anything but JSON, or with an error of the function (`X-Amz-Function-Error`).
    pub async fn invoke(
        &self,
        base_url: &str,
        function: &str,
        event: &Value,
        invocation: &Invocation,
        headers: HeaderMap,
    ) -> Result<Value, String> {
        self.invoke_text(base_url, function, event.to_string().into(), invocation, headers).await
    }

    /// The same with an event that is JSON text already.
    ///
    /// # Errors
    /// As [`Self::invoke`].
    pub async fn invoke_text(
        &self,
        base_url: &str,
        function: &str,
        event: axum::body::Bytes,
        invocation: &Invocation,
        headers: HeaderMap,
    ) -> Result<Value, String> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{base_url}/2015-03-31/functions/{function}/invocations"))
            .header(DEADLINE_HEADER, invocation.deadline_ms)
            .body(Full::from(event));
        let mut request = request.map_err(|error| format!("{function} cannot be invoked: {error}"))?;
        request.headers_mut().extend(headers);
        let answer = self.0.request(request).await.map_err(|error| format!("{function} does not answer: {error}"))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| format!("{function} broke off: {error}"))?.to_bytes();
        if head.status != StatusCode::OK || head.headers.contains_key("x-amz-function-error") {
            return Err(format!("{function} failed: {} {}", head.status, String::from_utf8_lossy(&body)));
        }
        serde_json::from_slice(&body).map_err(|error| format!("{function} answered no JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::bind;
    use axum::{extract::Path, response::IntoResponse, routing::post};
    use serde_json::json;

    #[tokio::test]
    async fn invokes_as_lambda_is_invoked() {
        let function = async |Path(name): Path<String>, headers: HeaderMap, body: String| match name.as_str() {
            "echo" => {
                json!({"event": body, "until": headers[DEADLINE_HEADER].to_str().unwrap()}).to_string().into_response()
            }
            "error" => ([("x-amz-function-error", "Unhandled")], "{}").into_response(),
            "words" => "words".into_response(),
            _ => StatusCode::NOT_FOUND.into_response(),
        };
        let (listener, url) = bind(0, "--port").await.unwrap();
        let app = Router::new().route("/2015-03-31/functions/{name}/invocations", post(function));
        let server = tokio::spawn(async move { axum::serve(listener, app).await });
        let invocation = Invocation { deadline_ms: 7, request_id: "1".to_owned() };
        let ask = async |name: &str, url: &str| {
            Invoker::default().invoke(url, name, &json!([1]), &invocation, HeaderMap::new()).await
        };
        assert_eq!(ask("echo", &url).await, Ok(json!({"event": "[1]", "until": "7"})));
        assert!(ask("error", &url).await.unwrap_err().contains("failed"));
        assert!(ask("words", &url).await.unwrap_err().contains("no JSON"));
        assert!(ask("nobody", &url).await.unwrap_err().contains("404"));
        server.abort();
        let _ = server.await;
        assert!(ask("echo", &url).await.unwrap_err().contains("does not answer"));
    }
}
