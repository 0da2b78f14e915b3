//! `collrules study`: chosen algorithms compared on a grid.

use collrules_record::options::Studying;
use collrules_report::plain;
use collrules_workflow::study::{self, README, STUDY, Studied, TIMES};

use crate::failure::Failure;
use crate::progress::Output;
use crate::screen::{self, TextStyle, paint};
use crate::session::{self, FAILURES};

#[derive(Debug, clap::Args)]
#[command(after_help = "A definition says what is asked, which algorithms are compared, and what is drawn:

  title = \"Two ways to broadcast\"
  question = \"Which of them is faster, and where?\"
  np = [2, 4, 8]            # sizes above the slots are left out
  sizes = \"1:1M\"            # as --sizes of tune
  [algorithms]              # by name or number, besides the default
  bcast = [\"binomial\", \"chain\"]
  [figures]
  over_ranks = [\"1\", \"1M\"]  # these sizes over the number of ranks
  over_sizes = [8]          # these communicators over the message size
  builtin = true            # the default alone, a line per communicator

collrules' sources have several under examples/studies.")]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(crate) studying: Studying,
}

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
