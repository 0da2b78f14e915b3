//! `collrules guidelines`.

use std::path::PathBuf;

use clap::Args;
use collrules_record::Mockup;
use collrules_record::mockup::BadMockup;
use collrules_record::options::{self, Budget, List, Mockups, System, Timing, Tuning};
use collrules_record::policy::{Assumption, Assumptions};
use collrules_record::units::Bytes;
use collrules_record::values::{Communicators, MOST_LAUNCHES, budget, collectives, percent, sizes, slowdown};
use collrules_rules::{Collective, Release};
use collrules_workflow::guidelines::Judging;

use super::{Session, TABLE_RELEASE};
use crate::failure::Failure;

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
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = collectives)]
    pub(crate) ops: List<Collective>,
    /// Communicator sizes, as for tune [default: powers of two up to the slots at hand, and the slots]
    #[arg(long, value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = Communicators::read)]
    pub(crate) np: Communicators,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "4,64,1K,16K,256K,1M", value_parser = sizes)]
    pub(crate) sizes: List<Bytes>,
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
    /// Leave out the algorithms of coll/tuned, and those of HAN where it serves, which show what would cure a violation
    #[arg(long)]
    pub(crate) no_remedies: bool,
    /// Check all once more in launches with this rules file in force, or with the tuning of this run, and report which
    /// violations are gone, stay, or are new. The exit code is for what is left under it
    #[arg(long, value_name = "FILE|RUN", conflicts_with = "input")]
    pub(crate) rules: Option<PathBuf>,
    /// Slowdown, in percent, that is tolerated
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = slowdown)]
    pub(crate) tolerate: f64,
    /// Acceptable share of wrong violations, in percent of all
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
    /// Time for all of it; with `none`, each launch goes on until every cell is precise or has as many rounds as allowed
    #[arg(long, value_name = "TIME|none", default_value = "120s", value_parser = budget)]
    pub(crate) budget: Budget,
    /// How many times to start the job. A violation has to show in every launch
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub(crate) launches: u32,
    /// Directory for the check, which must not hold one yet [default: collrules-guidelines-DATE-TIME]. Where a
    /// run or a table is judged, the directory for what is found
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
    pub(crate) system: System,
    #[command(flatten)]
    pub(crate) session: Session,
}

/// A mock-up; where nothing stands before the calls, `mockup:` is meant.
fn mockup(text: &str) -> Result<Mockup, String> {
    let text = text.trim();
    let whole = if text.contains(':') { text.to_owned() } else { format!("mockup:{text}") };
    whole.parse().map_err(|bad: BadMockup| bad.to_string())
}

impl Guidelines {
    /// What a new check shall do.
    pub(crate) fn tuning(&self) -> Result<Tuning, Failure> {
        let mut tuning: Tuning = options::read(["--refine=0", "--no-validate"]).map_err(Failure::usage)?;
        tuning.grid.collectives.clone_from(&self.ops);
        tuning.grid.ranks.clone_from(&self.np);
        tuning.grid.sizes.clone_from(&self.sizes);
        tuning.grid.max_memory = self.max_memory;
        // Resumed from elsewhere, it is the same file.
        let absolute = |rules: &PathBuf| std::path::absolute(rules).map_err(|cause| Failure::open(rules, cause));
        let rules = self.rules.as_ref().map(absolute).transpose()?;
        tuning.grid.mockups = Some(Box::new(Mockups {
            only: self.only.clone(),
            pieces: self.pieces.clone(),
            max_extra_memory: self.max_extra_memory,
            remedies: !self.no_remedies,
            rules,
        }));
        (tuning.criteria.min_gain, tuning.criteria.error_rate) = (self.tolerate, self.error_rate);
        tuning.policy.assumptions = self.assumptions();
        let (budget, launches, seed) = (self.budget, self.launches, self.seed);
        Ok(Tuning { budget, launches, seed, timing: self.timing, system: self.system.clone(), ..tuning })
    }

    fn assumptions(&self) -> Assumptions {
        self.assume.iter().fold(Assumptions::default(), |made, assumption| made.with(*assumption))
    }

    /// By what it is judged.
    pub(crate) fn judging(&self) -> Judging {
        let assumptions = (!self.assume.is_empty()).then(|| self.assumptions());
        Judging { tolerate: self.tolerate, error_rate: self.error_rate, assumptions }
    }

    /// The release of a table.
    pub(crate) fn release(&self) -> Release {
        self.release.unwrap_or(TABLE_RELEASE)
    }
}
