//! Importing what people have, through the public interface.

#![allow(missing_docs, clippy::unwrap_used)]

mod beliefs;
mod formats;
mod outputs;
mod plausible;
mod properties;
mod sources;
mod support;
mod tables;
mod unsaid;
