//! The many-to-one model of Lastovetsky, O'Flynn and Rychkov (2007): gathers of small, medium and large messages.

use collrules_record::sample::Sample;
use collrules_record::{Bytes, Candidate, Estimate, Ranks};
use collrules_rules::{Collective, Release, registry};

use crate::algorithm::medians_of;
use crate::line::{Coordinates, Errors, StraightLine};
use crate::model::{ManyToOne, Medium, Model};
use crate::place::Where;
use crate::stalls::{CallTimes, StallLevel, Stalls};

/// Times of the root and of the senders for a message, without the fitted parameters.
struct MessageTerms {
    /// The root's C and t.
    root: (f64, f64),
    /// C, and t with 1 / beta to the root, of each sender.
    senders: Vec<(f64, f64)>,
}

/// The terms of the first ranks: from nodes and pairs if these are known, otherwise half of alpha and all of beta of a
/// typical pair.
fn terms(model: &Model, ranks: Ranks) -> Option<MessageTerms> {
    let known = || -> Option<MessageTerms> {
        let lmo = model.nodes.as_ref()?;
        let node = |rank: u32| lmo.nodes.iter().find(|node| node.rank == rank);
        let times = |rank: u32| {
            let node = node(rank)?;
            Some((node.fixed?.point, node.per_byte.map_or(0.0, |time| time.point)))
        };
        let rate = |rank: u32| {
            let pair = lmo.pairs.iter().find(|pair| pair.ranks == (0, rank) || pair.ranks == (rank, 0));
            let of_pair = pair.and_then(|pair| pair.rate).map(|rate| rate.point);
            of_pair.or_else(|| Some(node(rank)?.link?.point))
        };
        let sender = |rank: u32| times(rank).zip(rate(rank)).map(|((fixed, byte), rate)| (fixed, byte + 1.0 / rate));
        Some(MessageTerms { root: times(0)?, senders: (1..ranks.0).map(sender).collect::<Option<_>>()? })
    };
    let usual = || -> Option<MessageTerms> {
        let way = model.ways.iter().find(|way| way.place == Where::Between).or(model.ways.first())?;
        let line = way.regimes.last()?;
        let half = line.alpha.point / 2.0;
        Some(MessageTerms { root: (half, 0.0), senders: vec![(half, line.beta.point); (ranks.0 - 1) as usize] })
    };
    if ranks.0 < 2 { None } else { known().or_else(usual) }
}

impl MessageTerms {
    /// Senders work at the same time, and the root handles their messages one after the other.
    fn small(&self, bytes: f64) -> f64 {
        let slowest = self.senders.iter().map(|(fixed, byte)| fixed + byte * bytes).fold(0.0, f64::max);
        self.senders.len() as f64 * (self.root.0 + self.root.1 * bytes) + slowest
    }

    /// Messages come one after the other.
    fn large(&self, bytes: f64) -> f64 {
        self.root.0 + self.root.1 * bytes + self.senders.iter().map(|(fixed, byte)| fixed + byte * bytes).sum::<f64>()
    }
}

/// The many-to-one model of every gather that stalls above a size that does not.
pub fn many_to_one(
    model: &Model,
    release: Release,
    samples: &[Sample],
    points: &[CallTimes],
    stalls: &[Stalls],
) -> Vec<ManyToOne> {
    let gathers = stalls.iter().filter(|range| range.collective == Collective::Gather);
    let one = |range: &Stalls| {
        let choice = match range.candidate {
            Candidate::Builtin => None,
            Candidate::Tuned(choice) => Some(choice),
            _ => return None,
        };
        let (quiet_below, terms) = (range.quiet_below?, terms(model, range.ranks)?);
        let own = |cell: collrules_record::Cell, candidate: Candidate| {
            (cell.collective, cell.ranks, candidate) == (range.collective, range.ranks, range.candidate)
        };
        let launches = medians_of(samples.iter().filter(|sample| own(sample.cell, sample.candidate)));
        let small = launches.values().filter_map(|sizes| {
            let rest = sizes.range(..=quiet_below).filter(|(bytes, _)| bytes.0 > 0);
            proportional(rest.map(|(bytes, time)| (bytes.0 as f64, *time, time - terms.small(bytes.0 as f64))))
        });
        let kappa1 = Estimate::mean(small, model.level);
        let large = launches.values().filter_map(|sizes| {
            let rest = sizes.range(Bytes(range.last.0 + 1)..).map(|(bytes, time)| (bytes.0 as f64, *time));
            // Errors are relative to the times, not to what is left of them.
            let (rest, times): (Vec<Coordinates>, Vec<f64>) =
                rest.map(|(size, time)| ((size, time - terms.large(size)), time)).unzip();
            StraightLine::weighing(&rest, &times, Errors::Absolute)
        });
        let (fixed, byte): (Vec<f64>, Vec<f64>) = large.map(|line| (line.start, line.slope)).unzip();
        let medium = points
            .iter()
            .filter(|calls| own(calls.cell, calls.candidate) && (range.first..=range.last).contains(&calls.cell.bytes));
        Some(ManyToOne {
            choice,
            name: choice
                .map_or("the default".to_owned(), |choice| registry::describe(release, range.collective, choice)),
            ranks: range.ranks,
            quiet_below,
            last: range.last,
            kappa1,
            kappa2: Estimate::mean(fixed, model.level),
            kappa3: Estimate::mean(byte, model.level),
            medium: medium
                .map(|calls| Medium {
                    bytes: calls.cell.bytes,
                    usual: calls.usual.0,
                    levels: calls.levels.iter().filter(|level| level.is_network()).cloned().collect(),
                })
                .collect(),
        })
    };
    gathers.filter_map(one).collect()
}

/// The factor of values that are proportional to sizes, with errors relative to times; points are size, time, and the
/// part to explain.
fn proportional(points: impl Iterator<Item = (f64, f64, f64)>) -> Option<f64> {
    let (of_rest, of_size) = points.fold((0.0, 0.0), |(of_rest, of_size), (size, time, rest)| {
        (of_rest + size * rest / time.powi(2), of_size + size.powi(2) / time.powi(2))
    });
    (of_size > 0.0).then(|| of_rest / of_size)
}

/// Expected times of calls of a gather that may stall.
#[derive(Clone, Debug, PartialEq)]
pub struct GatherForecast {
    /// Seconds of a call that does not stall.
    pub usual: f64,
    /// The mean over all calls.
    pub mean: f64,
    /// The share of calls that stall.
    pub stalling: f64,
    /// Quantiles: pairs of a share and the seconds that this share of calls does not exceed.
    pub quantiles: Vec<(f64, f64)>,
}

/// The shares of the quantiles.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// Predicts the times of calls of a size with the many-to-one model; none if parameters are missing. Between two medium
/// sizes, times are interpolated, and levels are those of the larger one.
pub fn expected(model: &Model, gather: &ManyToOne, bytes: Bytes) -> Option<GatherForecast> {
    let size = bytes.0 as f64;
    let plain = |usual: f64| GatherForecast {
        usual,
        mean: usual,
        stalling: 0.0,
        quantiles: SHARES.iter().map(|share| (*share, usual)).collect(),
    };
    if bytes <= gather.quiet_below {
        return Some(plain(terms(model, gather.ranks)?.small(size) + gather.kappa1?.point * size));
    }
    if bytes > gather.last {
        let more = gather.kappa2?.point + gather.kappa3?.point * size;
        return Some(plain(terms(model, gather.ranks)?.large(size) + more));
    }
    let above = gather.medium.iter().find(|medium| medium.bytes >= bytes)?;
    let below = gather.medium.iter().rfind(|medium| medium.bytes < bytes);
    let usual = below.map_or(above.usual, |below| {
        let share = (size - below.bytes.0 as f64) / (above.bytes.0 - below.bytes.0) as f64;
        below.usual + share * (above.usual - below.usual)
    });
    Some(of_levels(usual, &above.levels))
}

/// Synthetic times of calls: the usual time, or longer by a level.
fn of_levels(usual: f64, levels: &[StallLevel]) -> GatherForecast {
    let stalling: f64 = levels.iter().map(|level| level.probability.point).sum();
    let mean = usual + levels.iter().map(|level| level.probability.point * level.more.0).sum::<f64>();
    let quantile = |share: f64| {
        let mut reached = 1.0 - stalling;
        let mut time = usual;
        for level in levels {
            if reached >= share {
                break;
            }
            reached += level.probability.point;
            time = usual + level.more.0;
        }
        (share, time)
    };
    GatherForecast { usual, mean, stalling, quantiles: SHARES.map(quantile).to_vec() }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Cell, Seconds};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::irregular::{distributions, stalls};
    use crate::tests::fitted_machine;

    /// Gathers on a known machine, with planted kappas, levels and probabilities.
    #[test]
    fn planted_kappas_levels_and_probabilities_come_back() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let model = fitted_machine(6, &mut rng);
        let ranks = Ranks(6);
        let terms = terms(&model, ranks).expect("terms");
        let [kappa1, kappa2, kappa3] = [3e-9, 4e-4, 2e-9];
        let mut samples = Vec::new();
        for kib in [1_u64, 2, 4, 8, 16, 32, 64, 128, 256] {
            let bytes = (kib << 10) as f64;
            for round in 0..300 {
                let time = match kib {
                    ..=8 => terms.small(bytes) + kappa1 * bytes,
                    16 | 32 => terms.small(bytes) + if rng.random_bool(0.3) { 0.2 } else { 0.0 },
                    _ => terms.large(bytes) + kappa2 + kappa3 * bytes,
                };
                let time = Seconds(time * rng.random_range(0.99..1.01));
                let cell = Cell { collective: Collective::Gather, ranks, bytes: Bytes(kib << 10) };
                let (launch, candidate) = (round % 3, Candidate::Builtin);
                samples.push(Sample { launch, visit: 0, round, cell, candidate, max: time, min: time, mean: time });
            }
        }
        let points = distributions(&samples, false, 0.95, |_| false, |_, _| None);
        let found = many_to_one(&model, Release::V4_1, &samples, &points, &stalls(&points));
        let [gather] = &found[..] else { panic!("{found:?}") };
        assert_eq!((gather.quiet_below, gather.last), (Bytes(8 << 10), Bytes(32 << 10)));
        for (found, planted) in [(gather.kappa1, kappa1), (gather.kappa2, kappa2), (gather.kappa3, kappa3)] {
            let found = found.expect("an estimate").point;
            assert!((found / planted - 1.0).abs() < 0.15, "{found} for {planted}");
        }
        for medium in &gather.medium {
            let [level] = &medium.levels[..] else { panic!("{medium:?}") };
            let Estimate { low, high, .. } = level.probability;
            assert!((level.more.0 / 0.2 - 1.0).abs() < 0.05 && low < Some(0.3) && high > Some(0.3), "{level:?}");
        }
        let at = |kib: u64| expected(&model, gather, Bytes(kib << 10)).expect("a prediction");
        let small = terms.small(4096.0) + kappa1 * 4096.0;
        assert!((at(4).mean / small - 1.0).abs() < 0.05 && at(4).stalling < 1e-9);
        let medium = at(32);
        assert!((medium.mean / (medium.usual + 0.3 * 0.2) - 1.0).abs() < 0.2, "{medium:?}");
        assert!(medium.quantiles[0].1 < 0.1 && medium.quantiles[1].1 > 0.15, "{medium:?}");
        let large = terms.large(131072.0) + kappa2 + kappa3 * 131072.0;
        assert!((at(128).mean / large - 1.0).abs() < 0.05);
    }
}
