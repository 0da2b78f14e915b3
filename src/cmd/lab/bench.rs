//! `collrules lab bench`: tables as the OSU micro-benchmarks print them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use collrules_record::benchmark::{Benchmark, Length};
use collrules_record::cell::type_size;
use collrules_record::options::{Launching, SystemOptions};
use collrules_record::units::{Bytes, Ranks, powers_of_two};
use collrules_record::values::size;
use collrules_record::{Candidate, Cell, Component, Even, Layout, Tuning, competitor};
use collrules_report::osu::OsuTable;
use collrules_rules::{Collective, registry};
use collrules_runner::{Backend, RunnerError};
use collrules_workflow::WorkflowError;
use collrules_workflow::publish;
use collrules_workflow::start::{self, Started};

use crate::exit::Exit;
use crate::interrupt;
use crate::progress::say;

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
    /// Message sizes as OSU prints them: the powers of two up to MAX, or from MIN to MAX
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

pub(crate) fn run(args: &BenchArgs) -> Result<Exit, WorkflowError> {
    if args.iterations.of(Bytes(0)) == 0 || args.iterations.of(Bytes(u64::MAX)) == 0 {
        return Err(WorkflowError::usage("--iterations has to be at least 1: 0 timed calls give no time".to_owned()));
    }
    let whole = args.rules.as_deref().map(publish::open_whole).transpose()?;
    // An absolute path, since every rank opens the file from its own directory.
    let absolute = |path: &Path| path.canonicalize().map_err(|cause| WorkflowError::open(path, cause));
    let rules = whole.as_ref().and_then(|whole| whole.tuned.as_ref()).map(|file| absolute(&file.path)).transpose()?;
    let (mut backend, competitors, even) = match args.candidate {
        // The default needs no survey.
        Candidate::Builtin => (start::launching(&args.system, &interrupt::flag())?, Vec::new(), None),
        _ => {
            let Started { backend, survey, release, remarks, .. } = start::mpi(&args.system, &interrupt::flag())?;
            remarks.iter().for_each(|remark| say(remark));
            if let Candidate::Tuned(choice) = args.candidate {
                registry::algorithm(release, args.collective, choice.algorithm)
                    .map_err(|unknown| WorkflowError::usage(unknown.to_string()))?;
            }
            let there = |component: &Component| survey.components.contains_key(component);
            (backend, competitor::components().filter(there).collect(), nodes(args, &survey.hosts)?)
        }
    };
    if let Some(whole) = whole {
        // The benchmark switches the rules of coll/tuned on itself.
        backend.pin(&Tuning { tuned: None, ..whole }.settings().by_name());
    }
    let benchmark = Benchmark { even, ..benchmark(args, competitors) };
    if benchmark.lengths.is_empty() {
        let size = type_size(args.collective);
        return Err(WorkflowError::usage(format!(
            "no message size is a multiple of {size} bytes, the datatype's size"
        )));
    }
    let how = match &args.rules {
        Some(rules) => format!("rules of {}", rules.display()),
        None => args.candidate.to_string(),
    };
    let table = OsuTable { benchmark: &benchmark, how: &how, csv: args.csv, full: args.full };
    let mut out = io::stdout().lock();
    let mut print = |text: String| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    print(table.header()).map_err(WorkflowError::Stdout)?;
    let mut right = true;
    backend.benchmark(&benchmark, rules.as_deref(), &mut |line| {
        right &= line.valid != Some(false);
        print(table.line(&line)).map_err(RunnerError::Output)
    })?;
    if right { Ok(Exit::DONE) } else { Ok(Exit::PROBLEMS) }
}

/// The nodes, if the candidate makes calls on them.
fn nodes(args: &BenchArgs, hosts: &[String]) -> Result<Option<Even>, WorkflowError> {
    let Candidate::Mockup(mockup) = args.candidate else { return Ok(None) };
    if !mockup.needs_nodes() {
        return Ok(None);
    }
    let even = Layout::Block.even(hosts, args.np);
    even.map(Some)
        .map_err(|why| WorkflowError::usage(format!("{mockup} cannot be timed on {} ranks here: {why}", args.np)))
}

fn benchmark(args: &BenchArgs, without: Vec<Component>) -> Benchmark {
    let (first, last) = args.message_size;
    let cell = |bytes: Bytes| Cell { collective: args.collective, ranks: args.np, bytes };
    let element = Bytes(type_size(args.collective));
    let sizes = if args.collective.has_sizes() {
        // As OSU does, with whole elements for each rank: fewer bytes reduce nothing.
        let least = Bytes(cell(element).osu_bytes().0.next_power_of_two());
        let sizes = powers_of_two(first.unwrap_or(least).min(last), last);
        sizes.into_iter().filter(|size| size.0 % element.0 == 0).collect()
    } else {
        vec![Bytes(0)]
    };
    let length = |size: Bytes| {
        let bytes = Bytes(size.0 / cell(element).osu_bytes().0.max(1) * element.0);
        Length { bytes, warmup: args.warmup.of(size), iterations: args.iterations.of(size) }
    };
    let mut lengths: Vec<Length> = sizes.into_iter().map(length).collect();
    lengths.retain(|length| length.bytes.0 > 0 || !args.collective.has_sizes());
    Benchmark {
        collective: args.collective,
        ranks: args.np,
        candidate: args.candidate,
        without,
        lengths,
        percentiles: args.tail_lat.clone(),
        validate: args.validation,
        even: None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command, Lab};

    #[test]
    fn numbers_of_calls_depend_on_the_size() {
        let both = counts("1000,100").expect("two numbers");
        assert_eq!((both.of(Bytes(8192)), both.of(Bytes(8193))), (1000, 100));
        assert_eq!(counts("7"), Ok(Iterations { small: 7, large: 7 }));
        assert!(counts("x").is_err() && counts("1,").is_err());
    }

    /// The messages of `lab bench COLLECTIVE --np 4 -m SIZES`.
    fn messages(collective: &str, np: &str, sizes: &str) -> Vec<u64> {
        let arguments = ["collrules", "lab", "bench", collective, "--np", np, "-m", sizes];
        let Command::Lab(Lab::Bench(args)) = Args::parse_from(arguments).command else { panic!("another command") };
        benchmark(&args, Vec::new()).lengths.iter().map(|length| length.bytes.0).collect()
    }

    #[test]
    fn sizes_are_those_of_osu() {
        assert_eq!(messages("reduce_scatter_block", "4", "4096:8192"), [1024, 2048]);
        assert_eq!(messages("reduce_scatter_block", "4", "32"), [4, 8]);
        assert_eq!(messages("reduce_scatter_block", "6", "8192:8192"), [1364]);
        assert_eq!(messages("reduce_scatter", "4", "4096:8192"), [4096, 8192]);
        assert_eq!(messages("allreduce", "4", "16"), [4, 8, 16]);
    }

    #[test]
    fn sizes_may_leave_out_the_first() {
        assert_eq!(message_size("1K"), Ok((None, Bytes(1024))));
        assert_eq!(message_size("4:64"), Ok((Some(Bytes(4)), Bytes(64))));
        assert!(message_size("64:4").is_err() && message_size("0").is_err() && message_size("4G").is_err());
    }
}
