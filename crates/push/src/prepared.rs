//! Everything a call needs, in hand: the only thing left to do is to make it.

use crate::{NotPrepared, Outgoing, Provider, answers::Heard, apns::client as apns, fcm::client as fcm};
use protocol::{
    answer::Reason,
    content::{Device, Platform},
};
use std::{fmt, sync::Arc};

/// What a provider needs for a call, or why it cannot be called; `None` if none of the devices needs it.
type Ready<A> = Option<Result<A, NotPrepared>>;

/// Credentials and tokens for one project's devices. Good for one invocation, not to be kept.
#[derive(Clone)]
pub struct Prepared {
    apns: Arc<apns::Apns>,
    through_apns: Ready<apns::Access>,
    fcm: Arc<fcm::Fcm>,
    through_fcm: Ready<fcm::Access>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ready = |is: bool| if is { "ready" } else { "not ready" };
        f.debug_struct("Prepared")
            .field("apns", &ready(matches!(self.through_apns, Some(Ok(_)))))
            .field("fcm", &ready(matches!(self.through_fcm, Some(Ok(_)))))
            .finish_non_exhaustive()
    }
}

impl Prepared {
    pub(crate) fn new(
        apns: Arc<apns::Apns>,
        through_apns: Ready<apns::Access>,
        fcm: Arc<fcm::Fcm>,
        through_fcm: Ready<fcm::Access>,
    ) -> Self {
        Self { apns, through_apns, fcm, through_fcm }
    }

    /// Secrets Manager's id of the version that the credentials in hand were read from; none if this provider was not
    /// asked for or cannot be called.
    #[must_use]
    pub fn version(&self, provider: Provider) -> Option<&str> {
        match provider {
            Provider::Apns => Some(&self.through_apns.as_ref()?.as_ref().ok()?.version),
            Provider::Fcm => Some(&self.through_fcm.as_ref()?.as_ref().ok()?.version),
        }
    }

    /// Why a provider cannot be called, if it was asked for and cannot.
    #[must_use]
    pub fn fault(&self, provider: Provider) -> Option<&NotPrepared> {
        match provider {
            Provider::Apns => self.through_apns.as_ref()?.as_ref().err(),
            Provider::Fcm => self.through_fcm.as_ref()?.as_ref().err(),
        }
    }

    /// Why nobody can be called, if nobody can.
    pub(crate) fn only_fault(&self) -> Option<&NotPrepared> {
        match (&self.through_apns, &self.through_fcm) {
            (Some(Err(error)), None | Some(Err(_))) | (None, Some(Err(error))) => Some(error),
            _ => None,
        }
    }

    /// Makes one provider call and says what came of it, within `Timing::call` of real time from waiting for a
    /// connection to the last byte of the answer. Never repeats a call. Where there is no access nobody is called, and the
    /// answer says so ([`Answer::NotCalled`]). A future that is dropped before it ends counts as [`Answer::Lost`]: the call
    /// may have been made.
    ///
    /// [`Answer::NotCalled`]: protocol::answer::Answer::NotCalled
    /// [`Answer::Lost`]: protocol::answer::Answer::Lost
    pub async fn send(&self, device: &Device, outgoing: &Outgoing<'_>) -> Heard {
        match device.platform {
            Platform::Ios => match &self.through_apns {
                Some(Ok(access)) => self.apns.send(access, device, outgoing).await,
                Some(Err(error)) => Heard::not_called(error.reason()),
                None => not_prepared(),
            },
            Platform::Android | Platform::Web => match &self.through_fcm {
                Some(Ok(access)) => self.fcm.send(access, device, outgoing).await,
                Some(Err(error)) => Heard::not_called(error.reason()),
                None => not_prepared(),
            },
        }
    }
}

fn not_prepared() -> Heard {
    let detail = "no access was asked for this platform".to_owned();
    Heard::not_called(Reason { code: "not_prepared".to_owned(), detail })
}
