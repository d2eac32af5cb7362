//! A sandbox on a free port, and a client of it.

use payments::{Ask, Looked, Payments, PaymentsSettings, Prepared};
use platform::{AwsTimeouts, Clock, aws_config_at};
use protocol::{
    refund::{id::PayoutId, request::Why},
    timing::Timing,
};
use sandbox::{Outcome, Sandbox};
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch};

pub(crate) const PAYOUT: &str = "payout_rf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbb_1";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) payments: Payments,
    pub(crate) clock: Clock,
    pub(crate) secrets: aws_sdk_secretsmanager::Client,
    _stop: watch::Sender<bool>,
}

pub(crate) async fn world() -> World {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let clock = Clock::system();
    let sandbox = Sandbox::new(clock.clone(), url.clone()).unwrap();
    sandbox.seed_project("acme").unwrap();
    let (stop, stopped) = watch::channel(false);
    let serving = sandbox.clone();
    tokio::spawn(async move { serving.serve(listener, axum::Router::new(), stopped).await });
    let config = aws_config_at(AwsTimeouts::within(5_000), &url).await;
    let secrets = aws_sdk_secretsmanager::Client::new(&config);
    let settings = PaymentsSettings { base_url: url, ..PaymentsSettings::default() };
    let timing = Timing { call: 300, ..Timing::SHORT };
    let payments = Payments::new(settings, secrets.clone(), clock.clone(), timing);
    World { sandbox, payments, clock, secrets, _stop: stop }
}

pub(crate) fn payout() -> PayoutId {
    PayoutId::parse(PAYOUT).unwrap()
}

pub(crate) fn ask(payment: &str) -> Ask<'_> {
    Ask { key: payout(), amount: 1_250, payment, currency: "eur", why: Why::Other }
}

impl World {
    pub(crate) async fn prepared(&self) -> Prepared {
        self.payments.prepare("acme").await.unwrap()
    }

    pub(crate) fn script(&self, payment: &str, outcomes: Vec<Outcome>) {
        self.sandbox.script(payment, outcomes).unwrap();
    }

    pub(crate) async fn list(&self, payment: &str) -> Looked {
        self.prepared().await.list(payout().refund, payment).await
    }

    pub(crate) async fn put_secret(&self, secret: &Value) {
        let put = self.secrets.put_secret_value().secret_id("sendonce/acme/stripe");
        put.secret_string(secret.to_string()).send().await.unwrap();
    }
}
