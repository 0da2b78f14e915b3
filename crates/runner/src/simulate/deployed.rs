//! Simulated launches without a rules file and under one.

use std::path::PathBuf;

use collrules_record::{Candidate, Cell};
use collrules_rules::{Behaviour, Distribution, Loaded, Release, Version, load};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::model::{Model, normal};
use crate::error::RunnerError;

/// A launch that is compared with others: what it shares is noise that no number of calls takes away.
pub(super) struct DeployedLaunch {
    /// The file in force, unless the release rejects it, as Open MPI does silently.
    rules: Option<Loaded>,
    release: Release,
    seed: u64,
}

impl DeployedLaunch {
    /// A launch with this seed; `file` is in force in it, or none is.
    pub(super) fn start(
        file: Option<&String>,
        seed: u64,
        release: Release,
        version: Version,
    ) -> Result<Self, RunnerError> {
        let rules = match file.map(PathBuf::from) {
            None => None,
            Some(path) => {
                let bytes = std::fs::read(&path).map_err(|cause| RunnerError::Rules { path, cause })?;
                load(&bytes, &Behaviour::of(version)?).into_accepted()
            }
        };
        Ok(Self { rules, release, seed })
    }

    /// The time of a candidate's calls of a cell in this launch.
    pub(super) fn seconds(&self, model: &Model, cell: Cell, candidate: Candidate) -> f64 {
        let truth = match candidate {
            Candidate::Mockup(mockup) => model.mockup_seconds(cell, mockup, &|inner| self.served(model, inner)),
            _ => self.served(model, cell),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::MAX);
        let shared = Model::LAUNCH_NOISE * normal(&mut rng);
        // Cells are told apart by what they are, since launches may have different ones.
        rng.set_stream(u64::MAX - 1 - cell_number(cell));
        truth * (shared + Model::CELL_NOISE * normal(&mut rng)).exp()
    }

    /// The same of the collective itself, without what the launch makes of it.
    fn served(&self, model: &Model, cell: Cell) -> f64 {
        let Some(file) = &self.rules else { return model.seconds(cell, Candidate::Builtin) };
        let served = file.serve(cell.collective, cell.ranks, cell.lookup_bytes(self.release), Distribution::Any);
        model.deployed_seconds(cell, served.choice)
    }
}

fn cell_number(cell: Cell) -> u64 {
    let fields = [cell.collective.id().into(), cell.ranks.0.into(), cell.bytes.0];
    fields.into_iter().fold(0, |hash: u64, field: u64| (hash ^ field).wrapping_mul(0x0100_0000_01b3)) >> 1
}
