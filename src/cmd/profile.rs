//! `collrules profile`: what a program calls, and what it could gain.

use std::path::{Path, PathBuf};

use collrules_record::{manifest, profile as record, rundir};
use collrules_tuner::prospects::prospects;
use collrules_workflow::{TOOL, profile};

use crate::args::{Profile, ProfileCommand, Show};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &Profile) -> Result<Exit, Failure> {
    match &args.show {
        Some(ProfileCommand::Show(show)) => self::show(show).map(|()| Exit::Done),
        None => watch(args),
    }
}

/// Runs the program, and ends as it does.
fn watch(args: &Profile) -> Result<Exit, Failure> {
    let stamped = || PathBuf::from(format!("collrules-profile-{}", manifest::stamp()));
    let out = args.out.clone().unwrap_or_else(stamped);
    let profiled = session::plain(|session| {
        let profiled = profile::profile(&args.profiling, &out, session)?;
        // Standard output is the program's.
        session.say(&format!(
            "the profile is in {0}; `collrules profile show {0}` says what it comes to",
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
    screen::print(&format!("{text}\nThe same as a page, with maps: {}", page.display()))
}

/// Where the page goes.
fn beside(profile: &Path) -> PathBuf {
    if profile.is_dir() { profile.join(record::PAGE) } else { profile.with_file_name(record::PAGE) }
}
