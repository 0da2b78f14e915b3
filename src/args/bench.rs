//! `collrules bench`.

use std::path::PathBuf;

use clap::Args;
use collrules_record::Candidate;
use collrules_record::options::{Launching, SystemOptions};
use collrules_record::units::{BadBytes, Bytes, MAX_BYTES, Ranks};
use collrules_rules::Collective;

/// Up to this size messages are small.
const LARGEST_SMALL: Bytes = Bytes(8192);

#[derive(Debug, Args)]
#[command(
    after_help = "The options are those of the OSU micro-benchmarks where they have them. Exit code 1 if a check \
of the data fails."
)]
pub(crate) struct BenchArgs {
    /// The collective
    #[arg(value_name = "COLLECTIVE")]
    pub(crate) collective: Collective,
    /// Number of ranks
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) np: Ranks,
    /// Message sizes: the powers of two up to MAX, or from MIN to MAX
    #[arg(short, long, value_name = "[MIN:]MAX", default_value = "1M", value_parser = message_size)]
    pub(crate) message_size: (Option<Bytes>, Bytes),
    /// Timed calls per size; with two numbers, the second is for messages above 8 KiB
    #[arg(short, long, value_name = "N[,LARGE]", default_value = "1000,100", value_parser = counts)]
    pub(crate) iterations: Iterations,
    /// Calls before that; with two numbers, the second is for messages above 8 KiB
    #[arg(short = 'x', long, value_name = "N[,LARGE]", default_value = "100,10", value_parser = counts)]
    pub(crate) warmup: Iterations,
    /// Print the fastest and the slowest rank and the number of calls as well
    #[arg(short, long)]
    pub(crate) full: bool,
    /// Print percentiles of the calls as well
    #[arg(
        short = 'z',
        long,
        value_name = "LIST",
        value_delimiter = ',',
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "50,90,99",
        value_parser = percentile
    )]
    pub(crate) tail_lat: Vec<f64>,
    /// Check the data of one call per size
    #[arg(short = 'c', long)]
    pub(crate) validation: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    /// Algorithm to time: builtin (the default), tuned:ALGORITHM/FANINOUT/SEGSIZE/MAX_REQUESTS, or other calls that
    /// do the same: mockup:CALLS, split:PIECES, pad:SIZE
    #[arg(long, value_name = "CANDIDATE", default_value = "builtin")]
    pub(crate) candidate: Candidate,
    /// Rules file to use; a run stands for its whole tuning, HAN's file and settings included
    #[arg(long, value_name = "FILE", conflicts_with = "candidate")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) system: SystemOptions<Launching>,
}

/// Numbers of calls for small and for large messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iterations {
    small: u32,
    large: u32,
}

impl Iterations {
    /// The number for a message size.
    pub(crate) fn of(self, bytes: Bytes) -> u32 {
        if bytes <= LARGEST_SMALL { self.small } else { self.large }
    }
}

fn counts(text: &str) -> Result<Iterations, String> {
    let count = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("`{text}` is not a number of calls"));
    let (small, large) = text.split_once(',').unwrap_or((text, text));
    Ok(Iterations { small: count(small)?, large: count(large)? })
}

fn message_size(text: &str) -> Result<(Option<Bytes>, Bytes), String> {
    let size = |text: &str| {
        text.parse().map_err(|error: BadBytes| error.to_string()).and_then(|bytes: Bytes| {
            let fits = (Bytes(1)..=MAX_BYTES).contains(&bytes);
            if fits { Ok(bytes) } else { Err(format!("{bytes} is not between 1 and 2147483647 bytes")) }
        })
    };
    match text.split_once(':') {
        Some((first, last)) => {
            let (first, last) = (size(first)?, size(last)?);
            if first > last { Err(format!("{first} is larger than {last}")) } else { Ok((Some(first), last)) }
        }
        None => Ok((None, size(text)?)),
    }
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("`{text}` is not a percentile between 0 and 100")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_depend_on_the_size() {
        let both = counts("1000,100").expect("two numbers");
        assert_eq!((both.of(Bytes(8192)), both.of(Bytes(8193))), (1000, 100));
        assert_eq!(counts("7"), Ok(Iterations { small: 7, large: 7 }));
        assert!(counts("x").is_err() && counts("1,").is_err());
    }

    #[test]
    fn sizes_may_leave_out_the_first() {
        assert_eq!(message_size("1K"), Ok((None, Bytes(1024))));
        assert_eq!(message_size("4:64"), Ok((Some(Bytes(4)), Bytes(64))));
        assert!(message_size("64:4").is_err() && message_size("0").is_err() && message_size("4G").is_err());
    }
}
