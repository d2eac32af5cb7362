//! What the integration tests share lives in `main.rs`; this crate has no code of its own.
