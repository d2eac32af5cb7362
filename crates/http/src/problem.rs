//! Errors as the caller sees them: RFC 9457 `application/problem+json` with a stable code.
//!
//! The one place where an error becomes HTTP. A problem is made from what may be said; what went wrong inside is
//! logged where it is handled and has no way into a response.

use crate::Code;
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The media type of RFC 9457 section 3.
const PROBLEM_JSON: &str = "application/problem+json";
/// Seconds after which a caller may ask again when the store did not answer.
const RETRY_AFTER_SECONDS: &str = "1";

/// One thing that is wrong with a request's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Where, as an RFC 6901 JSON pointer ("" is the whole body).
    pub pointer: String,
    /// What rule is broken, in a sentence.
    pub detail: String,
}

impl Fault {
    /// A fault at a place.
    pub fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// An error as it is sent.
#[derive(Clone, Debug)]
pub struct Problem(Box<Members>);

#[derive(Clone, Debug, Serialize)]
struct Members {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    code: &'static str,
    #[serde(skip)]
    of: Code,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Fault>,
    /// Members of this code (RFC 9457 section 3.2).
    #[serde(flatten)]
    more: BTreeMap<&'static str, String>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// An error with a sentence about this case.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let row = code.row();
        let problem = Self(Box::new(Members {
            r#type: "about:blank",
            title: row.status.canonical_reason().unwrap_or("Error"),
            status: row.status.as_u16(),
            detail: detail.into(),
            code: row.word,
            of: code,
            errors: Vec::new(),
            more: BTreeMap::new(),
            headers: Vec::new(),
        }));
        match code {
            Code::Unauthorized => problem.with_header(header::WWW_AUTHENTICATE, "Bearer"),
            Code::Unavailable => problem.with_header(header::RETRY_AFTER, RETRY_AFTER_SECONDS),
            _ => problem,
        }
    }

    /// The same, with the places it is about.
    #[must_use]
    pub fn at(code: Code, detail: impl Into<String>, errors: Vec<Fault>) -> Self {
        let mut problem = Self::new(code, detail);
        problem.0.errors = errors;
        problem
    }

    fn with_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.0.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// The same, with a member that only this code has.
    #[must_use]
    pub fn with_member(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.more.insert(name, value.into());
        self
    }

    /// The same, to be asked again after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.headers.push((header::RETRY_AFTER, HeaderValue::from(seconds)));
        self
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// Its code's word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The places it is about.
    #[must_use]
    pub fn errors(&self) -> &[Fault] {
        &self.0.errors
    }

    /// 400 validation_failed, with every fault.
    #[must_use]
    pub fn validation_failed(errors: Vec<Fault>) -> Self {
        Self::at(Code::ValidationFailed, "The request breaks the rules that `errors` lists.", errors)
    }

    /// 503: the outcome is not known. The same request, with the same key if its route takes one, resolves it.
    #[must_use]
    pub fn unavailable() -> Self {
        let detail = "The outcome of this request is not known. Send the same again, with the same idempotency key if it \
                      has one.";
        Self::new(Code::Unavailable, detail)
    }
}

/// The answer carries its [`Code`] as an extension, for whoever logs it.
impl IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        // The members are strings and numbers: they always have a JSON form.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self.0.of);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        for (name, value) in self.0.headers {
            headers.insert(name, value);
        }
        response
    }
}

/// The router's answer where no route matches.
pub async fn not_found() -> Problem {
    Problem::new(Code::NotFound, "There is no such route.")
}

/// The router's answer where the route exists and the method does not. The router adds `Allow`.
pub async fn method_not_allowed() -> Problem {
    let detail = "This route does not take this method; `Allow` lists those it takes.";
    Problem::new(Code::MethodNotAllowed, detail)
}
