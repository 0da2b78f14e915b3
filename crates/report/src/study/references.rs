//! Reference algorithms in a study: the best of them, the crossovers between them, and their distance from the lower
//! bounds of the network.

use std::collections::BTreeMap;

use collrules_lab::study::results::{ClassVerdict, Rivalry, Study, StudyCell};
use collrules_model::pattern_fit::PatternRegime;
use collrules_record::pattern::Shape;
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use super::about::About;
use super::names::name;
use crate::document::{Block, Table};
use crate::words::{interval, tenths, time};

/// The parts; empty if no reference algorithm was compared.
pub(super) fn parts(study: &Study, about: &About<'_>) -> Vec<Block> {
    if study.rivalries.is_empty() {
        return Vec::new();
    }
    let own = [("", study)];
    vec![classes(&own, &about.claims), crossovers(&own, |_| true), Block::part("", "Against the bound", bounds(study))]
}

/// A study with the name of its variant, which is empty if there is one study.
pub(super) type NamedStudy<'a> = (&'a str, &'a Study);

/// A table of rows of several studies, each with the name of its variant first, if it has one.
pub(super) fn table<const N: usize>(
    studies: &[NamedStudy<'_>],
    heads: [&str; N],
    what: &str,
    rows: impl Fn(&Study) -> Vec<[String; N]>,
) -> Block {
    let named = studies.len() > 1;
    let own = |(name, study): &NamedStudy<'_>| {
        let first = named.then(|| (*name).to_owned());
        let rows = rows(study).into_iter();
        rows.map(|row| first.iter().cloned().chain(row).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let heads = named.then_some("variant").into_iter().chain(heads);
    Block::Table(Table::new(heads, studies.iter().flat_map(own)).about(what))
}

/// The whole vector of a call.
fn vector(collective: Collective, ranks: Ranks, bytes: Bytes) -> Bytes {
    Cell { collective, ranks, bytes }.vector()
}

/// The best class by range of sizes, with the claims of others.
pub(super) fn classes(studies: &[NamedStudy<'_>], claims: &BTreeMap<Collective, Vec<Candidate>>) -> Block {
    let what = "The best of the default and the two reference algorithms by the geometric mean of times over message \
                sizes, with those that do not differ from it significantly: over all sizes, and below and above the \
                crossover from short to long. Vectors are whole ones: for scatter, gather, allgather and \
                reduce_scatter_block the message times the ranks.";
    let row = |study: &Study, verdict: &ClassVerdict| {
        let ClassVerdict { collective, ranks, sizes: (first, last), best } = verdict;
        let [first, last] = [first, last].map(|bytes| vector(*collective, *ranks, *bytes));
        let claim = claims.get(collective);
        [
            collective.to_string(),
            ranks.to_string(),
            format!("{first} to {last}"),
            list_candidates(study, *collective, best),
            claim.map_or("-".to_owned(), |claim| list_candidates(study, *collective, claim)),
            claim.map_or("-", |claim| answer(claim, best)).to_owned(),
        ]
    };
    let heads = ["collective", "ranks:", "vector", "best", "claimed", "as claimed"];
    let rows = |study: &Study| study.classes.iter().map(|verdict| row(study, verdict)).collect();
    Block::part("", "Best class", vec![table(studies, heads, what, rows)])
}

fn list_candidates(study: &Study, collective: Collective, candidates: &[Candidate]) -> String {
    candidates.iter().map(|candidate| name(study, collective, *candidate)).collect::<Vec<_>>().join(" / ")
}

/// Compares the best candidates with the claim.
fn answer(claim: &[Candidate], best: &[Candidate]) -> &'static str {
    if best.iter().all(|candidate| claim.contains(candidate)) {
        "yes"
    } else if best.iter().any(|candidate| claim.contains(candidate)) {
        "undecided"
    } else {
        "no"
    }
}

/// The sizes at which the faster of two changes, of these pairs.
pub(super) fn crossovers(studies: &[NamedStudy<'_>], of: impl Fn(&Rivalry) -> bool) -> Block {
    let what = "Message size at which the faster of two changes, in bytes, with the sizes between which it may lie. \
                Only sizes at which the two differ significantly count: the interval for the ratio of their times \
                excludes 1. The model simulates the algorithms step by step, with the lines of the next section.";
    let row = |study: &Study, rivalry: &Rivalry| {
        let Rivalry { collective, ranks, one, other, first, crossings, predicted } = rivalry;
        let name = |candidate: Candidate| name(study, *collective, candidate);
        let at = match (first, crossings.as_slice()) {
            (None, _) => "no significant difference at any size".to_owned(),
            (Some(first), []) => format!("none within the measured sizes: {} is faster", name(*first)),
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
    let heads = ["collective", "ranks:", "between", "at", "model"];
    let rows = |study: &Study| study.rivalries.iter().filter(|it| of(it)).map(|it| row(study, it)).collect();
    Block::part("", "Crossovers", vec![table(studies, heads, what, rows)])
}

fn bounds(study: &Study) -> Vec<Block> {
    if study.patterns.is_empty() {
        return vec![Block::prose(
            "No lower bounds and no predictions: the run has no timed probes, which show the cost of a message. Measure \
             again with --patterns or --reference.",
        )];
    }
    let what = "The lower bound is that of Chan et al. with these numbers, if a rank sends one message and receives \
                one at a time. Each entry is a time divided by the bound. Below 1, this assumption does not hold: \
                several messages were on their way at once, or messages of that size cost less than the line says.";
    let mut blocks = vec![machine(study), rotations(study), Block::prose(what)];
    let places = study.cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
    blocks.extend(places.map(|cells| {
        let Cell { collective, ranks, .. } = cells[0].cell;
        let candidates = super::names::candidates(study, collective);
        let row = |cell: &StudyCell| {
            let bound = cell.bound?;
            let over = candidates.iter().map(|candidate| over(cell, *candidate, bound));
            let micros = interval(bound.map(|seconds| 1e6 * seconds), 1);
            let first = [cell.cell.vector().to_string(), cell.cell.bytes.to_string(), micros];
            Some(first.into_iter().chain(over).collect::<Vec<_>>())
        };
        let heads = ["vector:", "message:", "bound in \u{b5}s:"].map(str::to_owned);
        let names = candidates.iter().map(|candidate| name(study, collective, *candidate) + ":");
        let table = Block::table(heads.into_iter().chain(names), cells.iter().filter_map(row));
        Block::part("", format!("{collective} on {ranks} ranks, over the bound"), vec![table])
    }));
    blocks
}

/// The times of messages and of the operation.
fn machine(study: &Study) -> Block {
    let what = "Cost of a message and of a reduction operation, from probes in the same launches: half of a round trip \
                between two ranks, and the operation on all ranks at once. Each launch has a line of its own; their \
                mean and interval are shown. If one line does not fit, there are several, each for a range of sizes: \
                there the library changes its protocol, or the data leaves a cache. Bounds and predictions use the \
                lines between nodes for communicators on several nodes and those inside a node for others, and of them \
                the one for the size of their messages. A line with a negative start is one of long messages: a part \
                of each does not use the link's time, as with a token bucket.";
    let rows = study.patterns.iter().flat_map(|fit| {
        let place = match (fit.shape, fit.inside) {
            (Shape::ReduceLocal, _) => "on each",
            (_, true) => "inside a node",
            (_, false) => "between nodes",
        };
        fit.regimes.iter().map(move |PatternRegime { first, last, start, per_byte, misfit }| {
            [
                fit.shape.to_string(),
                fit.cast.to_string(),
                place.to_owned(),
                format!("{first} to {last}"),
                time(*start),
                time(per_byte.map(|seconds| 1024.0 * seconds)),
                tenths(*misfit),
            ]
        })
    });
    let heads = ["pattern", "ranks", "where", "sizes", "start:", "per KiB:", "error:"];
    Block::Table(Table::new(heads, rows).about(what))
}

/// Rotations over their bound: each rank sends one block and receives one.
fn rotations(study: &Study) -> Block {
    let rows = study.patterns.iter().filter(|fit| fit.shape == Shape::Rotation).flat_map(|fit| {
        let link = study.patterns.iter().find(|link| link.shape == Shape::PingPong && link.inside == fit.inside);
        let mut sizes: Vec<Bytes> = fit.regimes.iter().flat_map(|regime| [regime.first, regime.last]).collect();
        sizes.dedup();
        sizes.into_iter().filter_map(move |block| {
            let bytes = block.0 as f64;
            let (seconds, bound) = (fit.seconds(bytes), link?.seconds(bytes));
            (bound > 0.0).then(|| {
                [
                    fit.ranks.to_string(),
                    if fit.inside { "inside a node" } else { "between nodes" }.to_owned(),
                    Bytes(block.0 * u64::from(fit.ranks.0)).to_string(),
                    Seconds(seconds).to_string(),
                    Seconds(bound).to_string(),
                    format!("{:.2}", seconds / bound),
                ]
            })
        })
    });
    let what = "Rotation: every rank passes its n/p of a vector of n to the next. Chan et al. have no bound for it; ours is one \
                message: no algorithm takes less than alpha + (n/p) beta with one message sent and one received at a \
                time. alpha and beta are those of a message between two ranks.";
    let heads = ["ranks:", "where", "vector:", "time:", "bound:", "over the bound:"];
    Block::part("", "Rotation", vec![Block::Table(Table::new(heads, rows).about(what))])
}

fn over(cell: &StudyCell, candidate: Candidate, bound: Estimate) -> String {
    let point = cell.points.iter().find(|point| point.candidate == candidate);
    point.filter(|_| bound.point > 0.0).map_or("-".to_owned(), |point| format!("{:.2}", point.time.point / bound.point))
}
