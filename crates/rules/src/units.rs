//! Sizes and counts as types, each with a text form that reads back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read_from_text;

/// A number of bytes.
///
/// Reads `8192`, `8K`, `8 KiB`, `8k` and `8192B` as the same size (powers of 1024 up to `T`), and prints the
/// largest unit that divides it: `8 KiB`, `1 MiB`, `1000 B`; with `{:#}`, for names and arguments, `8KiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of MPI processes, as in the size of a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranks(pub u32);

const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) =
            UNITS.into_iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit)).unwrap_or(("B", 1));
        let blank = if f.alternate() { "" } else { " " };
        f.pad(&format!("{}{blank}{name}", self.0 / unit))
    }
}

read_from_text!(Bytes, "is not a size in bytes; write a whole number with an optional unit, such as 8192, 8K or 1 MiB");

impl Bytes {
    fn read(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match trimmed[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1u64 << 40,
            _ => return None,
        };
        // `u64::from_str` takes a leading plus sign, which no size is written with.
        if !digits.trim_end().bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number: u64 = digits.trim_end().parse().ok()?;
        number.checked_mul(unit).map(Bytes)
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

read_from_text!(Ranks, "is not a number of ranks; write a whole number of at least 1");

impl Ranks {
    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|ranks| *ranks > 0).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_size_agree() {
        for text in ["8192", "8K", "8k", "8KB", "8kb", "8KiB", "8kib", "8192B", " 8192 ", "8 K"] {
            assert_eq!(text.parse(), Ok(Bytes(8192)), "{text}");
        }
        assert_eq!("1T".parse(), Ok(Bytes(1 << 40)));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "-1", "+1", "1.5K", "8KX", "1e3", "99999999999999999999", "18446744073709551615K"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for text in ["", "0", "-2", "two", "2.0"] {
            assert!(text.parse::<Ranks>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_largest_dividing_unit_is_printed() {
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(Bytes(1000).to_string(), "1000 B");
        assert_eq!(Bytes(1536).to_string(), "1536 B");
        assert_eq!(Bytes(1 << 20).to_string(), "1 MiB");
    }

    proptest! {
        #[test]
        fn sizes_read_back(n: u64) {
            prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            prop_assert_eq!(format!("{:#}", Bytes(n)).parse(), Ok(Bytes(n)));
        }
    }
}
