//! A plain HTTP client with bounded waits, and answers that know what was expected of them.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
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
#[derive(Clone)]
pub(crate) struct HttpClient(Client<HttpConnector, Full<Bytes>>);

impl HttpClient {
    pub(crate) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// One request, sent as it is, that must be answered.
    pub(crate) async fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        self.try_send(method, url, headers, body).await.unwrap_or_else(|error| panic!("{method} {url}: {error:?}"))
    }

    /// The same to a server that may be gone, or go before it answers.
    pub(crate) async fn try_send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let mut request = Request::builder().method(method).uri(url.parse::<Uri>().unwrap());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let answered = async {
            let (head, body) = self.0.request(request).await?.into_parts();
            Ok::<_, Box<dyn Error + Send + Sync>>((head, body.collect().await?.to_bytes()))
        };
        let (head, bytes) = timeout(LIMIT, answered).await??;
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { what: format!("{method} {url}"), status: head.status, headers: head.headers, text, body })
    }
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    what: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null if it is no JSON.
    pub(crate) body: Value,
}

impl Answer {
    /// The same, if it has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}: {}", self.what, self.text);
        self
    }

    /// A header's text; empty without the header.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks an error of ours: RFC 9457 with this status and code.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) {
        assert_eq!((self.status.as_u16(), self.body["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.body["status"], status);
        for member in ["type", "title", "detail"] {
            assert!(self.body[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {}", self.text);
        }
    }

    /// The places that an error is about.
    pub(crate) fn pointers(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array().map_or(&[][..], Vec::as_slice);
        errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect()
    }

    /// The message's id in an answer to a send.
    #[track_caller]
    pub(crate) fn id(&self) -> String {
        let id = self.body["id"].as_str();
        id.unwrap_or_else(|| panic!("{}: an answer without an id: {}", self.what, self.text)).to_owned()
    }
}
