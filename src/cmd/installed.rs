//! `collrules installed`: installed tunings, and whether they are intact.

use collrules_workflow::WorkflowError;
use collrules_workflow::install::{self, Inquiring, InstallState, InstallStatus};

use crate::exit::Exit;
use crate::screen::{self, TextStyle, paint, wrapped};

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if every tuning that is installed is as it was installed, 1 otherwise.")]
pub(crate) struct InstalledArgs {
    #[command(flatten)]
    options: Inquiring,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InstalledArgs) -> Result<Exit, WorkflowError> {
    let states = install::installed(&args.options)?;
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
