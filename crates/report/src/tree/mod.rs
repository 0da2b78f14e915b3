//! The decision tree for people: collective, communicator sizes, lookup bytes, choice, and the evidence for each leaf.

mod drawing;
mod leaf;
mod text;

pub use drawing::svg;
pub use text::text;
