//! What every analysis says at its end.

use collrules_record::findings::Findings;
use collrules_record::rundir;
use collrules_report::{plain, summary, terminal, validation};
use collrules_workflow::publish::Published;

use crate::failure::Failure;
use crate::screen::{self, Ink, paint, wrapped};

/// Prints verdicts, expectations, remarks, and the files with what they are for.
pub(super) fn print(published: &Published) -> Result<(), Failure> {
    screen::print(&text(published).join("\n"))
}

/// Verdicts, expectations and remarks.
pub(super) fn told(findings: &Findings, heading: impl Fn(&str) -> String) -> Vec<String> {
    let verdicts = terminal::verdicts(findings, screen::width());
    let mut lines = vec![verdicts, String::new(), heading("Expected gain over the builtin:")];
    lines.extend(summary::sentences(findings).iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")));
    if !findings.remarks.is_empty() {
        lines.extend([String::new(), heading("To know:")]);
        lines.extend(findings.remarks.iter().flat_map(|remark| wrapped(&plain::line(remark), "  - ", "    ")));
    }
    lines
}

fn text(published: &Published) -> Vec<String> {
    let Published { run, findings, validation, proof, .. } = published;
    let switch_on = published.context().switch_on;
    let heading = |text: &str| paint(Ink::Heading, text);
    let mut lines = told(findings, heading);
    lines.extend([String::new(), heading(&format!("Files in {}:", plain::line(&run.path().display().to_string())))]);
    let halves = match findings.handover.is_empty() {
        true => vec![(rundir::RULES, "the rules file")],
        false => vec![
            (rundir::HAN, "HAN's rules file: what it hands over to coll/tuned"),
            (rundir::RULES, "the rules file of coll/tuned"),
        ],
    };
    for (name, what) in halves.into_iter().chain([
        (rundir::MCA_PARAMS, "settings, for one user or for everybody"),
        (rundir::PAGE, "every cell with plots, and where the numbers come from"),
        (rundir::REPORT, "the same as text"),
        (rundir::TREE_TEXT, "the rules as a tree, with the evidence"),
    ]) {
        lines.extend(wrapped(what, &format!("  {name:<16}  "), &" ".repeat(20)));
    }
    if switch_on.is_empty() {
        lines.push(String::new());
        lines.extend(wrapped("Nothing beats the builtin: there is nothing to switch on.", "", ""));
    } else {
        lines.extend([String::new(), heading("To switch it on, for one run or for a shell:")]);
        lines.extend(switch_on.iter().map(|line| format!("  {}", plain::line(line))));
    }
    let compared = validation.as_ref().map(validation::sentences).unwrap_or_default();
    for sentences in [proof, &compared].into_iter().filter(|sentences| !sentences.is_empty()) {
        lines.push(String::new());
        lines.extend(sentences.iter().flat_map(|sentence| wrapped(sentence, "", "")));
    }
    lines
}
