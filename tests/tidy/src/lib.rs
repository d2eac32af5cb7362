//! House rules about the source itself, as tests: see `tests/tidy.rs`.
