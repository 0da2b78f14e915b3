//! `collrules merge`: one run of several.

use collrules_workflow::merge::{self, Merged};

use crate::args::Merge;
use crate::failure::Failure;
use crate::{screen, session};

pub(crate) fn run(args: &Merge) -> Result<(), Failure> {
    let Merged { run, cells, samples } = session::plain(|session| merge::merge(&args.merging, session))?;
    let shown = run.path().display();
    let what = format!("{shown} has {samples} samples of {cells} cells from {} runs.", args.merging.runs.len());
    let mut lines = screen::wrapped(&what, "", "");
    lines.push(format!("Rules for all of it: collrules analyze {shown}"));
    screen::print(&lines.join("\n"))
}
