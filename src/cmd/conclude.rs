//! What every analysis says at its end.

use collrules_record::findings::{Criteria, Findings};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Seconds;
use collrules_report::Context;
use collrules_report::{plain, summary, terminal, validation};

use crate::args::CriteriaArgs;
use crate::failure::Failure;
use crate::screen::{self, Ink, paint, wrapped};

impl CriteriaArgs {
    /// The criteria for times that were read off a clock with such a step; 0 where it is unknown.
    pub(super) fn criteria(&self, clock_step: Seconds) -> Criteria {
        Criteria {
            clock_step,
            min_gain: self.min_gain,
            error_rate: self.error_rate,
            untested_gain: self.untested_gain,
            ..Criteria::default()
        }
    }
}

/// Prints verdicts, expectations, remarks, and the files with what they are for.
pub(super) fn print(run: &RunDir, findings: &Findings, context: &Context<'_>) -> Result<(), Failure> {
    screen::print(&text(run, findings, context).join("\n"))
}

fn text(run: &RunDir, findings: &Findings, context: &Context<'_>) -> Vec<String> {
    let Context { switch_on, proof, validation, .. } = context;
    let heading = |text: &str| paint(Ink::Heading, text);
    let verdicts = terminal::verdicts(findings, screen::width());
    let mut lines = vec![verdicts, String::new(), heading("Expected gain over the builtin:")];
    lines.extend(summary::sentences(findings).iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")));
    if !findings.remarks.is_empty() {
        lines.extend([String::new(), heading("To know:")]);
        lines.extend(findings.remarks.iter().flat_map(|remark| wrapped(&plain::line(remark), "  - ", "    ")));
    }
    lines.extend([String::new(), heading(&format!("Files in {}:", run.path().display()))]);
    for (name, what) in [
        (rundir::RULES, "the rules file"),
        (rundir::MCA_PARAMS, "settings, for one user or for everybody"),
        (rundir::PAGE, "every cell with plots, and where the numbers come from"),
        (rundir::REPORT, "the same as text"),
        (rundir::TREE_TEXT, "the rules as a tree, with the evidence"),
    ] {
        lines.extend(wrapped(what, &format!("  {name:<16}  "), &" ".repeat(20)));
    }
    if switch_on.is_empty() {
        lines.push(String::new());
        lines.extend(wrapped("Nothing beats the builtin: there is nothing to switch on.", "", ""));
    } else {
        lines.extend([String::new(), heading("To switch it on, for one run or for a shell:")]);
        lines.extend(switch_on.iter().map(|line| format!("  {line}")));
    }
    let compared = validation.map(validation::sentences).unwrap_or_default();
    for sentences in [proof, &compared].into_iter().filter(|sentences| !sentences.is_empty()) {
        lines.push(String::new());
        lines.extend(sentences.iter().flat_map(|sentence| wrapped(sentence, "", "")));
    }
    lines
}
