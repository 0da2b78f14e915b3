//! `collrules analyze`: verdicts and rules of a run directory or a timing table, without MPI.

use std::path::{Path, PathBuf};

use clap::ArgAction;
use collrules_record::criteria::Criteria;
use collrules_record::policy::{Assumptions, Policy};
use collrules_record::rundir::{self, RunDir};
use collrules_rules::Release;
use collrules_workflow::analyze::{Source, TABLE_RELEASE};
use collrules_workflow::{WorkflowError, campaign, publish};

use super::lab::import::ReadingOptions;
use super::summary;
use crate::options::{Given, declares};
use crate::session;

#[derive(Debug, clap::Args)]
pub(crate) struct Analyze {
    // Read this first: `Given` removes options when read.
    #[command(flatten)]
    pub(crate) given: Given,
    /// A run directory, or a timing table (- is standard input): columns separated by commas, semicolons or tabs, plain or
    /// gzip, named collective, algorithm_id, comm_size, message_bytes, avg_latency_us, and perhaps algorithm and launch
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: PathBuf,
    /// Directory for the results of a table, or of a run that has findings already
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Release of Open MPI that a table was measured with; a run knows its own [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Release>,
    #[command(flatten)]
    pub(crate) reading: ReadingOptions,
    /// Print nothing on standard output
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) criteria: Criteria,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

pub(crate) fn run(args: &Analyze) -> Result<(), WorkflowError> {
    let published = session::plain(|session| {
        let (source, run) = if args.input.is_dir() {
            if args.given.ids().any(|id| id == "release" || declares::<ReadingOptions>(id)) {
                return Err(WorkflowError::usage(
                    "--release and options for reading tables, such as --unit and --leave-out-flagged, are for tables: a \
                     run has its release and units; `collrules lab import` accepts them",
                ));
            }
            let (source, run) = Source::of_run(&args.input, session)?;
            (source, Some(run))
        } else {
            if args.input != Path::new("-") && !args.input.exists() {
                return Err(WorkflowError::Input(format!("{} does not exist", args.input.display())));
            }
            if args.out.is_none() {
                return Err(WorkflowError::usage("name a directory for the results of a table: --out DIR"));
            }
            let options = args.reading.with_release(args.release.unwrap_or(TABLE_RELEASE));
            (Source::of_table(&args.input, options, session)?, None)
        };
        let policy = args.policy;
        let said = args.given.ids().any(declares::<Assumptions>).then_some(policy.assumptions);
        let policy = Policy { assumptions: source.assumptions(said), ..policy };
        let decided = source.decide(args.criteria, policy)?;
        let target = target(args, run)?;
        publish::unproven(target, decided, source.manifest().cloned(), session)
    })?;
    if args.quiet { Ok(()) } else { summary::print(&published) }
}

/// Returns the directory for the findings. Earlier findings, perhaps proven and installed, are not overwritten.
fn target(args: &Analyze, run: Option<RunDir>) -> Result<RunDir, WorkflowError> {
    match (&args.out, run) {
        (Some(out), _) => {
            campaign::refuse_unnameable(out)?;
            Ok(RunDir::prepare_derived(out)?)
        }
        (None, Some(run)) if !run.file(rundir::FINDINGS).exists() => Ok(run),
        _ => Err(WorkflowError::Occupied(format!(
            "{} already holds findings; name another directory with --out",
            args.input.display(),
        ))),
    }
}
