//! Everything a call needs, in hand: the only thing left to do is to make it.

use crate::{
    Outgoing,
    fcm::client::{Access, Fcm},
    outcome::reason,
};
use protocol::{
    answer::Answer,
    content::{Device, Platform},
};
use std::{fmt, sync::Arc};

/// Credentials and an access token for one project's devices. Good for one invocation, not to be kept.
#[derive(Clone)]
pub struct Prepared {
    fcm: Arc<Fcm>,
    access: Option<Access>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("fcm", &self.access.is_some()).finish_non_exhaustive()
    }
}

impl Prepared {
    pub(crate) fn new(fcm: Arc<Fcm>, access: Option<Access>) -> Self {
        Self { fcm, access }
    }

    /// Makes one provider call and says what came of it, within `Timing::call` of real time from connecting to the
    /// last byte of the answer. Never repeats a call. A future that is dropped before it ends counts as
    /// [`Answer::Lost`]: the call may have been made.
    pub async fn send(&self, device: &Device, outgoing: &Outgoing<'_>) -> Answer {
        match device.platform {
            Platform::Android | Platform::Web => match &self.access {
                Some(access) => self.fcm.send(access, device, outgoing).await,
                None => Answer::NotSent(reason("not_prepared", "no access token was asked for this platform", &[])),
            },
            Platform::Ios => Answer::Permanent(reason(
                "platform_not_configured",
                "no provider is configured for the platform ios",
                &[],
            )),
        }
    }
}
