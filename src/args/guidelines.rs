//! `collrules guidelines`.

use std::path::PathBuf;

use clap::Args;
use collrules_record::findings::Criteria;
use collrules_record::options::{Grid, Mockups, Refinement, Tuning};
use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Mockup, Policy};
use collrules_rules::Release;
use collrules_runner::grid;
use collrules_workflow::guidelines::Judging;
use collrules_workflow::options::{Budget, Collectives, MOST_LAUNCHES, Sizes, percent};

use super::{Launch, Session, Simulate, TABLE_RELEASE, Timing};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 if no violation is shown, 9 if one is; with --compare, 9 if one is new or has become \
worse."
)]
pub(crate) struct Guidelines {
    /// Judge this run, or timing table with a column candidate, instead of measuring
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: Option<PathBuf>,
    /// Print the catalogue with its formulas, and stop
    #[arg(long, conflicts_with = "input")]
    pub(crate) list: bool,
    /// Collectives to check, separated by commas, or all
    #[arg(long, value_name = "LIST", default_value = "all")]
    pub(crate) ops: Collectives,
    /// Communicator sizes, separated by commas [default: powers of two up to the slots at hand, and the slots]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) np: Vec<Ranks>,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "4,64,1K,16K,256K,1M")]
    pub(crate) sizes: Sizes,
    /// Time these mock-ups only, separated by commas: calls such as reduce+bcast, split:PIECES, split:PIECES+barrier,
    /// pad:SIZE
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mockup)]
    pub(crate) only: Vec<Mockup>,
    /// Into how many calls messages are split, without and with a barrier between them; separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) pieces: Vec<u32>,
    /// What a mock-up may need on a rank beside the caller's buffers
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub(crate) max_extra_memory: Bytes,
    /// What the buffers of one rank may take; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub(crate) max_memory: Bytes,
    /// Leave out the algorithms of coll/tuned, which show what would cure a violation
    #[arg(long)]
    pub(crate) no_remedies: bool,
    /// Slowdown, in percent, that is tolerated
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub(crate) tolerate: f64,
    /// Share of wrong violations among all, in percent, that is put up with
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub(crate) error_rate: f64,
    /// What programs keep to, beyond what MPI asks of them: commutative-ops, consistent-arguments
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) assume: Vec<Assumption>,
    /// Report what changed since this check: its directory, or its guidelines.json
    #[arg(long, value_name = "EARLIER")]
    pub(crate) compare: Option<PathBuf>,
    /// Release of Open MPI that a table was measured with [default: 5.0]
    #[arg(long, value_name = "RELEASE", requires = "input")]
    pub(crate) release: Option<Release>,
    /// Time for all of it; with `none`, each launch goes on until every cell is precise or has its most rounds
    #[arg(long, value_name = "TIME|none", default_value = "120s")]
    pub(crate) budget: Budget,
    /// How many times to start the job. A violation has to show in every launch
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub(crate) launches: u32,
    /// Directory for the check, which must not hold one yet [default: collrules-guidelines-DATE-TIME]. Of what is judged
    /// again, the directory for what is found
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// List what would be measured, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) timing: Timing,
    #[command(flatten)]
    pub(crate) launch: Launch,
    #[command(flatten)]
    pub(crate) simulate: Simulate,
    #[command(flatten)]
    pub(crate) session: Session,
}

/// A mock-up; where nothing stands before the calls, `mockup:` is meant.
fn mockup(text: &str) -> Result<Mockup, String> {
    let text = text.trim();
    let whole = if text.contains(':') { text.to_owned() } else { format!("mockup:{text}") };
    whole.parse().map_err(|bad: collrules_record::mockup::BadMockup| bad.to_string())
}

impl Guidelines {
    /// What a new check shall do.
    pub(crate) fn tuning(&self) -> Tuning {
        let usual = grid::Grid::default();
        Tuning {
            grid: Grid {
                collectives: self.ops.0.clone(),
                ranks: self.np.clone(),
                sizes: self.sizes.0.clone(),
                segments: usual.segments,
                fanouts: usual.fanouts,
                requests: usual.requests,
                max_memory: self.max_memory,
                only: Vec::new(),
                launch_per_candidate: false,
                reference: false,
                mockups: Some(Box::new(Mockups {
                    only: self.only.clone(),
                    pieces: self.pieces.clone(),
                    max_extra_memory: self.max_extra_memory,
                    remedies: !self.no_remedies,
                })),
            },
            budget: self.budget.0,
            launches: self.launches,
            seed: self.seed,
            keep_slow: false,
            timing: self.timing.timed(),
            criteria: Criteria { min_gain: self.tolerate, error_rate: self.error_rate, ..Criteria::default() },
            policy: Policy { assumptions: self.assumptions(), ..Policy::default() },
            refinement: Refinement { rounds: 0, width: 2.0, ranks: false },
            validate: false,
            system: self.launch.system(&self.simulate),
        }
    }

    fn assumptions(&self) -> Assumptions {
        self.assume.iter().fold(Assumptions::default(), |made, assumption| made.with(*assumption))
    }

    /// By what it is judged.
    pub(crate) fn judging(&self) -> Judging {
        Judging { tolerate: self.tolerate, error_rate: self.error_rate, assumptions: self.assumptions() }
    }

    /// The release of a table.
    pub(crate) fn release(&self) -> Release {
        self.release.unwrap_or(TABLE_RELEASE)
    }
}
