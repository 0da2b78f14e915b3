//! `collrules tree`: the decision tree of findings that were made before.

use collrules_record::rundir;
use collrules_report::tree;

use crate::args::{Tree, TreeFormat};
use crate::deliver;
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &Tree) -> Result<(), Failure> {
    let path = if args.input.is_dir() { args.input.join(rundir::FINDINGS) } else { args.input.clone() };
    let findings = rundir::read_findings(&path)?;
    if findings.tree.collectives.is_empty() {
        // Format 1.0 had no tree.
        return Err(Failure::NoTree { path });
    }
    let shown = match args.format {
        TreeFormat::Text => tree::text(&findings, screen::width()),
        TreeFormat::Json => deliver::tree_json(&findings)?,
        TreeFormat::Svg => tree::svg(&findings) + "\n",
    };
    screen::print(&shown)
}
