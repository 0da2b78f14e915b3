//! The subcommands, one file each: options in, a workflow called, its result on the screen.

pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod completions;
mod conclude;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
mod fix;
mod foresee;
pub(crate) mod guidelines;
mod han;
pub(crate) mod import;
pub(crate) mod irregular;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod model;
pub(crate) mod plan;
mod replay;
pub(crate) mod report;
mod source;
pub(crate) mod study;
pub(crate) mod tree;
pub(crate) mod tune;
pub(crate) mod validate;
pub(crate) mod verify;
