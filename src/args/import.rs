//! Arguments of `collrules import`.

use std::path::PathBuf;

use clap::ValueEnum;
use collrules_import::{Limits, NamePattern};
use collrules_record::CandidateName;
use collrules_record::units::Ranks;
use collrules_rules::{Collective, Release};

#[derive(Debug, clap::Args)]
#[command(after_help = "Formats, known by their content: text of OSU micro-benchmarks, IMB-MPI1 and ReproMPI; output \
directories, detail.out and best.out of ompi-collectives-tuning; tables with named columns, separated by commas, \
semicolons or tabs. Any may be packed with gzip. What the content does not say is taken from names such as \
bcast-np4-a3.txt or np4/a3/bcast.txt, or from options.")]
pub(crate) struct ImportArgs {
    /// Files, and directories with files; - is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Directory for the run, which must not hold one yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Release of Open MPI whose algorithm numbers are meant [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Release>,
    /// The collective, if neither content nor names say so
    #[arg(long, value_name = "NAME")]
    pub(crate) collective: Option<Collective>,
    /// The number of ranks, if neither content nor names say so
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<Ranks>,
    /// The algorithm, if neither content nor names say so: number, name, tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS, or
    /// builtin for Open MPI's default
    #[arg(long, visible_alias = "candidate", value_name = "ALGORITHM", value_parser = algorithm)]
    pub(crate) algorithm: Option<CandidateName>,
    /// The start of the MPI job, from 0 [default: counted, each output of the same thing being one]
    #[arg(long, value_name = "N")]
    pub(crate) launch: Option<u32>,
    /// Pattern of the file names, such as '{collective}_{np}_{algorithm}*.txt'; {launch} is known as well, * is
    /// anything
    #[arg(long, value_name = "PATTERN")]
    pub(crate) name_pattern: Option<NamePattern>,
    /// Unit of columns of times that name none
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<Unit>,
    /// Which time to use if there are several [default: slowest if every timing has it, else average]
    #[arg(long, value_name = "WHICH")]
    pub(crate) time: Option<Time>,
    #[command(flatten)]
    pub(crate) plausible: Plausible,
    /// Print findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Limits to the timings that are believed when others measured them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Plausible {
    /// Leave out timings that are not plausible; by default they are kept and named
    #[arg(long)]
    pub(crate) leave_out_flagged: bool,
    /// GB/s that one process can send or receive at most; faster timings are flagged [default: 50]
    #[arg(long, value_name = "GB/S", value_parser = bandwidth)]
    pub(crate) process_bandwidth: Option<f64>,
}

impl Plausible {
    /// Returns the limits of the measured machine.
    pub(crate) fn limits(&self) -> Limits {
        self.process_bandwidth.map_or_else(Limits::default, |process_bandwidth| Limits { process_bandwidth })
    }

    /// Returns true if no option was given.
    pub(crate) fn is_default(&self) -> bool {
        !self.leave_out_flagged && self.process_bandwidth.is_none()
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// Which of several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Time {
    /// Of the slowest rank
    Slowest,
    /// The mean over ranks
    Average,
}

impl Unit {
    /// Returns the number of units in a second.
    pub(crate) fn per_second(self) -> f64 {
        match self {
            Self::S => 1.0,
            Self::Ms => 1e3,
            Self::Us => 1e6,
            Self::Ns => 1e9,
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what clap wants of a parser")]
fn algorithm(text: &str) -> Result<CandidateName, String> {
    Ok(CandidateName::read(text))
}

fn bandwidth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(gigabytes) if gigabytes > 0.0 && gigabytes.is_finite() => Ok(gigabytes * 1e9),
        _ => Err(format!("`{text}` is not a positive number of GB/s")),
    }
}
