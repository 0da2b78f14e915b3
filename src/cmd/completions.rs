//! `collrules completions`: completions of the command line for shells.

use clap::Command;
use clap_complete::Shell;
use collrules_workflow::WorkflowError;

use crate::screen;

#[derive(Debug, clap::Args)]
#[command(after_help = "Where each shell looks for completions:
  bash        ~/.local/share/bash-completion/completions/collrules
  zsh         _collrules in a directory of $fpath
  fish        ~/.config/fish/completions/collrules.fish
  elvish      source it in ~/.config/elvish/rc.elv
  powershell  source it in $PROFILE")]
pub(crate) struct Completions {
    /// The shell to write them for, on standard output
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Writes the completions of the command line that is defined like this.
pub(crate) fn run(args: &Completions, mut command: Command) -> Result<(), WorkflowError> {
    let name = command.get_name().to_owned();
    // The generator panics if it cannot write; writing to memory always works.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    screen::raw(&script)
}
