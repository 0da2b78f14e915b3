//! Arguments of `collrules profile` and `collrules try`.

use std::path::PathBuf;

use collrules_record::options::{Profiling, Trying};

#[derive(Clone, Debug, clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    after_help = "Exit code: that of the program. Standard output and standard error are the program's; what collrules \
itself says comes last, on standard error."
)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) show: Option<ProfileCommand>,
    #[command(flatten)]
    pub(crate) profiling: Profiling,
    /// Directory for profile.json, which must not hold one yet; on a file system that all nodes share [default:
    /// collrules-profile-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ProfileCommand {
    /// Say where the time of a program goes, and what rules could save
    Show(Show),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Show {
    /// A profile, or its directory
    #[arg(value_name = "FILE")]
    pub(crate) profile: PathBuf,
    /// The directory of a run of tune on the same system: says what its rules are expected to save
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// File for the page [default: profile.html beside the profile]
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
}

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 unless the program is shown to be slower with the tuning (or the profiler), 8 if it is. The runs take turns \
(without, with, with, without, and so on), so that drift favours neither side."
)]
pub(crate) struct Try {
    /// The rules file: that of a run (or the run's directory), or any other
    #[arg(value_name = "RULES|RUN", required_unless_present_any = ["profiler", "settings"], conflicts_with = "profiler")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trying: Trying,
    /// Directory for try.json and the output of each run [default: collrules-try-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}
