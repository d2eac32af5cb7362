//! The switch behind `POST /control {"inline_send": "fail"|"work"}`: it breaks the api function's own sends, so that
//! only the relay delivers. The function does not know; its SQS client fails before anything is sent.

use aws_sdk_sqs::{
    config::{ConfigBag, Intercept, RuntimeComponents, interceptors::BeforeTransmitInterceptorContextMut},
    error::BoxError,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Whether inline sends fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct InlineSwitch(Arc<AtomicBool>);

impl InlineSwitch {
    pub(crate) fn fail(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

impl Intercept for InlineSwitch {
    fn name(&self) -> &'static str {
        "InlineSwitch"
    }

    fn modify_before_transmit(
        &self,
        _context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.0.load(Ordering::Relaxed) { Err("inline sends are switched off by /control".into()) } else { Ok(()) }
    }
}
