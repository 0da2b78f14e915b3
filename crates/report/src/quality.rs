//! Doubts about a run's numbers, in words.

use collrules_record::Seconds;
use collrules_tuner::results::limitation::PoorData;

use crate::words::{capitalised, whole};

/// Describes doubts about the numbers of a run in a sentence; none without doubts.
pub fn describe_doubts(doubts: &[PoorData]) -> Option<String> {
    let said: Vec<String> = doubts.iter().map(describe_doubt).collect();
    let is_noise = |doubt: &PoorData| !matches!(doubt, PoorData::Blurred(_) | PoorData::Undecided(..));
    let noise = if doubts.iter().any(is_noise) { "not a quiet machine: " } else { "" };
    (!said.is_empty()).then(|| format!("{}.", capitalised(&format!("{noise}{}", said.join("; ")))))
}

/// Share of the time of a call that counts.
const RELEVANT: f64 = 0.05;

/// A doubt in a clause.
pub(crate) fn describe_doubt(doubt: &PoorData) -> String {
    match doubt {
        PoorData::Barriers(least, most) => {
            let spread = Seconds(most.0 - least.0);
            let short = Seconds(spread.0 / RELEVANT);
            format!("barriers vary by {spread}: compare rules for calls below {short} again before you install them")
        }
        PoorData::Blurred(share) => format!(
            "for half of the sizes only differences above {} could be seen: too noisy, or too few pairs of launches",
            whole(*share)
        ),
        PoorData::Undecided(open, tried) => format!("{open} of {tried} rules had no clear result"),
        PoorData::BelowBarriers(below, all) => {
            format!("{below} of {all} gains are smaller than the differences between its barriers")
        }
        PoorData::Controls(other, all) => {
            format!("{other} of {all} sizes without a rule differ between launches with and without the rules")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_are_named_and_there_may_be_none() {
        assert_eq!(describe_doubts(&[]), None);
        let said = describe_doubts(&[PoorData::Undecided(17, 21)]).expect("a doubt");
        assert_eq!(said, "17 of 21 rules had no clear result.", "few pairs are no noise");
        let said = describe_doubts(&[PoorData::Barriers(Seconds(3e-7), Seconds(5e-7))]).expect("a doubt");
        assert!(
            said.starts_with("Not a quiet machine: ") && said.contains("200 ns") && said.contains("4 \u{b5}s"),
            "{said}"
        );
        assert!(PoorData::Controls(3, 9).refutes() && !PoorData::Undecided(17, 21).refutes());
    }
}
