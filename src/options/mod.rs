//! Options that several commands share.

mod session;

pub(crate) use session::SessionArgs;
