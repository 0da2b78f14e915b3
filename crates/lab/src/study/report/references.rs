//! Reference algorithms in a study: the best of them, the crossovers between them, and their distance from the lower
//! bounds of the network.

use std::collections::BTreeMap;

use collrules_model::pattern_fit::{PatternFit, PatternRegime};
use collrules_record::estimate::geometric_mean;
use collrules_record::pattern::Shape;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell};
use collrules_report::document::{Block, Table};
use collrules_report::words::{tenths, time};
use collrules_rules::Collective;

use super::names::{candidates, name};
use crate::study::results::{ClassVerdict, Rivalry, Study, StudyCell};

/// A study with the name of its variant, which is empty if there is one study.
pub(super) type NamedStudy<'a> = (&'a str, &'a Study);

/// Best classes according to others.
type Claims = BTreeMap<Collective, Vec<Candidate>>;

/// Best classes, crossovers of these pairs, and the algorithms nearest to the bound; empty if no reference algorithm was
/// compared.
pub(super) fn parts(studies: &[NamedStudy<'_>], claims: &Claims, of: impl Fn(&Rivalry) -> bool) -> Vec<Block> {
    if studies.iter().all(|(_, study)| study.rivalries.is_empty()) {
        return Vec::new();
    }
    let classes = |study: &Study| study.classes.iter().map(|verdict| class(study, verdict, claims)).collect();
    let what = "With those that do not differ from it significantly. Vectors are whole ones.";
    let heads = ["collective", "ranks:", "vector", "best", "claimed", "as claimed"];
    let classes = part("Best class", studies, heads, what, classes);
    let crossovers =
        |study: &Study| study.rivalries.iter().filter(|it| of(it)).map(|it| crossover(study, it)).collect();
    let what = "Vectors at which the faster of two changes, with those between which each may lie: whole ones, of which \
                scatter, gather and the like pass a part per message. `--refine` measures between far ones.";
    let heads = ["collective", "ranks:", "between", "at vector", "model"];
    let crossovers = part("Crossovers", studies, heads, what, crossovers);
    let what = "Geometric means over all message sizes. Below 1, several messages were on their way at once.";
    let heads = ["collective", "ranks:", "algorithm", "over the bound:"];
    vec![classes, crossovers, part("Nearest to the bound", studies, heads, what, nearest)]
}

/// A table of rows of several studies, each with the name of its variant first, if it has one.
fn part<const N: usize>(
    title: &str,
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
    Block::section("", title, vec![Block::Table(Table::new(heads, studies.iter().flat_map(own)).about(what))])
}

/// The best class over a range of sizes, next to the claim of others.
fn class(study: &Study, verdict: &ClassVerdict, claims: &Claims) -> [String; 6] {
    let ClassVerdict { collective, ranks, sizes: (first, last), best } = verdict;
    let [first, last] =
        [first, last].map(|bytes| Cell { collective: *collective, ranks: *ranks, bytes: *bytes }.vector());
    let list = |all: &[Candidate]| {
        all.iter().map(|candidate| name(study, *collective, *candidate)).collect::<Vec<_>>().join(" / ")
    };
    let claim = claims.get(collective);
    let answer = claim.map_or("-", |claim| match best.iter().filter(|candidate| claim.contains(candidate)).count() {
        0 => "no",
        as_claimed if as_claimed == best.len() => "yes",
        _ => "undecided",
    });
    let claim = claim.map_or("-".to_owned(), |claim| list(claim));
    [collective.to_string(), ranks.to_string(), format!("{first} to {last}"), list(best), claim, answer.to_owned()]
}

/// The sizes at which the faster of two changes.
fn crossover(study: &Study, rivalry: &Rivalry) -> [String; 5] {
    let Rivalry { collective, ranks, one, other, first, crossings, predicted } = rivalry;
    let name = |candidate: Candidate| name(study, *collective, candidate);
    let vector = |bytes: Bytes| Cell { collective: *collective, ranks: *ranks, bytes }.vector();
    let at = match (first, crossings.as_slice()) {
        (None, _) => "no significant difference at any size".to_owned(),
        (Some(first), []) => format!("none within the measured sizes: {} is faster", name(*first)),
        (_, crossings) => {
            let told = crossings.iter().map(|crossing| {
                let [at, low, high] = [crossing.at, crossing.interval.0, crossing.interval.1].map(vector);
                let (below, above) = (name(crossing.below), name(crossing.above));
                format!("{at} ({low} to {high}), from {below} to {above}")
            });
            told.collect::<Vec<_>>().join("; ")
        }
    };
    let is_modelled = rivalry.is_of_references() && !study.patterns.is_empty();
    let predicted =
        predicted.map_or(if is_modelled { "never" } else { "-" }.to_owned(), |bytes| vector(bytes).to_string());
    [collective.to_string(), ranks.to_string(), format!("{} and {}", name(*one), name(*other)), at, predicted]
}

/// The algorithm of each collective with the least geometric mean of its times over the bound, over the asked sizes.
fn nearest(study: &Study) -> Vec<[String; 4]> {
    let grid: Vec<&StudyCell> = study.grid().collect();
    let groups = grid.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
    let row = |cells: &[&StudyCell]| {
        let Cell { collective, ranks, .. } = cells[0].cell;
        let mean = |candidate: Candidate| {
            let over = |cell: &&StudyCell| {
                let point = cell.points.iter().find(|point| point.candidate == candidate)?;
                Some(point.time.point / cell.bound.filter(|bound| bound.point > 0.0)?.point)
            };
            let ratios: Option<Vec<f64>> = cells.iter().map(over).collect();
            Some((candidate, geometric_mean(ratios?)?))
        };
        let all = candidates(study, collective).into_iter().filter_map(mean);
        let (candidate, over) = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some([collective.to_string(), ranks.to_string(), name(study, collective, candidate), format!("{over:.2}")])
    };
    groups.filter_map(row).collect()
}

/// The times of messages and of the operation, and rotations over their bound; none without reference algorithms.
pub(super) fn machine(study: &Study) -> Option<Block> {
    let what = "In a rotation, every rank passes its n/p of a vector of n to the next: no algorithm takes less than alpha + \
                (n/p) beta if a rank sends one message and receives one at a time.";
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
                over_bound(study, fit, [*first, *last]).unwrap_or("-".to_owned()),
            ]
        })
    });
    let heads = ["pattern", "ranks", "where", "sizes", "start:", "per KiB:", "error:", "over the bound"];
    let block = match study.patterns.is_empty() {
        true => Block::prose(
            "No lower bounds and no predictions: the run has no timed probes, which show the cost of a message. Only \
             measurements of reference algorithms with integers have them.",
        ),
        false => Block::Table(Table::new(heads, rows).about(what)),
    };
    (!study.rivalries.is_empty()).then(|| Block::section("", "Costs of messages", vec![block]))
}

/// The times of a rotation over that of a message, at both ends of a range of sizes.
fn over_bound(study: &Study, fit: &PatternFit, ends: [Bytes; 2]) -> Option<String> {
    let is_bound = |link: &&PatternFit| (link.shape, link.inside) == (Shape::PingPong, fit.inside);
    let link = study.patterns.iter().find(is_bound).filter(|_| fit.shape == Shape::Rotation)?;
    let [first, last] = ends.map(|Bytes(bytes)| fit.seconds(bytes as f64) / link.seconds(bytes as f64));
    Some(format!("{first:.2} to {last:.2}"))
}
