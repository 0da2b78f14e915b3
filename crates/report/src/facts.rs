//! What reports say in every format: the facts as texts, one place for each.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Crossover, Findings, PointFinding, Statistic, Verdict};
use collrules_record::policy::Between;
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Cell, Component, Estimate, Manifest, Policy};
use collrules_rules::{Collective, hazard};

use crate::summary::{candidate_name, name, percent};

/// The message sizes that have no holes: every communicator was measured at them, unless all its sizes are smaller or
/// larger. Others come from looking closer at the crossover of some communicator.
pub(crate) fn regular_sizes(cells: &BTreeSet<Cell>) -> Vec<Bytes> {
    let mut spans: BTreeMap<Ranks, (Bytes, Bytes)> = BTreeMap::new();
    for cell in cells {
        let span = spans.entry(cell.ranks).or_insert((cell.bytes, cell.bytes));
        *span = (span.0.min(cell.bytes), span.1.max(cell.bytes));
    }
    let Some(collective) = cells.first().map(|cell| cell.collective) else { return Vec::new() };
    let sizes: BTreeSet<Bytes> = cells.iter().map(|cell| cell.bytes).collect();
    let regular = |bytes: &Bytes| {
        spans.iter().all(|(ranks, (first, last))| {
            let cell = Cell { collective, ranks: *ranks, bytes: *bytes };
            bytes < first || bytes > last || cells.contains(&cell)
        })
    };
    sizes.into_iter().filter(regular).collect()
}

/// A cell in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellRow {
    pub(crate) ranks: String,
    pub(crate) size: String,
    /// The builtin's time.
    pub(crate) builtin: String,
    /// The fastest of all others.
    pub(crate) best: String,
    pub(crate) time: String,
    pub(crate) gain: String,
    pub(crate) verdict: String,
}

/// The fastest candidate that is not the builtin.
pub(crate) fn best_rival(cell: &CellFinding) -> Option<&PointFinding> {
    let rivals = cell.points.iter().filter(|point| !point.candidate.choice().is_builtin());
    rivals.min_by(|a, b| a.time.point.total_cmp(&b.time.point))
}

/// A cell in words.
pub(crate) fn cell_row(findings: &Findings, cell: &CellFinding) -> CellRow {
    let collective = cell.cell.collective;
    let builtin = cell.points.iter().find(|point| point.candidate.choice().is_builtin());
    let best = best_rival(cell);
    // A reading is off by up to a step of the clock at either end of a call.
    let least = 2.0 * findings.criteria.clock_step.0;
    let time = |estimate: Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(estimate) if estimate.point < least => format!("under resolution ({})", Seconds(least)),
        Some(estimate) => Seconds(estimate.point).to_string(),
    };
    CellRow {
        ranks: cell.cell.ranks.to_string(),
        size: if collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() },
        builtin: time(builtin.map(|point| point.time)),
        best: best.map_or("-".to_owned(), |point| name(findings, collective, point.candidate.choice())),
        time: time(best.map(|point| point.time)),
        gain: best.and_then(|point| point.gain).map_or("-".to_owned(), ratio),
        verdict: verdict(findings, cell),
    }
}

/// What was decided for a cell, and what serves it where that differs.
pub(crate) fn verdict(findings: &Findings, cell: &CellFinding) -> String {
    let collective = cell.cell.collective;
    let verdict = match &cell.verdict {
        Verdict::Replace { candidate, .. } => candidate_name(findings, collective, *candidate),
        Verdict::Keep { why } => format!("builtin: {why}"),
    };
    if overruled(cell) { format!("{verdict}; served by {}", name(findings, collective, cell.served)) } else { verdict }
}

/// Whether the rules give a cell something else than its own verdict.
pub(crate) fn overruled(cell: &CellFinding) -> bool {
    match &cell.verdict {
        Verdict::Replace { candidate, .. } => candidate.choice() != cell.served,
        Verdict::Keep { .. } => !cell.served.is_builtin(),
    }
}

/// A ratio with its interval: `1.25x (1.21x .. 1.30x)`.
pub(crate) fn ratio(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{:.2}x ({low:.2}x .. {high:.2}x)", estimate.point),
        _ => format!("{:.2}x", estimate.point),
    }
}

/// A crossover in words: collective, ranks, below, from, above, measured around, certain between.
pub(crate) fn crossover_row(findings: &Findings, crossover: &Crossover) -> [String; 7] {
    let side = |choice| name(findings, crossover.collective, choice);
    let (low, high) = crossover.bracket;
    [
        crossover.collective.to_string(),
        crossover.ranks.to_string(),
        side(crossover.below),
        format!("{}B", crossover.at.0),
        side(crossover.above),
        format!("{low} and {high}"),
        crossover.interval.map_or("-".to_owned(), |(from, to)| format!("{}B to {}B", from.0, to.0)),
    ]
}

/// Candidates that must not be chosen: candidate, cells, why. Cells with the same reason are put together.
pub(crate) fn disqualified(findings: &Findings) -> Vec<[String; 3]> {
    /// Collective, candidate, why.
    type Key<'a> = (Collective, String, &'a str);
    let mut rows: Vec<(Key<'_>, Vec<&CellFinding>)> = Vec::new();
    for cell in &findings.cells {
        for (candidate, why) in &cell.disqualified {
            let collective = cell.cell.collective;
            let key = (collective, candidate_name(findings, collective, *candidate), why.as_str());
            match rows.iter_mut().find(|(known, _)| *known == key) {
                Some((_, cells)) => cells.push(cell),
                None => rows.push((key, vec![cell])),
            }
        }
    }
    let say = |((collective, candidate, why), cells): (Key<'_>, Vec<&CellFinding>)| {
        let place = |cell: &CellFinding| match collective.has_sizes() {
            true => format!("{} ranks at {}", cell.cell.ranks, cell.cell.bytes),
            false => format!("{} ranks", cell.cell.ranks),
        };
        let named: Vec<String> = cells.iter().take(4).map(|cell| place(cell)).collect();
        let more = cells.len() - named.len();
        let more = if more > 0 { format!(" and {more} more cells") } else { String::new() };
        [format!("{collective} by {candidate}"), named.join(", ") + &more, why.to_owned()]
    };
    rows.into_iter().map(say).collect()
}

/// What one time is, as a sentence.
pub(crate) fn timing(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::RankMaximum => "A time is that of one call on its slowest rank.",
        Statistic::RankAverage => "A time is a mean over calls and ranks, which hides the slowest rank.",
        Statistic::SlowestRankSummary => "A time stands for all calls of a launch on the slowest rank.",
    }
}

/// How it was decided, in paragraphs.
pub(crate) fn method(findings: &Findings) -> Vec<String> {
    let criteria = findings.criteria;
    let gain = percent(criteria.min_gain);
    let rate = percent(criteria.error_rate);
    let false_discoveries = format!("at a false discovery rate of {rate} over all comparisons of the analysis");
    let time = timing(findings.statistic);
    let estimates =
        format!("{time} Estimates are medians with distribution-free intervals of {}.", percent(criteria.level));
    let replaced = match findings.statistic {
        Statistic::RankMaximum => format!(
            "A candidate replaces the builtin if the builtin takes at least {gain} longer, the interval of that gain \
             lies above 1, and a paired signed-rank test over the visits says so {false_discoveries}; fewer than \
             6 visits allow no test, and the builtin stays. The candidate has to be timed in every launch in which the \
             builtin was and to be faster in each of them, and the difference has to exceed two steps of the clock."
        ),
        Statistic::RankAverage | Statistic::SlowestRankSummary => format!(
            "A candidate replaces the builtin if the builtin takes at least {gain} longer and, where there are 6 \
             launches or more, the interval of that gain lies above 1, a Mann-Whitney test on the launches says so \
             {false_discoveries}, and the candidate is faster in each of them. With fewer launches no test is \
             possible; the builtin has to take {} longer, also in the mean with the gain at neighbouring communicator \
             sizes, and the candidate has to be faster in each launch. It has to be timed in every launch in which the \
             builtin was.",
            percent(criteria.untested_gain),
        ),
    };
    let together = match findings.statistic {
        Statistic::RankMaximum => "the same test over all of them together".to_owned(),
        Statistic::RankAverage | Statistic::SlowestRankSummary => format!(
            "the same test over all of them together, or a mean gain of {} in every launch where none is possible",
            percent(criteria.untested_gain)
        ),
    };
    let one_choice = format!(
        "Where message sizes have to share one choice, as for scatter and gather, a candidate replaces the builtin \
         at all of them or at none: it has to be slower nowhere, to gain at least {gain} in geometric mean over the \
         measured sizes, to be faster in the mean in every launch, and to pass {together}. A single measured size \
         decides for the others."
    );
    vec![estimates, replaced, one_choice]
}

/// What is assumed of programs and of sizes that were not measured, and what could go wrong where that does not hold.
pub(crate) fn assumptions(findings: &Findings) -> Vec<String> {
    let Policy { max_regret, between, assumptions } = findings.tree.policy;
    let mut said = vec![format!(
        "Neighbouring sizes share a rule where that costs no measured cell more than {} of its time.",
        percent(max_regret)
    )];
    said.push(
        match between {
            Between::Keep => "Communicator sizes between measured ones keep the builtin.",
            Between::Agree => {
                "Communicator sizes between measured ones get what both neighbours choose, or else the builtin."
            }
            Between::Lower => "Communicator sizes between measured ones get what the next smaller one chooses.",
        }
        .to_owned(),
    );
    let operations = if assumptions.commutative_ops {
        "Programs are taken to use reduction operations that commute."
    } else {
        "Operations need not commute: algorithms that are wrong for those that do not are not chosen."
    };
    let arguments = if assumptions.consistent_arguments {
        "All ranks are taken to pass the same counts and datatypes to scatter and gather, also where MPI ignores them."
    } else {
        "Ranks may pass other counts to scatter and gather where MPI ignores them: all sizes share one choice there."
    };
    let datatypes = if assumptions.uniform_datatypes {
        "All ranks are taken to describe the same data by the same counts and datatypes, as Open MPI's own decision does."
    } else {
        "Ranks may describe the same data by different datatypes: algorithms that fail then are not chosen."
    };
    said.extend([operations, arguments, datatypes].map(str::to_owned));
    said.extend(hazard::check(&findings.table).iter().map(|hazard| format!("Accepted by assumption: {hazard}.")));
    said
}

/// Where the ranks of each communicator were, and who served them before any rule: ranks, nodes, served by.
pub(crate) fn placement(findings: &Findings) -> Vec<[String; 3]> {
    let placement = &findings.placement;
    let row = |(ranks, nodes): (&Ranks, &collrules_record::Nodes)| {
        let mut by: BTreeMap<Component, Vec<&str>> = BTreeMap::new();
        for serving in placement.serving.iter().filter(|serving| serving.ranks == *ranks) {
            by.entry(serving.by).or_default().push(serving.collective.name());
        }
        let by: Vec<String> =
            by.iter().map(|(component, names)| format!("{component}: {}", names.join(", "))).collect();
        [ranks.to_string(), nodes.to_string(), if by.is_empty() { "-".to_owned() } else { by.join("; ") }]
    };
    placement.nodes.iter().map(row).collect()
}

/// Where the numbers come from: what, and its value.
pub(crate) fn provenance(manifest: &Manifest) -> Vec<(String, String)> {
    let survey = &manifest.survey;
    let hosts: BTreeSet<&str> = survey.hosts.iter().map(String::as_str).collect();
    let fact = |key: &str, value: String| (key.to_owned(), value);
    let mut facts = vec![
        fact("Library", survey.library.clone()),
        fact("Slots", format!("{} on {}", survey.slots(), hosts.into_iter().collect::<Vec<_>>().join(", "))),
        fact(
            "Measured by",
            format!("collrules {} ({}), started {}", manifest.collrules, manifest.backend, manifest.started),
        ),
        fact("Seed", manifest.plan.seed.to_string()),
        fact("Clock step", survey.clock_step.to_string()),
    ];
    facts.extend(manifest.host.iter().map(|(key, value)| fact(key, value.clone())));
    let pin = |(key, value): (&String, &String)| fact("Setting in force while measuring", format!("{key} = {value}"));
    facts.extend(manifest.pins.iter().map(pin));
    facts
}

#[cfg(test)]
mod tests {
    use collrules_record::Candidate;

    use collrules_rules::{Choice, Release};

    use super::*;

    #[test]
    fn sizes_with_holes_are_left_out_and_missing_ends_are_not() {
        let cell = |(ranks, bytes): (u32, u64)| Cell {
            collective: Collective::Bcast,
            ranks: Ranks(ranks),
            bytes: Bytes(bytes),
        };
        // 6 was measured on 4 ranks alone; 16 was too large for 8.
        let cells = [(4, 4), (4, 6), (4, 8), (4, 16), (8, 4), (8, 8)].map(cell);
        assert_eq!(regular_sizes(&cells.into()), [4, 8, 16].map(Bytes));
        assert_eq!(regular_sizes(&BTreeSet::new()), []);
    }

    #[test]
    fn cells_with_one_reason_are_put_together() {
        let why = |text: &str| vec![(Candidate::Tuned(Choice::plain(3)), text.to_owned())];
        let cell = |bytes: u64, text: &str| CellFinding {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            points: Vec::new(),
            disqualified: why(text),
            verdict: Verdict::Keep { why: String::new() },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        };
        let mut cells: Vec<CellFinding> = (0..6).map(|power| cell(1 << power, "wrong data")).collect();
        cells.push(cell(64, "hangs"));
        let findings = Findings { cells, ..Findings::empty("", Release::V5_0) };
        let rows = disqualified(&findings);
        let places = "4 ranks at 1B, 4 ranks at 2B, 4 ranks at 4B, 4 ranks at 8B and 2 more cells";
        assert_eq!(rows[0], ["bcast by pipeline", places, "wrong data"].map(str::to_owned));
        assert_eq!(rows[1], ["bcast by pipeline", "4 ranks at 64B", "hangs"].map(str::to_owned));
        assert_eq!(rows.len(), 2);
    }
}
