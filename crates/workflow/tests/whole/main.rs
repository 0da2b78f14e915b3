//! `tune` and `validate` from options to files.

#![allow(missing_docs, clippy::unwrap_used)]

mod analyze;
mod han;
mod repair;
mod resume;
mod stage;
mod tune;
