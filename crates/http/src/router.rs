//! The router of a function: its routes, what it answers beside them, and what every request goes through.

use crate::{cors, method_not_allowed, not_found, observe::observe};
use axum::{
    Router,
    http::{HeaderName, HeaderValue},
    middleware,
    routing::{MethodRouter, options},
};
use platform::Clock;
use std::collections::BTreeSet;

/// Says that an answer repeats an earlier one.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A router of these routes. A path that is none of them is 404, a method that a path does not take 405; each request is
/// logged and counted; pages of the origins in `cors` may call the routes from a browser.
pub fn router<S>(routes: &[(&'static str, MethodRouter<S>)], cors: &[HeaderValue], clock: Clock, state: S) -> Router
where
    S: Clone + Send + Sync + 'static,
{
    let mut router = Router::new();
    for (path, handler) in routes {
        router = router.route(path, handler.clone());
    }
    // On the routes only: a path that is not ours is 404 for a preflight too. The layer answers preflights itself; the
    // route is there for it to stand before.
    if !cors.is_empty() {
        let paths: BTreeSet<&str> = routes.iter().map(|(path, _)| *path).collect();
        router = paths.into_iter().fold(router, |router, path| router.route(path, options(method_not_allowed)));
        router = router.route_layer(cors::layer(cors));
    }
    let router = router.fallback(not_found).method_not_allowed_fallback(method_not_allowed);
    router.layer(middleware::from_fn_with_state(clock, observe)).with_state(state)
}
