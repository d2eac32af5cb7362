//! Asking APNs whether it takes a signing key: a notification to a device that cannot exist, for each app.
//!
//! APNs looks at the provider token, then the topic, then the device, so a complaint about the device says that it
//! took the other two. Sources: Apple, "Handling notification responses from APNs" (the reasons); the order is that of
//! pushy's validating mock server and is not documented by Apple.

use super::{
    client::{Access, Apns},
    error,
    key::Key,
};
use crate::{
    NotPrepared,
    answers::is_reason_lost,
    check::Report,
    outcome::provider_code,
    transport::{Answered, Failed},
};
use http::{Method, Request, header::AUTHORIZATION};
use serde_json::{Value, json};
use std::time::Duration;

/// An odd number of hexadecimal digits: no bytes, so no device.
const NO_DEVICE: &str = "0000000000000000000000000000000";
/// Apps that are asked for. APNs counts complaints about devices against a connection.
const APPS_MAX: usize = 20;

impl Apns {
    pub(crate) async fn check(&self, project: &str) -> Report {
        let limit = Duration::from_millis(self.timing.token);
        let found = tokio::time::timeout(limit, self.find_anew(project)).await;
        let access = match found.unwrap_or(Err(NotPrepared::TimedOut { limit_ms: self.timing.token })) {
            Ok(access) => access,
            Err(error) => return Report::of(error, "this project"),
        };
        for app in access.key.apps.iter().take(APPS_MAX) {
            let report = self.ask(&access, app).await;
            if !report.works() {
                return report;
            }
        }
        Report::Works
    }

    async fn ask(&self, access: &Access, app: &str) -> Report {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/3/device/{NO_DEVICE}", access.key.base_url))
            .header(AUTHORIZATION, access.authorization.clone())
            .header("apns-topic", app)
            .header("apns-push-type", "background")
            .header("apns-priority", "5")
            .header("apns-expiration", "0")
            .body(json!({"aps": {"content-available": 1}}).to_string().into());
        let Ok(request) = request else {
            return Report::NoAnswer { detail: "base_url cannot be called".to_owned() };
        };
        match access.pool.call(request, Duration::from_millis(self.timing.call), error::standing).await {
            Ok(answered) => {
                let report = report(&answered, &access.key, app);
                if report.refused() {
                    access.refuse_key();
                }
                report
            }
            Err(Failed::NotSent { code, .. } | Failed::Lost { code, .. }) => {
                Report::NoAnswer { detail: format!("APNs did not answer ({code})") }
            }
        }
    }
}

fn report(answered: &Answered, key: &Key, app: &str) -> Report {
    let status = answered.status.as_u16();
    if is_reason_lost(answered) {
        return Report::NoAnswer { detail: format!("APNs answered {status}, and the rest of its answer was lost") };
    }
    let body: Value = answered.body.as_deref().and_then(|b| serde_json::from_slice(b).ok()).unwrap_or_default();
    let word = body["reason"].as_str().and_then(provider_code).unwrap_or_default();
    let code = if word.is_empty() { format!("HTTP_{status}") } else { word.to_owned() };
    match (status, word) {
        (200..=299 | 410, _) | (400, "BadDeviceToken") => Report::Works,
        (400, "TopicDisallowed" | "BadTopic" | "DeviceTokenNotForTopic") => Report::WrongApp { app: app.to_owned() },
        (403, "ExpiredProviderToken") => Report::ClockWrong,
        (403, "InvalidProviderToken") => {
            let holder = format!("key id {}, team {}", key.key_id, key.team_id);
            Report::KeyRefused { holder, code }
        }
        (403, "BadEnvironmentKeyIdInToken" | "BadCertificateEnvironment") => {
            Report::WrongEnvironment { environment: key.environment.as_str() }
        }
        (403, _) => Report::NotAllowed { code },
        (429, "TooManyProviderTokenUpdates") => Report::TooManyTokens,
        (429 | 500..=599, _) => Report::NoAnswer { detail: format!("APNs answered {status} ({code})") },
        _ => Report::Unclear { status, code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apns::key::tests::secret;
    use http::{HeaderMap, StatusCode};

    #[test]
    fn every_answer_is_a_finding() {
        let key = Key::parse(&secret().to_string()).unwrap();
        let refused = |code: &str| Report::KeyRefused {
            holder: "key id ABC123DEFG, team DEF123GHIJ".to_owned(),
            code: code.to_owned(),
        };
        let cases = [
            (200, "", Report::Works),
            (400, "BadDeviceToken", Report::Works),
            (410, "Unregistered", Report::Works),
            (400, "TopicDisallowed", Report::WrongApp { app: "app".to_owned() }),
            (400, "BadTopic", Report::WrongApp { app: "app".to_owned() }),
            (400, "PayloadEmpty", Report::Unclear { status: 400, code: "PayloadEmpty".to_owned() }),
            (403, "ExpiredProviderToken", Report::ClockWrong),
            (403, "InvalidProviderToken", refused("InvalidProviderToken")),
            (403, "BadEnvironmentKeyIdInToken", Report::WrongEnvironment { environment: "production" }),
            (403, "Forbidden", Report::NotAllowed { code: "Forbidden".to_owned() }),
            (403, "", Report::NotAllowed { code: "HTTP_403".to_owned() }),
            (429, "TooManyProviderTokenUpdates", Report::TooManyTokens),
            (429, "TooManyRequests", Report::NoAnswer { detail: "APNs answered 429 (TooManyRequests)".to_owned() }),
            (503, "", Report::NoAnswer { detail: "APNs answered 503 (HTTP_503)".to_owned() }),
        ];
        for (status, reason, expected) in cases {
            let body = Some(json!({"reason": reason}).to_string().into());
            let answered = Answered { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body };
            assert_eq!(report(&answered, &key, "app"), expected, "{status} {reason}");
        }
        let lost = Answered { status: StatusCode::FORBIDDEN, headers: HeaderMap::new(), body: None };
        let detail = "APNs answered 403, and the rest of its answer was lost".to_owned();
        assert_eq!(report(&lost, &key, "app"), Report::NoAnswer { detail });
    }
}
