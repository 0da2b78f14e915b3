//! `collrules lab import`: timings of other programs as a run directory.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::ValueEnum;
use collrules_import::{
    Facts, Finding, FindingSeverity, ImportManifest, ImportReport, Importer, Options, PROCESS_BANDWIDTH,
};
use collrules_record::findings::Statistic;
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Ranks;
use collrules_record::{Candidate, CandidateName};
use collrules_rules::words::counted;
use collrules_rules::{Collective, Release};
use collrules_workflow::WorkflowError;
use collrules_workflow::analyze::TABLE_RELEASE;
use collrules_workflow::campaign;

use crate::screen;
use crate::session::command_line;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Formats, known by their content: text of OSU micro-benchmarks, IMB-MPI1 and ReproMPI, also in \
directories of ompi-collectives-tuning; tables with named columns, separated by commas, semicolons or tabs. Any may be \
packed with gzip. What the content does not say is taken from names such as bcast-np4-a3.txt or np4/a3/bcast.txt, or from \
options."
)]
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
    #[command(flatten)]
    pub(crate) reading: ReadingOptions,
    /// Print findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to read timings of other programs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReadingOptions {
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
    /// The start of the MPI job, from 0 [default: 0, if neither a column nor names such as run1 say so]
    #[arg(long, value_name = "N")]
    pub(crate) launch: Option<u32>,
    /// Unit of columns of times that name none: s, ms, us, ns
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub(crate) unit: Option<f64>,
    /// Which time to use if there are several [default: slowest if every timing has it, else average]
    #[arg(long, value_name = "WHICH")]
    pub(crate) time: Option<Time>,
    /// Leave out timings that are not plausible; by default they are kept and named
    #[arg(long)]
    pub(crate) leave_out_flagged: bool,
    /// GB/s that one process can send or receive at most; faster timings are flagged [default: 50]
    #[arg(long, value_name = "GB/S", value_parser = bandwidth)]
    pub(crate) process_bandwidth: Option<f64>,
}

impl ReadingOptions {
    /// The options of the importer, with the release whose algorithm numbers are meant.
    pub(crate) fn with_release(&self, release: Release) -> Options {
        Options {
            release,
            facts: Facts {
                collective: self.collective,
                ranks: self.np,
                algorithm: self.algorithm.clone(),
                launch: self.launch,
            },
            per_second: self.unit,
            time: self.time.map(|time| match time {
                Time::Slowest => Statistic::SlowestRankSummary,
                Time::Average => Statistic::RankAverage,
            }),
            leave_out_flagged: self.leave_out_flagged,
            process_bandwidth: self.process_bandwidth.unwrap_or(PROCESS_BANDWIDTH),
        }
    }
}

/// Which of several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Time {
    /// Of the slowest rank
    Slowest,
    /// The mean over ranks
    Average,
}

#[expect(clippy::unnecessary_wraps, reason = "what clap wants of a parser")]
fn algorithm(text: &str) -> Result<CandidateName, String> {
    Ok(CandidateName::read(text))
}

/// The number of units in a second.
fn unit(text: &str) -> Result<f64, String> {
    match text {
        "s" => Ok(1.0),
        "ms" => Ok(1e3),
        "us" => Ok(1e6),
        "ns" => Ok(1e9),
        _ => Err(format!("`{text}` is none of s, ms, us and ns")),
    }
}

fn bandwidth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(gigabytes) if gigabytes > 0.0 && gigabytes.is_finite() => Ok(gigabytes * 1e9),
        _ => Err(format!("`{text}` is not a positive number of GB/s")),
    }
}

pub(crate) fn run(args: &ImportArgs) -> Result<(), WorkflowError> {
    // Settings must be able to name the path of later results.
    campaign::refuse_unnameable(&args.out)?;
    if let Some(run) = args.inputs.iter().find(|input| input.join(rundir::MANIFEST).is_file()) {
        return Err(WorkflowError::Input(format!(
            "{} is a run of collrules, whose timings need no import: `collrules analyze {0}` makes rules of them",
            run.display()
        )));
    }
    let release = args.release.unwrap_or(TABLE_RELEASE);
    let mut importer = Importer::new(args.reading.with_release(release));
    collrules_import::add_all(&mut importer, &args.inputs)
        .map_err(|error| WorkflowError::open(&error.path, error.cause))?;
    let import = importer.finish().map_err(|cause| WorkflowError::Input(cause.to_string()))?;
    let version = env!("CARGO_PKG_VERSION");
    let manifest = ImportManifest::new(&import, release, args.release.is_some(), command_line(), version);
    let run = collrules_import::create(args.out.clone(), &manifest, &import)?;
    let lines = if args.json {
        vec![serde_json::to_string_pretty(&ImportReport::new(&import))?]
    } else {
        summary(&import, &manifest, &run)
    };
    screen::print(&lines.join("\n"))
}

fn summary(import: &collrules_import::Import, manifest: &ImportManifest, run: &RunDir) -> Vec<String> {
    let findings = Finding::describe_all(&import.findings);
    let mut lines: Vec<String> = findings.iter().flat_map(|text| screen::wrapped(text, "", "    ")).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    let mut cells: Vec<_> = import.timings.iter().map(|timing| timing.cell).collect();
    cells.dedup();
    let used = import.sources.iter().filter(|source| source.timings > 0).count();
    lines.push(format!(
        "{} of {} from {}.",
        counted(import.timings.len(), "timing"),
        counted(cells.len(), "size"),
        counted(used, "file"),
    ));
    let mut say = |sentence: &str| lines.extend(screen::wrapped(sentence, "", ""));
    say(match import.statistic {
        Statistic::RankAverage => {
            "They are averages over ranks and calls (means or medians), which hide the slowest rank and the spread."
        }
        _ => "They are times of the slowest rank.",
    });
    if !manifest.release_stated {
        say(
            &format!("Algorithm numbers are read as those of Open MPI {}; --release names another.", manifest.release,),
        );
    }
    let with_default: BTreeSet<_> =
        import.timings.iter().filter(|it| it.candidate == Candidate::Builtin).map(|it| it.cell).collect();
    let without = cells.iter().filter(|cell| !with_default.contains(cell)).count();
    if without > 0 {
        say(&format!(
            "{} without a timing of Open MPI's default: nothing is compared there, and no rule can be made.",
            counted(without, "size")
        ));
    }
    match severities(&import.findings) {
        None if without > 0 => {}
        None => say("No problems found."),
        Some(counts) => say(&format!("{counts} above, and in {}.", run.file(rundir::IMPORT).display())),
    }
    lines.push(String::new());
    lines.push(format!("Next: collrules analyze {}", run.path().display()));
    lines
}

/// `1 error, 2 warnings`.
fn severities(findings: &[Finding]) -> Option<String> {
    let count = |severity: FindingSeverity| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| counted(count, severity.name()))
    };
    let counts: Vec<String> = [FindingSeverity::Error, FindingSeverity::Warning, FindingSeverity::Note]
        .into_iter()
        .filter_map(count)
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}
