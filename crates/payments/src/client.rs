//! One project's way to Stripe: the create call and the listing of a payment's refunds.
//!
//! Called by `functions/payout`, which asks for credentials first ([`crate::Payments::prepare`]).

use crate::{
    Class, Shared, answers,
    answers::{Heard, json},
    form,
    key::Key,
    object,
};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request,
    header::{AUTHORIZATION, CONTENT_TYPE},
    request::Builder,
};
use http_body_util::Full;
use outbound::{outcome::reason, slot::Slot};
use protocol::{
    answer::Reason,
    refund::{
        Refund,
        id::{PayoutId, RefundId},
        request::Why,
        step::Listed,
    },
};
use std::{fmt, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The version of Stripe's API whose objects and errors this crate knows: that of stripe-python 15.3.1. An account's own
/// version may be another; this header counts (<https://docs.stripe.com/api/versioning>).
pub(crate) const API_VERSION: &str = "2026-06-24.dahlia";
/// Pages of a listing at most: ten thousand refunds of one payment.
const PAGES_MAX: usize = 100;

/// What is asked for by a create call. The same for all calls of a payout.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The Idempotency-Key, and our metadata.
    pub key: PayoutId,
    /// What is paid, in minor units.
    pub amount: u64,
    /// The payment: a payment intent (`pi_…`) or a charge.
    pub payment: &'a str,
    /// The currency that is expected, three letters. Stripe takes the payment's own.
    pub currency: &'a str,
    /// Why.
    pub why: Why,
}

impl<'a> Ask<'a> {
    /// What a payout of this refund asks for.
    #[must_use]
    pub fn of(key: PayoutId, amount: u64, refund: &'a Refund) -> Self {
        let request = &refund.request;
        Self { key, amount, payment: &request.payment, currency: &request.currency, why: request.reason }
    }
}

/// What a listing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The payouts of the refund that the provider has, of any number, newest first. Two of one payout are both there.
    Listed(Vec<Listed>),
    /// The provider refuses the listing, with an answer that a repeat would not change.
    Refused {
        /// In one word.
        class: Class,
        /// What was said.
        reason: Reason,
    },
    /// There is no whole listing now.
    Failed {
        /// In one word.
        class: Class,
        /// What was said, or ours.
        reason: Reason,
    },
}

/// Credentials in hand.
#[derive(Clone)]
pub struct Prepared {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: Arc<Key>,
    pub(crate) slot: Arc<Slot<crate::Cached>>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}

impl Prepared {
    /// Asks the provider to pay, once, within `timing.call`.
    pub async fn create(&self, ask: &Ask<'_>) -> Heard {
        let request = self
            .request(Method::POST, "/v1/refunds")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("idempotency-key", ask.key.to_string())
            .body(Full::from(form::create(ask)));
        let Ok(request) = request else { return Heard::not_sent("bad_address", "the base URL cannot be called") };
        let limit = Duration::from_millis(self.shared.timing.call);
        let secrets = [self.key.api_key.as_str()];
        match self.shared.transport.call(request, limit).await {
            Ok(answered) => {
                let heard = answers::read(&answered, ask, self.shared.clock.now_ms(), &secrets);
                self.learn(heard.class);
                heard
            }
            Err(failed) => Heard::failed(&failed, &secrets),
        }
    }

    /// Lists all of a payment's refunds and keeps those that are payouts of `refund`, by our metadata. All pages together
    /// take at most `timing.call`; a listing that is not whole is none.
    pub async fn list(&self, refund: RefundId, payment: &str) -> Looked {
        let ends = Instant::now() + Duration::from_millis(self.shared.timing.call);
        let mut found: Vec<Listed> = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = match self.page(payment, after.as_deref(), ends).await {
                Ok(page) => page,
                Err((class @ Class::Refused, reason)) => return Looked::Refused { class, reason },
                Err((class, reason)) => return Looked::Failed { class, reason },
            };
            for object in &page.objects {
                let Some(payout) = object::payout(object).filter(|payout| payout.refund == refund) else { continue };
                let Some(finding) = object::finding(object) else {
                    return incomplete("a refund of the listing cannot be read");
                };
                found.push(Listed { payout, finding, terms: object::terms(object) });
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Looked::Listed(found),
            }
        }
        incomplete("the payment has more refunds than are looked at")
    }

    async fn page(&self, payment: &str, after: Option<&str>, ends: Instant) -> Result<Page, (Class, Reason)> {
        let path = format!("/v1/refunds?{}", form::list(payment, after));
        let request = self.request(Method::GET, &path).body(Full::from(Bytes::new()));
        let bad = |class, code, detail| (class, reason(code, detail, &[]));
        let request = request.map_err(|_| bad(Class::NotSent, "bad_address", "the base URL cannot be called"))?;
        let left = ends.saturating_duration_since(Instant::now());
        let secrets = [self.key.api_key.as_str()];
        let answered = self.shared.transport.call(request, left).await.map_err(|failed| {
            let heard = Heard::failed(&failed, &secrets);
            (heard.class, reason(heard.code().unwrap_or_default(), &failed.to_string(), &secrets))
        })?;
        if !answered.status.is_success() {
            let (class, reason, _) = answers::refusal(&answered, self.shared.clock.now_ms(), &secrets);
            self.learn(class);
            return Err((class, reason));
        }
        Page::read(&json(&answered))
            .ok_or_else(|| bad(Class::Ambiguous, "unreadable_answer", "Stripe's answer is no list of refunds"))
    }

    fn request(&self, method: Method, path: &str) -> Builder {
        let builder = Request::builder().method(method).uri(format!("{}{path}", self.shared.base_url));
        // An API key is one word, so it is a header's value too.
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", self.key.api_key))
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"));
        bearer.set_sensitive(true);
        builder.header(AUTHORIZATION, bearer).header("stripe-version", API_VERSION)
    }

    /// Credentials that the provider refuses are read again before their next use.
    fn learn(&self, class: Class) {
        if class == Class::Credentials
            && let Some(known) = self.slot.state().as_mut()
        {
            known.refuse(&self.key);
        }
    }
}

fn incomplete(detail: &str) -> Looked {
    Looked::Failed { class: Class::Ambiguous, reason: reason("listing_incomplete", detail, &[]) }
}

/// One page of a listing.
struct Page {
    objects: Vec<serde_json::Value>,
    /// The id after which the next page starts.
    next: Option<String>,
}

impl Page {
    fn read(body: &serde_json::Value) -> Option<Self> {
        let objects = body["data"].as_array()?.clone();
        let next = match body["has_more"].as_bool()? {
            false => None,
            // More, but nothing to go on from: not a page.
            true => Some(object::id(objects.last()?)?.to_owned()),
        };
        Some(Self { objects, next })
    }
}
