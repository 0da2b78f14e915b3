//! The report file.

mod bullets;
mod validation;

use std::fmt::{self, Write};

use collrules_record::Manifest;
use collrules_record::findings::Findings;

use bullets::bullets;

use crate::Context;
use crate::cells::{CellRow, cell_row};
use crate::facts::{self, SIMULATED, candidate_name};
use crate::layouts;
use crate::plain;
use crate::summary::{by_collective, sentences, stretches};
use crate::tree;
use crate::words::times;

/// The report as Markdown.
pub fn report(findings: &Findings, context: &Context<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, findings, context);
    out
}

fn write(out: &mut String, findings: &Findings, context: &Context<'_>) -> fmt::Result {
    writeln!(out, "# collrules report\n")?;
    if findings.simulated {
        writeln!(out, "**{SIMULATED}**\n")?;
    }
    writeln!(out, "Source: {}. Release: Open MPI {}.\n", plain::markdown(&findings.source), findings.release)?;
    writeln!(out, "## What to expect\n")?;
    bullets(out, &sentences(findings))?;
    if !context.switch_on.is_empty() {
        writeln!(out, "\n## How to switch it on\n\n```sh")?;
        context.switch_on.iter().try_for_each(|line| writeln!(out, "{}", plain::line(line)))?;
        writeln!(out, "```")?;
    }
    if !context.proof.is_empty() {
        writeln!(out, "\n## What was shown\n")?;
        bullets(out, &context.proof)?;
    }
    if let Some(validation) = context.validation {
        validation::write(out, findings, validation)?;
    }
    if !findings.remarks.is_empty() {
        writeln!(out, "\n## What to know\n")?;
        bullets(out, &findings.remarks)?;
    }
    writeln!(out, "\n## What is assumed\n")?;
    bullets(out, &facts::assumptions(findings))?;
    decisions(out, findings)?;
    laid_out(out, findings)?;
    handover(out, findings)?;
    crossovers(out, findings)?;
    if !findings.tree.collectives.is_empty() {
        // Four backquotes: names in it may hold three.
        writeln!(out, "\n## Decision tree\n\n````text\n{}````", tree::text(findings, 120))?;
    }
    cells(out, findings)?;
    disqualified(out, findings)?;
    method(out, findings)?;
    placement(out, findings)?;
    context.manifest.map_or(Ok(()), |manifest| provenance(out, manifest))
}

fn placement(out: &mut String, findings: &Findings) -> fmt::Result {
    let rows = facts::placement(findings);
    if rows.is_empty() {
        return Ok(());
    }
    let layout = findings.placement.layout;
    writeln!(out, "\n## Where the ranks were (layout: {layout})\n\n| ranks | nodes | served by |\n|---:|---|---|")?;
    rows.iter().try_for_each(|[ranks, nodes, by]| writeln!(out, "| {ranks} | {nodes} | {by} |"))
}

fn decisions(out: &mut String, findings: &Findings) -> fmt::Result {
    writeln!(out, "\n## Decisions\n")?;
    writeln!(
        out,
        "| collective | ranks | message sizes | served by | gain | at lower ends |\n|---|---:|---|---|---:|---:|"
    )?;
    for stretch in stretches(findings) {
        let gain = stretch.gain.map_or(String::new(), |gain| times(gain.mean));
        let low = stretch.gain.and_then(|gain| gain.cautious).map_or(String::new(), times);
        let serve_by = candidate_name(findings, stretch.collective, stretch.by);
        let (collective, ranks, sizes) = (stretch.collective, stretch.ranks, stretch.sizes());
        writeln!(out, "| {collective} | {ranks} | {sizes} | {serve_by} | {gain} | {low} |")?;
    }
    Ok(())
}

fn crossovers(out: &mut String, findings: &Findings) -> fmt::Result {
    if findings.crossovers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Crossovers\n")?;
    writeln!(
        out,
        "| collective | ranks | below | from | above | measured around | certain between |\n|---|---:|---|---:|---|---|---|"
    )?;
    let rows = findings.crossovers.iter().map(|crossover| facts::crossover_row(findings, crossover));
    rows.map(|row| row.map(|text| plain::cell(&text)).join(" | ")).try_for_each(|row| writeln!(out, "| {row} |"))
}

fn laid_out(out: &mut String, findings: &Findings) -> fmt::Result {
    let rows = layouts::rows(findings);
    if rows.is_empty() {
        return Ok(());
    }
    let columns = layouts::COLUMNS;
    writeln!(out, "\n## {}\n\n{}\n", layouts::TITLE, layouts::about(findings))?;
    writeln!(out, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()))?;
    rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))
}

fn handover(out: &mut String, findings: &Findings) -> fmt::Result {
    let rows = facts::handover(findings);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## What HAN's rules file says\n\n{}\n", facts::HANDOVER)?;
    writeln!(out, "| collective | ranks | message sizes | carried out by |\n|---|---|---|---|")?;
    rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))
}

fn cells(out: &mut String, findings: &Findings) -> fmt::Result {
    for group in by_collective(findings) {
        writeln!(out, "\n## Cells of {}\n", group[0].cell.collective)?;
        writeln!(
            out,
            "| ranks | size | builtin | best candidate | its time | its gain | verdict |\n|---:|---:|---:|---|---:|---|---|"
        )?;
        for cell in group {
            let CellRow { ranks, size, builtin, best, time, gain, verdict } = cell_row(findings, cell);
            let verdict = plain::cell(&verdict);
            writeln!(out, "| {ranks} | {size} | {builtin} | {best} | {time} | {gain} | {verdict} |")?;
        }
    }
    Ok(())
}

fn disqualified(out: &mut String, findings: &Findings) -> fmt::Result {
    let rows = facts::disqualified(findings);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Disqualified candidates\n\n| candidate | cells | why |\n|---|---|---|")?;
    rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.each_ref().map(|text| plain::cell(text)).join(" | ")))
}

fn method(out: &mut String, findings: &Findings) -> fmt::Result {
    writeln!(out, "\n## How it was decided\n")?;
    writeln!(out, "{}", facts::method(findings).join("\n\n"))
}

fn provenance(out: &mut String, manifest: &Manifest) -> fmt::Result {
    writeln!(out, "\n## Where the numbers come from\n")?;
    let facts: Vec<String> =
        facts::provenance(manifest).into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
    bullets(out, &facts)
}

#[cfg(test)]
mod tests {

    use collrules_record::Estimate;
    use collrules_record::findings::{CellFinding, Criteria, Statistic, Verdict};
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
            verdict: Verdict::Keep { why: String::new() },
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
        assert!(with_step(1e-6).contains("| under resolution (2.000µs) |"));
        assert!(with_step(1e-8).contains("| 1.500µs |"));
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
