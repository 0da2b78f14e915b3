//! State of installed tunings, which may be broken.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::Tuning;
use collrules_record::digest;
use collrules_record::installed::{FORMAT, INSTALLED, Installation, Installed};
use collrules_record::rundir::{self, RULES, RunDir};
use collrules_rules::deploy::SWITCHES;
use collrules_runner::RunnerError;
use collrules_runner::mpi::installation;
use collrules_workflow::WorkflowError;
use serde::Serialize;

use super::install::parameters::ParameterFile;
use super::install::place;
use super::install::scope::describe_scope;
use crate::exit::Exit;
use crate::progress::say;
use crate::screen::{self, TextStyle, paint, wrapped};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if every tuning that is installed is as it was installed, 1 otherwise.")]
pub(crate) struct InstalledArgs {
    /// Installations of Open MPI: their directories, or their mpirun [default: that of the mpirun in PATH]
    #[arg(value_name = "DIR")]
    openmpi: Vec<PathBuf>,
    /// More installations of Open MPI, written as for install
    #[arg(long = "for", value_name = "DIR")]
    of: Vec<PathBuf>,
    /// Also list those with rules files below the DIR of `install --prefix DIR`
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

/// State of the tuning that is installed for one Open MPI.
#[derive(Debug, Serialize)]
struct InstallState {
    /// The Open MPI; missing if it was removed.
    openmpi: Option<Installation>,
    /// The parameter file.
    parameters: PathBuf,
    /// State of the tuning there.
    standing: InstallStatus,
    /// Record of the install, if it can be read.
    installed: Option<Installed>,
    /// The calls that it acts on, in whole sentences.
    scope: Vec<String>,
    /// Reasons why it is broken, or overridden for this user, in whole sentences.
    notes: Vec<String>,
}

/// State of an installed tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum InstallStatus {
    /// None was installed.
    None,
    /// It is intact.
    Holds,
    /// It is broken.
    Broken,
}

pub(crate) fn run(args: &InstalledArgs) -> Result<Exit, WorkflowError> {
    let states = list_states(args)?;
    if args.json {
        screen::print(&serde_json::to_string_pretty(&states)?)?;
    } else {
        screen::print(&states.iter().map(describe_state).collect::<Vec<_>>().join("\n"))?;
    }
    let broken = states.iter().any(|state| state.standing == InstallStatus::Broken);
    Ok(if broken { Exit::PROBLEMS } else { Exit::DONE })
}

fn describe_state(state: &InstallState) -> String {
    let name = match &state.openmpi {
        Some(openmpi) => format!("Open MPI {} in {}", openmpi.version, openmpi.prefix.display()),
        None => state.parameters.display().to_string(),
    };
    let mut lines = vec![match state.standing {
        InstallStatus::None => format!("{name}: no tuning is installed"),
        InstallStatus::Holds => format!("{name}: {}", paint(TextStyle::Good, "tuned")),
        InstallStatus::Broken => format!("{name}: {}", paint(TextStyle::Bad, "does not hold")),
    }];
    if let Some(installed) = &state.installed {
        let measured = installed.measured.as_ref().map_or(String::new(), |when| format!(", measured {when}"));
        let version = installed.version.map_or_else(|| installed.release.to_string(), |version| version.to_string());
        let from = format!(
            "From {}{measured} on Open MPI {version}; installed {} by collrules {}.",
            installed.run.display(),
            installed.installed,
            installed.collrules
        );
        lines.extend(wrapped(&from, "  ", "  "));
    }
    lines.extend(state.scope.iter().flat_map(|said| wrapped(said, "  ", "  ")));
    lines.extend(state.notes.iter().flat_map(|note| wrapped(note, "  - ", "    ")));
    lines.join("\n")
}

/// Lists the states of the tunings for the named installations, for all below a prefix, and for this user.
fn list_states(args: &InstalledArgs) -> Result<Vec<InstallState>, WorkflowError> {
    let mut states = Vec::new();
    let mut known = Vec::new();
    if args.openmpi.is_empty() && args.of.is_empty() && args.prefix.is_none() {
        known.push(installation::find(None)?);
    }
    let mut foreign = Vec::new();
    for named in args.openmpi.iter().chain(&args.of) {
        match installation::find(Some(named)) {
            Ok(found) => known.push(found),
            Err(
                other @ (RunnerError::NoInstallation(_)
                | RunnerError::NotOpenMpi { .. }
                | RunnerError::CannotStart { .. }),
            ) => foreign.push(other),
            Err(error) => return Err(error.into()),
        }
    }
    // A pattern such as /opt/openmpi/* may name other things as well.
    if known.is_empty()
        && let Some(first) = foreign.pop()
    {
        return Err(first.into());
    }
    foreign.iter().for_each(|error| say(&format!("left out: {error}")));
    if let Some(prefix) = &args.prefix {
        let shared = place::shared(prefix)?;
        let homes = fs::read_dir(&shared).map_err(|cause| WorkflowError::open(&shared, cause))?;
        let mut homes: Vec<PathBuf> = homes.flatten().map(|entry| entry.path()).collect();
        homes.sort_unstable();
        for newest in homes.iter().filter_map(|home| place::generations_in(home).pop()) {
            let kept: Installed = match rundir::read_json_file(&newest.join(INSTALLED), FORMAT) {
                Ok(kept) => kept,
                Err(damaged) => {
                    states.push(InstallState {
                        openmpi: None,
                        parameters: newest,
                        standing: InstallStatus::Broken,
                        scope: Vec::new(),
                        notes: vec![damaged.to_string()],
                        installed: None,
                    });
                    continue;
                }
            };
            match installation::find(Some(&kept.openmpi.prefix)) {
                Ok(found) if known.contains(&found) => {}
                Ok(found) => known.push(found),
                Err(gone) => states.push(InstallState {
                    openmpi: None,
                    parameters: kept.parameters.clone(),
                    standing: InstallStatus::Broken,
                    scope: Vec::new(),
                    notes: vec![format!("{} is not there any more: {gone}", kept.openmpi.prefix.display())],
                    installed: Some(kept),
                }),
            }
        }
    }
    // Every installation of the user reads it.
    let user = ParameterFile::of_user()?;
    for openmpi in known {
        let file = ParameterFile::read(openmpi.parameters())?;
        let mut found = state_of(Some(&openmpi), &file, user.as_ref())?;
        if found.standing == InstallStatus::None {
            found.notes = left_behind(&openmpi);
        }
        states.push(found);
    }
    if let Some(user) = &user {
        states.extend(Some(state_of(None, user, None)?).filter(|state| state.standing != InstallStatus::None));
    }
    Ok(states)
}

/// Tunings that upgrades left behind: files that no parameter file names any more, and tunings of other installations next
/// to one that has none.
fn left_behind(openmpi: &Installation) -> Vec<String> {
    let newest = place::generations_in(&openmpi.configuration.join("collrules")).pop();
    let unnamed = newest.and_then(|newest| {
        let kept: Installed = rundir::read_json_file(&newest.join(INSTALLED), FORMAT).ok()?;
        let command = match kept.openmpi.version == openmpi.version {
            true => format!("collrules install {} --for {}", kept.run.display(), openmpi.prefix.display()),
            false => port_command(&kept, openmpi),
        };
        Some(format!(
            "{} has a tuning that was installed for Open MPI {}, and {} does not name it any more: `{command}` brings it \
             back.",
            newest.display(),
            kept.openmpi.version,
            openmpi.parameters().display(),
        ))
    });
    let siblings = openmpi.prefix.parent().map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    let mut siblings: Vec<PathBuf> = siblings.into_iter().flatten().map(|entry| entry.path()).collect();
    siblings.retain(|sibling| *sibling != openmpi.prefix);
    siblings.sort_unstable();
    let file = |sibling: PathBuf| Installation { configuration: sibling.join("etc"), ..openmpi.clone() }.parameters();
    // An unreadable one does not concern this installation.
    let kept = |sibling| state_of(None, &ParameterFile::read(file(sibling)).ok()?, None).ok()?.installed;
    let found = siblings.into_iter().filter_map(kept);
    let sentence = |kept: Installed| {
        format!(
            "Open MPI {} in {} has a tuning, and this one has none: `{}` brings it here.",
            kept.openmpi.version,
            kept.openmpi.prefix.display(),
            port_command(&kept, openmpi),
        )
    };
    unnamed.into_iter().chain(found.map(sentence)).collect()
}

/// The command that adapts a tuning to an installation.
fn port_command(kept: &Installed, openmpi: &Installation) -> String {
    format!("collrules port {} --to {}", kept.run.display(), openmpi.prefix.display())
}

/// The state of the tuning in a parameter file, next to that of the user.
fn state_of(
    openmpi: Option<&Installation>,
    file: &ParameterFile,
    user: Option<&ParameterFile>,
) -> Result<InstallState, WorkflowError> {
    let mut state = InstallState {
        openmpi: openmpi.cloned(),
        parameters: file.path.clone(),
        standing: InstallStatus::None,
        installed: None,
        scope: Vec::new(),
        notes: Vec::new(),
    };
    let block = file.block();
    if block.is_empty() {
        return Ok(state);
    }
    let mut faults = Vec::new();
    let directory = file.named_file().and_then(Path::parent);
    match directory.map(|directory| read_installed(directory, &mut faults)) {
        Some(Ok(kept)) => {
            if kept.settings != block {
                faults.push(format!("The lines in {} are not those that were installed.", state.parameters.display()));
            }
            if let Some(openmpi) = openmpi.filter(|openmpi| openmpi.version != kept.openmpi.version) {
                faults.push(format!(
                    "It was installed for Open MPI {}, but this is {}: `{}` shows what still holds, and measures the \
                     rest.",
                    kept.openmpi.version,
                    openmpi.version,
                    port_command(&kept, openmpi),
                ));
            }
            state.scope = directory.and_then(|directory| scope_of(directory, &kept)).unwrap_or_default();
            state.installed = Some(kept);
        }
        Some(Err(why)) => faults.push(why),
        // Settings without a file, of which no more is known.
        None => {}
    }
    let below = file.contrary(&block).into_iter().map(|line| format!("{line} below the installed lines, and wins."));
    faults.extend(below);
    if let Some(openmpi) = openmpi {
        let strong = ParameterFile::read(openmpi.override_parameters())?.contrary(&block);
        faults.extend(strong.iter().map(|line| format!("{line}, and wins.")));
        faults.extend(file.named_file().filter(|file| file.exists()).and_then(place::unreadable));
    }
    state.standing = if faults.is_empty() { InstallStatus::Holds } else { InstallStatus::Broken };
    state.notes = faults;
    state.notes.extend(file.stronger(user));
    Ok(state)
}

/// The calls that the tuning in a directory acts on; none if its files cannot be read.
fn scope_of(directory: &Path, kept: &Installed) -> Option<Vec<String>> {
    let findings = RunDir::derived(directory).ok()?.findings().ok()?;
    let named = |name: &str| Some(directory.join(name)).filter(|path| path.is_file());
    let mut tuning = match (named(RULES), named(rundir::HAN)) {
        (Some(rules), han) => Tuning::read(&rules, han.as_deref()).ok()?,
        (None, Some(han)) => Tuning::read(&han, None).ok()?,
        (None, None) => Tuning::default(),
    };
    tuning.parameters = kept.settings.clone();
    tuning.parameters.retain(|name, _| !SWITCHES.contains(&name.as_str()));
    Some(describe_scope(&findings, &tuning))
}

/// Reads the record of an install from its directory; files that were changed or cannot be read go to the faults.
fn read_installed(directory: &Path, faults: &mut Vec<String>) -> Result<Installed, String> {
    let path = directory.join(INSTALLED);
    let kept: Installed = rundir::read_json_file(&path, FORMAT).map_err(|cause| cause.to_string())?;
    for (name, wanted) in &kept.files {
        let path = directory.join(name);
        match fs::read(&path) {
            Ok(bytes) if digest(&bytes) == *wanted => {}
            Ok(_) => faults.push(format!("{} was changed since it was installed.", path.display())),
            Err(cause) if name == RULES || name == rundir::HAN => {
                faults.push(format!("{} cannot be read ({cause}): Open MPI silently ignores it.", path.display()))
            }
            Err(cause) => faults.push(format!("{} cannot be read: {cause}.", path.display())),
        }
    }
    Ok(kept)
}
