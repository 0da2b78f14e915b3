//! `collrules tree`: the decision tree of earlier findings.

use std::path::PathBuf;

use clap::ValueEnum;
use collrules_report::tree;
use collrules_workflow::publish::{self, Published};

use crate::failure::Failure;
use crate::screen;

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// A run directory that holds findings, or a findings file; - is standard input
    #[arg(value_name = "RUN|FINDINGS")]
    pub(crate) input: PathBuf,
    /// Format of the tree
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TreeFormat,
}

/// Format in which a decision tree is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TreeFormat {
    /// Indented lines
    Text,
    /// For programs, as tree.json
    Json,
    /// A drawing
    Svg,
}

pub(crate) fn run(args: &TreeArgs) -> Result<(), Failure> {
    let findings = Published::open(&args.input)?.add_results();
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
