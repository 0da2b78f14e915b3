//! What neighbouring sizes and the known noise say about a gain that was measured.
//!
//! A gain in one launch is a single number: what acted on that launch alone is in it. Structure is smooth where noise
//! is not, so the same candidate's gains at neighbouring sizes say how much of it to believe. Log gains are modelled as
//! `z = f + e`. The true gain `f` lies around what its neighbours predict, `f ~ N(p, s^2)` with `s` from a mixture of
//! scales whose weights are estimated from the table itself: a sharp peak with heavy tails, so that a small surprise is
//! taken for noise and a large one, such as a protocol switch, for real (adaptive shrinkage: Stephens, *Biostatistics*
//! 18, 2017; here around a prediction instead of 0). The noise `e` is a mixture as well: see [`noise`].
//!
//! Two passes, since two kinds of noise differ in what they share. What changes from one message size to the next is
//! smoothed along the message sizes of one communicator size. What a whole sweep of message sizes in one job shares,
//! such as where its ranks were placed, shows along communicator sizes only, which were other jobs. How much of that
//! there is differs between communicator sizes, and is learned for each, over all collectives.

mod mixture;
mod neighbours;
mod noise;

use collrules_record::estimate::median;
use collrules_record::findings::Statistic;
use collrules_record::{Candidate, Cell, Ranks};

use crate::evidence::Evidence;
use mixture::{Class, Known, Observed, learn};
use neighbours::{Prediction, Site, along_bytes, along_ranks};
use noise::Noise;

/// Slower than this, as a natural logarithm of the gain, is harm: by more than 5 %.
const HARM: f64 = -0.048_790_164_169_432;

/// For how many values of a communicator size stands what is known of the noise of launches.
const KNOWN_COUNT: f64 = 200.0;

/// Degrees of freedom of a standard error from about a dozen visits: a median distance has a third of what a standard
/// deviation has.
const OWN_DEGREES: f64 = 4.0;

/// The same for the median of such standard errors over the candidates of a cell.
const USUAL_DEGREES: f64 = 12.0;

/// What is believed of a candidate after its neighbours had a say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    /// The posterior mean of the gain, builtin time over candidate time: what a user will see, not the luckiest value.
    pub(crate) gain: f64,
    /// The probability that the candidate is slower than the builtin by more than 5 % in another launch: the larger one
    /// of what its own number alone says and what its neighbours make of it. Neighbours may forbid, but not persuade.
    pub(crate) risk: f64,
}

/// A log gain, where it was measured, and its place in the evidence.
struct Point {
    site: Site,
    cell: usize,
    place: usize,
    log_gain: f64,
    /// The log gain without what changes from one message size to the next.
    smooth: f64,
    /// Which noise it has: that of its communicator size.
    group: usize,
    /// The factor of that noise.
    factor: f64,
}

/// Beliefs in the order of the evidence; none where there is no gain. Cells are ordered by collective.
pub(crate) fn pool(cells: &[Cell], evidence: &[Vec<Evidence>], statistic: Statistic) -> Vec<Vec<Option<Belief>>> {
    let mut beliefs: Vec<Vec<Option<Belief>>> = evidence.iter().map(|points| vec![None; points.len()]).collect();
    let mut ranks: Vec<Ranks> = cells.iter().map(|cell| cell.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    // Of averages there are too few to show their noise; samples show it themselves.
    let averages = statistic.is_summary();
    let known = if averages { noise::of_launches(evidence) } else { Noise::unit() };
    let mut groups = vec![known.clone(); if averages { ranks.len() } else { 1 }];
    let mut points = Vec::new();
    let mut classes = Vec::new();
    let mut start = 0;
    for block in cells.chunk_by(|a, b| a.collective == b.collective) {
        let first = points.len();
        for (offset, at) in block.iter().enumerate() {
            let group = if averages { ranks.partition_point(|ranks| *ranks < at.ranks) } else { 0 };
            for (place, evidence) in evidence[start + offset].iter().enumerate() {
                points.extend(point(*at, (start + offset, place), evidence, averages, group));
            }
        }
        if averages {
            smooth_bytes(&mut points[first..]);
        } else {
            moderate(&mut points[first..]);
        }
        classes.extend(by_ranks(&points[first..], first, known.deviation(), averages));
        start += block.len();
    }
    learn(&mut classes, &mut groups, averages.then_some(Known { noise: &known, count: KNOWN_COUNT }));
    for point in &points {
        let own = groups[point.group].difference_below(point.fresh(averages), point.factor, HARM - point.log_gain);
        beliefs[point.cell][point.place] = Some(Belief { gain: point.smooth.exp(), risk: own });
    }
    for class in &classes {
        for observed in &class.observations {
            let point = &points[observed.point];
            let noise = &groups[observed.group];
            let (mean, below) = class.posterior(observed, noise, point.fresh(averages), HARM);
            if let Some(belief) = &mut beliefs[point.cell][point.place] {
                *belief = Belief { gain: mean.exp(), risk: belief.risk.max(below) };
            }
        }
    }
    beliefs
}

impl Point {
    /// The factor of the noise in the launch in which a choice will show its worth.
    fn fresh(&self, averages: bool) -> f64 {
        if averages { 1.0 } else { self.factor }
    }
}

fn point(at: Cell, (cell, place): (usize, usize), evidence: &Evidence, averages: bool, group: usize) -> Option<Point> {
    if evidence.candidate == Candidate::Builtin {
        return None;
    }
    let log_gain = evidence.gain?.point.ln();
    // The median of 3 and more varies a little more than the mean, but is hit by outliers less often.
    let factor =
        if averages { (evidence.basis.launches.len().max(1) as f64).sqrt().recip() } else { evidence.basis.deviation };
    let site = Site { candidate: evidence.candidate, ranks: at.ranks, bytes: at.bytes };
    Some(Point { site, cell, place, log_gain, smooth: log_gain, group, factor })
}

/// Draws the standard errors of a cell together: those that came out small by chance would make a gain look certain.
///
/// Each variance is averaged with the median of its cell, as if that rested on so many degrees of freedom (Smyth,
/// *Statistical Applications in Genetics and Molecular Biology* 3, 2004).
fn moderate(points: &mut [Point]) {
    for cell in points.chunk_by_mut(|a, b| a.cell == b.cell) {
        let mut variances: Vec<f64> = cell.iter().map(|point| point.factor.powi(2)).collect();
        let Some(usual) = median(&mut variances) else { continue };
        for point in cell {
            let total = USUAL_DEGREES * usual + OWN_DEGREES * point.factor.powi(2);
            point.factor = (total / (USUAL_DEGREES + OWN_DEGREES)).sqrt();
        }
    }
}

/// The points of one collective with what neighbouring communicator sizes predict; those between two neighbours, those
/// beside one, and those without are apart, since predictions differ in quality. Where there is but one communicator size, samples, whose
/// noise is known, are predicted by neighbouring message sizes.
fn by_ranks(points: &[Point], first: usize, deviation: f64, averages: bool) -> [Class; 3] {
    let sites: Vec<Site> = points.iter().map(|point| point.site).collect();
    let values: Vec<f64> = points.iter().map(|point| point.smooth).collect();
    let deviations: Vec<f64> = points.iter().map(|point| deviation * point.factor).collect();
    let mut predictions = along_ranks(&sites, &values, &deviations);
    if !averages && predictions.iter().all(Option::is_none) {
        predictions = along_bytes(&sites, &values, &deviations);
    }
    if !averages {
        // Next to nothing, the first guess is no gain.
        let none = Prediction { value: 0.0, deviation: 0.0, neighbours: 0 };
        predictions.iter_mut().for_each(|prediction| *prediction = prediction.or(Some(none)));
    }
    split(&predictions, |place, prediction| Observed {
        point: first + place,
        value: points[place].smooth,
        centre: prediction.value,
        variance: prediction.deviation.powi(2),
        group: points[place].group,
        factor: points[place].factor,
    })
}

fn split(predictions: &[Option<Prediction>], observe: impl Fn(usize, Prediction) -> Observed) -> [Class; 3] {
    [2, 1, 0].map(|neighbours| {
        let wanted = |prediction: &Prediction| prediction.neighbours == neighbours;
        let observations = predictions
            .iter()
            .enumerate()
            .filter_map(|(place, prediction)| prediction.filter(wanted).map(|prediction| observe(place, prediction)));
        Class::new(guided(observations.collect()))
    })
}

/// Lets predictions count for as much as they are worth: the centre of each value is the line that fits best through
/// predictions and values, about the median of the values, as steep as 1 where neighbours say it all and as flat as 0
/// where they say nothing.
fn guided(mut observations: Vec<Observed>) -> Vec<Observed> {
    let mut values: Vec<f64> = observations.iter().map(|observed| observed.value).collect();
    let Some(middle) = median(&mut values) else { return observations };
    let (mut joint, mut squares) = (0.0, 0.0);
    for observed in &observations {
        let prediction = observed.centre - middle;
        joint += prediction * (observed.value - middle);
        squares += prediction * prediction;
    }
    let slope = if squares > 0.0 { (joint / squares).clamp(0.0, 1.0) } else { 0.0 };
    for observed in &mut observations {
        observed.centre = middle + slope * (observed.centre - middle);
        observed.variance *= slope * slope;
    }
    observations
}

/// Takes out of the points of one collective what changes from one message size to the next, by as much as they have of
/// it.
fn smooth_bytes(points: &mut [Point]) {
    let sites: Vec<Site> = points.iter().map(|point| point.site).collect();
    let values: Vec<f64> = points.iter().map(|point| point.log_gain).collect();
    let exact = along_bytes(&sites, &values, &vec![0.0; values.len()]);
    let residuals = values.iter().zip(&exact).filter_map(|(value, prediction)| {
        prediction.filter(|prediction| prediction.neighbours == 2).map(|prediction| value - prediction.value)
    });
    let Some(white) = noise::white(residuals.collect()) else { return };
    let mut groups = [Noise::white(white)];
    let predictions = along_bytes(&sites, &values, &vec![white; values.len()]);
    let mut classes = split(&predictions, |point, prediction| Observed {
        point,
        value: values[point],
        centre: prediction.value,
        variance: prediction.deviation.powi(2),
        group: 0,
        factor: 1.0,
    });
    learn(&mut classes, &mut groups, None);
    for class in &classes {
        for observed in &class.observations {
            points[observed.point].smooth = class.mean(observed, &groups[0]);
        }
    }
}
