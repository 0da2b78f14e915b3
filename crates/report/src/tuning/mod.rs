//! The report of a tuning: the verdict, a strip for each collective, and the command that installs it come first.
//!
//! | module | job |
//! |---|---|
//! | `collective` | pictures and tables of a collective |
//! | `strip` | message sizes by their fate |
//! | `palette` | colours of candidates |
//! | `places` | rows and columns of maps |

mod collective;
mod palette;
mod places;
mod strip;

use collrules_record::Manifest;
use collrules_record::findings::Findings;
use collrules_record::remark::Remark;
use collrules_record::settings::SettingsFindings;
use collrules_rules::words::{counted, listed, some};

use crate::context::Context;
use crate::document::{Block, Document, Section};
use crate::outcome::{TuningVerdict, VerdictWord};
use crate::quality::describe_doubts;
use crate::validation::{compared_cells, rows, sentences};
use crate::words::{capitalised, ratio};
use crate::{conduct, facts, layouts, outcome, remarks, settings, summary, tree};

/// The report of a tuning.
pub fn document(findings: &Findings, context: &Context<'_>) -> Document {
    let gains = &context.gains;
    let TuningVerdict { word, why } = outcome::tuning_verdict(findings, context);
    let is_confirmed = word == VerdictWord::Confirmed;
    let overall = gains.overall().map(|(speedup, over)| format!("{} {over}", ratio(speedup)));
    let mut blocks = collective::parts(findings, context);
    let next: Vec<String> = context.next.iter().cloned().collect();
    let title = match word {
        _ if next.is_empty() => "Quality of the data",
        VerdictWord::NotConfirmed => "Compare it with the default in fresh launches",
        _ => "Install it",
    };
    blocks.push(Block::open("next", title, vec![quality(findings, context), Block::Commands(next)]));
    blocks.extend(parts(findings, context));
    Document {
        subject: subject(findings),
        simulated: findings.simulated,
        headline: match &overall {
            Some(overall) if is_confirmed => format!("Faster: {overall}"),
            _ => word.to_string(),
        },
        class: match word {
            VerdictWord::Confirmed => "faster",
            VerdictWord::NotConfirmed => "open",
            VerdictWord::Undecided | VerdictWord::NoDifference => "level",
        },
        answer: answer(context, overall, (!is_confirmed).then_some(why)),
        origin: place(findings, context),
        blocks,
    }
}

/// The reason why a tuning is not confirmed, what keeps the default, and doubts.
fn answer(context: &Context<'_>, overall: Option<String>, why: Option<String>) -> Vec<String> {
    let gains = &context.gains;
    let mut sentences = Vec::new();
    if let Some(why) = why {
        let origin =
            if gains.round.is_some() { "In fresh launches so far" } else { "Expected from the timings for tuning" };
        let so_far = overall.map_or(String::new(), |overall| format!(" {origin}: {overall}."));
        sentences.push(format!("{}.{so_far}", capitalised(&why)));
    }
    if let Some(found) = context.settings.filter(|found| found.chosen.is_some()) {
        // The settings and the rules on top of them; the rest is folded.
        sentences.extend(settings::validation_sentence(found));
        sentences.extend(settings::sentences(found).into_iter().take(2));
    }
    sentences.extend(gains.describe_missing());
    sentences.extend(gains.describe_left_out());
    sentences
}

/// The collectives, communicator sizes and release that a tuning is for.
fn subject(findings: &Findings) -> String {
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

/// Returns true if settings are the largest number of a tuning.
fn leads(found: &SettingsFindings, context: &Context<'_>) -> bool {
    let settings = found.foremost().map_or(1.0, |finalist| finalist.speedup.point);
    settings > context.rules.overall().map_or(1.0, |(speedup, _)| speedup.point)
}

/// Hosts that the head of a report names.
const NAMED: usize = 3;

/// Where it was measured: Open MPI, hosts, transport and communicators.
fn place(findings: &Findings, context: &Context<'_>) -> Vec<String> {
    let Some(Manifest { survey, .. }) = context.manifest else { return Vec::new() };
    let hosts: Vec<String> = survey.nodes().into_iter().cloned().collect();
    let transport = survey.transport.as_ref().map_or(String::new(), |transport| format!(", over {transport}"));
    let nodes = findings.placement.nodes.iter();
    let communicators: Vec<String> =
        nodes.map(|(ranks, nodes)| format!("{} on {nodes}", counted(ranks.0, "rank"))).collect();
    let mut lines = vec![format!(
        "Open MPI {} on {} ({}){transport}",
        survey.version,
        counted(hosts.len(), "host"),
        some(&hosts, NAMED),
    )];
    lines.extend((!communicators.is_empty()).then(|| format!("Communicators: {}", communicators.join(", "))));
    lines
}

/// Doubts about the data, and whatever of the plan was not measured.
fn quality(findings: &Findings, context: &Context<'_>) -> Block {
    let is_gap = |remark: &&Remark| {
        matches!(remark, Remark::MissingLaunches { .. } | Remark::FewerLaunches(_) | Remark::NotMeasured { .. })
    };
    let gaps: Vec<Remark> = findings.remarks.iter().filter(is_gap).cloned().collect();
    let mut said: Vec<String> = describe_doubts(&context.doubts).into_iter().collect();
    said.extend(remarks::sentences(findings, &gaps));
    if said.is_empty() && context.manifest.is_some() {
        said.push("Nothing points to noise in the data.".to_owned());
    }
    Block::Prose(said.join(" "))
}

/// Folded parts of a page.
fn parts(findings: &Findings, context: &Context<'_>) -> Vec<Block> {
    let gains = &context.gains;
    let expected = match gains.round {
        Some(_) => Block::section(
            "gains",
            "Speedup in fresh launches",
            vec![Block::List(outcome::describe_gains(gains, usize::MAX))],
        ),
        None => Block::section("gains", "What to expect", vec![Block::Table(summary::table(findings))]),
    };
    let know = vec![
        Block::List(remarks::remarks(findings)),
        Block::open("", "Assumptions", vec![Block::table(["assumption", "choice"], facts::assumptions(findings))]),
    ];
    vec![
        expected,
        Block::section("on", "Use it without installing it", vec![Block::Commands(context.switch_on.clone())]),
        Block::Section(Section {
            id: "settings".to_owned(),
            title: "Settings".to_owned(),
            open: context.settings.is_some_and(|found| leads(found, context)),
            blocks: context.settings.map_or_else(Vec::new, settings::blocks),
            ..Section::default()
        }),
        Block::section("validation", "Validation in fresh launches", validation(findings, context)),
        Block::section("conduct", "The rules in programs", vec![conduct::table(findings)]),
        Block::section("layouts", "Gains and losses of each layout", vec![layouts::table(findings)]),
        Block::section("han", "HAN's rules file", vec![facts::handover(findings)]),
        Block::section("know", "Remarks and assumptions", know),
        Block::section("tree", "Decision tree", vec![tree::table(findings)]),
        Block::section("method", "Method and checks", method(findings, context)),
        Block::section("origin", "Origin of the numbers", origin(findings, context)),
    ]
}

fn validation(findings: &Findings, context: &Context<'_>) -> Vec<Block> {
    let Some(validation) = context.validation else { return Vec::new() };
    vec![
        Block::List(sentences(validation, &context.rules)),
        rows::numbers(validation),
        Block::open(
            "",
            "Sizes that were slower, failed, or lost their rule",
            vec![rows::telling(findings, validation, &context.gains)],
        ),
        Block::section("", "All sizes of the last comparison", compared_cells(&validation.round, findings.release)),
    ]
}

fn method(findings: &Findings, context: &Context<'_>) -> Vec<Block> {
    let disqualified = facts::disqualified(findings);
    let excluded = match (disqualified.is_empty(), context.manifest) {
        (true, Some(_)) => Block::prose("None: every timed algorithm gave right results."),
        (true, None) => Block::prose("None. The timings do not tell if results were checked."),
        (false, _) => Block::table(["algorithm", "sizes", "why"], disqualified),
    };
    vec![
        Block::table(["criterion", "value"], facts::method(findings)),
        Block::open("", "Checks with Open MPI", vec![Block::List(context.proof.clone())]),
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

    use collrules_record::criteria::Criteria;
    use collrules_record::findings::{CellFinding, Statistic, Verdict};
    use collrules_record::reason::{KeepReason, Shortfall};
    use collrules_record::units::Seconds;
    use collrules_record::validation::{Outcome, Validation};
    use collrules_record::{Candidate, Estimate};
    use collrules_rules::{Choice, Collective, Release};

    use super::*;
    use crate::gains::Gains;
    use crate::outcome::tuning_verdict;
    use crate::validation::fixture::validation as compared;

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
        use collrules_record::Cell;
        use collrules_record::findings::PointFinding;
        use collrules_record::units::{Bytes, Ranks};
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
            in_use: Choice::BUILTIN,
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
        for part in ["| 0.5 % |", "Student's", "| 15 % |"] {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(table.contains("do not tell if results were checked") && !table.contains("right results"), "{table}");
        assert!(!run.contains("Student's") && !table.contains("signed-rank"), "{run}{table}");
    }

    fn cell(why: KeepReason) -> CellFinding {
        CellFinding {
            cell: compared(Outcome::Faster, 2.0).round.cells[0].cell,
            points: Vec::new(),
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why },
            in_use: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        }
    }

    /// The report of a tuning of one size, with these fresh launches or none.
    fn opening(validation: Option<&Validation>, is_ruled: bool) -> Document {
        let cell = cell(KeepReason::Nearest(Shortfall::NotFaster));
        let mut findings = Findings { cells: vec![cell], ..Findings::empty("run-2026-11-23", Release::V5_0) };
        if is_ruled {
            findings.parameters.insert("coll_han_priority".to_owned(), "0".to_owned());
        }
        let gains = Gains::new(&findings, validation, None, None);
        let report = document(&findings, &Context { validation, gains, ..Context::default() });
        assert!(!report.subject.contains("2026"), "titles have no time stamps");
        report
    }

    #[test]
    fn the_verdict_is_that_of_fresh_launches() {
        let confirmed = opening(Some(&compared(Outcome::Faster, 2.0)), true);
        assert_eq!(confirmed.headline, "Faster: 2.00x (1.80 to 2.20) over 1 of 1 size");
        let open = opening(Some(&compared(Outcome::Undecided, 1.1)), true);
        assert_eq!((open.class, open.headline.as_str()), ("open", "NOT CONFIRMED"));
        assert!(open.answer[0].contains("In fresh launches so far: 1.10x"), "{:?}", open.answer);
        assert_eq!(opening(None, true).class, "open");
        assert_eq!(opening(None, false).headline, "No difference");
        let mut undefaulted =
            Findings { cells: vec![cell(KeepReason::DefaultNotTimed)], ..Findings::empty("x", Release::V5_0) };
        assert_eq!(tuning_verdict(&undefaulted, &Context::default()).word, VerdictWord::Undecided);
        undefaulted.cells = vec![cell(KeepReason::NothingTimed)];
        assert_eq!(tuning_verdict(&undefaulted, &Context::default()).word, VerdictWord::NoDifference);
    }
}
