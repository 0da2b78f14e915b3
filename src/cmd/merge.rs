//! `collrules merge`: merges several runs.

use collrules_workflow::WorkflowError;
use collrules_workflow::merge::{self, Merged, Merging};

use crate::{screen, session};

pub(crate) fn run(merging: &Merging) -> Result<(), WorkflowError> {
    let Merged { run, cells, samples, layouts } = session::plain(|session| merge::merge(merging, session))?;
    let shown = run.path().display();
    let what = format!("{shown} has {samples} samples of {cells} sizes from {} runs.", merging.runs.len());
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
