//! Check of performance guidelines: comparison of mock-ups with the default.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow, and its analysis of earlier measurements |
//! | `under_rules` | the second half of a check, in launches with an active rules file |
//! | `check` | mock-ups that are faster than the default, and remedies |
//! | `found` | the result, as its file has it |
//! | `report` | the result for people |

pub mod check;
pub mod found;
pub mod report;
mod under_rules;

use std::path::{Path, PathBuf};

use collrules_record::criteria::Criteria;
use collrules_record::experiment::Experiment;
use collrules_record::grid::{Alternatives, CommunicatorSizes, Grid, Mockups, communicator_sizes};
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::rundir::{self, RunDir};
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, percent, sizes, slowdown};
use collrules_record::{Bytes, Manifest, Mockup, Placement, Survey};
use collrules_report::Document;
use collrules_rules::{Collective, Release};
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::analyze::Source;
use collrules_workflow::campaign::Measurement;

use self::check::GuidelineTerms;
use self::found::{Change, Changed, Checked, FILE, FORMAT, LeftOutCell, PAGE, TABLE, TEXT, UnderRules};
use crate::instrument::Instrument;

/// Options of `guidelines`.
#[derive(Clone, Debug, clap::Args)]
pub struct Checking {
    /// Collectives to check, separated by commas, or all
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = collectives)]
    pub ops: List<Collective>,
    /// Communicator sizes, as for tune [default: powers of two up to the slots at hand, and the slots]
    #[arg(long, value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicator_sizes)]
    pub np: CommunicatorSizes,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "4,64,1K,16K,256K,1M", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Time these mock-ups only, separated by commas: calls such as reduce+bcast, split:PIECES, split:PIECES+barrier,
    /// pad:SIZE
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mockup)]
    pub only: Vec<Mockup>,
    /// Numbers of calls to split messages into, without and with a barrier between them; separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4", value_parser = clap::value_parser!(u32).range(2..))]
    pub pieces: Vec<u32>,
    /// Maximum memory of a mock-up on a rank, besides the caller's buffers
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub max_extra_memory: Bytes,
    /// Maximum memory for the buffers of one rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub max_memory: Bytes,
    /// Do not time the algorithms of coll/tuned and HAN that could cure a violation
    #[arg(long)]
    pub no_remedies: bool,
    /// Check again with this rules file, or the tuning of this run, and report which violations are gone, stay, or
    /// are new. The exit code is for those left with the file
    #[arg(long, value_name = "FILE|RUN", conflicts_with = "input")]
    pub rules: Option<PathBuf>,
    /// Slowdown, in percent, that is tolerated
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = slowdown)]
    pub tolerate: f64,
    /// Maximum share of wrong violations, in percent of all (false discovery rate)
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub error_rate: f64,
    /// Guarantees of programs beyond MPI's rules: commutative-ops, consistent-arguments
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub assume: Vec<Assumption>,
    /// Release of Open MPI that a table was measured with [default: 5.0]
    #[arg(long, value_name = "RELEASE", requires = "input")]
    pub release: Option<Release>,
    /// Time for all of it; `none`: until every message size is precise or has its maximum of rounds
    #[arg(long, value_name = "TIME|none", default_value = "120s", value_parser = budget)]
    pub budget: Budget,
    /// Number of launches. A violation has to show in every launch
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Options of timing calls.
    #[command(flatten)]
    pub timing: TimingOptions,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// A mock-up; where nothing stands before the calls, `mockup:` is meant.
fn mockup(text: &str) -> Result<Mockup, String> {
    let text = text.trim();
    let whole = if text.contains(':') { text.to_owned() } else { format!("mockup:{text}") };
    Ok(whole.parse()?)
}

impl Instrument for Checking {
    type Found = Checked;

    const NAME: &'static str = "guidelines";
    const FILES: [&'static str; 2] = [FILE, TEXT];
    const PAGE: Option<&'static str> = Some(PAGE);

    fn system(&self) -> &SystemOptions {
        &self.system
    }

    fn experiment(&self, _: &Survey) -> Result<Experiment, WorkflowError> {
        // Resumed from elsewhere, it is the same file.
        let absolute = |rules: &PathBuf| std::path::absolute(rules).map_err(|cause| WorkflowError::open(rules, cause));
        let mockups = Mockups {
            only: self.only.clone(),
            pieces: self.pieces.clone(),
            max_extra_memory: self.max_extra_memory,
            remedies: !self.no_remedies,
        };
        let grid = Grid {
            ranks: self.np.clone(),
            max_memory: self.max_memory,
            alternatives: Alternatives::Mockups(mockups),
            ..Grid::new(&self.ops, &[], &self.sizes)
        };
        Ok(Experiment {
            budget: self.budget,
            launches: self.launches,
            seed: self.seed,
            timing: self.timing,
            min_gain: self.tolerate,
            assumptions: self.assumptions(),
            under_rules: self.rules.as_ref().map(absolute).transpose()?,
            ..Experiment::new(grid, self.system.clone())
        })
    }

    /// Measures the default and mock-ups, and once more under a tuning if there is one.
    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let Some(path) = measured.experiment.under_rules.clone() else { return measured.grid(session) };
        // Before anything is measured: what is wrong with a file is not found out after the first half.
        let tuning = under_rules::prepared(&path, measured, session)?;
        measured.grid(session)?;
        under_rules::measure(&tuning, measured, session)
    }

    fn analyse(&self, input: &Path, session: &mut Session<'_>) -> Result<Checked, WorkflowError> {
        let source = Source::open(input, self.release, session)?;
        say_what_is_missing(&source, session)?;
        judge(&source, self)
    }

    fn document(checked: &Checked) -> Document {
        report::document(checked)
    }

    fn write_more(run: &RunDir, checked: &Checked) -> Result<(), WorkflowError> {
        let table = report::csv(checked).map_err(|cause| WorkflowError::write(&run.file(TABLE), cause))?;
        run.write(TABLE, table)?;
        Ok(())
    }
}

impl Checking {
    fn assumptions(&self) -> Assumptions {
        self.assume.iter().fold(Assumptions::default(), |made, assumption| made.with(*assumption))
    }
}

/// Reports that a check was interrupted, and how to resume it.
fn say_what_is_missing(source: &Source, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let (Some(run), Some(manifest)) = (source.run(), source.manifest()) else { return Ok(()) };
    let again = under_rules::read_plan(run)?.map_or(0, |plan| plan.launches);
    let (planned, complete) = (manifest.plan.launches + again, run.progress().complete);
    if complete < planned {
        session.say(&format!(
            "only {complete} of {planned} launches are complete; `collrules lab guidelines --resume {}` measures the \
             others",
            source.name
        ));
    }
    Ok(())
}

fn judge(source: &Source, judging: &Checking) -> Result<Checked, WorkflowError> {
    let manifest = source.manifest();
    let nowhere = Placement::default();
    let terms = GuidelineTerms {
        release: source.release,
        criteria: Criteria {
            min_gain: judging.tolerate,
            error_rate: judging.error_rate,
            clock_step: source.clock_step,
            ..Criteria::default()
        },
        assumptions: source.assumptions((!judging.assume.is_empty()).then(|| judging.assumptions())),
        placement: manifest.map_or(&nowhere, |manifest| &manifest.plan.placement),
        source: &source.name,
    };
    let failed = WorkflowError::analysis(&source.name);
    let mut checked = check::check(&source.observations, &terms).map_err(&failed)?;
    if let (Some(observations), Some(run)) = (&source.under_rules, source.run()) {
        let after = check::check_under_rules(observations, &terms).map_err(&failed)?;
        let deployment = under_rules::read_plan(run)?.and_then(|plan| plan.deployment);
        checked.under_rules = Some(UnderRules {
            changes: check::became(&checked, &after),
            settings: deployment.map(|deployment| deployment.settings).unwrap_or_default(),
            cells: after.cells,
        });
    }
    Ok(manifest.map_or(checked.clone(), |manifest| with_origin(checked, manifest)))
}

/// Adds the origin of the numbers, and cells that were not measured.
fn with_origin(checked: Checked, manifest: &Manifest) -> Checked {
    let left_out = manifest.plan.cells.iter().flat_map(|planned| {
        planned.left_out.iter().map(|left| LeftOutCell {
            cell: planned.cell,
            mockup: left.mockup,
            why: left.why.clone(),
        })
    });
    Checked {
        simulated: manifest.is_simulated(),
        library: Some(manifest.survey.library.clone()),
        command: manifest.command.clone(),
        left_out: left_out.collect(),
        skipped: manifest.plan.skipped.clone(),
        ..checked
    }
}

/// An earlier check, from its directory or file.
pub fn earlier(earlier: &Path) -> Result<Checked, WorkflowError> {
    Ok(rundir::read_json_file(&rundir::within(earlier, FILE), FORMAT)?)
}

/// Returns true if a check fails: compared with an earlier one, if a violation is new or worse; alone, if there is any
/// violation, with the rules file if there is one.
pub fn fails(checked: &Checked, changes: Option<&[Changed]>) -> bool {
    match changes {
        Some(changes) => changes.iter().any(|changed| matches!(changed.how, Change::New | Change::Worse)),
        // With a rules file, users get its results.
        None => !checked.under_file().as_ref().unwrap_or(checked).violations().is_empty(),
    }
}
