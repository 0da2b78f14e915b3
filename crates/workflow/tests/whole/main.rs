//! `tune` and `validate` from options to files.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../agreement/mod.rs"]
mod agreement;
mod analyze;
mod anytime;
mod decide;
mod drift;
mod evidence;
mod han;
mod hangs;
mod layouts;
mod recorded;
mod repair;
mod rest;
mod resume;
mod settings;
mod stage;
mod tune;
