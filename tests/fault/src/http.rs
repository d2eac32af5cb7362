//! A plain HTTP client with bounded waits, and answers that know what was expected of them.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use std::{error::Error, time::Duration};
use tokio::time::timeout;

/// Longer than the API may take for one request.
const LIMIT: Duration = Duration::from_secs(30);

/// Clones share connections.
#[derive(Clone, Debug)]
pub struct HttpClient(Client<HttpConnector, Full<Bytes>>);

impl Default for HttpClient {
    fn default() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }
}

impl HttpClient {
    /// One request, sent once, to a server that may go before it answers.
    ///
    /// # Errors
    /// When no answer came.
    pub async fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.request(request.body(Full::new(body.into()))?).await
    }

    /// The same with a request that is there already.
    ///
    /// # Errors
    /// When no answer came.
    pub async fn request(&self, request: Request<Full<Bytes>>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let answered = async {
            let (head, body) = self.0.request(request).await?.into_parts();
            Ok::<_, Box<dyn Error + Send + Sync>>((head, body.collect().await?.to_bytes()))
        };
        let (head, bytes) = timeout(LIMIT, answered).await??;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Answer { status: head.status, headers: head.headers, bytes, body })
    }
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub bytes: Bytes,
    /// Its body as JSON; null if it is none.
    pub body: Value,
}

impl Answer {
    /// The same, if it has this status.
    #[track_caller]
    #[allow(clippy::must_use_candidate, reason = "it checks")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.bytes));
        self
    }

    /// The member `status` of an answer to a send; empty if it has none.
    #[must_use]
    pub fn said(&self) -> &str {
        self.body["status"].as_str().unwrap_or_default()
    }

    /// The message's id in an answer to a send.
    #[must_use]
    #[track_caller]
    pub fn id(&self) -> String {
        self.body["id"].as_str().unwrap_or_else(|| panic!("an answer without an id: {}", self.body)).to_owned()
    }
}
