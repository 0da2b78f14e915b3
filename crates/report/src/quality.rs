//! Quality of a run's numbers, in words.

use collrules_tuner::results::limitation::PoorData;

use crate::words::whole;

/// The quality of a run with these doubts.
pub fn describe_quality(doubts: &[PoorData]) -> String {
    if doubts.is_empty() {
        return "good".to_owned();
    }
    let doubts: Vec<String> = doubts.iter().map(describe_doubt).collect();
    format!("poor, because {}; try on an idle machine", doubts.join(", and "))
}

/// A doubt in a clause.
pub(crate) fn describe_doubt(doubt: &PoorData) -> String {
    match doubt {
        PoorData::Load(load) => format!("the load was {load} when the run began"),
        PoorData::Barriers(least, most) => format!("barriers took {least} in one launch and {most} in another"),
        PoorData::Blurred(share) => format!(
            "launches differ so much that differences below {} cannot be seen for half of the sizes",
            whole(*share)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poor_data_is_called_so_with_the_reason() {
        assert_eq!(describe_quality(&[]), "good");
        let said = describe_quality(&[PoorData::Load(5.0)]);
        assert_eq!(said, "poor, because the load was 5 when the run began; try on an idle machine");
    }
}
