//! The service-account key file, as Google's console gives it and as it is stored in the secret.
//!
//! Read by the client once per [`outbound::credentials::CREDENTIALS_FRESH_MS`]. Errors name the member, never its value.

use crate::{
    members::{KeyFault, base_url, members, optional, optional_word, pkcs8, required, url, word},
    shape,
};
use aws_lc_rs::rsa::KeyPair;
use http::Uri;
use std::fmt;

/// Where FCM is, unless the key file says otherwise.
const FCM_BASE_URL: &str = "https://fcm.googleapis.com";

/// A usable key file.
pub(crate) struct Key {
    pub(crate) project_id: String,
    pub(crate) client_email: String,
    pub(crate) key_id: Option<String>,
    pub(crate) token_uri: String,
    /// Where messages are sent.
    pub(crate) send: Uri,
    pub(crate) pair: KeyPair,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("project_id", &self.project_id).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the text of a key file. `fcm_base_url` is ours and optional: the sandbox's address, or a regional one.
    pub(crate) fn parse(text: &str) -> Result<Self, KeyFault> {
        let file = members(text)?;
        // Google's console hands out other files too, and their members look alike.
        if optional(&file, "type")?.is_some_and(|kind| kind != "service_account") {
            return Err(KeyFault::Rule("type", "must be service_account: this is another kind of file"));
        }
        let project_id = word(&file, "project_id")?;
        if !project_id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:_".contains(&b)) {
            return Err(KeyFault::Rule("project_id", "may hold letters, digits, '-', '.', ':' and '_' only"));
        }
        // Dots alone would be another path.
        if !project_id.bytes().any(|b| b.is_ascii_alphanumeric()) {
            return Err(KeyFault::Rule("project_id", "must hold a letter or a digit"));
        }
        let base_url = base_url("fcm_base_url", optional(&file, "fcm_base_url")?.unwrap_or(FCM_BASE_URL))?;
        let send = format!("{base_url}/v1/projects/{project_id}/messages:send");
        Ok(Self {
            project_id: project_id.to_owned(),
            client_email: word(&file, "client_email")?.to_owned(),
            key_id: optional_word(&file, "private_key_id")?.map(str::to_owned),
            token_uri: url("token_uri", required(&file, "token_uri")?)?.to_owned(),
            send: send.parse().map_err(|_| KeyFault::Url("fcm_base_url"))?,
            pair: key_pair(required(&file, "private_key")?)?,
        })
    }
}

fn key_pair(pem: &str) -> Result<KeyPair, KeyFault> {
    let fault = || KeyFault::Key("private_key", "an RSA key of 2048 to 8192 bits as PKCS#8 PEM", shape::of(pem));
    pkcs8(pem).and_then(|der| KeyPair::from_pkcs8(&der).ok()).ok_or_else(fault)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use aws_lc_rs::{encoding::AsDer, rsa::KeySize};
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde_json::{Value, json};
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
        assert_eq!(key.project_id, "acme-app");
        assert_eq!(key.send, "https://fcm.googleapis.com/v1/projects/acme-app/messages:send");
        assert_eq!(format!("{key:?}"), r#"Key { project_id: "acme-app", .. }"#);
        let mut local = file();
        local["fcm_base_url"] = json!("http://127.0.0.1:8090/");
        let send = Key::parse(&local.to_string()).unwrap().send;
        assert_eq!(send, "http://127.0.0.1:8090/v1/projects/acme-app/messages:send");
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
            ("fcm_base_url", "https://fcm.googleapis.com/v1/s3cret"),
            ("project_id", "s3cret/../other"),
            ("project_id", ".."),
            ("project_id", "-"),
            ("project_id", "s3cret:\u{7}"),
            ("client_email", "s3cret\n@acme.example"),
            ("client_email", "s3cret @acme.example"),
            ("private_key_id", "s3cret\r"),
            ("token_uri", "https://user:s3cret@oauth2.googleapis.com/token"),
            ("fcm_base_url", "https://user:s3cret@fcm.googleapis.com"),
        ];
        for (name, value) in cases {
            let wrong = fault(|file| file[name] = json!(value));
            assert!(wrong.contains(name) && !wrong.contains("s3cret"), "{wrong}");
        }
        let long = fault(|file| file["client_email"] = json!("s".repeat(255)));
        assert!(long.contains("client_email"), "{long}");
        assert_eq!(Key::parse("s3cret").unwrap_err(), KeyFault::NotJson);
    }
}
