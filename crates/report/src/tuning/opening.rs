//! First part of the report: the verdict, the speedup, and what comes next.

use collrules_record::findings::Findings;
use collrules_rules::words::{counted, listed};

use crate::Context;
use crate::gains::Gains;
use crate::outcome::{self, TuningVerdict, VerdictWord};
use crate::settings;
use crate::words::{capitalised, ratio};

/// First part of the report.
pub(super) struct Opening {
    verdict: VerdictWord,
    /// The confirmed speedup with its interval, and what it is over; empty if there is none.
    speedup: String,
    /// The verdict in full, what keeps the default, and doubts.
    pub(super) sentences: Vec<String>,
}

impl Opening {
    pub(super) fn new(findings: &Findings, context: &Context<'_>, gains: &Gains<'_>) -> Self {
        let TuningVerdict { word, why } = outcome::tuning_verdict(findings, context);
        let is_confirmed = word == VerdictWord::Confirmed;
        let overall = gains.overall().map(|(speedup, over)| format!("{} {over}", ratio(speedup)));
        let mut sentences = Vec::new();
        if !is_confirmed {
            let origin =
                if gains.round.is_some() { "In fresh launches so far" } else { "Expected from the timings for tuning" };
            let so_far = overall.as_ref().map_or(String::new(), |overall| format!(" {origin}: {overall}."));
            sentences.push(format!("{}.{so_far}", capitalised(&why)));
        }
        if let Some(found) = context.settings.filter(|found| found.chosen.is_some()) {
            // The settings and the rules on top of them; the rest is folded.
            sentences.extend(settings::validation_sentence(found));
            sentences.extend(settings::sentences(found).into_iter().take(2));
        }
        sentences.extend(gains.describe_missing());
        sentences.extend(gains.describe_left_out());
        Self { verdict: word, speedup: overall.filter(|_| is_confirmed).unwrap_or_default(), sentences }
    }

    /// The class of the verdict's colour.
    pub(super) fn class(&self) -> &'static str {
        match self.verdict {
            VerdictWord::Confirmed => "faster",
            VerdictWord::NotConfirmed => "open",
            VerdictWord::Undecided | VerdictWord::NoDifference => "level",
        }
    }

    /// The verdict with the speedup.
    pub(super) fn headline(&self) -> String {
        if self.speedup.is_empty() { self.verdict.to_string() } else { format!("Faster: {}", self.speedup) }
    }

    /// Purpose of the command that comes next.
    pub(super) fn next_is(&self, next: &[String]) -> &'static str {
        match self.verdict {
            _ if next.is_empty() => "Quality of the data",
            VerdictWord::NotConfirmed => "Compare it with the default in fresh launches",
            _ => "Install it",
        }
    }
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
    use collrules_record::validation::{Outcome, Validation};
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
        let context = Context { validation, ..Context::default() };
        assert!(!subject(&findings).contains("2026"), "titles have no time stamps");
        Opening::new(&findings, &context, &context.gains(&findings))
    }

    #[test]
    fn the_verdict_is_that_of_fresh_launches() {
        let confirmed = opening(Some(&validation(Outcome::Faster, 2.0)), true);
        assert_eq!(confirmed.headline(), "Faster: 2.00x (1.80 to 2.20) over 1 of 1 size");
        let open = opening(Some(&validation(Outcome::Undecided, 1.1)), true);
        assert_eq!((open.verdict, open.headline().as_str()), (VerdictWord::NotConfirmed, "NOT CONFIRMED"));
        assert!(open.sentences[0].contains("In fresh launches so far: 1.10x"), "{:?}", open.sentences);
        assert!(open.next_is(&["next".to_owned()]).starts_with("Compare"));
        assert_eq!(opening(None, true).verdict, VerdictWord::NotConfirmed);
        assert_eq!(opening(None, false).verdict, VerdictWord::NoDifference);
    }
}
