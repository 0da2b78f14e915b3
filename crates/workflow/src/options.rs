//! The options of a run, and values as people write them.

use std::fmt;
use std::str::FromStr;

use collrules_record::CandidateName;
use collrules_record::units::{BadSeconds, Bytes, Ranks, Seconds};
use collrules_rules::Collective;
use collrules_runner::grid::{MAX_BYTES, powers_of_two};

/// The most launches: a campaign of more would take weeks, and the plan of each is held in memory.
pub const MOST_LAUNCHES: i64 = 1000;

/// A time for a campaign; none where it may take what it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget(pub Option<Seconds>);

impl FromStr for Budget {
    type Err = BadSeconds;

    fn from_str(text: &str) -> Result<Self, BadSeconds> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|seconds| Self(Some(seconds))) }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(seconds) => write!(f, "{seconds} for everything"),
            None => f.write_str("for as long as it takes"),
        }
    }
}

/// Collectives by id, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collectives(pub Vec<Collective>);

impl FromStr for Collectives {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("all") {
            return Ok(Self(Collective::ALL.to_vec()));
        }
        let named = text.split(',').map(|name| name.parse::<Collective>().map_err(|error| format!("{error}; or all")));
        let mut named = named.collect::<Result<Vec<_>, _>>()?;
        named.sort_unstable();
        named.dedup();
        Ok(Self(named))
    }
}

/// Message sizes: a list of sizes and of ranges `FIRST:LAST`, which are the powers of two between and both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<Bytes>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ranges(text, size, powers_of_two).map(Self)
    }
}

/// Communicator sizes, written like message sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communicators(pub Vec<Ranks>);

impl FromStr for Communicators {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ranks = |text: &str| text.parse::<Ranks>().map_err(|error| error.to_string());
        let between = |first: Ranks, last: Ranks| {
            let powers = powers_of_two(Bytes(first.0.into()), Bytes(last.0.into())).into_iter();
            powers.filter_map(|power| u32::try_from(power.0).ok().map(Ranks)).collect()
        };
        ranges(text, ranks, between).map(Self)
    }
}

/// The values of a list, in order and each once; `FIRST:LAST` stands for what is `between` both.
fn ranges<T: Copy + Ord + fmt::Display>(
    text: &str,
    value: impl Fn(&str) -> Result<T, String>,
    between: impl Fn(T, T) -> Vec<T>,
) -> Result<Vec<T>, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once(':') {
            None => values.push(value(part)?),
            Some((first, last)) => {
                let (first, last) = (value(first)?, value(last)?);
                if first > last {
                    return Err(format!("{first} is larger than {last}"));
                }
                values.extend(between(first, last));
            }
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

fn size(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error: collrules_record::units::BadBytes| error.to_string())?;
    match bytes {
        Bytes(0) => Err("a message of no bytes reaches no algorithm; sizes begin at 1".to_owned()),
        _ if bytes > MAX_BYTES => Err(format!("{bytes} is more than an MPI call can count; sizes end at 2147483647")),
        _ => Ok(bytes),
    }
}

/// An algorithm of a collective, such as `bcast:binomial`, `barrier:3` or `bcast:tuned:2/4/0/0`.
pub fn only(text: &str) -> Result<(Collective, CandidateName), String> {
    let (collective, algorithm) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` names no algorithm of a collective, such as bcast:binomial or barrier:3"))?;
    Ok((collective.trim().parse().map_err(|error| format!("{error}"))?, CandidateName::read(algorithm.trim())))
}

/// A share as a percentage: `3` and `3 %` are 0.03.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a percentage between 0 and 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_ranges_or_lists() {
        let sizes = |text: &str| text.parse::<Sizes>();
        let bytes = |list: &[u64]| Sizes(list.iter().copied().map(Bytes).collect());
        assert_eq!(sizes("1:8"), Ok(bytes(&[1, 2, 4, 8])));
        assert_eq!(sizes("3:9"), Ok(bytes(&[3, 4, 8, 9])));
        assert_eq!(sizes("1K:1K"), Ok(bytes(&[1024])));
        assert_eq!(sizes("8,1,1"), Ok(bytes(&[1, 8])));
        assert_eq!(sizes("1:4,6"), Ok(bytes(&[1, 2, 4, 6])));
        for bad in ["", "0:8", "8:1", "1:", "x", "1:4G"] {
            assert!(sizes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn communicators_are_written_like_sizes() {
        let ranks = |text: &str| text.parse::<Communicators>();
        let list = |list: &[u32]| Communicators(list.iter().copied().map(Ranks).collect());
        assert_eq!(ranks("2:16"), Ok(list(&[2, 4, 8, 16])));
        assert_eq!(ranks("24,2:6"), Ok(list(&[2, 4, 6, 24])));
        for bad in ["", "0", "8:2", "two", "2:", "2,"] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn collectives_are_a_list_or_all() {
        let collectives = |text: &str| text.parse::<Collectives>();
        assert_eq!(collectives("scatter,bcast,bcast"), Ok(Collectives(vec![Collective::Bcast, Collective::Scatter])));
        assert_eq!(collectives("MPI_Bcast,mpi_scatter"), Ok(Collectives(vec![Collective::Bcast, Collective::Scatter])));
        assert_eq!(collectives("all"), Ok(Collectives(Collective::ALL.to_vec())));
        let error = collectives("bcast,brodcast").expect_err("no such collective");
        assert!(error.contains("`brodcast`") && error.ends_with("scan, scatter; or all"), "{error}");
    }

    #[test]
    fn percentages_are_shares() {
        assert_eq!(percent("3"), Ok(0.03));
        assert_eq!(percent("20 %"), Ok(0.2));
        for bad in ["-1", "101", "nan", ""] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_is_a_time_or_none() {
        assert_eq!("none".parse(), Ok(Budget(None)));
        assert_eq!("90s".parse(), Ok(Budget(Some(Seconds(90.0)))));
        assert!("never".parse::<Budget>().is_err());
    }
}
