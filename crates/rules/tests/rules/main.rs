//! Files of this repository that are about rules files.

#![allow(missing_docs)]

mod examples;
mod schema;
