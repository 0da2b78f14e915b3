//! `collrules tree`: the decision tree of findings that were made before.

use collrules_report::tree;
use collrules_workflow::publish::{self, Published};

use crate::args::{Tree, TreeFormat};
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &Tree) -> Result<(), Failure> {
    let Published { findings, .. } = Published::open(&args.input)?;
    if findings.tree.collectives.is_empty() {
        // Format 1.0 had no tree.
        return Err(Failure::NoTree { path: args.input.clone() });
    }
    let shown = match args.format {
        TreeFormat::Text => tree::text(&findings, screen::width()),
        TreeFormat::Json => publish::tree_json(&findings)?,
        TreeFormat::Svg => tree::svg(&findings) + "\n",
    };
    screen::print(&shown)
}
