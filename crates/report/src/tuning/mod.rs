//! The report of a tuning: the verdict, a strip for each collective, and the command that installs it come first.
//!
//! | module | job |
//! |---|---|
//! | `opening` | the verdict, the speedup, and what comes next |
//! | `collective` | pictures and tables of a collective |
//! | `strip` | message sizes by their fate |
//! | `palette` | colours of candidates |
//! | `places` | rows and columns of maps |

mod collective;
mod opening;
mod palette;
mod places;
mod strip;

use collrules_record::findings::Findings;
use collrules_record::validation::Validation;

use crate::context::Context;
use crate::document::{Block, Document};
use crate::gains::Gains;
use crate::quality::describe_doubts;
use crate::remarks::remarks;
use crate::validation::{compared_cells, rows, sentences};
use crate::{conduct, facts, layouts, outcome, settings, summary, tree};

/// The report of a tuning.
pub fn document(findings: &Findings, context: &Context<'_>) -> Document {
    let gains = context.gains(findings);
    let opening = opening::Opening::new(findings, context, &gains);
    let mut blocks = collective::parts(findings, &gains);
    let next: Vec<String> = context.next.iter().cloned().collect();
    blocks.push(Block::open("next", opening.next_is(&next), vec![quality(context), Block::Commands(next)]));
    blocks.extend(parts(findings, context, &gains));
    Document {
        subject: opening::subject(findings),
        simulated: findings.simulated,
        headline: opening.headline(),
        class: opening.class(),
        answer: opening.sentences,
        blocks,
        ..Document::default()
    }
}

fn quality(context: &Context<'_>) -> Block {
    let quiet = || context.manifest.map(|_| "Nothing points to noise in the data.".to_owned());
    Block::Prose(describe_doubts(&context.doubts).or_else(quiet).unwrap_or_default())
}

/// Folded parts of a page.
fn parts(findings: &Findings, context: &Context<'_>, gains: &Gains<'_>) -> Vec<Block> {
    let expected = match gains.round {
        Some(_) => Block::part(
            "gains",
            "Speedup in fresh launches",
            vec![Block::List(outcome::describe_gains(gains, usize::MAX))],
        ),
        None => Block::part("gains", "What to expect", vec![Block::Table(summary::table(findings))]),
    };
    let know = vec![
        Block::List(remarks(findings)),
        Block::open("", "Assumptions", vec![Block::table(["assumption", "choice"], facts::assumptions(findings))]),
    ];
    vec![
        expected,
        Block::part("on", "Use it without installing it", vec![Block::Commands(context.switch_on.clone())]),
        Block::part("settings", "Settings", context.settings.map_or_else(Vec::new, settings::blocks)),
        Block::part("validation", "Validation in fresh launches", validation(findings, context.validation, gains)),
        Block::part("conduct", "The rules in programs", vec![conduct::table(findings)]),
        Block::part("layouts", "Gains and losses of each layout", vec![layouts::table(findings)]),
        Block::part("han", "HAN's rules file", vec![facts::handover(findings)]),
        Block::part("know", "Remarks and assumptions", know),
        Block::part("tree", "Decision tree", vec![tree::table(findings)]),
        Block::part("method", "Method and checks", method(findings, &context.proof)),
        Block::part("origin", "Origin of the numbers", origin(findings, context)),
    ]
}

fn validation(findings: &Findings, validation: Option<&Validation>, gains: &Gains<'_>) -> Vec<Block> {
    let Some(validation) = validation else { return Vec::new() };
    vec![
        Block::List(sentences(validation)),
        rows::numbers(validation),
        Block::open(
            "",
            "Sizes that were slower, failed, or lost their rule",
            vec![rows::telling(findings, validation, gains)],
        ),
        Block::part(
            "",
            "All sizes of the last comparison",
            validation.round.iter().flat_map(|round| compared_cells(round, findings.release)).collect(),
        ),
    ]
}

fn method(findings: &Findings, proof: &[String]) -> Vec<Block> {
    let disqualified = facts::disqualified(findings);
    let excluded = match disqualified.is_empty() {
        true => Block::prose("None: every timed algorithm gave right results."),
        false => Block::table(["algorithm", "sizes", "why"], disqualified),
    };
    vec![
        Block::table(["criterion", "value"], facts::method(findings)),
        Block::open("", "Checks with Open MPI", vec![Block::List(proof.to_vec())]),
        Block::open("", "Excluded algorithms", vec![excluded]),
    ]
}

fn origin(findings: &Findings, context: &Context<'_>) -> Vec<Block> {
    let facts = match context.manifest {
        Some(manifest) => {
            Block::table(["fact", "value"], facts::provenance(manifest).into_iter().map(|(key, value)| [key, value]))
        }
        None => Block::prose(
            "collrules did not take these timings. It knows nothing of the system beyond what is said above.",
        ),
    };
    let title = format!("Placement of the ranks (layout: {})", findings.placement.layout);
    let placement = Block::table(["ranks:", "nodes", "component"], facts::placement(findings));
    vec![
        Block::Prose(format!("Source: {}. Release: Open MPI {}.", findings.source, findings.release)),
        facts,
        Block::open("", title, vec![placement]),
    ]
}

#[cfg(test)]
mod tests {

    use collrules_record::Estimate;
    use collrules_record::criteria::Criteria;
    use collrules_record::findings::{CellFinding, Statistic, Verdict};
    use collrules_record::reason::KeepReason;
    use collrules_record::units::Seconds;
    use collrules_rules::{Collective, Release};

    use super::*;

    fn method_of(statistic: Statistic) -> String {
        let findings = Findings {
            statistic,
            criteria: Criteria { min_gain: 0.005, error_rate: 0.001, ..Criteria::default() },
            ..Findings::empty("a test", Release::V4_1)
        };
        document(&findings, &Context::default()).markdown().replace('\n', " ")
    }

    #[test]
    fn times_that_the_clock_cannot_tell_are_marked() {
        use collrules_record::findings::PointFinding;
        use collrules_record::units::{Bytes, Ranks};
        use collrules_record::{Candidate, Cell};
        use collrules_rules::Choice;
        let time = Estimate { point: 1.5e-6, low: None, high: None, level: 0.95, samples: 9 };
        let cell = CellFinding {
            cell: Cell { collective: Collective::Barrier, ranks: Ranks(2), bytes: Bytes(0) },
            points: vec![PointFinding {
                candidate: Candidate::Builtin,
                time,
                gain: None,
                p_value: None,
                q_value: None,
                stalls: None,
                expected: None,
            }],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::NothingTimed },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let with_step = |step| {
            let findings = Findings {
                criteria: Criteria { clock_step: Seconds(step), ..Criteria::default() },
                cells: vec![cell.clone()],
                ..Findings::empty("", Release::V4_1)
            };
            document(&findings, &Context::default()).markdown().replace('\n', " ")
        };
        assert!(with_step(1e-6).contains("| under resolution (2 µs) |"));
        assert!(with_step(1e-8).contains("| 1.5 µs |"));
    }

    #[test]
    fn the_method_is_that_of_the_kind_of_timings() {
        let run = method_of(Statistic::RankMaximum);
        for part in ["| 0.5 % |", "signed-rank", "the default stays", "| 0.1 % |"] {
            assert!(run.contains(part), "{part} in {run}");
        }
        let table = method_of(Statistic::RankAverage);
        for part in ["| 0.5 % |", "Mann-Whitney", "| 15 % |"] {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(!run.contains("Mann-Whitney") && !table.contains("signed-rank"), "{run}{table}");
    }
}
