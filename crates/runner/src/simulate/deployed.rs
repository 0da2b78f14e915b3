//! Simulated launches without a rules file and under one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use collrules_record::plan::Deployment;
use collrules_record::{Candidate, Cell, Handed};
use collrules_rules::{Behaviour, Choice, Loaded, Release, Version, load};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::han::{Hosts, Settings};
use super::model::{Model, normal};
use crate::error::RunnerError;

/// A launch that is compared with others: what it shares is noise that no number of calls takes away.
pub(super) struct DeployedLaunch {
    /// The file in force, unless the release rejects it, as Open MPI does silently.
    rules: Option<Loaded>,
    /// What is said to HAN.
    settings: Settings,
    release: Release,
    seed: u64,
}

impl DeployedLaunch {
    /// A launch with this seed, in which these settings are in force.
    pub(super) fn start(
        settings: &BTreeMap<String, String>,
        seed: u64,
        release: Release,
        version: Version,
    ) -> Result<Self, RunnerError> {
        let rules = match settings.get(Deployment::FILE).map(PathBuf::from) {
            None => None,
            Some(path) => {
                let bytes = std::fs::read(&path).map_err(|cause| RunnerError::Rules { path, cause })?;
                load(&bytes, &Behaviour::of(version)?).into_accepted()
            }
        };
        Ok(Self { rules, settings: Settings::read(settings, version)?, release, seed })
    }

    /// The time of a candidate's calls of a cell in this launch.
    pub(super) fn seconds(&self, (model, hosts): (&Model, &Hosts), cell: Cell, candidate: Candidate) -> f64 {
        let served = |cell| self.served(model, hosts, cell);
        let truth = match candidate {
            Candidate::Mockup(mockup) => model.mockup_seconds((cell, hosts.even(cell.ranks)), mockup, &served),
            _ => served(cell),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::MAX);
        let shared = Model::LAUNCH_NOISE * normal(&mut rng);
        // Cells are told apart by what they are, since launches may have different ones.
        rng.set_stream(u64::MAX - 1 - cell_number(cell));
        truth * (shared + Model::CELL_NOISE * normal(&mut rng)).exp()
    }

    /// The same of the collective itself, without what the launch makes of it.
    fn served(&self, model: &Model, hosts: &Hosts, cell: Cell) -> f64 {
        let of_tuned = |cell| self.of_tuned(model, cell);
        let kept = hosts.served(cell, &self.settings).filter(|handed| *handed != Handed::Over);
        let by_han = kept.and_then(|_| hosts.seconds(cell, self.settings.way(cell), &of_tuned));
        by_han.unwrap_or_else(|| of_tuned(cell))
    }

    /// The same where coll/tuned carries it out.
    fn of_tuned(&self, model: &Model, cell: Cell) -> f64 {
        match self.choice(model, cell) {
            None => model.seconds(cell, Candidate::Builtin),
            Some(choice) => model.deployed_seconds(cell, choice),
        }
    }

    /// What the file in force says of a cell, if there is one.
    pub(super) fn choice(&self, model: &Model, cell: Cell) -> Option<Choice> {
        let on = model.hosts.distribution(cell.ranks);
        let lookup = cell.lookup_bytes(self.release);
        self.rules.as_ref().map(|file| file.serve(cell.collective, cell.ranks, lookup, on).choice)
    }
}

fn cell_number(cell: Cell) -> u64 {
    let fields = [cell.collective.id().into(), cell.ranks.0.into(), cell.bytes.0];
    fields.into_iter().fold(0, |hash: u64, field: u64| (hash ^ field).wrapping_mul(0x0100_0000_01b3)) >> 1
}
