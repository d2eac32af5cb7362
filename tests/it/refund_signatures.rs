//! Who may say what became of a payout: the signature's age, several signatures, and secrets that are rolled, through HTTP
//! (Stripe, "Verify webhook signatures": a tolerance of five minutes, any `v1` by any secret that is alive).

use crate::support::{TestApp, eventually, logs};
use aws_lc_rs::hmac;
use data_encoding::HEXLOWER;
use platform::{AwsTimeouts, aws_config_at};
use serde_json::json;

/// Stripe's own libraries refuse what is older, or is signed so far ahead, in seconds.
const TOLERANCE: u64 = 300;
/// A secret is read again this long after it was read, in seconds, at the latest.
const CACHED: u64 = 300;

/// One signature, as it stands in the header.
fn v1(secret: &str, at: u64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("v1={}", HEXLOWER.encode(hmac::sign(&key, format!("{at}.{body}").as_bytes()).as_ref()))
}

fn now(app: &TestApp) -> u64 {
    app.system.clock().now_ms() / 1_000
}

/// A refund that the provider has and has not decided on, with the event that says that it is paid: the refund's id and
/// the event's bytes.
async fn decided(app: &TestApp, key: &str) -> (String, String) {
    let payment = format!("pi_{key}");
    app.script(&payment, &json!(["pending"])).await;
    let id = app.approved(key, &payment).await;
    app.payout_becomes(&id, "submitted").await;
    // Nobody else's look at the provider tells us first.
    app.control(&json!({"payout": "pause"}));
    eventually("no payout is worked on", async || (!app.system.control().is_busy("payout")).then_some(())).await;
    (id, app.system.sandbox().settle(&payment, "succeeded", None).unwrap().body)
}

/// Sends the event with this header; nothing but its own answer may come of it.
async fn refused(app: &TestApp, id: &str, header: &str, body: &str) {
    let before = app.refund(id).await;
    app.webhook("acme", header, body).await.problem(400, "signature_invalid");
    assert_eq!(app.refund(id).await, before, "{header}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_counts_for_five_minutes_either_way() {
    let app = TestApp::start().await;
    let (id, body) = decided(&app, "tolerance").await;
    let secret = app.system.sandbox().webhook_secret("acme").unwrap();
    // The second may change under way: what lies a minute beyond either bound is refused whenever that is.
    for at in [now(&app) - TOLERANCE - 60, now(&app) + TOLERANCE + 60] {
        refused(&app, &id, &format!("t={at},{}", v1(&secret, at, &body)), &body).await;
    }
    // An old signature is not renewed by writing another time beside it.
    let old = now(&app) - TOLERANCE - 60;
    refused(&app, &id, &format!("t={},{}", now(&app), v1(&secret, old, &body)), &body).await;
    for (at, result) in [(now(&app) - TOLERANCE + 60, "applied"), (now(&app) + TOLERANCE - 60, "repeated")] {
        let header = format!("t={at},{}", v1(&secret, at, &body));
        assert_eq!(app.webhook("acme", &header, &body).await.expect(200).body["result"], result);
    }
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    // The provider's own repeat, an hour later, is signed anew; the one that somebody kept is not taken.
    let kept = format!("t={old},{}", v1(&secret, old, &body));
    app.advance(3_600);
    refused(&app, &id, &kept, &body).await;
    let again = now(&app);
    let header = format!("t={again},{}", v1(&secret, again, &body));
    assert_eq!(app.webhook("acme", &header, &body).await.expect(200).body["result"], "repeated");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_of_several_signatures_will_do_and_a_rolled_secret_counts_while_it_is_listed() {
    let app = TestApp::start().await;
    let (id, body) = decided(&app, "rolled").await;
    let config = aws_config_at(AwsTimeouts::within(5_000), &app.system.ready().sandbox).await;
    let secrets = aws_sdk_secretsmanager::Client::new(&config);
    let name = "sendonce/acme/stripe";
    let stored = secrets.get_secret_value().secret_id(name).send().await.unwrap();
    let mut stored: serde_json::Value = serde_json::from_str(stored.secret_string().unwrap()).unwrap();
    let old = app.system.sandbox().webhook_secret("acme").unwrap();
    let new = "whsec_rolled_by_hand";
    logs::secret(new);
    let mut list = async |listed: &[&str]| {
        stored["webhook_secrets"] = json!(listed);
        secrets.put_secret_value().secret_id(name).secret_string(stored.to_string()).send().await.unwrap();
        app.advance(CACHED + 1);
    };
    let header = |signed: &[&str]| {
        let at = now(&app);
        let signatures: Vec<String> = signed.iter().map(|secret| v1(secret, at, &body)).collect();
        format!("t={at},{}", signatures.join(","))
    };
    let taken = async |signed: &[&str], result: &str| {
        let answer = app.webhook("acme", &header(signed), &body).await.expect(200);
        assert_eq!(answer.body["result"], result, "{signed:?}");
    };
    // While it is rolled the provider signs with both, and we may know either, both, or not yet the new one.
    refused(&app, &id, &header(&[new]), &body).await;
    taken(&[new, &old], "applied").await;
    list(&[new, &old]).await;
    for signed in [&[new][..], &[&old], &[new, &old], &["whsec_of_nobody", new]] {
        taken(signed, "repeated").await;
    }
    list(&[new]).await;
    refused(&app, &id, &header(&[&old]), &body).await;
    refused(&app, &id, &header(&["whsec_of_nobody", &old]), &body).await;
    taken(&[&old, new], "repeated").await;
    assert_eq!(app.refund(&id).await["payout"]["status"], "paid");
    app.stop().await;
}
