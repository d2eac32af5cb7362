//! Asking the providers whether stored credentials work, and having mended ones in use at once.

use crate::{
    apns::{TOKEN, ios, send_to},
    world::{TIMING, World, code, content, world},
};
use aws_lc_rs::{
    encoding::AsDer,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use platform::Clock;
use protocol::{
    answer::Answer,
    content::{Device, Platform, Token},
};
use push::{NotPrepared, Outgoing, Prepared, Provider, Push, PushSettings, Report};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

fn an_ec_key() -> String {
    pem(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap().as_ref())
}

fn an_rsa_key() -> String {
    pem(RsaKeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap().as_ref())
}

fn android() -> Device {
    Device { platform: Platform::Android, token: Token("an-android-device".to_owned()) }
}

async fn send_to_android(prepared: &Prepared) -> Answer {
    let content = content();
    prepared.send(&android(), &Outgoing::new("msg_1", &content, u64::MAX)).await.answer
}

impl World {
    /// What acme's credentials of this provider, changed, and stored for another project, are found to be.
    async fn finds(&self, project: &str, provider: Provider, change: impl FnOnce(&mut Value)) -> Report {
        let mut secret = self.secret(&format!("sendonce/acme/{provider}")).await;
        change(&mut secret);
        self.put_secret(&format!("sendonce/{project}/{provider}"), &secret).await;
        let report = self.push.check(project, provider).await;
        let said = format!("{report} {report:?}");
        for name in ["key", "private_key"] {
            for line in secret[name].as_str().unwrap_or_default().lines().filter(|line| line.len() > 8) {
                assert!(!said.contains(line), "{said}");
            }
        }
        assert!(!report.to_string().contains('\n') && report.to_string().ends_with('.'), "{report}");
        report
    }

    async fn replace_secret(&self, name: &str, value: &Value) {
        self.secrets.put_secret_value().secret_id(name).secret_string(value.to_string()).send().await.unwrap();
    }
}

#[tokio::test]
async fn good_credentials_work_and_nobody_is_reached() {
    let world = world().await;
    for provider in [Provider::Apns, Provider::Fcm] {
        let report = world.push.check("acme", provider).await;
        assert!(report.works() && !report.refused(), "{report}");
    }
    let ledger = world.sandbox.ledger(None);
    // APNs: one request for each app of acme. FCM: one.
    assert_eq!(ledger.iter().map(|entry| entry.provider).collect::<Vec<_>>(), ["apns", "apns", "fcm"]);
    assert!(ledger.iter().all(|entry| !entry.accepted), "{ledger:?}");
    assert_eq!(ledger[2].payload["validate_only"], true);
    let topics: Vec<&str> = ledger[..2].iter().map(|entry| entry.headers["apns-topic"].as_str()).collect();
    assert_eq!(topics, ["com.example.acme", "com.example.acme.beta"]);
    // A second check shares the provider token: APNs would refuse another one so soon.
    assert!(world.push.check("acme", Provider::Apns).await.works());
    assert_eq!(world.sandbox.provider_tokens_seen(), 1);
}

#[tokio::test]
async fn what_is_wrong_with_a_secret_is_said_before_anybody_is_called() {
    let world = world().await;
    let missing = world.push.check("nobody", Provider::Apns).await;
    assert_eq!(missing, Report::SecretMissing { name: "sendonce/nobody/apns".to_owned() });
    assert_eq!(missing.to_string(), "There is no secret sendonce/nobody/apns.");

    let p384 = pem(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap().as_ref());
    let ec = "member key must be an EC key on P-256 as PKCS#8 PEM: ";
    let rsa = "member private_key must be an RSA key of 2048 to 8192 bits as PKCS#8 PEM: ";
    let (apns, fcm) = (Provider::Apns, Provider::Fcm);
    let cases = [
        ("a1", apns, "key", json!(p384), format!("{ec}it is an EC key on another curve, P-384")),
        ("a2", apns, "key", json!(an_rsa_key()), format!("{ec}it is an RSA key, perhaps damaged or of another size")),
        ("a3", apns, "key", json!("s3cret-but-no-key"), format!("{ec}it is not PEM")),
        ("a4", apns, "key", json!(&an_ec_key()[..80]), format!("{ec}it is cut off, or its base64 is damaged")),
        ("a5", apns, "team_id", Value::Null, "member team_id is missing".to_owned()),
        ("a6", apns, "environment", json!("staging"), "member environment must be sandbox or production".to_owned()),
        ("f1", fcm, "private_key", json!(an_ec_key()), format!("{rsa}it is an EC key on P-256, perhaps damaged")),
        ("f2", fcm, "private_key", Value::Null, "member private_key is missing".to_owned()),
        (
            "f3",
            fcm,
            "type",
            json!("authorized_user"),
            "member type must be service_account: this is another kind of file".to_owned(),
        ),
    ];
    for (project, provider, member, value, fault) in cases {
        let report = world.finds(project, provider, |secret| secret[member] = value).await;
        let name = format!("sendonce/{project}/{provider}");
        assert_eq!(report, Report::Malformed { name: name.clone(), fault: fault.clone() });
        assert_eq!(report.to_string(), format!("The secret {name} cannot be used: {fault}."));
        assert!(report.refused());
    }
    assert!(world.sandbox.ledger(None).is_empty());
}

#[tokio::test]
async fn what_google_refuses_is_told_apart() {
    let world = world().await;
    let fcm = Provider::Fcm;
    let email = "sendonce@acme-sandbox.iam.gserviceaccount.com";

    let revoked = world.finds("f1", fcm, |file| file["private_key"] = json!(an_rsa_key())).await;
    assert_eq!(
        revoked,
        Report::KeyRefused { holder: format!("account {email}"), code: "invalid_grant".to_owned() },
        "{revoked}"
    );
    let unknown = world.finds("f2", fcm, |file| file["client_email"] = json!("gone@example.com")).await;
    assert_eq!(unknown, Report::AccountUnknown { holder: "account gone@example.com".to_owned() });
    let other = world.finds("f3", fcm, |file| file["project_id"] = json!("globex-sandbox")).await;
    assert_eq!(
        other,
        Report::WrongProject { project_id: "globex-sandbox".to_owned(), code: "PERMISSION_DENIED".to_owned() }
    );
    assert!([&revoked, &unknown, &other].iter().all(|report| report.refused()));

    // An instance whose clock is two hours ahead.
    let ahead = Clock::system();
    ahead.advance(Duration::from_secs(7_200));
    let push = Push::new(PushSettings::default(), world.secrets.clone(), world.store.clone(), ahead, TIMING);
    assert_eq!(push.check("acme", fcm).await, Report::ClockWrong);

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let silent = world.finds("f4", fcm, |file| file["fcm_base_url"] = json!(format!("http://{closed}"))).await;
    assert_eq!(silent, Report::NoAnswer { detail: "FCM did not answer (connect_failed)".to_owned() });
    assert!(!silent.refused() && !silent.works());
    assert!(world.sandbox.ledger(None).iter().all(|entry| !entry.accepted));
}

#[tokio::test]
async fn what_apple_refuses_is_told_apart() {
    let world = world().await;
    let apns = Provider::Apns;
    let good = world.secret("sendonce/acme/apns").await;
    let id = |name: &str| good[name].as_str().unwrap().to_owned();
    let refused = |key_id: &str, team_id: &str| Report::KeyRefused {
        holder: format!("key id {key_id}, team {team_id}"),
        code: "InvalidProviderToken".to_owned(),
    };

    let other_key = world.finds("a1", apns, |secret| secret["key"] = json!(an_ec_key())).await;
    assert_eq!(other_key, refused(&id("key_id"), &id("team_id")));
    let other_id = world.finds("a2", apns, |secret| secret["key_id"] = json!("ABC123DEFG")).await;
    assert_eq!(other_id, refused("ABC123DEFG", &id("team_id")));
    let other_team = world.finds("a3", apns, |secret| secret["team_id"] = json!("ABC123DEFG")).await;
    assert_eq!(other_team, refused(&id("key_id"), "ABC123DEFG"));
    let app = world.finds("a4", apns, |secret| secret["apps"] = json!(["com.example.acme", "com.example.typo"])).await;
    assert_eq!(app, Report::WrongApp { app: "com.example.typo".to_owned() });
    assert_eq!(app.to_string(), "The key is good, but com.example.typo is not an app of its team that takes pushes.");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let silent = world.finds("a5", apns, |secret| secret["base_url"] = json!(format!("http://{closed}"))).await;
    assert_eq!(silent, Report::NoAnswer { detail: "APNs did not answer (connect_failed)".to_owned() });
    assert!(world.sandbox.ledger(None).iter().all(|entry| !entry.accepted));
}

#[tokio::test]
async fn a_refused_signing_key_is_read_again_at_once() {
    let world = world().await;
    let good = world.secret("sendonce/acme/apns").await;
    let mut wrong = good.clone();
    wrong["key_id"] = json!("ABC123DEFG");
    world.replace_secret("sendonce/acme/apns", &wrong).await;
    let prepared = world.ready().await;
    assert_eq!(code(&send_to(&prepared, TOKEN).await), "InvalidProviderToken");
    world.replace_secret("sendonce/acme/apns", &good).await;
    // Not a second later, and nothing was forgotten for it: the clock stands.
    let mended = world.ready().await;
    assert!(matches!(send_to(&mended, TOKEN).await, Answer::Accepted { .. }));
    assert_ne!(prepared.version(Provider::Apns), mended.version(Provider::Apns));
    // A refusal that concerns the device is no reason to read anything.
    let changed = json!({});
    world.replace_secret("sendonce/acme/apns", &changed).await;
    world.sandbox.script(TOKEN, vec![crate::world::answer(410, Some("Unregistered"), None)]).unwrap();
    assert!(matches!(send_to(&mended, TOKEN).await, Answer::Permanent(_)));
    world.ready().await;
}

#[tokio::test]
async fn a_refused_key_file_is_read_again_at_once() {
    let world = world().await;
    let good = world.secret("sendonce/acme/fcm").await;
    // Refused by the token endpoint; by FCM itself.
    for (member, value) in [("client_email", "gone@example.com"), ("project_id", "globex-sandbox")] {
        let mut wrong = good.clone();
        wrong[member] = json!(value);
        world.replace_secret("sendonce/acme/fcm", &wrong).await;
        let push = world.instance();
        match push.prepare("acme", &[android()]).await {
            Err(error) => assert!(matches!(error, NotPrepared::GrantRefused { .. }), "{error}"),
            Ok(prepared) => assert!(matches!(send_to_android(&prepared).await, Answer::NotNow { .. })),
        }
        world.replace_secret("sendonce/acme/fcm", &good).await;
        let prepared = push.prepare("acme", &[android()]).await.unwrap();
        assert!(matches!(send_to_android(&prepared).await, Answer::Accepted { .. }), "{member}");
    }
    // A key file that was good for some time, whose account is deleted, and which was replaced meanwhile: one
    // preparation finds out and uses the new one.
    let push = world.instance();
    let mut old = good.clone();
    old["client_email"] = json!("gone@example.com");
    push.prepare("acme", &[android()]).await.unwrap();
    world.replace_secret("sendonce/acme/fcm", &old).await;
    world.clock.advance(Duration::from_secs(300));
    assert!(push.prepare("acme", &[android()]).await.is_err());
    world.replace_secret("sendonce/acme/fcm", &good).await;
    push.prepare("acme", &[android()]).await.unwrap();
}

#[tokio::test]
async fn a_changed_secret_has_another_version_at_once() {
    let world = world().await;
    let devices = [ios(TOKEN), android()];
    let prepared = world.push.prepare("acme", &devices).await.unwrap();
    for provider in [Provider::Apns, Provider::Fcm] {
        let name = format!("sendonce/acme/{provider}");
        let before = world.push.current_version("acme", provider).await.unwrap();
        assert_eq!(prepared.version(provider), Some(before.as_str()));
        world.replace_secret(&name, &world.secret(&name).await).await;
        assert_ne!(world.push.current_version("acme", provider).await.unwrap(), before);
        // What is in use is still the one of before, until it is read again.
        let cached = world.push.prepare("acme", &devices).await.unwrap();
        assert_eq!(cached.version(provider), Some(before.as_str()));
        let missing = world.push.current_version("nobody", provider).await.unwrap_err();
        assert_eq!(missing.code(), "credentials_missing");
    }
    let only_ios = world.ready().await;
    assert!(only_ios.version(Provider::Apns).is_some() && only_ios.version(Provider::Fcm).is_none());
    // A check reads anew, and what it read is in use from then on.
    assert!(world.push.check("acme", Provider::Fcm).await.works());
    let after = world.push.prepare("acme", &devices).await.unwrap();
    let current = world.push.current_version("acme", Provider::Fcm).await.unwrap();
    assert_eq!(after.version(Provider::Fcm), Some(current.as_str()));
}
