//! The decision tree for people: collective, communicator sizes, lookup bytes, choice, and the evidence for each leaf.

mod leaf;
mod text;

pub(crate) use text::text;
