//! A machine described by a model, on which calls and probes are played message by message.

use collrules_model::{IntervalEnd, ProbeKind, ProbeTiming, barrier, call_seconds, platform, programs};
use collrules_program::{Mockup, Platform, play};
use collrules_record::model::{Model, Slowdown};
use collrules_record::sample::PatternSample;
use collrules_record::units::Seconds;
use collrules_record::{Bytes, Candidate, Cast, Cell, Pattern};
use collrules_rules::{Choice, Collective, Release};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::model::stale;
use crate::error::RunnerError;

/// The machine of a model.
#[derive(Clone, Debug)]
pub(crate) struct Modelled {
    model: Model,
    release: Release,
}

impl Modelled {
    /// The machine, unless the model is too incomplete to play on it.
    pub(super) fn new(model: Model, release: Release) -> Result<Self, RunnerError> {
        let wrong = |planted: &&Slowdown| {
            !(0.0..=1.0).contains(&planted.probability)
                || !planted.more.is_finite()
                || planted.more < 0.0
                || planted.from > planted.to
        };
        if let Some(wrong) = model.planted.iter().find(wrong) {
            let Slowdown { collective, more, probability, from, to, .. } = wrong;
            return Err(RunnerError::Unplayable(format!(
                "what is planted into {collective} takes {more} s with a probability of {probability} from {from} to {to}; times \
                 are not negative, probabilities go from 0 to 1, and ranges from the smaller size to the larger"
            )));
        }
        let machine = Self { model, release };
        if machine.ranks() < 2 {
            return Err(RunnerError::Unplayable("the model has fewer than two ranks".to_owned()));
        }
        let platform = machine.platform(machine.ranks()).map_err(|cause| RunnerError::Unplayable(cause.to_string()))?;
        if platform.cap.iter().flatten().chain(&platform.link).any(|rate| rate.is_nan() || *rate <= 0.0) {
            return Err(RunnerError::Unplayable(
                "a rate of the model is not above 0, so no message would end".to_owned(),
            ));
        }
        Ok(machine)
    }

    /// Returns the number of ranks.
    pub(super) fn ranks(&self) -> u32 {
        self.model.ranks.len() as u32
    }

    /// The host of each rank.
    pub(super) fn hosts(&self) -> Vec<String> {
        let own = |(place, host): (usize, &Option<String>)| host.clone().unwrap_or_else(|| format!("simulated{place}"));
        self.model.ranks.values().enumerate().map(own).collect()
    }

    fn platform(&self, ranks: u32) -> Result<Platform, collrules_model::Unsaid> {
        platform(&self.model, ranks as usize, IntervalEnd::Middle)
    }

    /// The time of a call without mock-ups; an error if its messages are unknown.
    pub(super) fn seconds(&self, cell: Cell, candidate: Candidate) -> Result<f64, RunnerError> {
        let said = |cause: collrules_model::Unsaid| RunnerError::Unplayable(cause.to_string());
        let messages = match (cell.collective, candidate) {
            (_, Candidate::Reference(_)) => {
                return Err(RunnerError::Unplayable(
                    "reference algorithms have no messages of the model's kind".to_owned(),
                ));
            }
            (Collective::Barrier, _) => barrier(cell.ranks.0),
            _ => {
                let choice = candidate.choice().filter(|choice| !choice.is_builtin()).unwrap_or(stale(cell.collective));
                programs(self.release, cell.collective, choice, cell.ranks.0, cell.bytes.0).map_err(said)?
            }
        };
        let platform = self.platform(cell.ranks.0).map_err(said)?;
        call_seconds(&platform, &messages).ok_or_else(|| RunnerError::Unplayable(format!("{cell} never ends")))
    }

    /// The time of a pattern with this cast; an error if it is no probe of models.
    pub(super) fn pattern_seconds(&self, pattern: Pattern, cast: &Cast) -> Result<f64, RunnerError> {
        let zero = Seconds(0.0);
        let sample = PatternSample {
            launch: 0,
            visit: 0,
            round: 0,
            pattern,
            cast: cast.clone(),
            max: zero,
            min: zero,
            mean: zero,
        };
        let unknown = || RunnerError::Unplayable(format!("{pattern} is no probe of models"));
        let probe = ProbeTiming::of_pattern(&sample).ok_or_else(unknown)?.probe;
        let platform = self.platform(self.ranks()).map_err(|cause| RunnerError::Unplayable(cause.to_string()))?;
        let messages = ProbeKind::programs(probe.kind, &probe.ranks, probe.there, probe.back, platform.ranks());
        let ends = play(messages.as_slice(), &platform).map_err(|cause| RunnerError::Unplayable(cause.to_string()))?;
        Ok(ends[probe.ranks[0] as usize])
    }

    /// A number that distinguishes models (FNV-1a of the model's text).
    pub(super) fn digest(&self) -> u64 {
        let text = serde_json::to_vec(&self.model).unwrap_or_default();
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Returns the delay planted into one call of this choice.
    pub(super) fn planted(
        &self,
        cell: Cell,
        candidate: Candidate,
        choice: Option<Choice>,
        rng: &mut ChaCha8Rng,
    ) -> f64 {
        if self.model.planted.is_empty() {
            return 0.0;
        }
        // In pieces, each piece is a call of its own.
        let (pieces, bytes) = match candidate {
            Candidate::Mockup(Mockup::Split { pieces, .. }) => (pieces, cell.bytes.0.div_ceil(pieces.into())),
            _ => (1, cell.bytes.0),
        };
        let choice = choice.filter(|choice| !choice.is_builtin()).unwrap_or(stale(cell.collective));
        let hits = |planted: &&Slowdown| {
            planted.collective == cell.collective
                && planted.algorithm.is_none_or(|algorithm| algorithm == choice.algorithm)
                && (planted.from..=planted.to).contains(&Bytes(bytes))
        };
        let all: Vec<&Slowdown> = self.model.planted.iter().filter(hits).collect();
        let mut more = 0.0;
        for planted in (0..pieces).flat_map(|_| all.iter()) {
            if rng.random::<f64>() < planted.probability {
                more += planted.more;
            }
        }
        more
    }
}
