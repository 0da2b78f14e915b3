//! Output at the end of every analysis.

use collrules_record::findings::Findings;
use collrules_record::rundir;
use collrules_report::remarks::{remarks, sentences};
use collrules_report::{Context, outcome, plain, settings, summary, terminal, validation};
use collrules_workflow::WorkflowError;
use collrules_workflow::publish::Published;

use crate::screen::{self, TextStyle, paint, wrapped};

/// Prints verdicts, expectations, remarks, and the files with their purpose.
pub(super) fn print(published: &Published) -> Result<(), WorkflowError> {
    screen::print(&text(published).join("\n"))
}

/// Prints the last screen of a tuning; with `verbose`, verdicts and remarks before it.
pub(super) fn print_outcome(published: &Published, verbose: bool) -> Result<(), WorkflowError> {
    let Published { run, findings, .. } = published;
    let page = run.file(rundir::PAGE).display().to_string();
    let context = published.context();
    let next = published.next_command();
    let outcome = outcome::lines(findings, &context, &page, next.as_deref());
    let mut lines = if verbose { text(published) } else { Vec::new() };
    if verbose {
        lines.push(String::new());
    }
    lines.extend(outcome.iter().flat_map(|line| wrapped(line, "", "    ")));
    screen::print(&lines.join("\n"))
}

/// Verdicts, expectations and remarks.
pub(super) fn describe_findings(findings: &Findings, heading: impl Fn(&str) -> String) -> Vec<String> {
    let verdicts = terminal::verdicts(findings, screen::width());
    let gains = summary::text(findings, screen::width());
    let mut lines = vec![verdicts, String::new(), heading("Expected gain over the default:"), gains];
    if !findings.remarks.is_empty() {
        lines.extend([String::new(), heading("To know:")]);
        lines.extend(
            remarks(findings).iter().flat_map(|remark| wrapped(&plain::printable_line(remark), "  - ", "    ")),
        );
    }
    lines
}

fn text(published: &Published) -> Vec<String> {
    let Published { run, findings, validation, left_out, .. } = published;
    let Context { switch_on, rules, .. } = published.context();
    let heading = |text: &str| paint(TextStyle::Heading, text);
    let mut lines = Vec::new();
    if let Some(found) = &published.settings {
        lines.push(heading("Settings:"));
        lines.extend(
            settings::sentences(found)
                .iter()
                .flat_map(|sentence| wrapped(&plain::printable_line(sentence), "  ", "    ")),
        );
        lines.push(String::new());
    }
    lines.extend(describe_findings(findings, heading));
    lines.push(String::new());
    let halves = match findings.han.is_empty() {
        true => vec![(rundir::RULES, "the rules file")],
        false => vec![
            (rundir::HAN, "HAN's rules file: sizes delegated to coll/tuned"),
            (rundir::RULES, "the rules file of coll/tuned"),
        ],
    };
    let files = halves.into_iter().chain([
        (rundir::MCA_PARAMS, "settings, for one user or for all users"),
        (rundir::PAGE, "every size with plots, and the origin of the numbers"),
        (rundir::REPORT, "the same as text"),
    ]);
    lines.extend(screen::list_files(run.path(), 16, files));
    if switch_on.is_empty() || !published.is_confirmed() {
        lines.push(String::new());
        lines.extend(wrapped(&published.verdict().to_string(), "", ""));
        lines.extend(published.next_command().map(|next| format!("Next: {}", plain::printable_line(&next))));
    } else {
        lines.extend([String::new(), heading("To switch it on, for one run or for a shell:")]);
        lines.extend(switch_on.iter().map(|line| format!("  {}", plain::printable_line(line))));
    }
    let compared = validation.as_ref().map(|it| validation::sentences(it, &rules)).unwrap_or_default();
    for sentences in [&published.proof_sentences(), &compared, &sentences(findings, left_out)]
        .into_iter()
        .filter(|sentences| !sentences.is_empty())
    {
        lines.push(String::new());
        lines.extend(sentences.iter().flat_map(|sentence| wrapped(sentence, "", "")));
    }
    lines
}
