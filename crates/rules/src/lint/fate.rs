//! Treatment of a file as a whole, version by version.

use super::code::{Code, Severity};
use super::collect::Collector;
use super::problem::Problem;
use super::words::{self, Strict};
use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::collective::json_name;
use crate::file::{Fault, Loaded, Rule};
use crate::span::Span;
use crate::tokens::HEADER;

/// Returns true if a text was written as JSON.
pub(super) fn is_json(source: &[u8]) -> bool {
    let text = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
    matches!(text.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['))
}

/// Reports problems with the treatment of the file as a whole. `named` is true if the user asked for exactly these
/// versions.
pub(super) fn judge(
    source: &[u8],
    loads: &[(Behaviour, Result<Loaded, Fault>)],
    strict: &Strict,
    named: bool,
    problems: &mut Collector,
) {
    let is_json = is_json(source);
    let fits = |version: &Behaviour| match is_json {
        true => version.reads_json,
        false => version.reads_header || !source.starts_with(HEADER),
    };
    let is_error = named || !loads.iter().any(|(version, _)| fits(version));
    for (version, load) in loads {
        match load {
            _ if !fits(version) => {
                let accepted = load.is_ok();
                let fate = if accepted { "accept the numbers in it as rules" } else { "ignore the whole file" };
                let begin = source.iter().position(|byte| matches!(byte, b'{' | b'[')).unwrap_or(0);
                let (code, span, what) = if is_json {
                    (Code::JsonUnread, Span::new(begin, begin + 1), "JSON")
                } else {
                    // With the first digit of its number, where it has one.
                    (Code::HeaderUnread, Span::new(0, source.len().min(HEADER.len() + 1)), "the version line")
                };
                let message = format!("versions that do not know {what} {fate}");
                let problem = problems.merge_kind(code, span, accepted.into(), &[*version], message);
                problem.severity = if is_error { Severity::Error } else { Severity::Warning };
            }
            Ok(loaded) => {
                misread(source, loaded, strict, problems);
                crashes_verbose(loaded, problems);
            }
            Err(crash) if crash.kind.crashes() => {
                problems.merge(Code::Crashes, crash.span, *version, crash.kind.to_string());
            }
            Err(rejection) => {
                rejected(source, rejection, version, problems);
            }
        }
    }
}

/// Reports that a version ignores the whole file.
pub(super) fn rejected<'p>(
    source: &[u8],
    fault: &Fault,
    version: &Behaviour,
    problems: &'p mut Collector,
) -> &'p mut Problem {
    // The end of the file is where the last line is.
    let span = fault.span.within(source);
    problems.merge(Code::Rejected, span, *version, format!("Open MPI ignores the whole file: {}", fault.kind))
}

/// Reports rules that crash 6.0 when it prints them (run on 6.0.0a1).
fn crashes_verbose(loaded: &Loaded, problems: &mut Collector) {
    let untuned = loaded.collectives.iter().filter(|rules| rules.collective.is_none() && !rules.replaced);
    for rules in untuned.filter(|_| loaded.behaviour.reads_json) {
        if rules.comm_rules.iter().any(|comm_rule| !comm_rule.rules.is_empty()) {
            let name = json_name(rules.id);
            let message = format!("the rules for {name} crash MPI_Init of 6.0 at coll_tuned_verbose 2 and more");
            problems.merge(Code::CrashesVerbose, rules.name, loaded.behaviour, message);
        }
    }
}

/// Reports a file that is accepted although a rule is read otherwise than it seems, or not at all.
fn misread(source: &[u8], loaded: &Loaded, strict: &Strict, problems: &mut Collector) {
    let Some(first) = strict.garbage.iter().min() else { return };
    let rules = || loaded.collectives.iter().flat_map(|rules| &rules.comm_rules).flat_map(|comm_rule| &comm_rule.rules);
    let values = |rule: &Rule| {
        let Choice { algorithm, faninout, segsize, .. } = rule.choice;
        [rule.min, algorithm.into(), faninout.into(), segsize]
    };
    let other = rules().find(|rule| strict.rules.get(&rule.span.start) != Some(&values(rule)));
    let message = match other {
        Some(rule) => format!(
            "Open MPI accepts the file and reads a rule of `{}`: from {} bytes on, algorithm {}, fan-out {}, segments \
             of {}",
            words::printable(rule.span.of(source)).trim(),
            rule.min,
            rule.choice.algorithm,
            rule.choice.faninout,
            rule.choice.segsize,
        ),
        None if rules().count() == strict.rules.len() => return,
        None => format!("Open MPI accepts the file, and reads {} rules in all before it stops", rules().count()),
    };
    problems.merge(Code::Misread, *first, loaded.behaviour, message);
}
