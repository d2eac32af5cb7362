//! One copy's way past the holds: what may be called, what was learned of the credentials, and writing that down.
//!
//! Used by [`crate::receive`]: `prepare` is the effect of its name, and `conclude` goes beside the record, never before it:
//! what is learned of a project's credentials must not cost a device its record.

use crate::{
    Deliver,
    holds::{Entry, Refusal},
};
use futures_util::future::join_all;
use protocol::{
    answer::Reason,
    hold::{HeldDevices, Hold, PROVIDERS, Provider},
    machine::deliver::Outcome,
};
use push::{Credentials, Heard, NotPrepared, Prepared};
use queue::DeliverV1;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// One copy in hand.
#[derive(Debug)]
pub(crate) struct Access<'a> {
    function: &'a Deliver,
    copy: &'a DeliverV1,
    prepared: OnceLock<Prepared>,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// The holds that this copy probes.
    probes: Vec<(Provider, Hold)>,
    /// Who was called.
    called: Vec<Provider>,
    taken: Vec<Provider>,
    refused: Vec<(Provider, Reason)>,
}

impl<'a> Access<'a> {
    pub(crate) fn new(function: &'a Deliver, copy: &'a DeliverV1) -> Self {
        Self { function, copy, prepared: OnceLock::new(), learned: Mutex::default() }
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn prepared(&self) -> Option<&Prepared> {
        self.prepared.get()
    }

    /// Gets access to the providers of the copy's devices that are not held.
    ///
    /// # Errors
    /// Why nobody can be called, if that may pass by itself, unlike a hold.
    pub(crate) async fn prepare(&self) -> Result<Outcome, NotPrepared> {
        let (function, project) = (self.function, &self.copy.project);
        let devices = || self.copy.devices.iter();
        let needed = PROVIDERS.into_iter().filter(|p| devices().any(|device| Provider::of(device.platform) == *p));
        let mut held: Vec<(Provider, u64)> = Vec::new();
        let mut open = Vec::new();
        let entries = needed.map(async |provider| (provider, function.holds.enter(project, provider).await));
        for (provider, entry) in join_all(entries).await {
            match entry {
                Entry::Open => open.push(provider),
                Entry::Probe(hold) => {
                    self.learned().probes.push((provider, hold));
                    open.push(provider);
                }
                Entry::Held { until_ms } => held.push((provider, until_ms)),
            }
        }
        let callable = devices().filter(|device| open.contains(&Provider::of(device.platform)));
        let prepared = function.push.prepare_each(project, callable).await;
        let (mut ready, mut unavailable) = (false, None);
        for provider in open {
            match prepared.fault(provider) {
                None => ready = true,
                Some(fault) if fault.lasts() => {
                    // This was the probe. Where nobody can say now, there was none yet.
                    self.learned().probes.retain(|(of, _)| *of != provider);
                    let reason = fault.reason();
                    let refusal = Refusal { reason: &reason, used: None, told: Some(&reason.detail) };
                    let until_ms = function.holds.refused(project, provider, refusal).await;
                    held.push((provider, until_ms));
                }
                Some(fault) => unavailable = Some(fault.clone()),
            }
        }
        let _ = self.prepared.set(prepared);
        match (unavailable, held.iter().map(|(_, until_ms)| *until_ms).min()) {
            (Some(error), _) if !ready => Err(error),
            (_, None) => Ok(Outcome::Prepared),
            (_, Some(until_ms)) => {
                let of_held = |(index, device): (usize, &protocol::content::Device)| {
                    held.iter().any(|(provider, _)| *provider == Provider::of(device.platform)).then_some(index)
                };
                Ok(Outcome::Held(HeldDevices::new(devices().enumerate().filter_map(of_held), until_ms)))
            }
        }
    }

    /// A call for this provider came to an end.
    pub(crate) fn heard(&self, provider: Provider, heard: &Heard) {
        self.learned().called.push(provider);
        match heard.credentials {
            Credentials::Taken => self.learned().taken.push(provider),
            Credentials::Refused => {
                if let Some(reason) = heard.answer.reason() {
                    self.learned().refused.push((provider, reason.clone()));
                }
            }
            Credentials::Unknown => {}
        }
    }

    /// Writes down what was learned, once. A probe is over when its provider was called, whatever came of it; one that
    /// had nobody to call is left for [`Self::finish`].
    pub(crate) async fn conclude(&self) {
        let (learned, probes) = {
            let mut known = self.learned();
            let learned = std::mem::take(&mut *known);
            let (over, left) = learned.probes.iter().cloned().partition(|(of, _)| learned.called.contains(of));
            known.probes = left;
            (learned, over)
        };
        let (project, probes): (_, Vec<(Provider, Hold)>) = (&self.copy.project, probes);
        for provider in PROVIDERS {
            let refused = learned.refused.iter().find(|(of, _)| *of == provider);
            let probe = probes.iter().find(|(of, _)| *of == provider);
            if let Some((_, reason)) = refused {
                let used = self.prepared.get().and_then(|prepared| prepared.version(provider));
                self.function.holds.refused(project, provider, Refusal { reason, used, told: None }).await;
            } else if let Some((_, probe)) = probe.filter(|_| learned.taken.contains(&provider)) {
                self.function.holds.taken(project, provider, probe).await;
            }
        }
    }

    /// Gives back what this copy had no use for: a probe without a call.
    pub(crate) async fn finish(&self) {
        let unused = std::mem::take(&mut self.learned().probes);
        for (provider, probe) in unused {
            self.function.holds.unused(&self.copy.project, provider, &probe).await;
        }
    }
}
