//! Peaks, steps and powers of the curves of times.

use collrules_record::Candidate;
use collrules_record::units::Bytes;
use collrules_report::document::{Block, Table};
use collrules_report::words::interval;

use super::names::name;
use super::page::About;
use crate::study::results::{Curve, CurveAxis, CurvePart, Study};

/// A row for each drawn curve; empty if no curve of the study is long enough.
pub(super) fn part(study: &Study, about: &About<'_>) -> Block {
    let over_sizes = about.drawn_over_sizes(study);
    let drawn = |curve: &&Curve| match curve.along {
        CurveAxis::Ranks(bytes) => {
            !curve.collective.has_sizes() || about.definition.figures.over_ranks.contains(&bytes)
        }
        CurveAxis::Messages(ranks) => curve.candidate == Candidate::Builtin || over_sizes.contains(&ranks),
    };
    let mut curves: Vec<&Curve> = study.curves.iter().filter(drawn).collect();
    curves.sort_by_key(|curve| (curve.collective, curve.along, curve.candidate));
    let what = "A step is a factor beyond the trends on either side that lasts for at least two sizes, a power the exponent of \
                the time between two bends.";
    let heads = ["collective", "curve", "algorithm", "highest at:", "end over highest:", "steps", "powers"];
    let table = Table::new(heads, curves.into_iter().map(|curve| row(study, curve))).about(what);
    Block::section("", "Peaks, steps and powers", vec![Block::Table(table)])
}

fn row(study: &Study, curve: &Curve) -> [String; 7] {
    let Curve { collective, candidate, along, peak, steps, powers } = curve;
    let (over, place): (_, fn(u64) -> String) = match along {
        CurveAxis::Ranks(Bytes(0)) => ("ranks".to_owned(), |at| at.to_string()),
        CurveAxis::Ranks(bytes) => (format!("ranks, {bytes}"), |at| at.to_string()),
        CurveAxis::Messages(ranks) => (format!("message size, {ranks} ranks"), |at| Bytes(at).to_string()),
    };
    let list = |parts: &[CurvePart]| match parts {
        [] => "-".to_owned(),
        parts => {
            let part = |it: &CurvePart| format!("{} to {}: {}", place(it.from), place(it.to), interval(it.value, 2));
            parts.iter().map(part).collect::<Vec<_>>().join("; ")
        }
    };
    [
        collective.to_string(),
        over,
        name(study, *collective, *candidate),
        place(peak.at),
        interval(peak.end, 2),
        list(steps),
        list(powers),
    ]
}
