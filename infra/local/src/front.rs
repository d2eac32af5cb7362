//! The API's front, as API Gateway is in AWS: each request is an invocation, with a time limit and crash points.

use crate::{
    invoke::{Function, InvokeError},
    linger::Lingering,
};
use axum::{
    Json, Router,
    body::Body,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;
use tower::ServiceExt;

/// Serves `router` behind the function's surroundings. A crashed or failed invocation is answered 502, one that ran
/// out of time 503, both as API Gateway words it.
pub(crate) fn front(router: Router, api: Function) -> Router {
    Router::new().fallback(move |request: Request| {
        let (router, api) = (router.clone(), api.clone());
        let request = request.map(|body| Body::new(Lingering::new(body)));
        async move {
            match api.run(|_| router.oneshot(request)).await {
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
