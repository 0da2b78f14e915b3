//! `collrules man`: manual pages, from the definitions that parse the command line.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_mangen::Man as Page;
use collrules_record::rundir;
use collrules_workflow::WorkflowError;

use crate::screen;

#[derive(Debug, clap::Args)]
#[command(after_help = "To read a page without installing it: collrules man tune | man -l -")]
pub(crate) struct Man {
    /// The command whose page goes to standard output [default: the page of collrules itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub(crate) command: Vec<String>,
    /// Write all pages, collrules.1 and one for each command, into this directory, such as share/man/man1
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Writes pages of the command line that is defined like this.
pub(crate) fn run(args: &Man, mut whole: Command) -> Result<(), WorkflowError> {
    whole.build();
    let pages = list_pages(&whole, "collrules");
    if let Some(directory) = &args.out {
        return write_all(directory, &pages);
    }
    let wanted = ["collrules"].into_iter().chain(args.command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let Some(page) = pages.iter().find(|page| page.get_name() == wanted) else {
        let names: Vec<&str> = pages.iter().filter_map(|page| page.get_name().strip_prefix("collrules-")).collect();
        let wanted = args.command.join(" ");
        return Err(WorkflowError::usage(format!("`{wanted}` is not a command; there are {}", names.join(", "))));
    };
    let text = rendered(page).map_err(WorkflowError::Stdout)?;
    screen::raw(&text)
}

/// The pages of a command and of those below it, each named as its page: `collrules`, `collrules-tune`,
/// `collrules-lab-model`, ...
fn list_pages(command: &Command, name: &str) -> Vec<Command> {
    let synopsis = command.get_bin_name().unwrap_or(name).to_owned();
    let page = command.clone().display_name(name).name(name.to_owned()).bin_name(synopsis);
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let below = below.flat_map(|below| list_pages(below, &format!("{name}-{}", below.get_name())));
    std::iter::once(page.version(env!("CARGO_PKG_VERSION"))).chain(below).collect()
}

fn rendered(page: &Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Page::new(page.clone())
        .manual("User Commands")
        .source(concat!("collrules ", env!("CARGO_PKG_VERSION")))
        .render(&mut text)?;
    Ok(text)
}

/// Writes all pages, or none if one of them would replace a file that is not a page of collrules.
fn write_all(directory: &Path, pages: &[Command]) -> Result<(), WorkflowError> {
    fs::create_dir_all(directory).map_err(|cause| WorkflowError::write(directory, cause))?;
    let paths: Vec<PathBuf> = pages.iter().map(|page| directory.join(format!("{}.1", page.get_name()))).collect();
    if let Some(foreign) = paths.iter().find(|path| path.symlink_metadata().is_ok() && !is_ours(path)) {
        return Err(WorkflowError::Occupied(format!(
            "{} was not written by `collrules man`: move it away, or name another directory with --out",
            foreign.display(),
        )));
    }
    for (page, path) in pages.iter().zip(&paths) {
        let written = rendered(page).and_then(|text| rundir::put(path, &String::from_utf8_lossy(&text)));
        written.map_err(|cause| WorkflowError::write(path, cause))?;
    }
    Ok(())
}

/// Returns true if a file is a page of collrules, of any version, according to its title. Opens only regular files,
/// since a pipe would never end.
fn is_ours(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let text = if is_file { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let head = String::from_utf8_lossy(&text[..text.len().min(HEAD)]);
    head.lines().any(|line| line.starts_with(".TH collrules") && line.ends_with(MANUAL))
}

/// Largest distance of the title from the beginning, in bytes.
const HEAD: usize = 400;

/// The manual of the pages, at the end of their titles.
const MANUAL: &str = "\"User Commands\"";
