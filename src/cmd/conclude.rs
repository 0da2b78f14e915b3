//! What every analysis says at its end.

use std::io::{self, Write};

use collrules_record::findings::{Criteria, Findings};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Seconds;
use collrules_report::markdown::Context;
use collrules_report::{summary, terminal, validation};

use crate::args::CriteriaArgs;
use crate::failure::Failure;

impl CriteriaArgs {
    /// The criteria for times that were read off a clock with such a step; 0 where it is unknown.
    pub(super) fn criteria(&self, clock_step: Seconds) -> Criteria {
        Criteria {
            clock_step,
            min_gain: self.min_gain,
            error_rate: self.error_rate,
            untested_gain: self.untested_gain,
            caution: self.caution,
            ..Criteria::default()
        }
    }
}

/// Prints verdicts, expectations, remarks, and the files with what they are for.
pub(super) fn print(run: &RunDir, findings: &Findings, context: &Context<'_>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    text(run, findings, context).iter().try_for_each(|line| writeln!(out, "{line}")).map_err(Failure::Stdout)
}

/// Sentences are wrapped to this width; commands and paths are left whole, to be copied.
const WIDTH: usize = 80;

fn text(run: &RunDir, findings: &Findings, context: &Context<'_>) -> Vec<String> {
    let Context { switch_on, proof, validation, .. } = context;
    let mut lines = vec![terminal::verdicts(findings), String::new(), "Expected gain over the builtin:".to_owned()];
    lines.extend(summary::sentences(findings).iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")));
    if !findings.remarks.is_empty() {
        lines.extend([String::new(), "To know:".to_owned()]);
        lines.extend(findings.remarks.iter().flat_map(|remark| wrapped(remark, "  - ", "    ")));
    }
    lines.extend([String::new(), "Files:".to_owned()]);
    for (name, what) in [
        (rundir::RULES, "the rules file"),
        (rundir::MCA_PARAMS, "settings, for one user or for everybody"),
        (rundir::REPORT, "every cell, and where the numbers come from"),
    ] {
        lines.push(format!("  {}  {what}", run.file(name).display()));
    }
    if switch_on.is_empty() {
        lines.extend([String::new(), "Nothing beats the builtin: there is nothing to switch on.".to_owned()]);
    } else {
        lines.extend([String::new(), "To switch it on, for one run or for a shell:".to_owned()]);
        lines.extend(switch_on.iter().map(|line| format!("  {line}")));
    }
    let compared = validation.map(validation::sentences).unwrap_or_default();
    for sentences in [proof, &compared].into_iter().filter(|sentences| !sentences.is_empty()) {
        lines.push(String::new());
        lines.extend(sentences.iter().flat_map(|sentence| wrapped(sentence, "", "")));
    }
    lines
}

/// The lines of a sentence, with their indentations.
pub(super) fn wrapped(sentence: &str, first: &str, rest: &str) -> Vec<String> {
    let options = textwrap::Options::new(WIDTH).initial_indent(first).subsequent_indent(rest).break_words(false);
    // Paths and names of parameters are to be copied, so that only blanks end a line.
    let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
    let options = options.word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::wrap(sentence, options).into_iter().map(|line| line.into_owned()).collect()
}
