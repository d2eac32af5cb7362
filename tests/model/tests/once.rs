//! Searches that several tests ask for, made once.

use model::trace::Trace;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

type Found = Arc<OnceLock<Option<Trace>>>;

/// What the search of this name finds, or has found.
pub(crate) fn once(name: String, search: impl FnOnce() -> Option<Trace>) -> Option<Trace> {
    static FOUND: Mutex<BTreeMap<String, Found>> = Mutex::new(BTreeMap::new());
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default().clone();
    found.get_or_init(search).clone()
}
