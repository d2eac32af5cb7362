//! A request as rules see it, and an exchange as the log keeps it.

use super::{BoxError, Cut, Side, wire::Answer};
use bytes::Bytes;
use http::{Version, request::Parts};

/// A request, read to its end.
pub(super) struct Request {
    side: Side,
    operation: String,
    head: Parts,
    body: Bytes,
}

impl Request {
    pub(super) fn new(side: Side, head: Parts, body: Bytes) -> Self {
        let target = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
        let path = head.uri.path();
        let operation = match target.and_then(|target| target.rsplit('.').next()) {
            Some(operation) => operation,
            None if path.starts_with("/3/device/") => "apns",
            None if path.ends_with("/messages:send") => "fcm",
            None if path == "/token" => "oauth",
            None if path.starts_with("/v1/refunds") => "stripe",
            None => path,
        };
        Self { side, operation: operation.to_owned(), head, body }
    }

    pub(super) fn with_body(&self, body: Bytes) -> Self {
        let mut head = self.head.clone();
        head.headers.remove(http::header::CONTENT_LENGTH);
        Self { side: self.side, operation: self.operation.clone(), head, body }
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    pub(super) fn operation(&self) -> &str {
        &self.operation
    }

    pub(super) fn method(&self) -> &http::Method {
        &self.head.method
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(super) fn version(&self) -> Version {
        self.head.version
    }

    /// The name of the process of the fleet that asks. Not known of a call to a provider.
    fn by(&self) -> Option<&str> {
        let agent = self.head.headers.get("x-amz-user-agent").or(self.head.headers.get("user-agent"))?.to_str().ok()?;
        agent.split(' ').find_map(|part| part.strip_prefix("app/"))
    }

    /// Its function and slot.
    pub(super) fn asker(&self) -> Option<(&str, usize)> {
        let mut parts = self.by()?.split('.');
        Some((parts.next()?, parts.next()?.parse().ok()?))
    }

    /// Whether path or body hold this text.
    pub(super) fn holds(&self, key: &str) -> bool {
        self.head.uri.path().contains(key) || contains(&self.body, key)
    }

    /// Whether it is an eventually consistent read.
    pub(super) fn reads_stale(&self) -> bool {
        matches!(self.operation.as_str(), "Query" | "GetItem") && !contains(&self.body, r#""ConsistentRead":true"#)
    }

    pub(super) fn to_http(&self) -> http::Request<http_body_util::Full<Bytes>> {
        http::Request::from_parts(self.head.clone(), http_body_util::Full::new(self.body.clone()))
    }
}

fn contains(body: &[u8], key: &str) -> bool {
    key.is_empty() || body.windows(key.len()).any(|window| window == key.as_bytes())
}

/// One request and what came of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The last part of `X-Amz-Target`, or "apns", "fcm", "oauth", "stripe".
    pub operation: String,
    /// The name of the process that asked; none of calls to providers.
    pub by: Option<String>,
    /// The request's path.
    pub path: String,
    /// The request's body.
    pub body: Bytes,
    /// What a rule did to it.
    pub done: Option<&'static str>,
    /// The status that the client got; none if it got no answer.
    pub status: Option<u16>,
    /// The status of an answer that got lost on its way back.
    pub lost_status: Option<u16>,
    /// The body that the client got.
    pub answer: Bytes,
    /// When it reached the proxy, in ms of the system's clock.
    pub from_ms: u64,
    /// When it ended.
    pub at_ms: u64,
}

impl Exchange {
    pub(super) fn new(
        request: &Request,
        done: Option<&'static str>,
        ended: Result<&Answer, &BoxError>,
        (from_ms, at_ms): (u64, u64),
    ) -> Self {
        let cut = ended.err().and_then(|error| error.downcast_ref::<Cut>()).and_then(|cut| cut.0);
        let answer = ended.ok();
        Self {
            operation: request.operation.clone(),
            by: request.by().map(ToOwned::to_owned),
            path: request.head.uri.path().to_owned(),
            body: request.body.clone(),
            done,
            status: answer.map(|answer| answer.status().as_u16()),
            lost_status: cut.map(|status| status.as_u16()),
            answer: answer.map(|answer| answer.body().clone()).unwrap_or_default(),
            from_ms,
            at_ms,
        }
    }

    /// Whether path or body of the request hold this text.
    #[must_use]
    pub fn holds(&self, key: &str) -> bool {
        self.path.contains(key) || contains(&self.body, key)
    }

    /// The request's body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
