//! What a study says about reference algorithms: who is best, where one gives way to another, and how far all of them are from
//! what the network allows.

use std::fmt::Write;

use collrules_record::study::{ClassVerdict, Rivalry, Study, StudyCell};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use super::about::About;
use super::names::name;
use crate::words::{ends, folded, interval};

/// The sections; nothing where no reference algorithm was compared.
pub(super) fn markdown(study: &Study, about: &About<'_>) -> String {
    let mut text = String::new();
    if study.rivalries.is_empty() {
        return text;
    }
    classes(&mut text, study, about);
    crossovers(&mut text, study);
    bounds(&mut text, study);
    text
}

/// The elements that Chan et al. count: those of the whole vector.
fn whole(cell: Cell) -> Bytes {
    match cell.collective {
        Collective::Allgather | Collective::Gather | Collective::ReduceScatterBlock | Collective::Scatter => {
            Bytes(cell.bytes.0.saturating_mul(cell.ranks.0.into()))
        }
        _ => cell.bytes,
    }
}

fn vector(collective: Collective, ranks: Ranks, bytes: Bytes) -> Bytes {
    whole(Cell { collective, ranks, bytes })
}

fn classes(text: &mut String, study: &Study, about: &About<'_>) {
    let what = "The best of the builtin and the two reference algorithms by the geometric mean of times over message sizes, with \
                those that cannot be told apart from it; over all sizes, and below and above where short gives way to long. \
                Vectors are whole ones: for scatter, gather, allgather and reduce_scatter_block the message times the ranks.";
    let _ = write!(text, "## Best class\n\n{}\n\n", folded(what));
    let _ = writeln!(text, "| collective | ranks | vector | best | claimed | so it is here |");
    let _ = writeln!(text, "|---|---:|---|---|---|---|");
    for verdict in &study.classes {
        let ClassVerdict { collective, ranks, sizes: (first, last), best } = verdict;
        let [first, last] = [first, last].map(|bytes| vector(*collective, *ranks, *bytes));
        let claim = about.claims.get(collective);
        let _ = writeln!(
            text,
            "| {collective} | {ranks} | {first} to {last} | {} | {} | {} |",
            listed(study, *collective, best),
            claim.map_or("-".to_owned(), |claim| listed(study, *collective, claim)),
            claim.map_or("-", |claim| answer(claim, best)),
        );
    }
    text.push('\n');
}

fn listed(study: &Study, collective: Collective, candidates: &[Candidate]) -> String {
    candidates.iter().map(|candidate| name(study, collective, *candidate)).collect::<Vec<_>>().join(" / ")
}

/// Whether what is best is what was claimed to be.
fn answer(claim: &[Candidate], best: &[Candidate]) -> &'static str {
    if best.iter().all(|candidate| claim.contains(candidate)) {
        "yes"
    } else if best.iter().any(|candidate| claim.contains(candidate)) {
        "cannot tell"
    } else {
        "no"
    }
}

fn crossovers(text: &mut String, study: &Study) {
    let what = "Where the faster of two changes, in bytes of the message, with the sizes between which it may lie. Only sizes at \
                which the two are told apart count: the interval that launches give for the ratio of their times excludes 1. \
                The model is the line of the next section, played step by step.";
    let _ = write!(text, "## Crossovers\n\n{}\n\n", folded(what));
    let _ = writeln!(text, "| collective | ranks | between | at | by the model |");
    let _ = writeln!(text, "|---|---:|---|---|---|");
    for rivalry in &study.rivalries {
        let Rivalry { collective, ranks, one, other, first, crossings, predicted } = rivalry;
        let name = |candidate: Candidate| name(study, *collective, candidate);
        let at = match (first, crossings.as_slice()) {
            (None, _) => "cannot be told apart at any size".to_owned(),
            (Some(first), []) => format!("never within the sizes measured: {} is faster", name(*first)),
            (_, crossings) => {
                let told = crossings.iter().map(|crossing| {
                    let (low, high) = crossing.interval;
                    let (below, above) = (name(crossing.below), name(crossing.above));
                    format!("{} ({low} to {high}), from {below} to {above}", crossing.at)
                });
                told.collect::<Vec<_>>().join("; ")
            }
        };
        let predicted = match (one, other, predicted) {
            (Candidate::Reference(_), Candidate::Reference(_), Some(bytes)) => bytes.to_string(),
            (Candidate::Reference(_), Candidate::Reference(_), None) => "never".to_owned(),
            _ => "-".to_owned(),
        };
        let _ = writeln!(text, "| {collective} | {ranks} | {} and {} | {at} | {predicted} |", name(*one), name(*other));
    }
    text.push('\n');
}

fn bounds(text: &mut String, study: &Study) {
    let _ = write!(text, "## Against the bound\n\n");
    if study.machines.is_empty() {
        let why = "Bounds are left out: there are too few times of reference algorithms to fit what a message costs.";
        let _ = write!(text, "{why}\n\n");
        return;
    }
    for fit in &study.machines {
        let reduced = fit.per_reduced_byte.map_or(String::new(), |gamma| {
            format!(", and {} to reduce a KiB", time(gamma.map(|seconds| 1024.0 * seconds)))
        });
        let sentence = format!(
            "On {} ranks a message takes {} and {} for each KiB{reduced}. This is fitted to all times of the reference \
             algorithms there, whose messages one after the other are known; the model misses them by a factor of {:.2} in \
             the root mean square.",
            fit.ranks,
            time(fit.latency),
            time(fit.per_byte.map(|seconds| 1024.0 * seconds)),
            fit.misfit.exp(),
        );
        let _ = write!(text, "{}\n\n", folded(&sentence));
    }
    let what = "The bound is that of Chan et al. with these numbers: a rank sends one message and receives one at a time. Each \
                entry is a time over the bound. Below 1 the assumption does not hold there: several messages were on their way \
                at once, or messages of that size cost less than the line says.";
    let _ = write!(text, "{}\n\n", folded(what));
    for block in study.cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)) {
        if block.iter().all(|cell| cell.bound.is_none()) {
            continue;
        }
        let Cell { collective, ranks, .. } = block[0].cell;
        let candidates = super::names::candidates(study, collective);
        let names: Vec<String> = candidates.iter().map(|candidate| name(study, collective, *candidate)).collect();
        let _ = write!(text, "### {collective} on {ranks} ranks, over the bound\n\n");
        let _ = writeln!(text, "| vector | message | bound in \u{b5}s | {} |", names.join(" | "));
        let _ = writeln!(text, "|---:|---:|---:|{}", "---:|".repeat(names.len()));
        for cell in block {
            let Some(bound) = cell.bound else { continue };
            let over: Vec<String> = candidates.iter().map(|candidate| over(cell, *candidate, bound)).collect();
            let micros = interval(bound.map(|seconds| 1e6 * seconds), 1);
            let _ = writeln!(text, "| {} | {} | {micros} | {} |", whole(cell.cell), cell.cell.bytes, over.join(" | "));
        }
        text.push('\n');
    }
}

fn over(cell: &StudyCell, candidate: Candidate, bound: Estimate) -> String {
    let point = cell.points.iter().find(|point| point.candidate == candidate);
    point.filter(|_| bound.point > 0.0).map_or("-".to_owned(), |point| format!("{:.2}", point.time.point / bound.point))
}

fn time(estimate: Estimate) -> String {
    let say = |seconds: f64| Seconds(seconds).to_string();
    say(estimate.point) + &ends(estimate, say)
}
