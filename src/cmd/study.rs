//! `collrules study`: chosen algorithms compared on a grid.

use collrules_report::plain;
use collrules_workflow::study::{self, README, STUDY, Studied, TIMES};

use crate::args::StudyArgs;
use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint};
use crate::session::{self, FAILURES};

pub(crate) fn run(args: &StudyArgs) -> Result<(), Failure> {
    let Studied { paragraphs, figures, variants } =
        session::with(FAILURES, Output::Text, |session| study::study(&args.studying, session))?;
    let mut lines = Vec::new();
    for paragraph in &paragraphs {
        lines.extend(screen::wrapped(&paragraph.replace('*', ""), "", ""));
        lines.push(String::new());
    }
    lines.push(paint(
        TextStyle::Heading,
        &format!("Files in {}:", plain::line(&args.studying.out.display().to_string())),
    ));
    let readme = if figures > 0 { "the study, with all tables and figures" } else { "the study, with all tables" };
    if let Some((varying, variants)) = variants {
        let studies = variants.iter().map(|(directory, name)| (directory.as_str(), format!("the study of {name}")));
        for (name, what) in std::iter::once((README, format!("the {} compared", varying.plural()))).chain(studies) {
            lines.extend(screen::wrapped(&what, &format!("  {name:<11}  "), &" ".repeat(15)));
        }
        return screen::print(&lines.join("\n"));
    }
    for (name, what) in [(README, readme), (TIMES, "every time"), (STUDY, "all of it for programs")] {
        lines.extend(screen::wrapped(what, &format!("  {name:<11}  "), &" ".repeat(15)));
    }
    screen::print(&lines.join("\n"))
}
