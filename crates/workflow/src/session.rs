//! What every workflow gets beside its options, and what it tells.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collrules_record::findings::Findings;
use collrules_record::options::System;
use collrules_record::rundir::RunDir;
use collrules_record::{Plan, Validation};
use collrules_runner::RunnerError;
use collrules_runner::campaign::{Launch, Notice, Policy, Tally};
use collrules_runner::proof::Proof;

use crate::start::Started;

/// What happens on the way.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something worth a sentence.
    Note(&'a str),
    /// A campaign begins, or is resumed.
    Measuring {
        /// Its directory.
        run: &'a Path,
        /// Its plan.
        plan: &'a Plan,
        /// Whether it was begun before.
        resumed: bool,
    },
    /// A rules file is about to be compared with the builtin.
    Comparing {
        /// The directory of the comparison.
        run: &'a Path,
        /// Its plan.
        plan: &'a Plan,
    },
    /// The launches of a plan follow, numbered from `first` on.
    Planned {
        /// The plan.
        plan: &'a Plan,
        /// The number of its first planned launch.
        first: u32,
    },
    /// Something happened in a launch.
    Launch(&'a Launch<'a>, &'a Notice<'a>),
    /// The launches of a plan are over; with the error that ended them early, if one did.
    Measured(&'a Tally, Option<&'a RunnerError>),
    /// Rules are decided, proven and in place.
    Concluded {
        /// Where they lie.
        run: &'a RunDir,
        /// The decisions.
        findings: &'a Findings,
        /// What was proven.
        proof: &'a Proof,
    },
    /// All comparisons of a rules file are made.
    Compared {
        /// Where they lie.
        home: &'a RunDir,
        /// What they showed.
        validation: &'a Validation,
    },
}

/// Starts what carries out the jobs of a system, and surveys it.
pub type Start<'a> = dyn Fn(&System, &Arc<AtomicBool>) -> Result<Started, RunnerError> + 'a;

/// What every workflow gets beside its options.
pub struct Session<'a> {
    /// Ends what is under way once it is set.
    pub stop: Arc<AtomicBool>,
    /// How many launches may fail for no known reason before measuring is given up.
    pub failures: u32,
    /// The words that started the program, for the manifest.
    pub command: Vec<String>,
    /// Starts what carries out jobs: [`start::start`](crate::start::start), or a double of it.
    pub start: &'a Start<'a>,
    /// Gets every event.
    pub watch: &'a mut dyn FnMut(Event<'_>),
}

impl Session<'_> {
    /// Tells an event.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        (self.watch)(event);
    }

    /// Tells something that is worth a sentence.
    pub fn say(&mut self, sentence: &str) {
        self.tell(Event::Note(sentence));
    }

    /// A backend, and what it finds.
    pub(crate) fn start(&self, system: &System) -> Result<Started, RunnerError> {
        (self.start)(system, &self.stop)
    }

    /// What may end a campaign early.
    pub(crate) fn policy(&self) -> Policy {
        Policy { failures: self.failures, stop: Arc::clone(&self.stop), until: None }
    }
}
