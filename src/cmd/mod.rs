//! The subcommands, one file each.

pub(crate) mod analyze;
mod conclude;
mod remarks;
mod start;
pub(crate) mod tune;
pub(crate) mod verify;
