//! The report file.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use collrules_record::findings::{CellFinding, Findings, Statistic, Verdict};
use collrules_record::units::Seconds;
use collrules_record::{Component, Estimate, Manifest, Placement, Validation};
use collrules_rules::Collective;

use crate::summary::{candidate_name, name, percent, sentences, stretches};

/// What a report says beside the findings.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// Where the numbers come from; missing for an imported table.
    pub manifest: Option<&'a Manifest>,
    /// How to switch the rules on, line by line; empty where there are none.
    pub switch_on: Vec<String>,
    /// What was shown about the file and the Open MPI in use, in whole sentences.
    pub proof: Vec<String>,
    /// What fresh launches without and with the file showed.
    pub validation: Option<&'a Validation>,
}

/// The report as Markdown.
pub fn report(findings: &Findings, context: &Context<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, findings, context);
    out
}

fn write(out: &mut String, findings: &Findings, context: &Context<'_>) -> fmt::Result {
    writeln!(out, "# collrules report\n")?;
    writeln!(out, "Source: {}. Release: Open MPI {}.\n", findings.source, findings.release)?;
    writeln!(out, "## What to expect\n")?;
    bullets(out, &sentences(findings))?;
    if !context.switch_on.is_empty() {
        writeln!(out, "\n## How to switch it on\n\n```sh")?;
        context.switch_on.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "```")?;
    }
    if !context.proof.is_empty() {
        writeln!(out, "\n## What was shown\n")?;
        bullets(out, &context.proof)?;
    }
    if !findings.remarks.is_empty() {
        writeln!(out, "\n## What to know\n")?;
        bullets(out, &findings.remarks)?;
    }
    decisions(out, findings)?;
    crossovers(out, findings)?;
    cells(out, findings)?;
    disqualified(out, findings)?;
    method(out, findings)?;
    placement(out, findings)?;
    context.manifest.map_or(Ok(()), |manifest| provenance(out, manifest))
}

/// Where the ranks of each communicator were, and who served them before any rule.
fn placement(out: &mut String, findings: &Findings) -> fmt::Result {
    let Placement { layout, nodes, serving } = &findings.placement;
    if nodes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Where the ranks were (layout: {layout})\n\n| ranks | nodes | served by |\n|---:|---|---|")?;
    for (ranks, nodes) in nodes {
        let mut by: BTreeMap<Component, Vec<&str>> = BTreeMap::new();
        for serving in serving.iter().filter(|serving| serving.ranks == *ranks) {
            by.entry(serving.by).or_default().push(serving.collective.name());
        }
        let by: Vec<String> =
            by.iter().map(|(component, names)| format!("{component}: {}", names.join(", "))).collect();
        writeln!(out, "| {ranks} | {nodes} | {} |", if by.is_empty() { "-".to_owned() } else { by.join("; ") })?;
    }
    Ok(())
}

fn bullets(out: &mut String, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(out, "- {line}"))
}

fn decisions(out: &mut String, findings: &Findings) -> fmt::Result {
    writeln!(out, "\n## Decisions\n")?;
    writeln!(
        out,
        "| collective | ranks | message sizes | serve by | gain | at lower ends |\n|---|---:|---|---|---:|---:|"
    )?;
    for stretch in stretches(findings) {
        let gain = stretch.gain.map_or(String::new(), |gain| format!("{:.2}x", gain.mean));
        let low = stretch.gain.and_then(|gain| gain.cautious).map_or(String::new(), |low| format!("{low:.2}x"));
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
    writeln!(out, "| collective | ranks | below | from | above | measured around |\n|---|---:|---|---:|---|---|")?;
    for crossover in &findings.crossovers {
        let (low, high) = crossover.bracket;
        let side = |choice| name(findings, crossover.collective, choice);
        writeln!(
            out,
            "| {} | {} | {} | {}B | {} | {low} and {high} |",
            crossover.collective,
            crossover.ranks,
            side(crossover.below),
            crossover.at.0,
            side(crossover.above),
        )?;
    }
    Ok(())
}

fn cells(out: &mut String, findings: &Findings) -> fmt::Result {
    for group in findings.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective) {
        let collective = group[0].cell.collective;
        writeln!(out, "\n## Cells of {collective}\n")?;
        writeln!(
            out,
            "| ranks | size | builtin | best candidate | its time | its gain | verdict |\n|---:|---:|---:|---|---:|---|---|"
        )?;
        group.iter().try_for_each(|cell| cell_row(out, findings, collective, cell))?;
    }
    Ok(())
}

fn cell_row(out: &mut String, findings: &Findings, collective: Collective, cell: &CellFinding) -> fmt::Result {
    let builtin = cell.points.iter().find(|point| point.candidate.choice().is_builtin());
    let rivals = cell.points.iter().filter(|point| !point.candidate.choice().is_builtin());
    let best = rivals.min_by(|a, b| a.time.point.total_cmp(&b.time.point));
    // A reading is off by up to a step of the clock at either end of a call.
    let least = 2.0 * findings.criteria.clock_step.0;
    let time = |estimate: Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(estimate) if estimate.point < least => format!("under resolution ({})", Seconds(least)),
        Some(estimate) => Seconds(estimate.point).to_string(),
    };
    let verdict = match &cell.verdict {
        Verdict::Replace { candidate, .. } => candidate_name(findings, collective, *candidate),
        Verdict::Keep { why } => format!("builtin: {why}"),
    };
    let overruled = match &cell.verdict {
        Verdict::Replace { candidate, .. } if candidate.choice() != cell.served => {
            format!("; served by {}", name(findings, collective, cell.served))
        }
        Verdict::Keep { .. } if !cell.served.is_builtin() => {
            format!("; served by {}", name(findings, collective, cell.served))
        }
        _ => String::new(),
    };
    writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {verdict}{overruled} |",
        cell.cell.ranks,
        if collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() },
        time(builtin.map(|point| point.time)),
        best.map_or("-".to_owned(), |point| name(findings, collective, point.candidate.choice())),
        time(best.map(|point| point.time)),
        best.and_then(|point| point.gain).map_or("-".to_owned(), ratio),
    )
}

/// A ratio with its interval: `1.25x (1.21x .. 1.30x)`.
fn ratio(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{:.2}x ({low:.2}x .. {high:.2}x)", estimate.point),
        _ => format!("{:.2}x", estimate.point),
    }
}

fn disqualified(out: &mut String, findings: &Findings) -> fmt::Result {
    let rows = findings.cells.iter().flat_map(|cell| cell.disqualified.iter().map(move |row| (cell.cell, row)));
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\n## Disqualified candidates\n")?;
    rows.try_for_each(|(cell, (candidate, why))| {
        writeln!(out, "- {} in {cell}: {why}", name(findings, cell.collective, candidate.choice()))
    })
}

fn method(out: &mut String, findings: &Findings) -> fmt::Result {
    let criteria = findings.criteria;
    writeln!(out, "\n## How it was decided\n")?;
    let gain = percent(criteria.min_gain);
    let rate = percent(criteria.error_rate);
    let false_discoveries = format!("at a false discovery rate of {rate} over all comparisons of the analysis");
    writeln!(
        out,
        "{} Estimates are medians with distribution-free intervals of {}.\n",
        match findings.statistic {
            Statistic::RankMaximum => "A time is that of one call on its slowest rank.",
            Statistic::RankAverage => "A time is a mean over calls and ranks, which hides the slowest rank.",
            Statistic::SlowestRankSummary => "A time stands for all calls of a launch on the slowest rank.",
        },
        percent(criteria.level),
    )?;
    match findings.statistic {
        Statistic::RankMaximum => writeln!(
            out,
            "A candidate replaces the builtin if the builtin takes at least {gain} longer, the interval of that gain \
             lies above 1, and a paired signed-rank test over the visits says so {false_discoveries}; fewer than \
             6 visits allow no test, and the builtin stays. The candidate has to be timed in every launch in which the \
             builtin was and to be faster in each of them, and the difference has to exceed two steps of the clock."
        ),
        Statistic::RankAverage | Statistic::SlowestRankSummary => writeln!(
            out,
            "A candidate replaces the builtin if the builtin takes at least {gain} longer and, where there are 6 \
             launches or more, the interval of that gain lies above 1, a Mann-Whitney test on the launches says so \
             {false_discoveries}, and the candidate is faster in each of them. With fewer launches no test is \
             possible; the gain that neighbouring sizes and the usual differences between launches leave of it has to \
             be that large, the probability to be slower by more than 5 % in another launch at most {:.3}, and the \
             candidate faster in each launch. It has to be timed in every launch in which the builtin was.",
            criteria.risk(),
        ),
    }?;
    let together = match findings.statistic {
        Statistic::RankMaximum => "the same test over all of them together".to_owned(),
        Statistic::RankAverage | Statistic::SlowestRankSummary => format!(
            "the same test over all of them together, or a mean gain of {} in every launch where none is possible",
            percent(criteria.untested_gain)
        ),
    };
    writeln!(
        out,
        "\nWhere message sizes have to share one choice, as for scatter and gather, a candidate replaces the builtin \
         at all of them or at none: it has to be slower nowhere, to gain at least {gain} in geometric mean over the \
         measured sizes, to be faster in the mean in every launch, and to pass {together}. A single measured size \
         decides for the others."
    )
}

fn provenance(out: &mut String, manifest: &Manifest) -> fmt::Result {
    let survey = &manifest.survey;
    writeln!(out, "\n## Where the numbers come from\n")?;
    let hosts: std::collections::BTreeSet<&str> = survey.hosts.iter().map(String::as_str).collect();
    let mut facts = vec![
        format!("Library: {}", survey.library),
        format!("Slots: {} on {}", survey.slots(), hosts.into_iter().collect::<Vec<_>>().join(", ")),
        format!("Measured by collrules {} ({}), started {}", manifest.collrules, manifest.backend, manifest.started),
        format!("Seed: {}", manifest.plan.seed),
        format!("Clock step: {}", survey.clock_step),
    ];
    facts.extend(manifest.host.iter().map(|(key, value)| format!("{key}: {value}")));
    facts.extend(manifest.pins.iter().map(|(key, value)| format!("Setting in force while measuring: {key} = {value}")));
    bullets(out, &facts)
}

#[cfg(test)]
mod tests {
    use collrules_record::findings::{Criteria, FORMAT};
    use collrules_rules::{Release, RuleTable};

    use super::*;

    fn method_of(statistic: Statistic) -> String {
        let findings = Findings {
            format: FORMAT,
            source: "a test".to_owned(),
            statistic,
            release: Release::V4_1,
            criteria: Criteria { min_gain: 0.005, error_rate: 0.001, ..Criteria::default() },
            cells: Vec::new(),
            crossovers: Vec::new(),
            table: RuleTable::new(),
            tree: collrules_record::tree::Tree::default(),
            placement: Placement::default(),
            pins: BTreeMap::new(),
            remarks: Vec::new(),
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
                expected: None,
                risk: None,
            }],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: String::new() },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let with_step = |step| {
            let findings = Findings {
                format: FORMAT,
                source: String::new(),
                statistic: Statistic::RankMaximum,
                release: Release::V4_1,
                criteria: Criteria { clock_step: Seconds(step), ..Criteria::default() },
                cells: vec![cell.clone()],
                crossovers: Vec::new(),
                table: RuleTable::new(),
                tree: Default::default(),
                placement: Default::default(),
                pins: Default::default(),
                remarks: Vec::new(),
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
        for part in ["0.5 % longer", "6 launches or more", "Mann-Whitney", "slower by more than 5 % in another launch"]
        {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(!table.contains("signed-rank") && !table.contains("clock"), "{table}");
    }
}
