//! The functions, deployed on this machine: the same handlers, with local clients and a boundary that can crash.

use crate::{
    crash::Crashes,
    elsewhere::Elsewhere,
    front::Answering,
    inline::InlineSwitch,
    invoke::{Function, Handler},
    resources::Queues,
};
use aws_sdk_sqs::config::SharedInterceptor;
use axum::http::HeaderValue;
use payments::{Payments, PaymentsSettings};
use platform::{AwsTimeouts, Clock, Random, aws_config_at};
use protocol::{
    audit::INVOCATION_MAX,
    timing::{KEY_VALID_DAYS_DEFAULT, Timing},
};
use push::{Push, PushSettings};
use queue::Queue;
use sendonce_http::Auth;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;
use store::Store;

/// Where the services are, and which table is ours.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub(crate) dynamodb: String,
    pub(crate) table: String,
    pub(crate) sqs: String,
    pub(crate) sandbox: String,
    /// Where the payment provider is.
    pub(crate) stripe: String,
}

/// What is deployed.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) api: Answering,
    pub(crate) refunds: Answering,
    pub(crate) deliver: Function,
    pub(crate) payout: Function,
    pub(crate) relay: Function,
    pub(crate) dead_letter: Function,
    pub(crate) audit: Function,
}

/// Deploys the functions.
pub(crate) async fn deploy(
    endpoints: &Endpoints,
    queues: &Queues,
    timing: Timing,
    clock: &Clock,
    crashes: &Crashes,
    inline: &InlineSwitch,
    cors: &[HeaderValue],
) -> Deployment {
    let limits = AwsTimeouts::within(timing.record);
    let dynamodb = aws_sdk_dynamodb::Client::new(&aws_config_at(limits, &endpoints.dynamodb).await);
    let sqs_config = aws_config_at(limits, &endpoints.sqs).await;
    let sqs = aws_sdk_sqs::Client::new(&sqs_config);
    let inline_config = aws_config_at(AwsTimeouts::once(timing.inline_send), &endpoints.sqs).await;
    let inline_sqs = aws_sdk_sqs::Client::from_conf(
        aws_sdk_sqs::config::Builder::from(&inline_config).interceptor(SharedInterceptor::new(inline.clone())).build(),
    );
    let secrets = aws_sdk_secretsmanager::Client::new(&aws_config_at(limits, &endpoints.sandbox).await);

    let settings = PaymentsSettings { base_url: endpoints.stripe.clone(), ..PaymentsSettings::default() };
    let payments = Payments::new(settings, secrets.clone(), clock.clone(), timing);
    let store = Store::new(dynamodb, &endpoints.table);
    // As the api function's main.rs has it: a caller may wait longer than a consumer under its lease.
    let api_limits = AwsTimeouts::within(timing.api_total / 4);
    let api_dynamodb = aws_sdk_dynamodb::Client::new(&aws_config_at(api_limits, &endpoints.dynamodb).await);
    let api_store = Store::new(api_dynamodb, &endpoints.table);
    let deliveries = Queue::new(sqs.clone(), &queues.deliveries);
    let payouts = Queue::new(sqs.clone(), &queues.payouts);
    let parking = Queue::new(sqs, &queues.parking);
    let boundary = Arc::new(crashes.clone());

    let router = api::router(Arc::new(api::Api {
        store: api_store.clone(),
        deliveries: Queue::new(inline_sqs.clone(), &queues.deliveries),
        auth: Auth::new(api_store.clone(), clock.clone(), timing.key_cache),
        projects: api::Projects::new(api_store.clone(), clock.clone(), timing.key_cache),
        clock: clock.clone(),
        random: Random::system(),
        timing,
        key_valid_days: KEY_VALID_DAYS_DEFAULT,
        cors: cors.to_vec(),
        boundary: boundary.clone(),
    }));
    let refunds_router = refunds::router(Arc::new(refunds::Refunds {
        store: api_store.clone(),
        payouts: Queue::new(inline_sqs, &queues.payouts),
        payments: payments.clone(),
        projects: refunds::Projects::new(api_store.clone(), clock.clone(), timing.key_cache),
        auth: Auth::new(api_store, clock.clone(), timing.key_cache),
        clock: clock.clone(),
        random: Random::system(),
        timing,
        cors: cors.to_vec(),
        boundary: boundary.clone(),
    }));
    let push = Push::new(PushSettings::default(), secrets, store.clone(), clock.clone(), timing);
    let deliver = Arc::new(deliver::Deliver {
        store: store.clone(),
        deliveries: deliveries.clone(),
        holds: deliver::Holds::new(store.clone(), push.clone(), clock.clone(), Random::system(), timing),
        tokens: deliver::Tokens::new(store.clone(), clock.clone(), timing),
        push,
        clock: clock.clone(),
        random: Random::system(),
        timing,
        boundary: boundary.clone(),
    });
    let payout = Arc::new(payout::Payout {
        store: store.clone(),
        payouts: payouts.clone(),
        payments,
        clock: clock.clone(),
        random: Random::system(),
        timing,
        boundary: boundary.clone(),
    });
    let relay = Arc::new(relay::Relay {
        store: store.clone(),
        deliveries: deliveries.clone(),
        payouts: payouts.clone(),
        parking: parking.clone(),
        clock: clock.clone(),
        timing,
        boundary: boundary.clone(),
    });
    let audit = Arc::new(audit::Audit::new(
        store.clone(),
        deliveries.clone(),
        payouts.clone(),
        clock.clone(),
        timing,
        boundary.clone(),
    ));
    let dead_letter = Arc::new(dead_letter::DeadLetter {
        store,
        deliveries,
        payouts,
        parking,
        clock: clock.clone(),
        timing,
        boundary,
    });

    let function = |name: &str, handler| Function::new(name, timing.function, clock.clone(), handler);
    Deployment {
        api: Answering { router, function: Function::front("api", timing.api_total, clock.clone()) },
        refunds: Answering {
            router: refunds_router,
            function: Function::front("refunds", timing.api_total, clock.clone()),
        },
        deliver: function(
            "deliver",
            handler(move |event, ends_ms| {
                let deliver = deliver.clone();
                async move { deliver.handle(event, ends_ms).await }
            }),
        ),
        payout: function(
            "payout",
            handler(move |event, ends_ms| {
                let payout = payout.clone();
                async move { payout.handle(event, ends_ms).await }
            }),
        ),
        relay: function(
            "relay",
            handler(move |event, _| {
                let relay = relay.clone();
                async move { relay.handle(&event).await }
            }),
        ),
        dead_letter: function(
            "dead_letter",
            handler(move |event, _| {
                let dead_letter = dead_letter.clone();
                async move { dead_letter.handle(event).await }
            }),
        ),
        audit: Function::new(
            "audit",
            INVOCATION_MAX,
            clock.clone(),
            Arc::new(move |event, invocation| {
                let audit = audit.clone();
                Box::pin(async move {
                    audit.handle(&event, invocation.deadline_ms).await.map_err(|error| error.to_string())
                })
            }),
        ),
    }
}

/// Deploys functions that run in other processes.
pub(crate) fn deploy_elsewhere(elsewhere: Elsewhere, timing: Timing, clock: &Clock) -> Deployment {
    let function = |name: &str, handler| Function::new(name, timing.function, clock.clone(), handler);
    Deployment {
        api: Answering { router: elsewhere.api, function: Function::front("api", timing.api_total, clock.clone()) },
        refunds: Answering {
            router: elsewhere.refunds,
            function: Function::front("refunds", timing.api_total, clock.clone()),
        },
        deliver: function("deliver", elsewhere.deliver),
        payout: function("payout", elsewhere.payout),
        relay: function("relay", elsewhere.relay),
        dead_letter: function("dead_letter", elsewhere.dead_letter),
        audit: Function::new("audit", INVOCATION_MAX, clock.clone(), elsewhere.audit),
    }
}

/// A typed handler as Lambda calls it: JSON in, JSON out.
fn handler<E, A, F>(handle: impl Fn(E, u64) -> F + Send + Sync + 'static) -> Handler
where
    E: DeserializeOwned,
    A: Serialize,
    F: Future<Output = A> + Send + 'static,
{
    let handle = Arc::new(handle);
    Arc::new(move |event, invocation| {
        let event = serde_json::from_value(event).map(|event| handle(event, invocation.deadline_ms));
        Box::pin(async move {
            let answer = event.map_err(|error| format!("the event cannot be read: {error}"))?.await;
            serde_json::to_value(answer).map_err(|error| format!("the answer has no JSON form: {error}"))
        })
    })
}
