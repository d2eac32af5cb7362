//! The service-account key file, as Google's console gives it and as it is stored in the secret.
//!
//! Read by the client once per [`crate::credentials::CREDENTIALS_FRESH_MS`]. Errors name the member, never its value.

use aws_lc_rs::rsa::KeyPair;
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use serde_json::{Map, Value};
use std::fmt;

/// Where FCM is, unless the key file says otherwise.
const FCM_BASE_URL: &str = "https://fcm.googleapis.com";

/// A usable key file.
pub(crate) struct Key {
    pub(crate) project_id: String,
    pub(crate) client_email: String,
    pub(crate) key_id: Option<String>,
    pub(crate) token_uri: String,
    /// Without a slash at the end.
    pub(crate) base_url: String,
    pub(crate) pair: KeyPair,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("project_id", &self.project_id).finish_non_exhaustive()
    }
}

/// What is wrong with a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("it is not a JSON object")]
    NotAnObject,
    #[error("member {0} is missing")]
    Missing(&'static str),
    #[error("member {0} must be a text that is not empty")]
    NotText(&'static str),
    #[error("member private_key must be an RSA key of 2048 to 8192 bits as PKCS#8 PEM")]
    PrivateKey,
    #[error("member {0} must be an https URL (http only to this machine)")]
    Url(&'static str),
    #[error("member project_id may hold letters, digits, '-', '.', ':' and '_' only")]
    ProjectId,
}

impl Key {
    /// Reads the text of a key file. `fcm_base_url` is ours and optional: the sandbox's address, or a regional one.
    pub(crate) fn parse(text: &str) -> Result<Self, KeyFault> {
        let file: Map<String, Value> = serde_json::from_str(text).map_err(|_| KeyFault::NotAnObject)?;
        let project_id = required(&file, "project_id")?;
        if !project_id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:_".contains(&b)) {
            return Err(KeyFault::ProjectId);
        }
        let base_url = optional(&file, "fcm_base_url")?.unwrap_or(FCM_BASE_URL);
        Ok(Self {
            project_id: project_id.to_owned(),
            client_email: required(&file, "client_email")?.to_owned(),
            key_id: optional(&file, "private_key_id")?.map(str::to_owned),
            token_uri: url("token_uri", required(&file, "token_uri")?)?.to_owned(),
            base_url: url("fcm_base_url", base_url)?.trim_end_matches('/').to_owned(),
            pair: key_pair(required(&file, "private_key")?).ok_or(KeyFault::PrivateKey)?,
        })
    }
}

fn optional<'a>(file: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, KeyFault> {
    match file.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(KeyFault::NotText(name)),
    }
}

fn required<'a>(file: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, KeyFault> {
    optional(file, name)?.ok_or(KeyFault::Missing(name))
}

/// Access tokens and device tokens go to these addresses, so they are encrypted unless they stay on this machine.
fn url<'a>(name: &'static str, text: &'a str) -> Result<&'a str, KeyFault> {
    let uri: Uri = text.parse().map_err(|_| KeyFault::Url(name))?;
    let local = uri.host().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => Ok(text),
        (Some("http"), Some(_)) if local => Ok(text),
        _ => Err(KeyFault::Url(name)),
    }
}

/// Reads the first PEM block (RFC 7468) as PKCS#8.
fn key_pair(pem: &str) -> Option<KeyPair> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let der = STANDARD.decode(body.split_whitespace().collect::<String>()).ok()?;
    KeyPair::from_pkcs8(&der).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use aws_lc_rs::{encoding::AsDer, rsa::KeySize};
    use serde_json::json;
    use std::sync::OnceLock;

    /// A complete key file; the key is made once per test process.
    pub(crate) fn file() -> Value {
        static PEM: OnceLock<String> = OnceLock::new();
        let pem = PEM.get_or_init(|| {
            let der = KeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap();
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()))
        });
        json!({
            "type": "service_account", "project_id": "acme-app", "private_key_id": "k1", "private_key": pem,
            "client_email": "push@acme-app.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
        })
    }

    fn fault(change: impl FnOnce(&mut Value)) -> String {
        let mut file = file();
        change(&mut file);
        Key::parse(&file.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn a_complete_file_is_read() {
        let key = Key::parse(&file().to_string()).unwrap();
        assert_eq!((key.project_id.as_str(), key.base_url.as_str()), ("acme-app", FCM_BASE_URL));
        assert_eq!(format!("{key:?}"), r#"Key { project_id: "acme-app", .. }"#);
        let mut local = file();
        local["fcm_base_url"] = json!("http://127.0.0.1:8090/");
        assert_eq!(Key::parse(&local.to_string()).unwrap().base_url, "http://127.0.0.1:8090");
    }

    #[test]
    fn a_fault_names_the_member_and_not_its_value() {
        for name in ["project_id", "private_key", "client_email", "token_uri"] {
            let missing = fault(|file| {
                file.as_object_mut().unwrap().remove(name);
            });
            assert_eq!(missing, format!("member {name} is missing"));
            let wrong = fault(|file| file[name] = json!(["s3cret"]));
            assert!(wrong.contains(name) && !wrong.contains("s3cret"), "{wrong}");
        }
        let cases = [
            ("private_key", "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----"),
            ("private_key", "-----BEGIN RSA PRIVATE KEY-----\ns3cret\n-----END RSA PRIVATE KEY-----"),
            ("token_uri", "http://s3cret.example/token"),
            ("token_uri", "ftp://s3cret.example/token"),
            ("fcm_base_url", "s3cret"),
            ("project_id", "s3cret/../other"),
        ];
        for (name, value) in cases {
            let wrong = fault(|file| file[name] = json!(value));
            assert!(wrong.contains(name) && !wrong.contains("s3cret"), "{wrong}");
        }
        assert_eq!(Key::parse("s3cret").unwrap_err(), KeyFault::NotAnObject);
    }
}
