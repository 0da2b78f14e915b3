//! `collrules profile`: calls of a program, and the possible gain.

use std::path::{Path, PathBuf};

use collrules_record::{profile as record, rundir};
use collrules_report::progress;
use collrules_tuner::prospects::prospects;
use collrules_workflow::profile::{self, Profiling};
use collrules_workflow::{TOOL, WorkflowError};

use crate::exit::Exit;
use crate::options::named_or_new;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    after_help = "Exit code: that of the program. Standard output and standard error are the program's; what collrules \
                  itself says comes last, on standard error."
)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    show: Option<ProfileCommand>,
    #[command(flatten)]
    options: Profiling,
    /// Directory for profile.json, which must not hold one yet; on a file system that all nodes share [default:
    /// collrules-profile-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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

pub(crate) fn run(args: &ProfileArgs) -> Result<Exit, WorkflowError> {
    match &args.show {
        Some(ProfileCommand::Show(show)) => self::show(show).map(|()| Exit::DONE),
        None => watch(args),
    }
}

/// Runs the program, and exits with its code.
fn watch(args: &ProfileArgs) -> Result<Exit, WorkflowError> {
    let out = named_or_new(args.out.as_deref(), "profile");
    let profiled = session::plain(|session| {
        let profiled = profile::profile(&args.options, &out, session)?;
        // The program uses standard output.
        session.say(&progress::profile::written(&profiled.file));
        Ok::<_, WorkflowError>(profiled)
    })?;
    // Launchers use codes up to 255.
    Ok(Exit(u8::try_from(profiled.code).unwrap_or(u8::MAX)))
}

fn show(args: &Show) -> Result<(), WorkflowError> {
    let profile = profile::open(&args.profile)?;
    let findings = args.run.as_deref().map(profile::findings).transpose()?;
    let prospects = prospects(&profile, findings.as_ref());
    let page = args.page.clone().unwrap_or_else(|| beside(&args.profile));
    let text = collrules_report::profile::document(&profile, &prospects).page(TOOL);
    rundir::put(&page, &text).map_err(|cause| WorkflowError::write(&page, cause))?;
    if args.json {
        return screen::raw(collrules_report::profile::json(&profile, &prospects)?.as_bytes());
    }
    let text = collrules_report::profile::document(&profile, &prospects).text(screen::width());
    screen::print(&format!("{text}\nPage with maps: {}", page.display()))
}

/// Returns the path of the page next to the profile.
fn beside(profile: &Path) -> PathBuf {
    if profile.is_dir() { profile.join(record::PAGE) } else { profile.with_file_name(record::PAGE) }
}
