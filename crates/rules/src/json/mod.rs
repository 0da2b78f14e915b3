//! JSON as Open MPI 6.0 reads it, with the place of every value.
//!
//! Its bundled json-parser takes more than the standard does: trailing commas, a byte order mark, any escaped
//! character, control characters in strings, a lone minus sign (0), and whatever follows a zero byte behind the last
//! value. It takes no comments and no leading zeros. Integers beyond 64 bits become floats, and a key that comes twice
//! counts the first time.

mod parse;
mod value;

pub use parse::{SyntaxError, SyntaxFault};
pub use value::{Document, Kind, Member, Value, c_str};

#[cfg(test)]
mod tests;
