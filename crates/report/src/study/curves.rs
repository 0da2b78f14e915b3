//! Peaks, steps and bends of the curves of times, in sentences.

use std::collections::BTreeMap;

use collrules_lab::study::results::{Bend, Curve, CurveAxis, CurveSection, CurveStep, Peak, Study};
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Estimate};
use collrules_rules::words::{counted, listed};

use super::about::About;
use super::names::name;
use crate::document::Block;
use crate::words::interval;

/// The part; empty if no curve of the study is long enough.
pub(super) fn part(study: &Study, about: &About<'_>) -> Block {
    let what = "Peaks, steps and bends of the curves in the figures. A step is a factor between two neighbouring points beyond \
                the trends of the three points on either side. At a bend, the time starts to grow with another power of \
                the number of ranks, or of the message size. Powers are lines through logarithms, without the steps: as \
                many as lower Bayes' criterion, each through at least three points. Each bend has the range in which \
                single launches have it; with one launch, the next measured points.";
    let sentences: Vec<String> = of_default(study).into_iter().chain(sentences(study, about)).collect();
    let what = (!sentences.is_empty()).then(|| what.to_owned());
    Block::part("", "Peaks, steps and bends", what.into_iter().chain(sentences).map(Block::Prose).collect())
}

/// The largest step of the default over message sizes, for each collective on all communicators.
fn of_default(study: &Study) -> Vec<String> {
    let is_of_default =
        |curve: &&Curve| curve.candidate == Candidate::Builtin && matches!(curve.along, CurveAxis::Messages(_));
    let mut curves: Vec<&Curve> = study.curves.iter().filter(is_of_default).collect();
    curves.sort_by_key(|curve| (curve.collective, curve.along));
    let paragraph = |curves: &[&Curve]| {
        let mut places: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
        for curve in curves {
            let largest = curve.steps.iter().max_by(|a, b| a.factor.point.total_cmp(&b.factor.point));
            if let (Some(step), CurveAxis::Messages(ranks)) = (largest, curve.along) {
                let factor = interval(step.factor, 2);
                places.entry((step.below, step.above)).or_default().push(format!("{factor} on {ranks} ranks"));
            }
        }
        let without = curves.iter().filter(|curve| curve.steps.is_empty()).count();
        let place = |((below, above), factors): (&(u64, u64), &Vec<String>)| {
            format!("from {} to {} by a factor of {} beyond the trend", Bytes(*below), Bytes(*above), listed(factors))
        };
        let steps = match places.is_empty() {
            true => "no step is shown".to_owned(),
            false => format!("its largest step is {}", places.iter().map(place).collect::<Vec<_>>().join("; ")),
        };
        let without = match without {
            none if none == 0 || places.is_empty() => String::new(),
            some => format!("; none is shown on {}", counted(some, "other communicator size")),
        };
        format!("**{}, the default over the message size:** {steps}{without}.", curves[0].collective)
    };
    curves.chunk_by(|a, b| a.collective == b.collective).map(paragraph).collect()
}

/// A paragraph for each collective and variable of its curves.
fn sentences(study: &Study, about: &About<'_>) -> Vec<String> {
    let drawn = |curve: &&Curve| match curve.along {
        CurveAxis::Ranks(bytes) => !curve.collective.has_sizes() || about.over_ranks.contains(&bytes),
        CurveAxis::Messages(ranks) => about.over_sizes.contains(&ranks),
    };
    let mut curves: Vec<&Curve> = study.curves.iter().filter(drawn).collect();
    curves.sort_by_key(|curve| (curve.collective, curve.along, curve.candidate));
    let same = |a: &&Curve, b: &&Curve| (a.collective, a.along) == (b.collective, b.along);
    let paragraph = |curves: &[&Curve]| {
        let Curve { collective, along, .. } = curves[0];
        let place = match along {
            CurveAxis::Ranks(Bytes(0)) => "over the number of ranks".to_owned(),
            CurveAxis::Ranks(bytes) => format!("at {bytes}, over the number of ranks"),
            CurveAxis::Messages(ranks) => format!("on {ranks} ranks, over the message size"),
        };
        let told: Vec<String> = curves.iter().map(|curve| sentence(study, curve)).collect();
        format!("**{collective} {place}.** {}", told.join(" "))
    };
    curves.chunk_by(same).map(paragraph).collect()
}

fn sentence(study: &Study, curve: &Curve) -> String {
    let who = match curve.candidate {
        Candidate::Builtin => "The default".to_owned(),
        candidate => format!("*{}*", name(study, curve.collective, candidate)),
    };
    format!("{who} {}; {}{}.", peak(curve), steps(curve), bends(curve))
}

/// A place on a curve.
fn place(along: CurveAxis, at: u64) -> String {
    match along {
        CurveAxis::Ranks(_) => at.to_string(),
        CurveAxis::Messages(_) => Bytes(at).to_string(),
    }
}

fn unit(along: CurveAxis) -> &'static str {
    if matches!(along, CurveAxis::Ranks(_)) { " ranks" } else { "" }
}

fn peak(curve: &Curve) -> String {
    let Peak { at, launches: (low, high), end } = curve.peak;
    let last = curve.stretches.last().map_or(at, |stretch| stretch.last);
    let place = |at| place(curve.along, at);
    let unit = unit(curve.along);
    let spread = match low == high {
        true => String::new(),
        false => format!(" ({} to {} in single launches)", place(low), place(high)),
    };
    if at == last {
        return format!("is highest at the end, at {}{unit}{spread}", place(at));
    }
    let sure = match end {
        Estimate { high: Some(high), .. } if high < 1.0 => "",
        Estimate { high: None, .. } => ", in the one launch that there is",
        _ => ", which may not be a decrease",
    };
    format!(
        "is highest at {}{unit}{spread} and at {} takes {} times as long as there{sure}",
        place(at),
        place(last),
        interval(end, 2),
    )
}

fn steps(curve: &Curve) -> String {
    let step = |step: &CurveStep| {
        let (below, above) = (place(curve.along, step.below), place(curve.along, step.above));
        format!("from {below} to {above}{} by a factor of {}", unit(curve.along), interval(step.factor, 2))
    };
    let found: Vec<String> = curve.steps.iter().map(step).collect();
    if found.is_empty() { String::new() } else { format!("it steps {} beyond the trend; ", listed(&found)) }
}

fn bends(curve: &Curve) -> String {
    let stretch = |pair: &[CurveSection]| {
        let Bend { between: (low, high), found, launches } = pair[1].begins?;
        let doubt = match (launches, found) {
            (1, _) => String::new(),
            (all, found) if found == all => String::new(),
            (all, found) => format!(" (in {found} of {all} launches)"),
        };
        Some(format!(
            "between {} and {}{}{doubt}, from the power {} to {}",
            place(curve.along, low),
            place(curve.along, high),
            unit(curve.along),
            interval(pair[0].exponent, 2),
            interval(pair[1].exponent, 2),
        ))
    };
    let found: Vec<String> = curve.stretches.windows(2).filter_map(stretch).collect();
    match (found.is_empty(), curve.stretches.as_slice()) {
        (true, [one, ..]) => format!("no bend is shown: the power is {}", interval(one.exponent, 2)),
        _ => format!("it bends {}", found.join("; ")),
    }
}
