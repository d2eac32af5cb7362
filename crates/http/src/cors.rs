//! What a page of another origin may do in a browser (Fetch standard, CORS protocol).

use crate::{REPLAYED, key};
use axum::http::{HeaderName, HeaderValue, Method, header};
use platform::EnvReader;
use tower_http::cors::CorsLayer;

/// What a browser asks before a page of another origin may call.
pub(crate) fn layer(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, HeaderName::from_static(key::HEADER)])
        .expose_headers([header::LOCATION, header::RETRY_AFTER, REPLAYED])
}

/// `CORS_ORIGINS`: origins whose pages may call, separated by commas; empty (default) switches CORS off.
pub fn cors_origins(env: &mut EnvReader<'_>) -> Vec<HeaderValue> {
    let allowed = "origins such as https://console.example, separated by commas";
    let origins = env.or("CORS_ORIGINS", String::new(), allowed, |text: &String| cors(text).is_some());
    cors(&origins).unwrap_or_default()
}

/// The origins of a list; `None` if one is no origin.
fn cors(text: &str) -> Option<Vec<HeaderValue>> {
    text.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(parse_origin).collect()
}

/// An origin as a browser sends it: scheme, host, port, nothing after it, no wildcard (RFC 6454 section 7).
#[must_use]
pub fn parse_origin(text: &str) -> Option<HeaderValue> {
    let url = url::Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    let exact = !text.contains('*') && url.origin().ascii_serialization() == text;
    (web && exact).then(|| HeaderValue::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_a_list_without_paths() {
        assert_eq!(cors("").unwrap().len(), 0);
        assert_eq!(cors("https://a.example, http://127.0.0.1:5173").unwrap().len(), 2);
        for wrong in [
            "*",
            "a.example",
            "https://a.example/",
            "https://a.example,x",
            "https://*.example",
            "https://A.example",
            "https://a.example:443",
        ] {
            assert_eq!(cors(wrong), None, "{wrong}");
        }
    }
}
