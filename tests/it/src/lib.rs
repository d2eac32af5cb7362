//! What the integration tests share lives in `tests/it/main.rs`; this crate has no code of its own.
