//! `collrules profile`: calls of a program, and the possible gain.

use std::path::{Path, PathBuf};

use collrules_record::{manifest, profile as record, rundir};
use collrules_tuner::prospects::prospects;
use collrules_workflow::{TOOL, profile};

use crate::args::{ProfileArgs, ProfileCommand, Show};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &ProfileArgs) -> Result<Exit, Failure> {
    match &args.show {
        Some(ProfileCommand::Show(show)) => self::show(show).map(|()| Exit::Done),
        None => watch(args),
    }
}

/// Runs the program, and exits with its code.
fn watch(args: &ProfileArgs) -> Result<Exit, Failure> {
    let stamped = || PathBuf::from(format!("collrules-profile-{}", manifest::stamp()));
    let out = args.out.clone().unwrap_or_else(stamped);
    let profiled = session::plain(|session| {
        let profiled = profile::profile(&args.profiling, &out, session)?;
        // The program uses standard output.
        session.say(&format!(
            "the profile is in {0}; `collrules profile show {0}` summarizes it",
            profiled.file.display()
        ));
        Ok::<_, collrules_workflow::WorkflowError>(profiled)
    })?;
    Ok(Exit::of_program(profiled.code))
}

fn show(args: &Show) -> Result<(), Failure> {
    let profile = profile::open(&args.profile)?;
    let findings = args.run.as_deref().map(profile::findings).transpose()?;
    let prospects = prospects(&profile, findings.as_ref());
    let page = args.page.clone().unwrap_or_else(|| beside(&args.profile));
    let text = collrules_report::profile::page(&profile, &prospects, TOOL);
    rundir::put(&page, &text).map_err(|cause| Failure::write(&page, cause))?;
    if args.json {
        return screen::raw(collrules_report::profile::json(&profile, &prospects)?.as_bytes());
    }
    let text = collrules_report::profile::text(&profile, &prospects, screen::width());
    screen::print(&format!("{text}\nPage with maps: {}", page.display()))
}

/// Returns the path of the page next to the profile.
fn beside(profile: &Path) -> PathBuf {
    if profile.is_dir() { profile.join(record::PAGE) } else { profile.with_file_name(record::PAGE) }
}
