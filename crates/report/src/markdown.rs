//! The report file.

use std::fmt::{self, Write};

use collrules_record::findings::{CellFinding, Findings, Statistic, Verdict};
use collrules_record::units::Seconds;
use collrules_record::{Estimate, Manifest};
use collrules_rules::Collective;

use crate::summary::{name, sentences, stretches};

/// What a report says beside the findings.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// Where the numbers come from; missing for an imported table.
    pub manifest: Option<&'a Manifest>,
    /// How to switch the rules on, line by line; empty where there are none.
    pub switch_on: Vec<String>,
    /// What was shown about the file and the Open MPI in use, in whole sentences.
    pub proof: Vec<String>,
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
    context.manifest.map_or(Ok(()), |manifest| provenance(out, manifest))
}

fn bullets(out: &mut String, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(out, "- {line}"))
}

fn decisions(out: &mut String, findings: &Findings) -> fmt::Result {
    writeln!(out, "\n## Decisions\n")?;
    writeln!(
        out,
        "| collective | ranks | message sizes | serve by | gain | lower end |\n|---|---:|---|---|---:|---:|"
    )?;
    for stretch in stretches(findings) {
        let gain = stretch.gain.map_or(String::new(), |gain| format!("{:.2}x", gain.mean));
        let low = stretch.gain.and_then(|gain| gain.cautious).map_or(String::new(), |low| format!("{low:.2}x"));
        let serve_by = name(findings, stretch.collective, stretch.choice);
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
    let time =
        |estimate: Option<Estimate>| estimate.map_or("-".to_owned(), |estimate| Seconds(estimate.point).to_string());
    let verdict = match &cell.verdict {
        Verdict::Replace { candidate, .. } => name(findings, collective, candidate.choice()),
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
    let statistic = match findings.statistic {
        Statistic::RankMaximum => "A time is that of one call on its slowest rank.",
        Statistic::RankAverage => "A time is a mean over calls and ranks, which hides the slowest rank.",
    };
    writeln!(
        out,
        "{statistic} Estimates are medians with distribution-free intervals of {:.0} %. A candidate replaces the builtin \
         if it is faster by at least {:.0} % and a paired rank test says so at a false discovery rate of {:.0} % over \
         all comparisons; where single values allow no test, {:.0} % are asked for instead.",
        100.0 * criteria.level,
        100.0 * criteria.min_gain,
        100.0 * criteria.error_rate,
        100.0 * criteria.untested_gain,
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
