//! `collrules merge`: merges several runs.

use collrules_record::options::Merging;
use collrules_workflow::merge::{self, Merged};

use crate::failure::Failure;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Merge {
    #[command(flatten)]
    pub(crate) merging: Merging,
}

pub(crate) fn run(args: &Merge) -> Result<(), Failure> {
    let Merged { run, cells, samples, layouts } = session::plain(|session| merge::merge(&args.merging, session))?;
    let shown = run.path().display();
    let what = format!("{shown} has {samples} samples of {cells} sizes from {} runs.", args.merging.runs.len());
    let mut lines = screen::wrapped(&what, "", "");
    if !layouts.is_empty() {
        let names: Vec<String> = layouts.iter().map(|run| run.path().display().to_string()).collect();
        let what = format!(
            "Communicators of the same size have several layouts: {} holds another one. They share one rule.",
            names.join(" and ")
        );
        lines.extend(screen::wrapped(&what, "", ""));
    }
    lines.push(format!("Next: collrules analyze {shown}"));
    screen::print(&lines.join("\n"))
}
