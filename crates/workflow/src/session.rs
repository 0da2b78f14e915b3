//! Inputs of every workflow apart from its options, and the events that it reports.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collrules_record::options::SystemOptions;
use collrules_record::settings::SettingsFindings;
use collrules_record::{Findings, Plan, RunDir, Seconds, Stage, Validation};
use collrules_runner::RunnerError;
use collrules_runner::campaign::{CampaignLaunch, Notice, Tally};
use collrules_runner::proof::Proof;

use crate::start::Started;

/// Event of a workflow.
#[derive(Debug)]
pub enum Event<'a> {
    /// A remark in a sentence.
    Note(&'a str),
    /// A campaign is begun or resumed.
    Measuring {
        /// Its directory.
        run: &'a Path,
        /// Its plan.
        plan: &'a Plan,
        /// True if it is resumed.
        resumed: bool,
    },
    /// A comparison with the default begins.
    Comparing {
        /// The directory of its log.
        home: &'a RunDir,
        /// The number of cells with rules, or next to them.
        cells: usize,
        /// Pairs of launches before the first look.
        pairs: u32,
        /// Time for all launches; none if unlimited.
        limit: Option<Seconds>,
    },
    /// Jobs of a block begin.
    ArmBlock {
        /// Stage of the comparison.
        stage: Stage,
        /// The block.
        block: u32,
        /// The number of jobs that live at the same time.
        jobs: usize,
        /// The number of subjects that they time.
        subjects: usize,
    },
    /// The launches of a plan begin, numbered from `first` on.
    Planned {
        /// The plan.
        plan: &'a Plan,
        /// The number of its first planned launch.
        first: u32,
    },
    /// An event of a launch.
    Launch(&'a CampaignLaunch<'a>, &'a Notice<'a>),
    /// The launches of a plan are over; with the error that ended them early, if there is one.
    Measured(&'a Tally, Option<&'a RunnerError>),
    /// Rules are decided, proven and in place.
    Concluded {
        /// Directory of the rules.
        run: &'a RunDir,
        /// The decisions.
        findings: &'a Findings,
        /// Proof that they are obeyed.
        proof: &'a Proof,
    },
    /// All comparisons of a rules file are complete.
    Compared {
        /// Directory of the comparisons.
        home: &'a RunDir,
        /// Result of the comparisons.
        validation: &'a Validation,
    },
    /// The comparison of a whole tuning with the default is complete.
    ComparedWhole {
        /// Directory of the result.
        home: &'a RunDir,
        /// Search for settings with the result.
        settings: &'a SettingsFindings,
    },
}

/// Function that creates the backend of a system and surveys it.
pub type Start<'a> = dyn Fn(&SystemOptions, &Arc<AtomicBool>) -> Result<Started, RunnerError> + 'a;

/// Inputs of every workflow apart from its options.
pub struct Session<'a> {
    /// Flag that ends the running work.
    pub stop: Arc<AtomicBool>,
    /// Largest number of launches that may fail for no known reason before measuring ends.
    pub failures: u32,
    /// Command line of the program, for the manifest.
    pub command: Vec<String>,
    /// Creates the backend: [`start::start`](crate::start::start), or a test double.
    pub start: &'a Start<'a>,
    /// Receives every event.
    pub watch: &'a mut dyn FnMut(Event<'_>),
}

impl Session<'_> {
    /// Reports an event.
    pub fn tell(&mut self, event: Event<'_>) {
        (self.watch)(event);
    }

    /// Reports a remark.
    pub fn say(&mut self, sentence: &str) {
        self.tell(Event::Note(sentence));
    }

    /// Creates a backend with its survey.
    pub(crate) fn start(&mut self, system: &SystemOptions) -> Result<Started, RunnerError> {
        let mut started = (self.start)(system, &self.stop)?;
        std::mem::take(&mut started.remarks).iter().for_each(|remark| self.say(remark));
        Ok(started)
    }
}
