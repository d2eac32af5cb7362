//! The refunds that were made, and the accounts that made them.

use super::{
    ACCOUNT, PROVIDER, Params,
    check::Page,
    keys::{Keys, Stored},
};
use crate::ledger::Entry;
use data_encoding::HEXLOWER;
use platform::{Random, RandomError};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Refunds that are kept; then no more are made.
const REFUNDS_MAX: usize = 200_000;

/// The currencies that a payment's id can name; any other word in its place is a part of the id.
const CURRENCIES: [&str; 5] = ["chf", "eur", "gbp", "jpy", "usd"];

/// A refund.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) id: String,
    /// Whose it is: the project.
    pub(super) account: String,
    params: Params,
    pub(super) status: String,
    failure_reason: Option<String>,
    created_s: u64,
    /// Counts up over all.
    number: u64,
}

impl Object {
    pub(super) fn made(id: &str, account: &str, params: &Params, pending: bool, now_ms: u64) -> Self {
        Self {
            id: id.to_owned(),
            account: account.to_owned(),
            params: params.clone(),
            status: if pending { "pending" } else { "succeeded" }.to_owned(),
            failure_reason: None,
            created_s: now_ms / 1_000,
            number: 0,
        }
    }

    pub(super) fn payment(&self) -> &str {
        super::payment(&self.params).unwrap_or_default()
    }

    /// The payment's currency, where its id says so (`pi_eur_…`); the sandbox knows no more of payments.
    fn currency(&self) -> Option<&str> {
        let (_, rest) = self.payment().split_once('_')?;
        let (code, _) = rest.split_once('_')?;
        CURRENCIES.contains(&code).then_some(code)
    }

    /// As Stripe shows it.
    pub(super) fn shown(&self) -> Value {
        let metadata = self.params.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix("metadata[")?.strip_suffix(']')?.to_owned(), json!(value)))
        });
        json!({
            "id": self.id,
            "object": "refund",
            "amount": self.params.get("amount").and_then(|amount| amount.parse::<u64>().ok()),
            "charge": self.params.get("charge"),
            "created": self.created_s,
            "currency": self.currency().or_else(|| self.params.get("currency").map(String::as_str)),
            "failure_reason": self.failure_reason,
            "metadata": metadata.collect::<serde_json::Map<_, _>>(),
            "payment_intent": self.params.get("payment_intent"),
            "pending_reason": (self.status == "pending").then_some("processing"),
            "reason": self.params.get("reason"),
            "status": self.status,
        })
    }

    /// The provider decides, or takes back what it decided.
    pub(super) fn settle(&mut self, status: &str, failure_reason: Option<&str>) {
        self.status = status.to_owned();
        self.failure_reason = failure_reason.map(str::to_owned);
    }
}

/// Everything of Stripe's that changes.
#[derive(Default)]
pub(crate) struct Stripe {
    /// Accounts by API key.
    accounts: HashMap<String, String>,
    pub(super) keys: Keys,
    refunds: Vec<Object>,
    made: u64,
    /// Listings show nothing with a higher number.
    shown_to: Option<u64>,
    pub(super) listings: u64,
    /// Webhook secrets by account, and where webhooks go.
    pub(super) webhook_secrets: HashMap<String, String>,
    pub(super) webhooks_to: Option<String>,
}

impl Stripe {
    /// An API key of an account.
    pub(crate) fn add_account(&mut self, api_key: String, account: &str, webhook_secret: String) {
        self.accounts.insert(api_key, account.to_owned());
        self.webhook_secrets.insert(account.to_owned(), webhook_secret);
    }

    pub(super) fn account(&self, api_key: &str) -> Option<&str> {
        self.accounts.get(api_key).map(String::as_str)
    }

    /// Keeps a refund. False if there is no room.
    pub(super) fn add(&mut self, mut object: Object) -> bool {
        if self.refunds.len() >= REFUNDS_MAX {
            return false;
        }
        self.made += 1;
        object.number = self.made;
        self.refunds.push(object);
        true
    }

    /// Makes what an earlier sandbox had made, by its ledger. A refund that was pending there is paid now.
    pub(crate) fn restore(&mut self, entries: Vec<Entry>) {
        for entry in entries.into_iter().filter(|entry| entry.provider == PROVIDER && entry.accepted) {
            let (Some(id), Some(account)) = (entry.id, entry.headers.get(ACCOUNT).cloned()) else { continue };
            let params: Params = serde_json::from_value(entry.payload).unwrap_or_default();
            let object = Object::made(&id, &account, &params, false, entry.at);
            let answer = Stored { status: 200, body: object.shown() };
            if self.add(object) {
                self.keys.keep(&account, entry.idempotency_key, params, answer, entry.at);
            }
        }
    }

    pub(super) fn lag(&mut self, lag: bool) {
        self.shown_to = lag.then_some(self.made);
    }

    pub(super) fn find(&self, account: &str, id: &str) -> Option<&Object> {
        self.refunds.iter().find(|object| object.account == account && object.id == id)
    }

    pub(super) fn of_payment(&self, payment: &str) -> impl Iterator<Item = &Object> {
        self.refunds.iter().filter(move |object| object.payment() == payment)
    }

    /// The newest refund of a payment, or the one with this id, to change it.
    pub(super) fn newest_mut(&mut self, named: &str) -> Option<&mut Object> {
        self.refunds.iter_mut().rev().find(|object| object.payment() == named || object.id == named)
    }

    /// One page, newest first.
    pub(super) fn page(&self, account: &str, page: &Page) -> Value {
        let shown = |object: &&Object| {
            object.account == account
                && page.payment.as_deref().is_none_or(|payment| object.payment() == payment)
                && self.shown_to.is_none_or(|last| object.number <= last)
        };
        let all = self.refunds.iter().rev().filter(shown);
        let rest: Vec<&Object> = match &page.after {
            None => all.collect(),
            Some(after) => all.skip_while(|object| object.id != *after).skip(1).collect(),
        };
        let data: Vec<Value> = rest.iter().take(page.limit).map(|object| object.shown()).collect();
        json!({"object": "list", "url": "/v1/refunds", "has_more": rest.len() > page.limit, "data": data})
    }
}

/// A fresh id, as long as Stripe's.
pub(super) fn fresh_id(random: &Random, prefix: &str) -> Result<String, RandomError> {
    Ok(format!("{prefix}{}", HEXLOWER.encode(&random.bytes::<12>()?)))
}
