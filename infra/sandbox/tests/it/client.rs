//! A sandbox on a free port and a client for it.

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeyPair,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use platform::Clock;
use sandbox::Sandbox;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub(crate) const GRANT: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
pub(crate) const SEND: &str = "/v1/projects/acme-sandbox/messages:send";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) clock: Clock,
    pub(crate) base_url: String,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) served: JoinHandle<()>,
    client: Client<HttpConnector, Full<Bytes>>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

pub(crate) async fn world() -> World {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let clock = Clock::system();
    let sandbox = Sandbox::new(clock.clone(), base_url.clone()).unwrap();
    sandbox.seed_project("acme").unwrap();
    let (stop, stopped) = watch::channel(false);
    let serving = sandbox.clone();
    let extra = axum::Router::new().route("/control", axum::routing::post(|| async { "mine" }));
    let served = tokio::spawn(async move { serving.serve(listener, extra, stopped).await });
    World { sandbox, clock, base_url, stop, served, client: Client::builder(TokioExecutor::new()).build_http() }
}

impl World {
    /// `None` if there was no answer within 300 ms or the connection was closed without one.
    pub(crate) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base_url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let call = async {
            let response = self.client.request(request).await.ok()?;
            let (head, body) = response.into_parts();
            let text = String::from_utf8(body.collect().await.ok()?.to_bytes().to_vec()).unwrap();
            Some(Answer { status: head.status.as_u16(), headers: head.headers, text })
        };
        tokio::time::timeout(Duration::from_millis(300), call).await.ok().flatten()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], "").await.unwrap()
    }

    pub(crate) async fn ledger(&self, query: &str) -> Vec<Value> {
        self.get(&format!("/ledger{query}")).await.json().as_array().unwrap().clone()
    }

    pub(crate) async fn secret(&self, name: &str) -> Value {
        let headers = [("x-amz-target", "secretsmanager.GetSecretValue")];
        let body = json!({ "SecretId": name }).to_string();
        let answer = self.call("POST", "/", &headers, &body).await.unwrap();
        serde_json::from_str(answer.json()["SecretString"].as_str().unwrap()).unwrap()
    }

    pub(crate) async fn key_file(&self) -> Value {
        self.secret("sendonce/acme/fcm").await
    }

    /// Lets a project's secret hold another's key, its own ids unchanged.
    pub(crate) async fn mix_up(&self, project: &str, others: &str, provider: &str, member: &str) {
        let mut secret = self.secret(&format!("sendonce/{project}/{provider}")).await;
        secret[member] = self.secret(&format!("sendonce/{others}/{provider}")).await[member].take();
        let headers = [("x-amz-target", "secretsmanager.PutSecretValue")];
        let body = json!({"SecretId": format!("sendonce/{project}/{provider}"), "SecretString": secret.to_string()});
        assert_eq!(self.call("POST", "/", &headers, &body.to_string()).await.unwrap().status, 200);
    }

    /// A project's APNs provider token, issued so many seconds from now.
    pub(crate) async fn provider_token(&self, project: &str, after_s: i64) -> String {
        self.signed(project, after_s, |_| {}).await
    }

    /// The same with another header.
    pub(crate) async fn signed_token(&self, project: &str, change: impl FnOnce(&mut Value)) -> String {
        self.signed(project, 0, change).await
    }

    async fn signed(&self, project: &str, after_s: i64, change: impl FnOnce(&mut Value)) -> String {
        let secret = self.secret(&format!("sendonce/{project}/apns")).await;
        let issued = i64::try_from(self.clock.now_ms() / 1_000).unwrap() + after_s;
        let mut header = json!({"alg": "ES256", "kid": secret["key_id"]});
        change(&mut header);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&json!({"iss": secret["team_id"], "iat": issued})));
        let pem: String = secret["key"].as_str().unwrap().lines().filter(|line| !line.contains('-')).collect();
        let der = STANDARD.decode(pem).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).unwrap();
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    /// The claims of a good assertion.
    pub(crate) async fn claims(&self) -> Value {
        let file = self.key_file().await;
        let now = self.clock.now_ms() / 1_000;
        let scope = "https://www.googleapis.com/auth/firebase.messaging";
        json!({"iss": file["client_email"], "scope": scope, "aud": file["token_uri"], "iat": now, "exp": now + 3_600})
    }

    pub(crate) async fn grant(&self, header: &Value, claims: &Value) -> Answer {
        let file = self.key_file().await;
        let pem: String = file["private_key"].as_str().unwrap().lines().filter(|line| !line.contains('-')).collect();
        let key = KeyPair::from_pkcs8(&STANDARD.decode(pem).unwrap()).unwrap();
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
        let assertion = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        self.token(&format!("grant_type={GRANT}&assertion={assertion}")).await
    }

    pub(crate) async fn token(&self, form: &str) -> Answer {
        self.call("POST", "/token", &[("content-type", "application/x-www-form-urlencoded")], form).await.unwrap()
    }

    pub(crate) async fn access_token(&self) -> String {
        let answer = self.grant(&json!({"alg": "RS256", "typ": "JWT"}), &self.claims().await).await;
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// Sends with a good access token.
    pub(crate) async fn send(&self, body: &Value) -> Option<Answer> {
        let bearer = format!("Bearer {}", self.access_token().await);
        self.call("POST", SEND, &[("authorization", &bearer)], &body.to_string()).await
    }

    pub(crate) async fn script(&self, token: &str, script: &Value) -> Answer {
        self.call("PUT", &format!("/scripts/{token}"), &[], &script.to_string()).await.unwrap()
    }
}

pub(crate) fn message(token: &str) -> Value {
    json!({"message": {"token": token, "notification": {"title": "T", "body": "B"}, "data": {"message_id": "msg_1"},
        "android": {"ttl": "60s", "priority": "HIGH", "notification": {"tag": "msg_1"}}}})
}
