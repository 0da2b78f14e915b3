//! The commands of `collrules lab`.

pub(crate) mod bench;
pub(crate) mod guidelines;
pub(crate) mod import;
mod instrument;
pub(crate) mod irregular;
pub(crate) mod model;
pub(crate) mod study;
