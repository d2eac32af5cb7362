//! The API's front, as API Gateway is in AWS: each request is an invocation, with a time limit and crash points.

use crate::{
    invoke::{Function, Invocation, InvokeError},
    linger::Lingering,
};
use axum::{
    Json, Router,
    body::Body,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sendonce_http::RequestId;
use serde_json::json;
use tower::ServiceExt;

/// A function that answers requests: its router, and its surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    pub(crate) router: Router,
    pub(crate) function: Function,
}

/// Whether a path is the refunds function's, as API Gateway's routes have it; all others are the api function's.
fn is_refunds(path: &str) -> bool {
    path == "/v1/refunds" || ["/v1/refunds/", "/v1/webhooks/"].iter().any(|start| path.starts_with(start))
}

/// Serves each router behind its function's surroundings. A crashed or failed invocation is answered 502, one that ran
/// out of time 503, both as API Gateway words it.
pub(crate) fn front(api: Answering, refunds: Answering) -> Router {
    Router::new().fallback(move |request: Request| {
        let Answering { router, function } = if is_refunds(request.uri().path()) { &refunds } else { &api };
        let (router, function) = (router.clone(), function.clone());
        let mut request = request.map(|body| Body::new(Lingering::new(body)));
        async move {
            let serve = |invocation: Invocation| {
                request.extensions_mut().insert(RequestId(invocation.request_id));
                router.oneshot(request)
            };
            match function.run(serve).await {
                Ok(Ok(response)) => response,
                // A router never fails; the type says so too.
                Ok(Err(never)) => match never {},
                Err(InvokeError::TimedOut) => gateway(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
                Err(InvokeError::Crashed | InvokeError::Failed(_)) => {
                    gateway(StatusCode::BAD_GATEWAY, "Internal Server Error")
                }
            }
        }
    })
}

fn gateway(status: StatusCode, message: &str) -> Response<Body> {
    (status, Json(json!({"message": message}))).into_response()
}
