//! Everything a call needs, in hand: the only thing left to do is to make it.

use crate::{NotPrepared, Outgoing, apns::client as apns, fcm::client as fcm, outcome::reason};
use protocol::{
    answer::Answer,
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

    /// Makes one provider call and says what came of it, within `Timing::call` of real time from waiting for a
    /// connection to the last byte of the answer. Never repeats a call. A future that is dropped before it ends counts as
    /// [`Answer::Lost`]: the call may have been made.
    pub async fn send(&self, device: &Device, outgoing: &Outgoing<'_>) -> Answer {
        match device.platform {
            Platform::Ios => match &self.through_apns {
                Some(Ok(access)) => self.apns.send(access, device, outgoing).await,
                Some(Err(error)) => Answer::NotSent(error.reason()),
                None => not_prepared(),
            },
            Platform::Android | Platform::Web => match &self.through_fcm {
                Some(Ok(access)) => self.fcm.send(access, device, outgoing).await,
                Some(Err(error)) => Answer::NotSent(error.reason()),
                None => not_prepared(),
            },
        }
    }
}

fn not_prepared() -> Answer {
    Answer::NotSent(reason("not_prepared", "no access was asked for this platform", &[]))
}
