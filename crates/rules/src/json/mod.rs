//! JSON as Open MPI 6.0 reads it, with the place of every value.
//!
//! Its bundled json-parser accepts more than the standard: trailing commas, a byte order mark, any escaped character,
//! control characters in strings, a lone minus sign (0), and anything after a zero byte behind the last value. It
//! accepts no comments and no leading zeros. Integers beyond 64 bits become floats, and of repeated keys the first
//! counts.

mod parse;
mod value;

pub use parse::{SyntaxError, SyntaxFault};
pub use value::{JsonDocument, JsonMember, JsonValue, ValueKind, c_str};

#[cfg(test)]
mod tests;
