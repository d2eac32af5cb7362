//! What a page of another origin may do in a browser (Fetch standard, CORS protocol).

use crate::{REPLAYED, key};
use axum::http::{HeaderName, HeaderValue, Method, header};
use platform::{Address, EnvReader};
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

/// An origin as a browser sends it: scheme, host, port, nothing after it, no wildcard, and the scheme's own port left out
/// (RFC 6454 section 7). The template's pattern for CorsOrigins says the same.
#[must_use]
pub fn parse_origin(text: &str) -> Option<HeaderValue> {
    let address = Address::of(text)?;
    let own_port = match address.scheme {
        "https" => "443",
        "http" => "80",
        _ => return None,
    };
    let exact = address.rest.is_empty() && address.port != Some(own_port);
    let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    (exact && lower).then(|| HeaderValue::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_a_list_without_paths() {
        assert_eq!(cors("").unwrap().len(), 0);
        assert_eq!(cors("https://a.example, http://127.0.0.1:5173").unwrap().len(), 2);
        assert_eq!(cors("http://[::1]:5173,https://xn--bcher-kva.example,http://a:443,https://a:80").unwrap().len(), 4);
        for wrong in [
            "*",
            "a.example",
            "https://a.example/",
            "https://a.example,x",
            "https://*.example",
            "https://A.example",
            "https://a.example:443",
            "http://a.example:80",
            "http://localhost:70000",
            "http://a:65536",
            "http://a:0",
            "https://1.2.3",
            "https://192.168.1.300",
            "https://xn--",
            "https://a.example?k",
            "https://user@a.example",
            "ftp://a.example",
        ] {
            assert_eq!(cors(wrong), None, "{wrong}");
        }
    }
}
