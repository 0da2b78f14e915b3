//! From the command line to the options of workflows.

use collrules_record::findings::Criteria;
use collrules_record::options::{
    Grid, Jobs, Launching, Refinement, Scenario, Simulated, System, Timing as Timed, Tuning, Validating,
};
use collrules_record::units::Seconds;

use super::{CriteriaArgs, Launch, ScenarioArg, Simulate, Timing, Tune, Validate, ranks};
use crate::failure::Failure;

impl Tune {
    /// Refuses options that contradict each other.
    pub(crate) fn consistent(&self) -> Result<(), Failure> {
        match self.only.iter().find(|(collective, _)| !self.ops.0.contains(collective)) {
            Some((collective, _)) => Err(Failure::usage(format!(
                "--only names an algorithm of {collective}, which is not tuned: add {collective} to --ops"
            ))),
            None => Ok(()),
        }
    }

    /// What a new run shall do.
    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            grid: Grid {
                collectives: self.ops.0.clone(),
                ranks: ranks(self.np.as_ref()),
                sizes: self.sizes.0.clone(),
                segments: self.segments.clone(),
                fanouts: self.fanouts.clone(),
                requests: self.requests.clone(),
                max_memory: self.max_memory,
                only: self.only.clone(),
                launch_per_candidate: self.launch_per_candidate,
                mockups: None,
                reference: self.reference,
            },
            budget: self.budget.0,
            launches: self.launches,
            seed: self.seed,
            keep_slow: self.keep_slow,
            timing: self.timing.timed(),
            criteria: self.criteria.criteria(),
            policy: self.policy.policy(),
            refinement: Refinement {
                rounds: self.refine.refine,
                width: self.refine.refine_width,
                ranks: self.refine.refine_np,
            },
            validate: !self.validation.no_validate,
            system: self.launch.system(&self.simulate),
        }
    }

    /// The options of a run that is resumed: what decides what is measured stays, the rest may be said anew. `said` tells
    /// whether the user gave an option.
    pub(crate) fn resuming(&self, before: Tuning, said: &dyn Fn(&str) -> bool) -> Result<Tuning, Failure> {
        const DECIDED: [&str; 28] = [
            "ops",
            "np",
            "sizes",
            "segments",
            "fanouts",
            "requests",
            "max_memory",
            "only",
            "keep_slow",
            "launch_per_candidate",
            "reference",
            "budget",
            "launches",
            "out",
            "seed",
            "max_regret",
            "between",
            "assume",
            "safety",
            "refine",
            "refine_width",
            "refine_np",
            "sync",
            "clock_bound",
            "separate_clocks",
            "simulate",
            "simulated_slots",
            "simulated_release",
        ];
        if let Some(name) = DECIDED.iter().find(|name| said(name)) {
            return Err(Failure::usage(format!(
                "--{} was decided when the run began; with --resume, only options about launching, decisions and the \
                 session can be given",
                name.replace('_', "-"),
            )));
        }
        let mut tuning = before;
        let now = self.tuning();
        let mut take = |name: &str, take: &mut dyn FnMut(&mut Tuning)| {
            if said(name) {
                take(&mut tuning);
            }
        };
        take("min_gain", &mut |to| to.criteria.min_gain = now.criteria.min_gain);
        take("error_rate", &mut |to| to.criteria.error_rate = now.criteria.error_rate);
        take("untested_gain", &mut |to| to.criteria.untested_gain = now.criteria.untested_gain);
        take("no_validate", &mut |to| to.validate = now.validate);
        take("oversubscribe", &mut |to| to.system.oversubscribe = now.system.oversubscribe);
        take("layout", &mut |to| to.system.layout = now.system.layout);
        if let (Jobs::Mpi(now), Jobs::Mpi(to)) = (now.system.jobs, &mut tuning.system.jobs) {
            let mut take = |name: &str, take: &mut dyn FnMut(&mut Launching)| {
                if said(name) {
                    take(to);
                }
            };
            take("mpirun", &mut |to| to.mpirun.clone_from(&now.mpirun));
            take("mpirun_args", &mut |to| to.arguments.clone_from(&now.arguments));
            take("disable_han", &mut |to| to.disable_han = now.disable_han);
            take("worker", &mut |to| to.worker.clone_from(&now.worker));
            take("hang_timeout", &mut |to| to.hang_timeout = now.hang_timeout);
        }
        Ok(tuning)
    }
}

impl CriteriaArgs {
    /// The criteria, for a clock that is not known yet.
    pub(crate) fn criteria(&self) -> Criteria {
        Criteria {
            clock_step: Seconds(0.0),
            min_gain: self.min_gain,
            error_rate: self.error_rate,
            untested_gain: self.untested_gain,
            ..Criteria::default()
        }
    }
}

impl Timing {
    pub(crate) fn timed(&self) -> Timed {
        Timed { sync: self.sync.into(), clock_bound: self.clock_bound, separate_clocks: self.separate_clocks }
    }
}

impl Launch {
    /// The system that jobs run on: an Open MPI, or a simulation.
    pub(crate) fn system(&self, simulate: &Simulate) -> System {
        let simulation = simulate.simulate.map(|scenario| {
            Jobs::Simulation(Simulated {
                scenario: scenario.into(),
                slots: simulate.simulated_slots,
                release: simulate.simulated_release,
            })
        });
        let real = self.real();
        System { jobs: simulation.unwrap_or(real.jobs), ..real }
    }

    /// The same where nothing can be simulated.
    pub(crate) fn real(&self) -> System {
        System {
            layout: self.layout,
            oversubscribe: self.oversubscribe,
            jobs: Jobs::Mpi(Launching {
                mpirun: self.mpirun.clone(),
                arguments: self.mpirun_args.clone(),
                disable_han: self.disable_han,
                worker: self.worker.clone(),
                hang_timeout: self.hang_timeout,
            }),
        }
    }
}

impl From<ScenarioArg> for Scenario {
    fn from(arg: ScenarioArg) -> Self {
        match arg {
            ScenarioArg::Stale => Self::Stale,
            ScenarioArg::Perfect => Self::Perfect,
            ScenarioArg::Noise => Self::Noise,
            ScenarioArg::Deceptive => Self::Deceptive,
            ScenarioArg::Planted => Self::Planted,
        }
    }
}

impl Validate {
    /// What a validation shall do.
    pub(crate) fn options(&self) -> Validating {
        Validating {
            collectives: self.ops.as_ref().map(|ops| ops.0.clone()),
            ranks: ranks(self.np.as_ref()),
            sizes: self.sizes.as_ref().map(|sizes| sizes.0.clone()),
            pairs: self.pairs,
            budget: self.budget.0,
            min_difference: self.min_difference,
            error_rate: self.error_rate,
            deploy: self.deploy.into(),
            repair: self.repair,
            seed: self.seed,
            timing: self.timing.timed(),
            system: self.launch.system(&self.simulate),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn tune(line: &str) -> Tune {
        match Args::try_parse_from(line.split_whitespace()).expect("is a command line").command {
            Command::Tune(tune) => tune,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_decided_stays_and_what_is_said_anew_holds() {
        let before = tune("collrules tune --np 2,4 --min-gain 5 --hang-timeout 9s").tuning();
        let now = tune("collrules tune --resume there --min-gain 7 --oversubscribe");
        let said = |name: &str| ["resume", "min_gain", "oversubscribe"].contains(&name);
        let resumed = now.resuming(before.clone(), &said).expect("may be changed");
        assert_eq!((resumed.grid.ranks.len(), resumed.criteria.min_gain), (2, 0.07));
        let Jobs::Mpi(launching) = resumed.system.jobs else { panic!("nothing is simulated") };
        assert_eq!((launching.hang_timeout, resumed.system.oversubscribe), (Seconds(9.0), true));
        let refused = now.resuming(before, &|name| name == "np").expect_err("would be another plan");
        assert!(refused.to_string().starts_with("--np was decided when the run began"), "{refused}");
    }

    #[test]
    fn every_option_of_a_run_can_be_said_anew_or_was_decided() {
        // An option that `resuming` does not know would be ignored in silence.
        let known = include_str!("options.rs");
        let session = ["resume", "json", "failures", "dry_run", "verbose", "quiet"];
        let command = <Tune as clap::Args>::augment_args(clap::Command::new(""));
        for argument in command.get_arguments().map(|argument| argument.get_id().as_str()) {
            let named = known.contains(&format!("\"{argument}\""));
            assert!(named || session.contains(&argument), "--resume ignores --{argument}");
        }
    }
}
