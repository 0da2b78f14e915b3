//! Alpha and beta of each algorithm by itself, after Nuriyev and Lastovetsky (2020 to 2022): fitted to calls of that
//! algorithm, so they describe messages within it.
//!
//! The critical path of a call has a number of latencies and a number of bytes. They come from playing its messages on
//! a machine on which only latencies take time, and on one on which only bytes do. With time and bytes both divided by
//! the number of latencies, time is a line over bytes.

use std::collections::{BTreeMap, BTreeSet};

use collrules_program::{Platform, play, tuned};
use collrules_record::estimate::{self, median};
use collrules_record::pattern::Shape;
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Candidate, Estimate, Ranks};
use collrules_rules::{Choice, Collective, Release, registry};

use crate::line::{Coordinates, Errors, LEAST, StraightLine};
use crate::model::{AlgorithmModel, Concurrent};
use crate::probe::Probes;
use crate::unknown::Unknown;

/// An algorithm with its parameters on a communicator.
pub(crate) type ChoiceKey = (Collective, Choice, Ranks);

/// Medians by size in each launch.
pub(crate) type SizeMedians = BTreeMap<u32, BTreeMap<Bytes, f64>>;

/// Fits the message parameters of each algorithm to its calls, and the cost of sending to several ranks at once.
/// Messages longer than `eager` wait for their receiver.
pub fn algorithms(
    probes: &Probes,
    release: Release,
    samples: &[Sample],
    eager: Option<Bytes>,
    level: f64,
    unknown: &mut Vec<Unknown>,
) -> (Vec<AlgorithmModel>, Option<Concurrent>) {
    let all = medians(samples);
    let ranks = probes.ranks();
    let pairs = || ranks.iter().flat_map(|a| ranks.iter().filter(move |b| a < *b).map(move |b| (*a, *b)));
    if pairs().any(|(a, b)| probes.share_host(a, b)) && pairs().any(|(a, b)| !probes.share_host(a, b)) {
        unknown.push(Unknown::MixedPlaces);
        return (Vec::new(), None);
    }
    let concurrent = concurrent(probes, release, &all, level);
    if all.is_empty() {
        return (Vec::new(), None);
    }
    if concurrent.is_none() {
        unknown.push(Unknown::Concurrent);
    }
    let share = concurrent.as_ref().map_or(1.0, |found| found.share.point);
    let fit = |(series, launches): (&ChoiceKey, &SizeMedians)| fitted(release, *series, launches, share, eager, level);
    (all.iter().flat_map(fit).collect(), concurrent)
}

/// The medians of samples of coll/tuned's algorithms.
pub(crate) fn medians(samples: &[Sample]) -> BTreeMap<ChoiceKey, SizeMedians> {
    let mut all: BTreeMap<ChoiceKey, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        if let Candidate::Tuned(choice) = sample.candidate {
            all.entry((sample.cell.collective, choice, sample.cell.ranks)).or_default().push(sample);
        }
    }
    all.into_iter().map(|(series, samples)| (series, medians_of(samples))).collect()
}

/// The medians of samples by launch and size.
pub(crate) fn medians_of<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> SizeMedians {
    let mut all: BTreeMap<u32, BTreeMap<Bytes, Vec<f64>>> = BTreeMap::new();
    for sample in samples {
        all.entry(sample.launch).or_default().entry(sample.cell.bytes).or_default().push(sample.max.0);
    }
    all.into_iter().map(|(launch, sizes)| (launch, estimate::medians(sizes).collect())).collect()
}

/// Estimates the time of a root that sends to all others, relative to the same messages one after the other, at the
/// largest size with known round trips.
fn concurrent(
    probes: &Probes,
    release: Release,
    all: &BTreeMap<ChoiceKey, SizeMedians>,
    level: f64,
) -> Option<Concurrent> {
    let one_way = |launch: u32, size: u64| {
        let mut times: Vec<f64> = probes
            .of_launch(launch)
            .filter(|(probe, _)| (probe.shape, probe.bytes) == (Shape::PingPong, size))
            .map(|(_, time)| time / 2.0)
            .collect();
        median(&mut times)
    };
    // Scatter's senders of 4.1.8 and 5.0 that wait for no receiver; else those that wait for each.
    let linear = [
        (Collective::Scatter, "linear_nb"),
        (Collective::Bcast, "basic_linear"),
        (Collective::Scatter, "basic_linear"),
    ];
    let found = linear.into_iter().find_map(|(collective, name)| {
        let id = registry::id_of(release, collective, name)?;
        let plain = |((of, choice, ranks), _): &(&ChoiceKey, _)| {
            (*of, *choice) == (collective, Choice::plain(id)) && ranks.0 > 2
        };
        let ((_, _, ranks), launches) = all.iter().filter(plain).max_by_key(|((.., ranks), _)| *ranks)?;
        let others = f64::from(ranks.0 - 1);
        let largest = *launches.values().flat_map(BTreeMap::keys).max()?;
        let shares: Vec<f64> = launches
            .iter()
            .filter_map(|(launch, sizes)| Some(sizes.get(&largest)? / (others * one_way(*launch, largest.0)?)))
            .collect();
        Some((collective, name, *ranks, largest, Estimate::mean(shares, level)?))
    })?;
    let (collective, name, ranks, bytes, share) = found;
    Some(Concurrent { collective, name: name.to_owned(), ranks, bytes, share })
}

/// Time of a latency, or of a byte, on a machine on which nothing else takes time, in seconds.
const UNIT: f64 = 1e-9;

/// A machine on which only latencies take time.
fn latencies(ranks: usize) -> Platform {
    Platform { latency: vec![vec![UNIT; ranks]; ranks], ..Platform::shared_links(ranks, f64::INFINITY) }
}

/// A machine on which only bytes take time. `share` is the factor for bytes that leave or enter a host at once: 1 if
/// they share its link.
fn bytes(ranks: usize, share: f64) -> Platform {
    let least = 1.0 / (ranks.max(2) - 1) as f64;
    let link = 1.0 / UNIT / share.clamp(least, 1.0);
    Platform { cap: vec![vec![1.0 / UNIT; ranks]; ranks], ..Platform::shared_links(ranks, link) }
}

fn fitted(
    release: Release,
    (collective, choice, ranks): ChoiceKey,
    launches: &SizeMedians,
    share: f64,
    eager: Option<Bytes>,
    level: f64,
) -> Vec<AlgorithmModel> {
    let Ok(known) = registry::algorithm(release, collective, choice.algorithm) else { return Vec::new() };
    let count = ranks.0 as usize;
    let (latencies, bytes) = (latencies(count), bytes(count, share));
    let sizes: BTreeSet<u64> = launches.values().flat_map(BTreeMap::keys).map(|size| size.0).collect();
    // How many of each follow one another.
    let counts = |size: u64| -> Option<(f64, f64)> {
        let programs = tuned(release, collective, choice, ranks.0, size).ok()?;
        let last = |platform: &Platform| {
            Some(play(programs.as_slice(), platform).ok()?.into_iter().fold(0.0, f64::max) / UNIT)
        };
        Some((last(&latencies)?, last(&bytes)?)).filter(|(latencies, bytes)| *latencies > 0.0 && *bytes > 0.0)
    };
    let counted: BTreeMap<u64, (f64, f64)> = sizes.iter().filter_map(|size| Some((*size, counts(*size)?))).collect();
    let message = |size: u64| if choice.segsize > 0 { choice.segsize.min(size) } else { size };
    let short = |size: &u64| eager.is_none_or(|limit| message(*size) <= limit.0);
    let (below, above): (Vec<u64>, Vec<u64>) = counted.keys().copied().partition(short);
    // Where one side has too few sizes, a line through all says more than none.
    let ranges =
        if below.len() < LEAST || above.len() < LEAST { vec![[below, above].concat()] } else { vec![below, above] };
    let one = |range: Vec<u64>| {
        let (from, to) = (*range.first()?, *range.last()?);
        let points = |sizes: &BTreeMap<Bytes, f64>| -> Vec<Coordinates> {
            let point = |size: &u64| {
                let (latencies, bytes) = counted.get(size)?;
                Some((bytes / latencies, sizes.get(&Bytes(*size))? / latencies))
            };
            range.iter().filter_map(point).collect()
        };
        let by_launch: Vec<Vec<Coordinates>> = launches
            .values()
            .map(points)
            .filter(|points| points.len() == range.len() && points.len() >= LEAST)
            .collect();
        let lines: Vec<StraightLine> =
            by_launch.iter().filter_map(|points| StraightLine::through(points, Errors::Relative)).collect();
        let mean = |of: fn(&StraightLine) -> f64| Estimate::mean(lines.iter().map(of), level);
        let (alpha, beta) = (mean(|line| line.start)?, mean(|line| line.slope)?);
        let line = StraightLine { start: alpha.point, slope: beta.point };
        let misses = by_launch.iter().flatten().map(|(x, y)| (line.at(*x) / y - 1.0).abs());
        let shown = |value: Estimate| Some(value).filter(|value| value.low.unwrap_or(value.point) > 0.0);
        Some(AlgorithmModel {
            collective,
            choice,
            name: known.name.to_owned(),
            ranks,
            from: Bytes(from),
            to: Bytes(to),
            alpha: shown(alpha),
            beta: shown(beta),
            residual: misses.fold(0.0, f64::max),
        })
    };
    ranges.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::Cell;
    use collrules_record::units::Seconds;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;
    use crate::probe::{Probe, ProbeTiming};

    const ALPHA: f64 = 40e-6;
    const RATE: f64 = 25e6;

    /// Calls of eight ranks, each timed in three launches, and round trips. `link` is the rate of a host's link, which
    /// its messages share.
    fn planted(link: f64) -> (Vec<AlgorithmModel>, Option<Concurrent>, Vec<Unknown>) {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let noise = Normal::new(1.0, 0.01).expect("a spread");
        let platform = Platform {
            latency: vec![vec![ALPHA; 8]; 8],
            cap: vec![vec![RATE; 8]; 8],
            ..Platform::shared_links(8, link)
        };
        let (mut samples, mut timings) = (Vec::new(), Vec::new());
        for launch in 0..3 {
            for size in [1 << 10, 8 << 10, 32 << 10, 64 << 10, 512 << 10] {
                for (collective, id) in [(Collective::Bcast, 1), (Collective::Bcast, 6), (Collective::Scatter, 2)] {
                    let choice = Choice::plain(id);
                    let programs = tuned(Release::V4_1, collective, choice, 8, size).expect("known");
                    let time = play(programs.as_slice(), &platform).expect("it ends").into_iter().fold(0.0, f64::max);
                    let time = Seconds(time * noise.sample(&mut rng));
                    samples.push(Sample {
                        launch,
                        visit: 0,
                        round: 0,
                        cell: Cell { collective, ranks: Ranks(8), bytes: Bytes(size) },
                        candidate: Candidate::Tuned(choice),
                        max: time,
                        min: time,
                        mean: time,
                    });
                }
                let probe = Probe { shape: Shape::PingPong, ranks: vec![0, 1], bytes: size };
                let seconds = 2.0 * (ALPHA + size as f64 / RATE) * noise.sample(&mut rng);
                timings.push(ProbeTiming { probe, launch, seconds });
            }
        }
        let probes = Probes::from_timings(timings, BTreeMap::new());
        let mut unknown = Vec::new();
        let (found, concurrent) = algorithms(&probes, Release::V4_1, &samples, None, 0.95, &mut unknown);
        (found, concurrent, unknown)
    }

    #[test]
    fn every_algorithm_gives_alpha_and_beta_back() {
        for (link, share) in [(RATE, 1.0), (2.0 * RATE, 0.5), (f64::INFINITY, 1.0 / 7.0)] {
            let (found, concurrent, unknown) = planted(link);
            let measured = concurrent.expect("bcast by its linear algorithm").share;
            assert!((measured.point / share - 1.0).abs() < 0.05, "{measured:?} for {share}");
            assert_eq!((found.len(), unknown), (3, Vec::new()));
            for algorithm in found {
                let (alpha, beta) = (algorithm.alpha.expect("a latency"), algorithm.beta.expect("a rate"));
                assert!((alpha.point / ALPHA - 1.0).abs() < 0.1, "{} {alpha:?}", algorithm.name);
                assert!((beta.point * RATE - 1.0).abs() < 0.1, "{} {beta:?}", algorithm.name);
                assert!(algorithm.residual < 0.1, "{algorithm:?}");
            }
        }
    }
}
