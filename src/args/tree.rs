//! `collrules tree`, as options.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Tree {
    /// A run directory that holds findings, or a findings file; - is standard input
    #[arg(value_name = "RUN|FINDINGS")]
    pub(crate) input: PathBuf,
    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TreeFormat,
}

/// How a decision tree is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TreeFormat {
    /// Indented lines
    Text,
    /// For programs, as tree.json
    Json,
    /// A drawing
    Svg,
}
