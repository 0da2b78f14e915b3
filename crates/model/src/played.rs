//! A machine described by a model, on which calls and probes are played message by message.

use collrules_program::{Platform, barrier, play, tuned};
use collrules_record::{Cast, Cell, Pattern};
use collrules_rules::{Choice, Collective, Release};
use collrules_runner::simulate::PlayedMachine;

use crate::machine::{IntervalEnd, Unsaid, platform};
use crate::model::{Model, Slowdown};
use crate::predict::call_seconds;
use crate::probe::Probe;

/// The machine that a model describes.
#[derive(Clone, Debug)]
pub struct ModelMachine {
    model: Model,
    release: Release,
}

impl ModelMachine {
    /// The machine, unless the model is too incomplete to play on it.
    pub fn new(model: Model, release: Release) -> Result<Self, String> {
        let wrong = |planted: &&Slowdown| {
            !(0.0..=1.0).contains(&planted.probability)
                || !planted.more.is_finite()
                || planted.more < 0.0
                || planted.from > planted.to
        };
        if let Some(wrong) = model.planted.iter().find(wrong) {
            let Slowdown { collective, more, probability, from, to, .. } = wrong;
            return Err(format!(
                "what is planted into {collective} takes {more} s with a probability of {probability} from {from} to {to}; times \
                 are not negative, probabilities go from 0 to 1, and ranges from the smaller size to the larger"
            ));
        }
        let machine = Self { model, release };
        if machine.ranks() < 2 {
            return Err("the model has fewer than two ranks".to_owned());
        }
        let platform = machine.platform(machine.ranks()).map_err(|cause| cause.to_string())?;
        if platform.cap.iter().flatten().chain(&platform.link).any(|rate| rate.is_nan() || *rate <= 0.0) {
            return Err("a rate of the model is not above 0, so no message would end".to_owned());
        }
        Ok(machine)
    }

    fn ranks(&self) -> u32 {
        self.model.ranks.len() as u32
    }

    fn platform(&self, ranks: u32) -> Result<Platform, Unsaid> {
        platform(&self.model, ranks as usize, IntervalEnd::Middle)
    }
}

impl PlayedMachine for ModelMachine {
    /// The FNV-1a digest of the model's text.
    fn name(&self) -> String {
        let text = serde_json::to_vec(&self.model).unwrap_or_default();
        let mixed = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        format!("model {:016x}", text.iter().fold(0xcbf2_9ce4_8422_2325, mixed))
    }

    fn hosts(&self) -> Vec<String> {
        let own = |(place, host): (usize, &Option<String>)| host.clone().unwrap_or_else(|| format!("simulated{place}"));
        self.model.ranks.values().enumerate().map(own).collect()
    }

    fn seconds(&self, cell: Cell, choice: Choice) -> Result<f64, String> {
        let call = |collective| tuned(self.release, collective, choice, cell.ranks.0, cell.bytes.0);
        let messages = match cell.collective {
            Collective::Barrier => Ok(barrier(cell.ranks.0)),
            // With equal counts, the messages are those of alltoall.
            Collective::Alltoallv => call(Collective::Alltoall),
            collective => call(collective),
        };
        let messages = messages.map_err(|cause| cause.to_string())?;
        let platform = self.platform(cell.ranks.0).map_err(|cause| cause.to_string())?;
        call_seconds(&platform, &messages).ok_or_else(|| format!("{cell} never ends"))
    }

    fn pattern_seconds(&self, pattern: Pattern, cast: &Cast) -> Result<f64, String> {
        let unknown = || format!("{pattern} is no probe of models");
        let probe = Probe::new(pattern, cast).ok_or_else(unknown)?;
        let platform = self.platform(self.ranks()).map_err(|cause| cause.to_string())?;
        let messages = probe.programs(platform.ranks()).ok_or_else(unknown)?;
        let ends = play(messages.as_slice(), &platform).map_err(|cause| cause.to_string())?;
        Ok(ends[probe.ranks[0] as usize])
    }

    fn delay(&self, cell: Cell, choice: Choice, calls: u32, random: &mut dyn FnMut() -> f64) -> f64 {
        let hits = |planted: &&Slowdown| {
            planted.collective == cell.collective
                && planted.algorithm.is_none_or(|algorithm| algorithm == choice.algorithm)
                && (planted.from..=planted.to).contains(&cell.bytes)
        };
        let all: Vec<&Slowdown> = self.model.planted.iter().filter(hits).collect();
        let mut more = 0.0;
        for planted in (0..calls).flat_map(|_| all.iter()) {
            if random() < planted.probability {
                more += planted.more;
            }
        }
        more
    }
}
