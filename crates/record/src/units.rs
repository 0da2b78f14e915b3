//! Seconds, and the units that the rules crate defines.

use std::fmt;

use collrules_rules::read_from_text;
pub use collrules_rules::units::{Bytes, Ranks};
use serde::{Deserialize, Serialize};

/// The largest message: element counts of MPI calls are C ints.
pub const MAX_BYTES: Bytes = Bytes(i32::MAX as u64);

/// Powers of two from `first` to `last`, and both ends.
pub fn powers_of_two(first: Bytes, last: Bytes) -> Vec<Bytes> {
    let mut sizes = vec![first];
    let powers = (0..u64::BITS).map(|bit| 1u64 << bit).filter(|size| *size > first.0 && *size < last.0);
    sizes.extend(powers.map(Bytes));
    if last > first {
        sizes.push(last);
    }
    sizes
}

/// A time in seconds; finite if it was read from text.
///
/// Prints at most four significant digits in a suitable unit (`12.34 µs`, `20 ns`), without the blank for `{:#}`; reads
/// `90`, `1.5s`, `20 ms`, `3us`, `2 min`, `2m`, `1h` and `1h30m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let (scaled, unit) = match size {
            _ if size == 0.0 => (0.0, "s"),
            _ if size < 0.999_95e-6 => (self.0 * 1e9, "ns"),
            _ if size < 0.999_95e-3 => (self.0 * 1e6, "µs"),
            _ if size < 0.999_95 => (self.0 * 1e3, "ms"),
            _ if size < 120.0 => (self.0, "s"),
            _ if size < 7200.0 => (self.0 / 60.0, "min"),
            _ => (self.0 / 3600.0, "h"),
        };
        let digits = match scaled.abs() {
            whole if whole < 9.9995 => 3,
            whole if whole < 99.995 => 2,
            whole if whole < 999.95 => 1,
            _ => 0,
        };
        let number = format!("{scaled:.digits$}");
        let number = if digits == 0 { &number } else { number.trim_end_matches('0').trim_end_matches('.') };
        f.pad(&format!("{number}{}{unit}", if f.alternate() { "" } else { " " }))
    }
}

impl Seconds {
    /// The time in two digits or whole numbers, as `7.5 s`, `102 s` or `2 min`: for budgets and predictions, which are
    /// not more precise.
    pub fn rounded(self) -> String {
        let exact = self.to_string();
        let (number, unit) = exact.split_once(' ').unwrap_or((&exact, "s"));
        let number: f64 = number.parse().unwrap_or(self.0);
        if number.abs() < 9.95 {
            let short = format!("{number:.1}");
            format!("{} {unit}", short.trim_end_matches(".0"))
        } else {
            format!("{number:.0} {unit}")
        }
    }
}

impl Seconds {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| {
            // 1h30 could mean minutes or seconds.
            let completed = ["m", "s"].map(|unit| format!("{text}{unit}"));
            let completed: Vec<String> = completed.into_iter().filter(|text| Self::parse(text).is_some()).collect();
            match completed.is_empty() {
                true => format!(
                    "`{text}` is not a time of at most 30 years; write numbers with units (ns, us, ms, s, m, h, d), such as \
                     90, 60s, 30m, 2h or 1h30m"
                ),
                false => format!("the last number of `{text}` has no unit: write {}", completed.join(" or ")),
            }
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut seconds = 0.0;
        let mut last = f64::INFINITY;
        while !rest.is_empty() || last.is_infinite() {
            let number = rest.find(|c: char| c.is_alphabetic() && c != 'e').unwrap_or(rest.len());
            let unit = rest[number..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |unit| number + unit);
            let is_first = last.is_infinite();
            // 1h30m, but neither 30m1h nor 1h30.
            let scale = Some(&rest[number..unit]).filter(|unit| is_first || !unit.is_empty()).and_then(unit_scale)?;
            let value: f64 = rest[..number].trim().parse().ok().filter(|value| scale < last && *value >= 0.0)?;
            seconds += value * scale;
            (last, rest) = (scale, rest[unit..].trim_start());
        }
        (seconds <= LONGEST).then_some(Self(seconds))
    }
}

read_from_text!(Seconds);

/// The longest time that is read from text, about 30 years: longer ones are typing errors.
const LONGEST: f64 = 1e9;

/// The length of a unit in seconds.
fn unit_scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "s" => 1.0,
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_for_people() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (4.2e-8, "42 ns"),
            (1.2344e-5, "12.34 µs"),
            (0.999_96e-6, "1 µs"),
            (0.282, "282 ms"),
            (60.0, "60 s"),
            (600.0, "10 min"),
            (7200.0, "2 h"),
        ] {
            assert_eq!(Seconds(seconds).to_string(), text);
        }
    }

    #[test]
    fn budgets_have_no_more_digits_than_they_deserve() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (7.477, "7.5 s"),
            (9.96, "10 s"),
            (102.0, "102 s"),
            (120.0, "2 min"),
            (0.515, "515 ms"),
            (1e5, "28 h"),
        ] {
            assert_eq!(Seconds(seconds).rounded(), text);
        }
    }

    #[test]
    fn what_is_printed_reads_back_to_four_digits() {
        let mut seconds = 1.234_5e-9;
        while seconds < 1e6 {
            let back: Seconds = Seconds(seconds).to_string().parse().expect("reads back");
            assert!((back.0 / seconds - 1.0).abs() < 6e-4, "{seconds} {}", Seconds(seconds));
            assert_eq!(format!("{:#}", Seconds(seconds)).parse(), Ok(back));
            seconds *= 1.37;
        }
    }

    #[test]
    fn times_may_have_several_units() {
        for (text, seconds) in [("1h30m", 5400.0), ("1h 30m", 5400.0), ("2m5.5s", 125.5), ("1e3s", 1e3)] {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "s", "-1s", "1x", "inf", "nan", "1e999", "1e300s", "30m1h", "1h-5m", "h30m", "1h30", "1h30x"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
