//! Results of a proof of the rules in sentences.

use collrules_record::proof::{ProofFact, ProofLibrary};
use collrules_record::{Layout, Validation};

use crate::gains::Gains;
use crate::validation;

/// Describes facts that a proof showed, in whole sentences.
pub fn sentences(facts: &[ProofFact]) -> Vec<String> {
    facts.iter().map(sentence).collect()
}

fn sentence(fact: &ProofFact) -> String {
    match fact {
        ProofFact::NotChecked => {
            "Not checked: `collrules verify` shows whether the Open MPI in use obeys the file.".to_owned()
        }
        ProofFact::NoRule => "There is no rule to check.".to_owned(),
        ProofFact::Rules { openmpi, collectives, cells, calls } => {
            let collectives: Vec<&str> = collectives.iter().map(|collective| collective.name()).collect();
            format!(
                "{} accepts the rules file and uses the right rule for all {cells} measured sizes of {} ({calls} \
                 calls, on both sides of every threshold within reach).",
                describe_prover(*openmpi),
                collectives.join(", "),
            )
        }
        ProofFact::HanRules { openmpi, calls } => format!(
            "{} accepts HAN's rules file: {calls} calls, on both sides of its thresholds, used the component that it \
             names.",
            describe_prover(*openmpi),
        ),
        ProofFact::CorrectCalls(calls) => {
            format!("With the tuning active, all {calls} checked calls returned correct data.")
        }
    }
}

fn describe_prover(ProofLibrary { version, simulated }: ProofLibrary) -> String {
    if simulated { format!("The simulated Open MPI {version}") } else { format!("Open MPI {version}") }
}

/// Describes the comparison of the rules in another layout, in whole sentences.
pub fn layout_sentences(layout: Layout, compared: &Validation) -> Vec<String> {
    let sentences = validation::sentences(compared, &Gains::of_comparison(compared)).into_iter();
    sentences.map(|sentence| format!("Layout {layout}: {sentence}")).collect()
}
