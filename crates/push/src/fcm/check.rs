//! Asking FCM whether it takes a key file: a message that is validated and not sent.
//!
//! Source: FCM v1 reference, `projects.messages.send`, `validate_only`. It names a topic, whose form is always valid,
//! so FCM's answer is about the credentials alone.

use super::client::{Access, Fcm};
use crate::{
    NotPrepared,
    answers::is_reason_lost,
    check::Report,
    outcome::provider_code,
    transport::{Answered, Failed},
};
use http::{
    Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::{Value, json};
use std::time::Duration;

/// Nobody is subscribed to it, and nothing is sent to it.
const TOPIC: &str = "sendonce-credentials-check";

impl Fcm {
    pub(crate) async fn check(&self, project: &str) -> Report {
        let limit = Duration::from_millis(self.timing.token);
        let found = tokio::time::timeout(limit, self.find_anew(project)).await;
        match found.unwrap_or(Err(NotPrepared::TimedOut { limit_ms: self.timing.token })) {
            Ok(access) => self.validate(&access).await,
            Err(error) => Report::of(error, &self.holder(project)),
        }
    }

    async fn validate(&self, access: &Access) -> Report {
        let body = json!({"validate_only": true, "message": {"topic": TOPIC, "data": {"check": "credentials"}}});
        let request = Request::builder()
            .method(Method::POST)
            .uri(access.key.send.clone())
            .header(AUTHORIZATION, access.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string().into());
        let Ok(request) = request else {
            return Report::NoAnswer { detail: "fcm_base_url cannot be called".to_owned() };
        };
        match self.calls.call(request, Duration::from_millis(self.timing.call)).await {
            Ok(answered) => report(&answered, &access.key.project_id, &access.key.client_email),
            Err(Failed::NotSent { code, .. } | Failed::Lost { code, .. }) => {
                Report::NoAnswer { detail: format!("FCM did not answer ({code})") }
            }
        }
    }
}

fn report(answered: &Answered, project_id: &str, account: &str) -> Report {
    let status = answered.status.as_u16();
    if is_reason_lost(answered) {
        return Report::NoAnswer { detail: format!("FCM answered {status}, and the rest of its answer was lost") };
    }
    let body: Value = answered.body.as_deref().and_then(|b| serde_json::from_slice(b).ok()).unwrap_or_default();
    let word = body["error"]["status"].as_str().and_then(provider_code);
    let code = word.map_or_else(|| format!("HTTP_{status}"), str::to_owned);
    match status {
        200..=299 => Report::Works,
        401 => Report::KeyRefused { holder: format!("account {account}"), code },
        // Google says so in its own form; a page of HTML is of something on the way, and says nothing of the key.
        403 | 404 if body["error"].is_object() => Report::WrongProject { project_id: project_id.to_owned(), code },
        429 | 500..=599 => Report::NoAnswer { detail: format!("FCM answered {status} ({code})") },
        _ => Report::Unclear { status, code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, StatusCode};

    #[test]
    fn every_answer_is_a_finding() {
        let holder = "account a@b.example".to_owned();
        let project_id = "acme-app".to_owned();
        let cases = [
            (200, "", Report::Works),
            (401, "UNAUTHENTICATED", Report::KeyRefused { holder, code: "UNAUTHENTICATED".to_owned() }),
            (
                403,
                "PERMISSION_DENIED",
                Report::WrongProject { project_id: project_id.clone(), code: "PERMISSION_DENIED".to_owned() },
            ),
            (404, "NOT_FOUND", Report::WrongProject { project_id, code: "NOT_FOUND".to_owned() }),
            (503, "", Report::NoAnswer { detail: "FCM answered 503 (HTTP_503)".to_owned() }),
            (400, "INVALID_ARGUMENT", Report::Unclear { status: 400, code: "INVALID_ARGUMENT".to_owned() }),
        ];
        for (status, word, expected) in cases {
            let body = Some(json!({"error": {"status": word}}).to_string().into());
            let answered = Answered { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body };
            assert_eq!(report(&answered, "acme-app", "a@b.example"), expected);
        }
        let page = Some("<html>blocked</html>".to_owned().into());
        let foreign = Answered { status: StatusCode::FORBIDDEN, headers: HeaderMap::new(), body: page };
        let unclear = Report::Unclear { status: 403, code: "HTTP_403".to_owned() };
        assert_eq!(report(&foreign, "acme-app", "a@b.example"), unclear);
        let lost = Answered { status: StatusCode::NOT_FOUND, headers: HeaderMap::new(), body: None };
        let detail = "FCM answered 404, and the rest of its answer was lost".to_owned();
        assert_eq!(report(&lost, "acme-app", "a@b.example"), Report::NoAnswer { detail });
    }
}
