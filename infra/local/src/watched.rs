//! The functions as `cargo lambda watch` runs them: their real `main.rs`, each in a process of its own.
//!
//! Chosen by `cargo run -- services`. Events go to Lambda's Invoke operation, which the watch answers too, in the very
//! form in which the pollers hand them to functions of this process; requests go to the watch as they are, where its
//! router (the workspace's Cargo.toml) has the paths of the deployed API. An invocation that runs out of time is no
//! longer waited for, but the watch does not end it: what it still does is what a second consumer would do.

use crate::{
    elsewhere::{Elsewhere, Invoker},
    invoke::Handler,
};
use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use protocol::timing::Timing;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

/// Headers that belong to one connection and are not passed on (RFC 9110, section 7.6.1).
const OF_ONE_CONNECTION: [header::HeaderName; 4] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE];

#[derive(Clone)]
struct Watch {
    url: String,
    client: Client<HttpConnector, Body>,
}

/// The functions behind the watch at this URL.
#[must_use]
pub fn watched(url: &str) -> Elsewhere {
    let invoker = Invoker::default();
    // A function's name is its binary's.
    let handler = |binary: &'static str| -> Handler {
        let (invoker, url) = (invoker.clone(), url.to_owned());
        Arc::new(move |event, invocation| {
            let (invoker, url) = (invoker.clone(), url.clone());
            Box::pin(async move { invoker.invoke(&url, binary, &event, &invocation, HeaderMap::new()).await })
        })
    };
    let watch = Watch { url: url.to_owned(), client: Client::builder(TokioExecutor::new()).build_http() };
    // Which of the two serves a path is for the watch's router to know.
    let http = Router::new().fallback(pass_on).with_state(watch);
    Elsewhere {
        api: http.clone(),
        refunds: http,
        deliver: handler("deliver"),
        payout: handler("payout"),
        relay: handler("relay"),
        dead_letter: handler("dead-letter"),
        audit: handler("audit"),
    }
}

/// Passes a request on, and its answer back.
async fn pass_on(State(watch): State<Watch>, mut request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let Ok(uri) = format!("{}{path}", watch.url).parse() else { return unreachable(&watch.url) };
    *request.uri_mut() = uri;
    // The client writes the host of the new address.
    request.headers_mut().remove(header::HOST);
    for name in &OF_ONE_CONNECTION {
        request.headers_mut().remove(name);
    }
    match watch.client.request(request).await {
        Ok(mut answer) => {
            for name in &OF_ONE_CONNECTION {
                answer.headers_mut().remove(name);
            }
            answer.into_response()
        }
        Err(error) => {
            tracing::error!(url = watch.url, error = %platform::causes(&error), "the watch does not answer");
            unreachable(&watch.url)
        }
    }
}

fn unreachable(url: &str) -> Response {
    let message = format!("cargo lambda watch does not answer at {url}");
    (StatusCode::BAD_GATEWAY, Json(json!({"message": message}))).into_response()
}

/// The functions' variables, as `--env-file` takes them: a line each.
#[must_use]
pub fn environment_file(environment: &BTreeMap<&'static str, String>, timing: &Timing) -> String {
    let timing = if *timing == Timing::PRODUCTION { "production" } else { "short" };
    let lines = environment.iter().map(|(name, value)| format!("{name}={value}\n"));
    lines.chain([format!("TIMING={timing}\n")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{invoke::Invocation, ports::bind};
    use axum::{extract::Path, routing::post};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    #[tokio::test]
    async fn events_and_requests_reach_the_watch() {
        let (listener, url) = bind(0, "--port").await.unwrap();
        let app = Router::new()
            .route(
                "/2015-03-31/functions/{name}/invocations",
                post(
                    |Path(name): Path<String>, body: String| async move { Json(json!({"name": name, "event": body})) },
                ),
            )
            .fallback(|request: Request| async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let authorization = head.headers["authorization"].to_str().unwrap().to_owned();
                let host = head.headers["host"].to_str().unwrap().to_owned();
                let said = json!({"uri": head.uri.to_string(), "authorization": authorization, "host": host,
                    "method": head.method.as_str(), "body": String::from_utf8(body.to_vec()).unwrap()});
                (StatusCode::ACCEPTED, [("location", "/there")], Json(said))
            });
        let server = tokio::spawn(async move { axum::serve(listener, app).await });
        let watched = watched(&url);
        let invocation = Invocation { deadline_ms: 7, request_id: "1".to_owned() };
        for (handler, name) in [
            (&watched.deliver, "deliver"),
            (&watched.payout, "payout"),
            (&watched.relay, "relay"),
            (&watched.dead_letter, "dead-letter"),
            (&watched.audit, "audit"),
        ] {
            assert_eq!(handler(json!([1]), invocation.clone()).await, Ok(json!({"name": name, "event": "[1]"})));
        }
        let request = || {
            Request::post("/v1/messages?x=%20")
                .header("authorization", "Bearer a")
                .header("host", "elsewhere")
                .body(Body::from("{}"))
                .unwrap()
        };
        let answer = watched.api.clone().oneshot(request()).await.unwrap();
        assert_eq!(
            (answer.status(), &answer.headers()["location"]),
            (StatusCode::ACCEPTED, &"/there".parse().unwrap())
        );
        let said: serde_json::Value =
            serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        let host = url.trim_start_matches("http://");
        let expected = json!({"uri": "/v1/messages?x=%20", "authorization": "Bearer a", "host": host, "method": "POST", "body": "{}"});
        assert_eq!(said, expected);
        server.abort();
        let _ = server.await;
        assert_eq!(watched.api.oneshot(request()).await.unwrap().status(), StatusCode::BAD_GATEWAY);
    }
}
