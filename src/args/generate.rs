//! Arguments of the commands that say what the command line is, to shells and to `man`.

use std::path::PathBuf;

use clap_complete::Shell;

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

#[derive(Debug, clap::Args)]
#[command(after_help = "To read a page without installing it: collrules man tune | man -l -")]
pub(crate) struct Man {
    /// The command whose page goes to standard output [default: the page of collrules itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub(crate) command: Option<String>,
    /// Write all pages, collrules.1 and one for each command, into this directory, such as share/man/man1
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
