//! Values of options, as people write them.

use std::fmt;
use std::path::{self, PathBuf};

use clap::{Args, Command};
use collrules_rules::Collective;

use crate::candidate::CandidateName;
use crate::units::{Bytes, MAX_BYTES, Ranks, Seconds, powers_of_two};

/// A list as one argument of the command line; clap would take each value of a `Vec` as an argument.
pub type List<T> = Vec<T>;

/// The values of options of which none is given.
pub(crate) fn usual<T: Args>() -> T {
    let matches = T::augment_args(Command::new("").no_binary_name(true)).get_matches_from([""; 0]);
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Makes what options are if none is given their default, so that it is declared once.
macro_rules! default_is_no_option {
    ($($options:ty),+) => {
        $(impl Default for $options {
            fn default() -> Self {
                $crate::values::usual()
            }
        })+
    };
}

pub(crate) use default_is_no_option;

/// The most launches: more would take weeks, and the plan of each is held in memory.
pub const MOST_LAUNCHES: i64 = 1000;

/// The most slots that a simulated cluster may have: each is a host with a name in the survey.
const MOST_SLOTS: Ranks = Ranks(1 << 21);

/// Parses a time above 0.
pub fn positive(text: &str) -> Result<Seconds, String> {
    let seconds: Seconds = text.parse()?;
    if seconds.0 > 0.0 { Ok(seconds) } else { Err(format!("`{text}` is too short: write a time above 0")) }
}

/// A budget of all the time left in a batch job. It is never written to a file.
pub const REST: Seconds = Seconds(f64::INFINITY);

/// A time for a campaign; none if unlimited.
pub fn budget(text: &str) -> Result<Option<Seconds>, String> {
    if text == "rest" { Ok(Some(REST)) } else { limit(text) }
}

/// A time that no batch job limits; none if unlimited.
pub fn limit(text: &str) -> Result<Option<Seconds>, String> {
    if text == "none" { Ok(None) } else { positive(text).map(Some) }
}

/// Collectives by id, each once.
pub fn collectives(text: &str) -> Result<Vec<Collective>, String> {
    if text.trim().eq_ignore_ascii_case("all") {
        return Ok(Collective::ALL.to_vec());
    }
    let read = |text: &str| -> Result<Vec<Collective>, String> {
        text.split(',').map(|name| name.parse().map_err(|error| format!("{error}; or all"))).collect()
    };
    let mut named = read(text).map_err(|why| respell(text, why, read))?;
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// The error of a list that was meant as another one: with blanks for commas, or `-` or `..` within a range.
fn respell<T>(text: &str, why: String, read: impl Fn(&str) -> Result<T, String>) -> String {
    let words: Vec<&str> = text.split([' ', ';', ',']).filter(|word| !word.is_empty()).collect();
    let list = words.join(",");
    let meant = [list.replace("..", ":").replace('-', ":"), list];
    match meant.into_iter().find(|meant| meant != text && read(meant).is_ok()) {
        Some(meant) => {
            format!("`{text}`: write {meant} (values are separated by commas, the ends of a range by a colon)")
        }
        None => why,
    }
}

/// Message sizes: a list of sizes and of ranges `FIRST:LAST`, which are the powers of two between and both ends.
pub fn sizes(text: &str) -> Result<Vec<Bytes>, String> {
    ranges(text, size, |first, last, step| match step {
        None => Ok(powers_of_two(first, last)),
        Some(step) => Err(format!("`{step}`: message sizes have no step; separate them by commas")),
    })
}

/// Most communicator sizes of a range with a step.
const MOST_STEPS: u32 = 10_000;

/// Communicator sizes, written like message sizes, or as `FIRST:LAST:STEP`; none for `default`.
pub fn communicators(text: &str) -> Result<Vec<Ranks>, String> {
    if text == "default" {
        return Ok(Vec::new());
    }
    let ranks = |text: &str| Ok(text.parse()?);
    let between = |first: Ranks, last: Ranks, step: Option<Ranks>| {
        let Some(step) = step else {
            let powers = powers_of_two(Bytes(first.0.into()), Bytes(last.0.into())).into_iter();
            return Ok(powers.filter_map(|power| u32::try_from(power.0).ok().map(Ranks)).collect());
        };
        if (last.0 - first.0) / step.0.max(1) >= MOST_STEPS {
            return Err(format!("`{first}:{last}:{step}` is more than {MOST_STEPS} communicator sizes"));
        }
        Ok((first.0..=last.0).step_by(step.0.max(1) as usize).map(Ranks).collect())
    };
    ranges(text, ranks, between)
}

/// The values of a list, in order and each once; `between` gives those of `FIRST:LAST` and `FIRST:LAST:STEP`.
fn ranges<T: Copy + Ord + fmt::Display>(
    text: &str,
    value: impl Fn(&str) -> Result<T, String>,
    between: impl Fn(T, T, Option<T>) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, String> {
    let read = |text: &str| read_ranges(text, &value, &between);
    read(text).map_err(|why| respell(text, why, read))
}

fn read_ranges<T: Copy + Ord + fmt::Display>(
    text: &str,
    value: &impl Fn(&str) -> Result<T, String>,
    between: &impl Fn(T, T, Option<T>) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once(':') {
            None => values.push(value(part)?),
            Some((first, rest)) => {
                let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
                let (first, last, step) = (value(first)?, value(last)?, step.map(value).transpose()?);
                if first > last {
                    return Err(format!("{first} is larger than {last}"));
                }
                values.extend(between(first, last, step)?);
            }
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

/// An absolute path: a run's paths are read from other directories too.
pub fn parse_absolute_path(text: &str) -> Result<PathBuf, String> {
    path::absolute(text).map_err(|cause| cause.to_string())
}

/// A message size, which has to fit MPI's counts.
pub fn size(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse()?;
    if text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit() {
        return Err(format!("`{text}` begins with 0: write sizes without separators of thousands, such as 1024 or 1K"));
    }
    match bytes {
        Bytes(0) => Err("message sizes start at 1 byte: Open MPI returns at once for empty messages".to_owned()),
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

/// Reads a slowdown in percent, and returns it as a share of the time; it may be above 1.
pub fn slowdown(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a slowdown in percent; write a number of at least 0")),
    }
}

/// A ratio above 1.
pub fn ratio(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(ratio) if ratio > 1.0 && ratio.is_finite() => Ok(ratio),
        _ => Err(format!("`{text}` is not a ratio above 1: the sizes around a change differ by more than nothing")),
    }
}

/// Slots of a simulated cluster.
pub fn simulated_slots(text: &str) -> Result<Ranks, String> {
    let slots: Ranks = text.parse().map_err(|_| format!("`{text}` is not a number of slots"))?;
    if slots.0 == 0 {
        return Err("a simulated cluster has at least 1 slot, and so has each of its nodes".to_owned());
    }
    if slots > MOST_SLOTS {
        return Err(format!("a cluster of {slots} slots is more than can be simulated here; at most {MOST_SLOTS} can"));
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_ranges_or_lists() {
        let bytes = |list: &[u64]| list.iter().copied().map(Bytes).collect::<Vec<_>>();
        assert_eq!(sizes("1:8"), Ok(bytes(&[1, 2, 4, 8])));
        assert_eq!(sizes("3:9"), Ok(bytes(&[3, 4, 8, 9])));
        assert_eq!(sizes("1K:1K"), Ok(bytes(&[1024])));
        assert_eq!(sizes("8,1,1"), Ok(bytes(&[1, 8])));
        assert_eq!(sizes("1:4,6"), Ok(bytes(&[1, 2, 4, 6])));
        for bad in ["", "0:8", "8:1", "1:", "x", "1:4G", "1:8:2", "1,024"] {
            assert!(sizes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_in_other_notations_are_answered_with_what_was_meant() {
        let answer = |error: String| error.split_once(": write ").map(|(_, meant)| meant.to_owned());
        for (text, meant) in [("1-64K", "1:64K"), ("1k..1M", "1k:1M"), ("1 2 4", "1,2,4"), ("8; 1K", "8,1K")] {
            let answer = answer(sizes(text).expect_err("is no list")).expect("is meant as a list");
            assert_eq!(answer.split(' ').next(), Some(meant));
        }
        let answers = [communicators("2-8").map(drop), collectives("bcast allreduce").map(drop)];
        let answers = answers.map(|error| answer(error.expect_err("is no list")).expect("is meant as a list"));
        assert_eq!(answers.each_ref().map(|said| said.split(' ').next()), [Some("2:8"), Some("bcast,allreduce")]);
        assert_eq!(answer(sizes("-8").expect_err("is no size")), None);
    }

    #[test]
    fn communicators_are_written_like_sizes() {
        let list = |list: &[u32]| list.iter().copied().map(Ranks).collect::<Vec<_>>();
        assert_eq!(communicators("2:16"), Ok(list(&[2, 4, 8, 16])));
        assert_eq!(communicators("24,2:6"), Ok(list(&[2, 4, 6, 24])));
        assert_eq!(communicators("2:48:2").map(|ranks| ranks.len()), Ok(24));
        assert_eq!(communicators("3:10:3,16"), Ok(list(&[3, 6, 9, 16])));
        for bad in ["", "0", "8:2", "two", "2:", "2,", "2:8:0", "2:8:2:2", "1:4000000000:1"] {
            assert!(communicators(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn collectives_are_a_list_or_all() {
        assert_eq!(collectives("scatter,bcast,bcast"), Ok(vec![Collective::Bcast, Collective::Scatter]));
        assert_eq!(collectives("MPI_Bcast,mpi_scatter"), Ok(vec![Collective::Bcast, Collective::Scatter]));
        assert_eq!(collectives("all"), Ok(Collective::ALL.to_vec()));
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
        assert_eq!(slowdown("230 %"), Ok(2.3));
        for bad in ["-1", "inf", "nan", ""] {
            assert!(slowdown(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_is_a_time_or_none() {
        assert_eq!(budget("none"), Ok(None));
        assert_eq!(budget("90s"), Ok(Some(Seconds(90.0))));
        for bad in ["never", "0", "0s", "-1s", "nan"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
        assert_eq!(budget("rest"), Ok(Some(REST)));
        assert_eq!((limit("none"), limit("90s")), (Ok(None), Ok(Some(Seconds(90.0)))));
        assert!(limit("rest").is_err());
    }
}
