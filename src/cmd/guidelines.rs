//! `collrules guidelines`: finds collectives that are slower than equivalent calls.

use std::path::PathBuf;

use clap::Args;
use collrules_lab::check;
use collrules_lab::guidelines::{self as files, Changed, Checked};
use collrules_program::mockup::BadMockup;
use collrules_record::Mockup;
use collrules_record::experiment::Experiment;
use collrules_record::grid::communicator_sizes;
use collrules_record::grid::{Alternatives, CommunicatorSizes, Grid, Mockups};
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::units::Bytes;
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, percent, sizes, slowdown};
use collrules_report::guidelines as report;
use collrules_rules::{Collective, Release};
use collrules_workflow::analyze::TABLE_RELEASE;
use collrules_workflow::guidelines::{self, Checking};

use super::instrument::{self, Source};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::SessionArgs;
use crate::screen::{self, TextStyle, paint, wrapped};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 if no violation is shown, 9 if one is; with --compare, 9 if one is new or has become \
worse; 1 if the default gives wrong data."
)]
pub(crate) struct Guidelines {
    /// Judge this run, or timing table with a column candidate, instead of measuring
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: Option<PathBuf>,
    /// Print the catalogue, and stop
    #[arg(long, conflicts_with = "input")]
    pub(crate) list: bool,
    /// Collectives to check, separated by commas, or all
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = collectives)]
    pub(crate) ops: List<Collective>,
    /// Communicator sizes, as for tune [default: powers of two up to the slots at hand, and the slots]
    #[arg(long, value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicator_sizes)]
    pub(crate) np: CommunicatorSizes,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "4,64,1K,16K,256K,1M", value_parser = sizes)]
    pub(crate) sizes: List<Bytes>,
    /// Time these mock-ups only, separated by commas: calls such as reduce+bcast, split:PIECES, split:PIECES+barrier,
    /// pad:SIZE
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mockup)]
    pub(crate) only: Vec<Mockup>,
    /// Numbers of calls to split messages into, without and with a barrier between them; separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) pieces: Vec<u32>,
    /// Maximum memory of a mock-up on a rank, besides the caller's buffers
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub(crate) max_extra_memory: Bytes,
    /// Maximum memory for the buffers of one rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub(crate) max_memory: Bytes,
    /// Do not time the algorithms of coll/tuned and HAN that could cure a violation
    #[arg(long)]
    pub(crate) no_remedies: bool,
    /// Check again with this rules file, or the tuning of this run, and report which violations are gone, stay, or
    /// are new. The exit code is for those left with the file
    #[arg(long, value_name = "FILE|RUN", conflicts_with = "input")]
    pub(crate) rules: Option<PathBuf>,
    /// Slowdown, in percent, that is tolerated
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = slowdown)]
    pub(crate) tolerate: f64,
    /// Maximum share of wrong violations, in percent of all (false discovery rate)
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub(crate) error_rate: f64,
    /// Guarantees of programs beyond MPI's rules: commutative-ops, consistent-arguments
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) assume: Vec<Assumption>,
    /// Report what changed since this check: its directory, or its guidelines.json
    #[arg(long, value_name = "EARLIER")]
    pub(crate) compare: Option<PathBuf>,
    /// Release of Open MPI that a table was measured with [default: 5.0]
    #[arg(long, value_name = "RELEASE", requires = "input")]
    pub(crate) release: Option<Release>,
    /// Time for all of it; `none`: until every message size is precise or has its maximum of rounds
    #[arg(long, value_name = "TIME|none", default_value = "120s", value_parser = budget)]
    pub(crate) budget: Budget,
    /// Number of launches. A violation has to show in every launch
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub(crate) launches: u32,
    /// Directory for the check, which must not hold one yet, or for the results on a run or table [default:
    /// collrules-guidelines-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// List what would be measured, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) timing: TimingOptions,
    #[command(flatten)]
    pub(crate) system: SystemOptions,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// A mock-up; where nothing stands before the calls, `mockup:` is meant.
fn mockup(text: &str) -> Result<Mockup, String> {
    let text = text.trim();
    let whole = if text.contains(':') { text.to_owned() } else { format!("mockup:{text}") };
    whole.parse().map_err(|bad: BadMockup| bad.to_string())
}

impl Guidelines {
    /// The check: its experiment, and by what it is judged.
    fn checking(&self) -> Result<Checking, Failure> {
        // Resumed from elsewhere, it is the same file.
        let absolute = |rules: &PathBuf| std::path::absolute(rules).map_err(|cause| Failure::open(rules, cause));
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
        let assumptions = self.assume.iter().fold(Assumptions::default(), |made, assumption| made.with(*assumption));
        let experiment = Experiment {
            budget: self.budget,
            launches: self.launches,
            seed: self.seed,
            timing: self.timing,
            min_gain: self.tolerate,
            assumptions,
            under_rules: self.rules.as_ref().map(absolute).transpose()?,
            ..Experiment::new(grid, self.system.clone())
        };
        Ok(Checking {
            experiment,
            release: self.release.unwrap_or(TABLE_RELEASE),
            tolerate: self.tolerate,
            error_rate: self.error_rate,
            assumptions: (!self.assume.is_empty()).then_some(assumptions),
        })
    }
}

pub(crate) fn run(args: &Guidelines) -> Result<Exit, Failure> {
    if args.list {
        let text = if args.session.json { report::list_json()? } else { report::list() };
        return screen::print(&text).map(|()| Exit::Done);
    }
    // Unreadable files are reported before anything is measured.
    let earlier = args.compare.as_deref().map(guidelines::earlier).transpose()?;
    let source = Source {
        input: args.input.as_deref(),
        out: args.out.as_deref(),
        session: &args.session,
        dry_run: args.dry_run,
    };
    let files = [
        (files::PAGE, "the maps with all numbers, and each violation"),
        (files::TEXT, "the same as text"),
        (files::FILE, "all of it for programs, and for --compare"),
        (files::TABLE, "every comparison as a table"),
    ];
    instrument::run(&args.checking()?, source, &files, |checked| {
        let changes = earlier.map(|earlier| check::changes(&earlier, checked));
        let exit = match guidelines::fails(checked, changes.as_deref()) {
            _ if !checked.default_failed.is_empty() => Exit::Problems,
            true => Exit::Violated,
            false => Exit::Done,
        };
        (text(checked, changes.as_deref()), exit)
    })
}

fn text(checked: &Checked, changes: Option<&[Changed]>) -> String {
    let mut text = report::text(checked, screen::width());
    if let Some(changes) = changes {
        text += &format!("\n{}\n", paint(TextStyle::Heading, "Since the earlier check:"));
        let said: Vec<String> = match changes {
            [] => vec!["no violation is new, gone, or changed beyond its interval.".to_owned()],
            all => all.iter().map(report::change).collect(),
        };
        for line in said.iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")) {
            text += &(line + "\n");
        }
    }
    text
}
