//! `collrules tree`: the decision tree of earlier findings.

use collrules_report::tree;
use collrules_workflow::publish::{self, Published};

use crate::args::{TreeArgs, TreeFormat};
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &TreeArgs) -> Result<(), Failure> {
    let Published { findings, .. } = Published::open(&args.input)?;
    if findings.tree.collectives.is_empty() {
        return Err(Failure::NoTree { path: args.input.clone() });
    }
    let shown = match args.format {
        TreeFormat::Text => tree::text(&findings, screen::width()),
        TreeFormat::Json => publish::tree_json(&findings)?,
        TreeFormat::Svg => tree::svg(&findings) + "\n",
    };
    screen::print(&shown)
}
