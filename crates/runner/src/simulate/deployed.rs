//! Simulated launches without and with a rules file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use collrules_record::plan::Deployment;
use collrules_record::{Candidate, Cell, HanRule};
use collrules_rules::{Behaviour, Choice, Loaded, Release, Version, load};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::han::{HanPins, Hosts};
use super::model::{CostModel, normal};
use crate::error::RunnerError;

/// A launch that is compared with others, with noise of its own that calls cannot average out.
pub(super) struct DeployedLaunch {
    /// The active file, unless the release rejects it, silently as Open MPI does.
    rules: Option<Loaded>,
    /// Settings of HAN.
    settings: HanPins,
    release: Release,
    seed: u64,
}

impl DeployedLaunch {
    /// A launch with this seed and these active settings.
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
                load(&bytes, &Behaviour::from_version(version)?).into_accepted()
            }
        };
        Ok(Self { rules, settings: HanPins::read(settings, version)?, release, seed })
    }

    /// The time of a candidate's calls of a cell in this launch.
    pub(super) fn seconds(&self, (model, hosts): (&CostModel, &Hosts), cell: Cell, candidate: Candidate) -> f64 {
        let served = |cell| self.served(model, hosts, cell);
        let truth = match candidate {
            Candidate::Mockup(mockup) => model.mockup_seconds((cell, hosts.even(cell.ranks)), mockup, &served),
            _ => served(cell),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::MAX);
        let shared = CostModel::LAUNCH_NOISE * normal(&mut rng);
        // Cells are identified by value, since launches may have different ones.
        rng.set_stream(u64::MAX - 1 - cell_number(cell));
        truth * (shared + CostModel::CELL_NOISE * normal(&mut rng)).exp()
    }

    /// Returns the time of the collective itself, without the noise of the launch.
    fn served(&self, model: &CostModel, hosts: &Hosts, cell: Cell) -> f64 {
        let of_tuned = |cell| self.of_tuned(model, cell);
        let kept = hosts.served(cell, &self.settings).filter(|handed| *handed != HanRule::Delegate);
        let by_han = kept.and_then(|_| hosts.seconds(cell, self.settings.algorithm(cell), &of_tuned));
        by_han.unwrap_or_else(|| of_tuned(cell))
    }

    /// Returns the time of the collective with coll/tuned.
    fn of_tuned(&self, model: &CostModel, cell: Cell) -> f64 {
        match self.choice(model, cell) {
            None => model.seconds(cell, Candidate::Builtin),
            Some(choice) => model.deployed_seconds(cell, choice),
        }
    }

    /// Returns the choice of the active file for a cell, if there is a file.
    pub(super) fn choice(&self, model: &CostModel, cell: Cell) -> Option<Choice> {
        let on = model.hosts.distribution(cell.ranks);
        let lookup = cell.lookup_bytes(self.release);
        self.rules.as_ref().map(|file| file.serve(cell.collective, cell.ranks, lookup, on).choice)
    }
}

fn cell_number(cell: Cell) -> u64 {
    let fields = [cell.collective.id().into(), cell.ranks.0.into(), cell.bytes.0];
    fields.into_iter().fold(0, |hash: u64, field: u64| (hash ^ field).wrapping_mul(0x0100_0000_01b3)) >> 1
}
