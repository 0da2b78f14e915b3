//! Doubts about a run's numbers, in words.

use collrules_tuner::results::limitation::PoorData;

use crate::words::whole;

/// Describes doubts about the numbers of a run in a sentence; none without doubts.
pub fn describe_doubts(doubts: &[PoorData]) -> Option<String> {
    let said: Vec<String> = doubts.iter().map(describe_doubt).collect();
    (!said.is_empty()).then(|| format!("Not a quiet machine: {}.", said.join("; ")))
}

/// A doubt in a clause.
pub(crate) fn describe_doubt(doubt: &PoorData) -> String {
    match doubt {
        PoorData::Barriers(least, most) => {
            format!("barriers took {least} to {most}, so rules for calls of a few microseconds may not hold")
        }
        PoorData::Blurred(share) => format!("differences below {} cannot be seen for half of the sizes", whole(*share)),
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
        assert_eq!(said, "Not a quiet machine: 17 of 21 rules had no clear result.");
        assert!(PoorData::Controls(3, 9).refutes() && !PoorData::Undecided(17, 21).refutes());
    }
}
