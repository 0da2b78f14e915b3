//! The command line of runs of format 1.0, whose manifests hold nothing else about their options.
//!
//! This is how collrules 0.1.0 was called. It does not change with the command line of today.

use std::str::FromStr;

use collrules_record::Layout;
use collrules_record::clock::SyncMethod;
use collrules_record::findings::Criteria;
use collrules_record::options::{Grid, Jobs, Launching, Refinement, Scenario, Simulated, System, Timing, Tuning};
use collrules_record::policy::{Assumptions, Policy};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_rules::{Collective, Release};

use crate::options::{Budget, Collectives, Sizes, only, percent};

/// Options without a value.
const FLAGS: [&str; 11] = [
    "keep-slow",
    "launch-per-candidate",
    "dry-run",
    "refine-np",
    "separate-clocks",
    "oversubscribe",
    "disable-han",
    "simulate",
    "json",
    "no-validate",
    "quiet",
];

/// What `collrules tune` or `collrules measure` of 0.1.0 was asked to do by these words.
pub(crate) fn tuning(words: &[String]) -> Result<Tuning, String> {
    let mut tuning = defaults();
    let mut launching = Launching {
        mpirun: None,
        arguments: String::new(),
        disable_han: false,
        worker: None,
        hang_timeout: Seconds(120.0),
    };
    let mut simulated = Simulated { scenario: Scenario::Stale, slots: Ranks(8), release: Release::V5_0 };
    let mut simulate = false;
    let mut words = words.iter().skip(1);
    match words.next().map(String::as_str) {
        Some("tune" | "measure") => {}
        other => return Err(format!("`{}` is no command that tunes", other.unwrap_or_default())),
    }
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").ok_or_else(|| format!("`{word}` is no option"))?;
        let (name, mut value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        if value.is_none() && !FLAGS.contains(&name) {
            value = Some(words.next().ok_or_else(|| format!("--{name} has no value"))?);
        }
        let value = value.unwrap_or_default();
        match name {
            "ops" => tuning.grid.collectives = read::<Collectives>(name, value)?.0,
            "np" => tuning.grid.ranks = list(name, value)?,
            "sizes" => tuning.grid.sizes = read::<Sizes>(name, value)?.0,
            "segments" => tuning.grid.segments = list(name, value)?,
            "fanouts" => tuning.grid.fanouts = list(name, value)?,
            "requests" => tuning.grid.requests = list(name, value)?,
            "max-memory" => tuning.grid.max_memory = read(name, value)?,
            "only" => tuning.grid.only = value.split(',').map(only).collect::<Result<_, _>>()?,
            "keep-slow" => tuning.keep_slow = true,
            "launch-per-candidate" => tuning.grid.launch_per_candidate = true,
            "budget" => tuning.budget = read::<Budget>(name, value)?.0,
            "launches" => tuning.launches = read(name, value)?,
            "seed" => tuning.seed = read(name, value)?,
            "min-gain" => tuning.criteria.min_gain = percent(value)?,
            "error-rate" => tuning.criteria.error_rate = percent(value)?,
            "untested-gain" => tuning.criteria.untested_gain = percent(value)?,
            "max-regret" => tuning.policy.max_regret = percent(value)?,
            "between" => tuning.policy.between = read(name, value)?,
            "assume" => {
                for assumption in value.split(',') {
                    tuning.policy.assumptions = tuning.policy.assumptions.with(read(name, assumption)?);
                }
            }
            "safety" if value == "standard" => {}
            "safety" if value == "strict" => tuning.policy.assumptions.uniform_datatypes = false,
            "refine" => tuning.refinement.rounds = read(name, value)?,
            "refine-width" => tuning.refinement.width = read(name, value)?,
            "refine-np" => tuning.refinement.ranks = true,
            "sync" if value == "barrier" => tuning.timing.sync = SyncMethod::Barrier,
            "sync" if value == "roundtime" => tuning.timing.sync = SyncMethod::RoundTime,
            "clock-bound" => tuning.timing.clock_bound = read(name, value)?,
            "separate-clocks" => tuning.timing.separate_clocks = true,
            "mpirun" => launching.mpirun = Some(value.into()),
            "mpirun-args" => value.clone_into(&mut launching.arguments),
            "oversubscribe" => tuning.system.oversubscribe = true,
            "layout" => tuning.system.layout = read(name, value)?,
            "disable-han" => launching.disable_han = true,
            "worker" => launching.worker = Some(value.into()),
            "hang-timeout" => launching.hang_timeout = read(name, value)?,
            "simulate" => {
                simulate = true;
                simulated.scenario = match value {
                    "" | "stale" => Scenario::Stale,
                    "perfect" => Scenario::Perfect,
                    "noise" => Scenario::Noise,
                    "deceptive" => Scenario::Deceptive,
                    _ => return Err(format!("--simulate has no scenario `{value}`")),
                }
            }
            "simulated-slots" => simulated.slots = read(name, value)?,
            "simulated-release" => simulated.release = read(name, value)?,
            "no-validate" => tuning.validate = false,
            // About the session that began the run, not about the run; and two ways of deciding that are gone.
            "out" | "resume" | "json" | "failures" | "caution" | "max-rules" => {}
            _ => return Err(format!("--{name} is unknown")),
        }
    }
    tuning.system.jobs = if simulate { Jobs::Simulation(simulated) } else { Jobs::Mpi(launching) };
    Ok(tuning)
}

/// What held where nothing was said.
fn defaults() -> Tuning {
    Tuning {
        grid: Grid {
            collectives: vec![Collective::Barrier, Collective::Bcast, Collective::Scatter],
            ranks: Vec::new(),
            sizes: (0..=20).map(|power| Bytes(1 << power)).collect(),
            segments: vec![Bytes(8 << 10), Bytes(64 << 10)],
            fanouts: vec![2, 4],
            requests: vec![2],
            max_memory: Bytes(512 << 20),
            only: Vec::new(),
            launch_per_candidate: false,
            mockups: None,
            reference: false,
        },
        budget: Some(Seconds(120.0)),
        launches: 3,
        seed: 1,
        keep_slow: false,
        timing: Timing { sync: SyncMethod::Barrier, clock_bound: Seconds(1e-6), separate_clocks: false },
        criteria: Criteria::default(),
        policy: Policy { assumptions: Assumptions::default(), ..Policy::default() },
        refinement: Refinement { rounds: 2, width: 1.25, ranks: false },
        validate: true,
        system: System {
            layout: Layout::default(),
            oversubscribe: false,
            jobs: Jobs::Simulation(Simulated { scenario: Scenario::Stale, slots: Ranks(8), release: Release::V5_0 }),
        },
    }
}

fn read<T: FromStr<Err: ToString>>(name: &str, text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error: T::Err| format!("--{name}: {}", error.to_string()))
}

fn list<T: FromStr<Err: ToString>>(name: &str, text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(|item| read(name, item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_command_of_0_1_0_says_what_it_said() {
        let said = tuning(&words(
            "target/debug/collrules tune --ops=bcast --np 2,4 --min-gain 5 --hang-timeout 9s --out there --oversubscribe",
        ))
        .expect("reads");
        assert_eq!((said.grid.collectives, said.grid.ranks), (vec![Collective::Bcast], vec![Ranks(2), Ranks(4)]));
        assert_eq!((said.criteria.min_gain, said.grid.sizes.len(), said.launches), (0.05, 21, 3));
        let Jobs::Mpi(launching) = said.system.jobs else { panic!("nothing is simulated") };
        assert_eq!((launching.hang_timeout, said.system.oversubscribe), (Seconds(9.0), true));
        let simulated = tuning(&words("collrules measure --simulate=noise --simulated-slots 4")).expect("reads");
        let expected = Simulated { scenario: Scenario::Noise, slots: Ranks(4), release: Release::V5_0 };
        assert_eq!(simulated.system.jobs, Jobs::Simulation(expected));
    }

    #[test]
    fn what_cannot_be_read_is_no_default() {
        for bad in
            ["", "collrules", "collrules verify x", "collrules tune --new 3", "collrules tune --np", "collrules tune x"]
        {
            assert!(tuning(&words(bad)).is_err(), "{bad}");
        }
    }
}
