//! Peaks, steps and bends of the curves of times, in sentences.

use collrules_lab::study::results::{Curve, CurveAxis, CurveSection, CurveStep, Peak, Study};
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Estimate};
use collrules_rules::words::listed;

use super::about::About;
use super::names::name;
use crate::document::Block;
use crate::words::interval;

/// The part; empty if no curve of the study is long enough.
pub(super) fn part(study: &Study, about: &About<'_>) -> Block {
    let what = "Peaks, steps and bends of the curves in the figures. A step is a factor between two neighbouring points beyond \
                the trends of the three points on either side. At a bend, the time starts to grow with another power of \
                the number of ranks, or of the message size. Powers are lines through logarithms, without the steps: as \
                many as lower Bayes' criterion, each through at least three points.";
    let sentences = sentences(study, about);
    let what = (!sentences.is_empty()).then(|| what.to_owned());
    Block::part("", "Peaks, steps and bends", what.into_iter().chain(sentences).map(Block::Prose).collect())
}

/// A paragraph for each collective and variable of its curves.
fn sentences(study: &Study, about: &About<'_>) -> Vec<String> {
    let drawn = |curve: &&Curve| match curve.along {
        CurveAxis::Ranks(bytes) => !curve.collective.has_sizes() || about.over_ranks.contains(&bytes),
        CurveAxis::Messages(ranks) => curve.candidate == Candidate::Builtin || about.over_sizes.contains(&ranks),
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
        format!(
            "between {} and {}{}, from the power {} to {}",
            place(curve.along, pair[0].last),
            place(curve.along, pair[1].first),
            unit(curve.along),
            interval(pair[0].exponent, 2),
            interval(pair[1].exponent, 2),
        )
    };
    let found: Vec<String> = curve.stretches.windows(2).map(stretch).collect();
    match (found.is_empty(), curve.stretches.as_slice()) {
        (true, [one, ..]) => format!("no bend is shown: the power is {}", interval(one.exponent, 2)),
        _ => format!("it bends {}", found.join("; ")),
    }
}
