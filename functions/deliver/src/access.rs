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
    hold::{HeldDevices, Hold, PROVIDERS, Prober, Provider},
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

    fn chunk(&self) -> Prober {
        Prober { nonce: self.copy.id.nonce, chunk: self.copy.chunk }
    }

    /// Gets access to the providers of the copy's devices that are not held. Besides, why some devices wait although there
    /// is no hold: for what may pass by itself, and no record will say it.
    pub(crate) async fn prepare(&self) -> (Outcome, Option<Reason>) {
        let (function, project) = (self.function, &self.copy.project);
        let devices = || self.copy.devices.iter();
        let needed = PROVIDERS.into_iter().filter(|p| devices().any(|device| Provider::of(device.platform) == *p));
        let mut held: Vec<(Provider, u64)> = Vec::new();
        let (mut open, mut waits) = (Vec::new(), None);
        let entries =
            needed.map(async |provider| (provider, function.holds.enter(project, provider, self.chunk()).await));
        for (provider, entry) in join_all(entries).await {
            match entry {
                Entry::Open => match function.holds.failing(project, provider) {
                    None => open.push(provider),
                    Some((until_ms, why)) => {
                        held.push((provider, until_ms));
                        waits = Some(why);
                    }
                },
                Entry::Probe(hold) => {
                    self.learned().probes.push((provider, hold));
                    open.push(provider);
                }
                Entry::Held { until_ms } => held.push((provider, until_ms)),
            }
        }
        let callable = devices().filter(|device| open.contains(&Provider::of(device.platform)));
        let prepared = function.push.prepare_each(project, callable).await;
        let (mut ready, mut unavailable, mut failing) = (false, None, Vec::new());
        for provider in open {
            match prepared.fault(provider) {
                None => {
                    ready = true;
                    function.holds.ready(project, provider);
                }
                Some(fault) if fault.lasts() => {
                    // This was the probe. Where nobody can say now, there was none yet.
                    self.learned().probes.retain(|(of, _)| *of != provider);
                    let reason = fault.reason();
                    let refusal =
                        Refusal { reason: &reason, chunk: None, used: fault.version(), told: Some(&reason.detail) };
                    let until_ms = function.holds.refused(project, provider, refusal).await;
                    held.push((provider, until_ms));
                }
                Some(fault @ (NotPrepared::TokenUnavailable { .. } | NotPrepared::TimedOut { .. })) => {
                    let until_ms = function.holds.failed(project, provider, fault.reason());
                    failing.push((provider, until_ms, fault.reason()));
                }
                Some(fault) => unavailable = Some(fault.reason()),
            }
        }
        let _ = self.prepared.set(prepared);
        if !ready {
            if let Some(why) = unavailable {
                return (Outcome::NotPrepared, Some(why));
            }
            // Beside devices that are called they are "not called", and their record says why. Where there will be no
            // record they wait as under a hold: by successors, which no number of receives ends.
            for (provider, until_ms, why) in failing {
                held.push((provider, until_ms));
                waits = Some(why);
            }
        }
        let Some(until_ms) = held.iter().map(|(_, until_ms)| *until_ms).min() else {
            return (Outcome::Prepared, waits);
        };
        let of_held = |(index, device): (usize, &protocol::content::Device)| {
            held.iter().any(|(provider, _)| *provider == Provider::of(device.platform)).then_some(index)
        };
        let devices = HeldDevices::new(devices().enumerate().filter_map(of_held), until_ms);
        (Outcome::Held(devices), waits)
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
            // Credentials that were taken for one device of the chunk are not what another was refused for, whatever the
            // provider says: that one waits by itself, and keeps nobody else waiting.
            let taken = learned.taken.contains(&provider);
            if taken && let Some((_, reason)) = refused {
                let (provider, code) = (provider.as_str(), &reason.code);
                tracing::warn!(project, provider, code, "credentials were refused for some devices of a chunk only");
            }
            if let Some((_, reason)) = refused.filter(|_| !taken) {
                let used = self.prepared.get().and_then(|prepared| prepared.version(provider));
                self.function
                    .holds
                    .refused(project, provider, Refusal { reason, chunk: Some(self.chunk()), used, told: None })
                    .await;
            } else if let Some((_, probe)) = probe.filter(|_| taken) {
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
