//! The subcommands, one file each.

pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod check;
mod clock;
mod conclude;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
mod foresee;
mod frontier;
pub(crate) mod import;
pub(crate) mod measure;
pub(crate) mod plan;
mod refine;
mod remarks;
mod replay;
mod resume;
mod served;
mod source;
mod start;
pub(crate) mod tree;
pub(crate) mod tune;
pub(crate) mod validate;
pub(crate) mod verify;
