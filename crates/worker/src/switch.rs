//! Setting a choice so that the next communicator is made with it.
//!
//! Open MPI copies the algorithm of a collective and its parameters into a communicator when it is made, if
//! `coll_tuned_use_dynamic_rules` is on at that time, which the launcher sees to.

use collrules_record::Candidate;
use collrules_rules::Collective;

use crate::ffi::{Tools, ToolsError};

/// The control variables of one collective and the values that they had at first.
pub(crate) struct Switch<'a> {
    tools: &'a Tools,
    collective: Collective,
    /// Full name and first value of each parameter that exists.
    defaults: Vec<(String, i32)>,
}

const ALGORITHM: &str = "algorithm";
const SEGSIZE: &str = "algorithm_segmentsize";
const TREE_FANOUT: &str = "algorithm_tree_fanout";
const CHAIN_FANOUT: &str = "algorithm_chain_fanout";
const MAX_REQUESTS: &str = "algorithm_max_requests";

/// The full name of a parameter of a collective.
pub(crate) fn variable(collective: Collective, parameter: &str) -> String {
    format!("coll_tuned_{collective}_{parameter}")
}

impl<'a> Switch<'a> {
    /// Remembers the values in force.
    pub(crate) fn new(tools: &'a Tools, collective: Collective) -> Result<Self, ToolsError> {
        let mut defaults = Vec::new();
        for parameter in [ALGORITHM, SEGSIZE, TREE_FANOUT, CHAIN_FANOUT, MAX_REQUESTS] {
            let name = variable(collective, parameter);
            if let Some(value) = tools.int(&name)? {
                defaults.push((name, value));
            }
        }
        Ok(Self { tools, collective, defaults })
    }

    /// Sets what a candidate needs, and everything else as it was, but for the algorithm: that is then the
    /// builtin's. `make` makes the communicator.
    pub(crate) fn with<T>(&self, candidate: Candidate, make: impl FnOnce() -> T) -> Result<T, ToolsError> {
        let choice = candidate.choice();
        self.reset()?;
        let wanted = [
            (ALGORITHM, u64::from(choice.algorithm)),
            (SEGSIZE, choice.segsize),
            // Which of the two counts depends on the collective; a rule line has but one.
            (TREE_FANOUT, u64::from(choice.faninout)),
            (CHAIN_FANOUT, u64::from(choice.faninout)),
            (MAX_REQUESTS, u64::from(choice.max_requests)),
        ];
        for (parameter, value) in wanted.into_iter().filter(|(_, value)| *value != 0) {
            let name = variable(self.collective, parameter);
            let value = i32::try_from(value).map_err(|_| ToolsError::Missing(format!("{name} = {value}")))?;
            // A collective has one of the two fan-outs or both.
            let is_fanout = parameter == TREE_FANOUT || parameter == CHAIN_FANOUT;
            if is_fanout && !self.defaults.iter().any(|(known, _)| *known == name) {
                continue;
            }
            self.tools.set_int(&name, value)?;
        }
        let made = make();
        self.reset()?;
        Ok(made)
    }

    fn reset(&self) -> Result<(), ToolsError> {
        let algorithm = variable(self.collective, ALGORITHM);
        for (name, value) in &self.defaults {
            self.tools.set_int(name, if *name == algorithm { 0 } else { *value })?;
        }
        Ok(())
    }
}
