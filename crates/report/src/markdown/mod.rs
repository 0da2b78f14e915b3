//! The report file.

mod validation;

use collrules_record::Manifest;
use collrules_record::findings::Findings;

use crate::Context;
use crate::cells::{CellRow, cell_row};
use crate::conduct;
use crate::facts::{self, SIMULATED, candidate_name};
use crate::gains::Gains;
use crate::layouts;
use crate::outcome;
use crate::plain::{self, bullets, table};
use crate::remarks::remarks;
use crate::settings;
use crate::summary::{by_collective, sentences, stretches};
use crate::tree;
use crate::words::ratio;

/// The report as Markdown.
pub fn report(findings: &Findings, context: &Context<'_>) -> String {
    let mut out = "# collrules report\n".to_owned();
    if findings.simulated {
        out += &format!("\n**{SIMULATED}**\n");
    }
    out += &format!("\n**{}**\n", outcome::tuning_verdict(findings, context.validation, &context.open_layouts));
    if !context.quality.is_empty() {
        out += &format!("\nData: {}.\n", plain::markdown(&context.quality));
    }
    out += &format!("\nSource: {}. Release: Open MPI {}.\n", plain::markdown(&findings.source), findings.release);
    if let Some(found) = context.settings {
        section(&mut out, "Settings", &bullets(settings::sentences(found)));
    }
    let gains = Gains::new(findings, context.validation);
    match gains.round {
        Some(_) => section(&mut out, "Speedup in fresh launches", &bullets(outcome::describe_gains(&gains))),
        None => section(&mut out, "What to expect", &bullets(sentences(findings))),
    }
    if !context.switch_on.is_empty() {
        let lines: String = context.switch_on.iter().map(|line| plain::line(line) + "\n").collect();
        section(&mut out, "How to switch it on", &format!("```sh\n{lines}```\n"));
    }
    section(&mut out, "Checks with Open MPI", &bullets(&context.proof));
    if let Some(validation) = context.validation {
        section(&mut out, "Validation in fresh launches", &validation::section(findings, validation));
    }
    if let Some(found) = context.settings {
        section(&mut out, "Effects of settings", &table(&settings::EFFECTS, &[], settings::effects(found)));
        let guards = settings::guards(found);
        if !guards.is_empty() {
            section(&mut out, "Losses caused by settings", &table(&settings::GUARDS, &[], guards));
        }
    }
    section(&mut out, "Remarks", &bullets(remarks(findings)));
    section(&mut out, "Assumptions", &bullets(facts::assumptions(findings)));
    section(&mut out, "Decisions", &decisions(findings, &gains));
    let conduct = conduct::rows(findings);
    if !conduct.is_empty() {
        section(&mut out, conduct::TITLE, &table(&conduct::COLUMNS, &[1], conduct));
    }
    let laid_out = layouts::rows(findings);
    if !laid_out.is_empty() {
        let rows = table(&layouts::COLUMNS, &[], laid_out);
        section(&mut out, layouts::TITLE, &format!("{}\n\n{rows}", layouts::about(findings)));
    }
    let handover = facts::handover(findings);
    if !handover.is_empty() {
        let rows = table(&["collective", "ranks", "message sizes", "runs in"], &[], handover);
        section(&mut out, "HAN's rules file", &format!("{}\n\n{rows}", facts::HANDOVER));
    }
    if !findings.crossovers.is_empty() {
        let rows = findings.crossovers.iter().map(|crossover| facts::crossover_row(findings, crossover));
        let heads = ["collective", "ranks", "below", "from", "above", "measured around", "certain between"];
        section(&mut out, "Crossovers", &table(&heads, &[1, 3], rows));
    }
    if !findings.tree.collectives.is_empty() {
        // Four backquotes: names in it may hold three.
        section(&mut out, "Decision tree", &format!("````text\n{}````\n", tree::text(findings, 120)));
    }
    for group in by_collective(findings) {
        let rows = group.iter().map(|cell| {
            let CellRow { ranks, size, builtin, best, time, gain, verdict } = cell_row(findings, cell);
            [ranks, size, builtin, best, time, gain, verdict]
        });
        let heads = ["ranks", "size", "default", "best algorithm", "its time", "its gain", "verdict"];
        section(&mut out, &format!("Sizes of {}", group[0].cell.collective), &table(&heads, &[0, 1, 2, 4], rows));
    }
    let disqualified = facts::disqualified(findings);
    if !disqualified.is_empty() {
        section(&mut out, "Excluded algorithms", &table(&["algorithm", "sizes", "why"], &[], disqualified));
    }
    section(&mut out, "How it was decided", &(facts::method(findings).join("\n\n") + "\n"));
    let placement = facts::placement(findings);
    if !placement.is_empty() {
        let title = format!("Where the ranks were (layout: {})", findings.placement.layout);
        section(&mut out, &title, &table(&["ranks", "nodes", "component"], &[0], placement));
    }
    if let Some(manifest) = context.manifest {
        section(&mut out, "Where the numbers come from", &provenance(manifest));
    }
    out
}

/// Adds a section, unless it is empty.
fn section(out: &mut String, title: &str, content: &str) {
    if !content.is_empty() {
        *out += &format!("\n## {title}\n\n{content}");
    }
}

fn decisions(findings: &Findings, gains: &Gains<'_>) -> String {
    let rows = stretches(findings).into_iter().map(|stretch| {
        let speedup = gains.mean(|cell| stretch.holds(cell)).map_or(String::new(), ratio);
        let algorithm = candidate_name(findings, stretch.collective, stretch.by);
        [stretch.collective.to_string(), stretch.ranks.to_string(), stretch.sizes(), algorithm, speedup]
    });
    table(&["collective", "ranks", "message sizes", "algorithm", "speedup"], &[1], rows)
}

fn provenance(manifest: &Manifest) -> String {
    bullets(facts::provenance(manifest).into_iter().map(|(key, value)| format!("{key}: {value}")))
}

#[cfg(test)]
mod tests {

    use collrules_record::Estimate;
    use collrules_record::findings::{CellFinding, Criteria, Statistic, Verdict};
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
        report(&findings, &Context::default())
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
            report(&findings, &Context::default())
        };
        assert!(with_step(1e-6).contains("| under resolution (2 µs) |"));
        assert!(with_step(1e-8).contains("| 1.5 µs |"));
    }

    #[test]
    fn the_method_is_that_of_the_kind_of_timings() {
        let run = method_of(Statistic::RankMaximum);
        for part in ["0.5 % longer", "signed-rank", "fewer than 6 visits", "two steps of the clock", "0.1 % over all"] {
            assert!(run.contains(part), "{part} in {run}");
        }
        assert!(!run.contains("Mann-Whitney") && !run.contains("20 %"), "{run}");
        let table = method_of(Statistic::RankAverage);
        for part in ["0.5 % longer", "6 launches or more", "Mann-Whitney", "neighbouring communicator sizes"] {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(!table.contains("signed-rank") && !table.contains("clock"), "{table}");
    }
}
