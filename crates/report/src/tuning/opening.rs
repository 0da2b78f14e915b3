//! First part of the report: the verdict, the speedup, and what comes next.

use collrules_record::Estimate;
use collrules_record::findings::Findings;
use collrules_record::settings::{Finalist, SettingsFindings};
use collrules_record::validation::{Fates, Validation};
use collrules_rules::words::{counted, listed};

use crate::Context;
use crate::gains::{Fate, Gains};
use crate::outcome;
use crate::settings;
use crate::words::{capitalised, ratio};

/// First part of the report.
pub(super) struct Opening {
    /// The verdict in a word or two.
    pub(super) verdict: &'static str,
    /// Class of its colour.
    pub(super) class: &'static str,
    /// The confirmed speedup with its interval; empty if there is none.
    pub(super) speedup: String,
    /// The verdict in full, what the speedup is over, and what keeps the default.
    pub(super) sentences: Vec<String>,
}

const FASTER: &str = "Faster";
const NO_DIFFERENCE: &str = "No difference";
const UNDECIDED: &str = "Undecided";
const NOT_CONFIRMED: &str = "NOT CONFIRMED";

impl Opening {
    pub(super) fn new(findings: &Findings, context: &Context<'_>, gains: &Gains<'_>) -> Self {
        let said = outcome::tuning_verdict(findings, context.validation, &context.open_layouts);
        let chosen = context.settings.and_then(SettingsFindings::chosen);
        let loses = chosen.is_some() && context.settings.is_some_and(SettingsFindings::loses);
        let is_confirmed = !loses && outcome::is_confirmed(findings, context.validation, &context.open_layouts);
        let verdict = if findings.cells.is_empty() && chosen.is_none() {
            UNDECIDED
        } else if !is_confirmed {
            NOT_CONFIRMED
        } else if chosen.is_some() || gains.count(Fate::Confirmed) > 0 {
            FASTER
        } else if said.starts_with(UNDECIDED) {
            UNDECIDED
        } else {
            NO_DIFFERENCE
        };
        let rules = gains.mean(|_| true);
        let both = chosen.map(Finalist::best_speedup);
        let mut sentences: Vec<String> = Vec::new();
        if let Some(found) = context.settings.filter(|found| found.chosen.is_some()) {
            // The settings and the rules on top of them; the rest is folded.
            sentences.extend(settings::validation_sentence(found));
            sentences.extend(settings::sentences(found).into_iter().take(2));
        }
        if findings.cells.is_empty() {
            sentences.push("Nothing was measured.".to_owned());
        } else {
            let rest = said.strip_prefix(verdict).map_or(said.as_str(), |rest| rest.trim_start_matches([':', ' ']));
            // Settings make it faster even if rules do not.
            let is_odd = verdict == FASTER && !said.starts_with("CONFIRMED");
            sentences.push(if is_odd { format!("Rules: {said}") } else { capitalised(rest) });
            sentences
                .extend(rules.map(|speedup| over(gains, is_confirmed, speedup, verdict == FASTER && both.is_none())));
            sentences.extend(context.validation.and_then(left));
        }
        Self {
            verdict,
            class: match verdict {
                FASTER => "faster",
                NOT_CONFIRMED => "open",
                _ => "level",
            },
            speedup: both.or(rules).filter(|_| verdict == FASTER).map(ratio).unwrap_or_default(),
            sentences,
        }
    }

    /// The verdict with the speedup.
    pub(super) fn headline(&self) -> String {
        if self.speedup.is_empty() { self.verdict.to_owned() } else { format!("{}: {}", self.verdict, self.speedup) }
    }

    /// Purpose of the command that comes next.
    pub(super) fn next_is(&self, next: &[String]) -> &'static str {
        match self.verdict {
            _ if next.is_empty() => "Quality of the data",
            NOT_CONFIRMED => "Compare it with the default in fresh launches",
            _ => "Install it",
        }
    }
}

/// The sizes that a speedup is the mean of; the speedup itself unless the headline has it.
fn over(gains: &Gains<'_>, is_confirmed: bool, speedup: Estimate, is_in_headline: bool) -> String {
    let (counted_in, kept) = (gains.counted(), gains.count(Fate::Default));
    let missing = gains.len() - kept - counted_in;
    let kept = match kept {
        0 => String::new(),
        1 => "; 1 other keeps the default".to_owned(),
        kept => format!("; {kept} others keep the default"),
    };
    let missing = match (missing, gains.round) {
        (0, _) => String::new(),
        (missing, Some(_)) => format!(" Not counted, since they were not compared: {}.", counted(missing, "size")),
        (missing, None) => format!(" Not counted, since their times are implausible: {}.", counted(missing, "size")),
    };
    let over = format!("geometric mean over {} with a rule{kept}.{missing}", counted(counted_in, "size"));
    match (is_in_headline, is_confirmed, gains.round) {
        (true, ..) => format!("The speedup is the {over}"),
        (false, true, _) => format!("Rules alone: {}, {over}", ratio(speedup)),
        (false, false, Some(_)) => format!("In fresh launches so far: {}, {over}", ratio(speedup)),
        (false, false, None) => format!("Expected from the timings for tuning: {}, {over}", ratio(speedup)),
    }
}

/// Sizes whose rules fresh launches did not confirm.
fn left(validation: &Validation) -> Option<String> {
    let Fates { dropped, undecided, .. } = validation.fates();
    (dropped + undecided > 0).then(|| outcome::left_to_default(dropped, undecided))
}

/// The collectives, communicator sizes and release that a tuning is for.
pub(super) fn subject(findings: &Findings) -> String {
    let mut collectives: Vec<String> = findings.cells.iter().map(|cell| cell.cell.collective.to_string()).collect();
    collectives.dedup();
    let ranks = || findings.cells.iter().map(|cell| cell.cell.ranks.0);
    let ranks = match (ranks().min(), ranks().max()) {
        (Some(fewest), Some(most)) if fewest < most => format!(" on {fewest} to {most} ranks"),
        (Some(fewest), _) => format!(" on {}", counted(fewest, "rank")),
        _ => String::new(),
    };
    let all = if collectives.is_empty() { String::new() } else { format!(" of {}", listed(&collectives)) };
    format!("Tuning{all}{ranks}, Open MPI {}", findings.release)
}

#[cfg(test)]
mod tests {
    use collrules_record::Candidate;
    use collrules_record::findings::{CellFinding, Verdict};
    use collrules_record::reason::{KeepReason, Shortfall};
    use collrules_record::validation::Outcome;
    use collrules_rules::{Choice, Release};

    use super::*;
    use crate::validation::fixture::validation;

    /// The opening of a tuning of one size, with these fresh launches or none.
    fn opening(validation: Option<&Validation>, is_ruled: bool) -> Opening {
        let cell = CellFinding {
            cell: crate::validation::fixture::validation(Outcome::Faster, 2.0).round.as_ref().expect("compared").cells
                [0]
            .cell,
            points: Vec::new(),
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::Nearest(Shortfall::NotFaster) },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let mut findings = Findings { cells: vec![cell], ..Findings::empty("run-2026-11-23", Release::V5_0) };
        if is_ruled {
            findings.parameters.insert("coll_han_priority".to_owned(), "0".to_owned());
        }
        let context = Context { validation, quality: "good".to_owned(), ..Context::default() };
        assert!(!subject(&findings).contains("2026"), "titles have no time stamps");
        Opening::new(&findings, &context, &Gains::new(&findings, validation))
    }

    #[test]
    fn the_verdict_is_that_of_fresh_launches() {
        let confirmed = opening(Some(&validation(Outcome::Faster, 2.0)), true);
        assert_eq!((confirmed.verdict, confirmed.speedup.as_str()), (FASTER, "2.00x (1.80 to 2.20)"));
        assert_eq!(confirmed.sentences[1], "The speedup is the geometric mean over 1 size with a rule.");
        let open = opening(Some(&validation(Outcome::Undecided, 1.1)), true);
        assert_eq!((open.verdict, open.speedup.as_str()), (NOT_CONFIRMED, ""));
        assert!(open.sentences[1].starts_with("In fresh launches so far: 1.10x"), "{:?}", open.sentences);
        assert!(open.next_is(&["next".to_owned()]).starts_with("Compare"));
        assert_eq!(opening(None, true).verdict, NOT_CONFIRMED);
        assert_eq!(opening(None, false).verdict, NO_DIFFERENCE);
    }
}
