//! What a study says about reference algorithms: who is best, where one gives way to another, and how far all of them are from
//! what the network allows.

use std::fmt::Write;

use collrules_record::pattern::Shape;
use collrules_record::pattern_fit::Regime;
use collrules_record::study::{ClassVerdict, Rivalry, Study, StudyCell};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use super::about::About;
use super::names::name;
use crate::plain;
use crate::words::{folded, interval, time};

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

fn vector(collective: Collective, ranks: Ranks, bytes: Bytes) -> Bytes {
    Cell { collective, ranks, bytes }.vector()
}

fn classes(text: &mut String, study: &Study, about: &About<'_>) {
    let what = "The best of the builtin and the two reference algorithms by the geometric mean of times over message sizes, with \
                those that cannot be told apart from it; over all sizes, and below and above where short gives way to long. \
                Vectors are whole ones: for scatter, gather, allgather and reduce_scatter_block the message times the ranks.";
    let row = |verdict: &ClassVerdict| {
        let ClassVerdict { collective, ranks, sizes: (first, last), best } = verdict;
        let [first, last] = [first, last].map(|bytes| vector(*collective, *ranks, *bytes));
        let claim = about.claims.get(collective);
        [
            collective.to_string(),
            ranks.to_string(),
            format!("{first} to {last}"),
            listed(study, *collective, best),
            claim.map_or("-".to_owned(), |claim| listed(study, *collective, claim)),
            claim.map_or("-", |claim| answer(claim, best)).to_owned(),
        ]
    };
    let heads = ["collective", "ranks", "vector", "best", "claimed", "so it is here"];
    let table = plain::table(&heads, &[1], study.classes.iter().map(row));
    let _ = write!(text, "## Best class\n\n{}\n\n{table}\n", folded(what));
}

pub(super) fn listed(study: &Study, collective: Collective, candidates: &[Candidate]) -> String {
    candidates.iter().map(|candidate| name(study, collective, *candidate)).collect::<Vec<_>>().join(" / ")
}

/// Whether what is best is what was claimed to be.
pub(super) fn answer(claim: &[Candidate], best: &[Candidate]) -> &'static str {
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
                The model is the lines of the next section, played step by step.";
    let row = |rivalry: &Rivalry| {
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
            (_, _, Some(bytes)) => bytes.to_string(),
            (Candidate::Reference(_), Candidate::Reference(_), None) if !study.patterns.is_empty() => {
                "never".to_owned()
            }
            _ => "-".to_owned(),
        };
        [collective.to_string(), ranks.to_string(), format!("{} and {}", name(*one), name(*other)), at, predicted]
    };
    let heads = ["collective", "ranks", "between", "at", "by the model"];
    let table = plain::table(&heads, &[1], study.rivalries.iter().map(row));
    let _ = write!(text, "## Crossovers\n\n{}\n\n{table}\n", folded(what));
}

fn bounds(text: &mut String, study: &Study) {
    let _ = write!(text, "## Against the bound\n\n");
    if study.patterns.is_empty() {
        let why = "Bounds are left out, and what a model predicts: the run has no times of patterns, by which is found what a \
                   message takes. Measure it again with --patterns, or with --reference.";
        let _ = write!(text, "{}\n\n", folded(why));
        return;
    }
    machine(text, study);
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
        let row = |cell: &StudyCell| {
            let bound = cell.bound?;
            let over = candidates.iter().map(|candidate| over(cell, *candidate, bound));
            let micros = interval(bound.map(|seconds| 1e6 * seconds), 1);
            let first = [cell.cell.vector().to_string(), cell.cell.bytes.to_string(), micros];
            Some(first.into_iter().chain(over).collect::<Vec<_>>())
        };
        let heads: Vec<&str> =
            ["vector", "message", "bound in \u{b5}s"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let table = plain::numbers(&heads, block.iter().filter_map(row));
        let _ = write!(text, "### {collective} on {ranks} ranks, over the bound\n\n{table}\n");
    }
}

/// What messages and the operation take.
fn machine(text: &mut String, study: &Study) {
    let what = "What a message and the operation of reductions take, by patterns that were timed in the same launches: half of a \
                round trip between two ranks, and the operation on all ranks at once. Each launch has a line of its own, and \
                their mean and interval are shown. Where one line misses, there are several, each for a range of sizes: there \
                the library changes its protocol, or the data leaves a cache. Bounds and predictions take the lines between \
                nodes for communicators on several nodes and those inside a node for others, and of them the one for the size \
                of their messages. A line that begins with less than nothing is one of long messages: a part of each passes free of the \
                link's time, as through a token bucket.";
    let rows = study.patterns.iter().flat_map(|fit| {
        let place = match (fit.shape, fit.inside) {
            (Shape::ReduceLocal, _) => "on each",
            (_, true) => "inside a node",
            (_, false) => "between nodes",
        };
        fit.regimes.iter().map(move |Regime { first, last, start, per_byte, misfit }| {
            [
                fit.shape.to_string(),
                fit.cast.to_string(),
                place.to_owned(),
                format!("{first} to {last}"),
                time(*start),
                time(per_byte.map(|seconds| 1024.0 * seconds)),
                format!("{:.1} %", 100.0 * misfit),
            ]
        })
    });
    let heads = ["pattern", "ranks", "where", "sizes", "to begin", "each KiB", "missed by"];
    let _ = write!(text, "{}\n\n{}\n", folded(what), plain::table(&heads, &[4, 5, 6], rows));
}

fn over(cell: &StudyCell, candidate: Candidate, bound: Estimate) -> String {
    let point = cell.points.iter().find(|point| point.candidate == candidate);
    point.filter(|_| bound.point > 0.0).map_or("-".to_owned(), |point| format!("{:.2}", point.time.point / bound.point))
}
