//! Setting of a choice for the next communicator, and requests to HAN for one of its algorithms, call by call.
//!
//! Open MPI copies the algorithm of a collective and its parameters into a communicator when it is created, if
//! `coll_tuned_use_dynamic_rules` is on at that time. The launcher turns it on.
//!
//! HAN looks at its parameter in every call (`get_algorithm` in `coll_han_dynamic.c`), and allows changes while a
//! program runs, so its algorithms can take turns with other candidates. A rule of its rules file sets this number too.

use std::cell::Cell;
use std::collections::BTreeMap;

use collrules_record::{Candidate, HanAlgorithm};
use collrules_rules::Collective;

use crate::ffi::{Tools, ToolsError};

/// The control variables of one collective with their first values.
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

/// The algorithm of each collective that a user or a site has forced.
pub(crate) fn forced_algorithms(tools: &Tools) -> Result<BTreeMap<Collective, i32>, ToolsError> {
    let mut forced = BTreeMap::new();
    for collective in Collective::ALL {
        forced.extend(tools.int(&variable(collective, ALGORITHM))?.filter(|id| *id != 0).map(|id| (collective, id)));
    }
    Ok(forced)
}

impl<'a> Switch<'a> {
    /// Remembers the present values.
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

    /// Sets exactly the values of a candidate's rule line, zeros included: values that a site has set for forced
    /// algorithms are not part of a rule. For the builtin all values are the first ones, but no algorithm is forced.
    /// `make` creates the communicator.
    pub(crate) fn with<T>(&self, candidate: Candidate, make: impl FnOnce() -> T) -> Result<T, ToolsError> {
        self.reset()?;
        let made = self.set_all(candidate).map(|()| make());
        self.reset()?;
        made
    }

    fn set_all(&self, candidate: Candidate) -> Result<(), ToolsError> {
        let Candidate::Tuned(choice) = candidate else { return Ok(()) };
        self.set(&[ALGORITHM], u64::from(choice.algorithm))?;
        self.set(&[SEGSIZE], choice.segsize)?;
        // The collective determines which of the two is used; a rule line has only one.
        self.set(&[TREE_FANOUT, CHAIN_FANOUT], u64::from(choice.faninout))?;
        self.set(&[MAX_REQUESTS], u64::from(choice.max_requests))
    }

    /// Sets those of the parameters that the collective has. A value other than 0 needs at least one of them.
    fn set(&self, parameters: &[&str], value: u64) -> Result<(), ToolsError> {
        let names: Vec<String> = parameters.iter().map(|parameter| variable(self.collective, parameter)).collect();
        let known: Vec<&String> =
            names.iter().filter(|name| self.defaults.iter().any(|(known, _)| known == *name)).collect();
        if known.is_empty() && value != 0 {
            return Err(ToolsError::Missing(names.join(" or ")));
        }
        let value = i32::try_from(value).map_err(|_| ToolsError::TooLarge { name: names.join(" or "), value })?;
        known.into_iter().try_for_each(|name| self.tools.set_int(name, value))
    }

    fn reset(&self) -> Result<(), ToolsError> {
        let algorithm = variable(self.collective, ALGORITHM);
        for (name, value) in &self.defaults {
            let wanted = if *name == algorithm { 0 } else { *value };
            // A parameter that cannot be set may have the value already: then the builtin and mock-ups can be timed.
            if self.tools.int(name)? != Some(wanted) {
                self.tools.set_int(name, wanted)?;
            }
        }
        Ok(())
    }
}

/// Setting of HAN's algorithm parameter before the calls of each candidate. Dropping it restores the first value.
#[derive(Default)]
pub(crate) struct HanSwitch<'a> {
    /// Missing if no candidate is an algorithm of HAN.
    tools: Option<&'a Tools>,
    parameter: String,
    first: i32,
    now: Cell<i32>,
    /// The algorithm number of each candidate; the first value for candidates outside of HAN.
    numbers: Vec<i32>,
}

impl<'a> HanSwitch<'a> {
    /// The settings that these candidates need before each call; nothing unless one is an algorithm of HAN.
    pub(crate) fn new(
        tools: Option<&'a Tools>,
        collective: Collective,
        candidates: &[Candidate],
    ) -> Result<Self, ToolsError> {
        let algorithm = |candidate: &Candidate| match candidate {
            Candidate::Han(algorithm) => Some(*algorithm),
            _ => None,
        };
        let Some(tools) = tools.filter(|_| candidates.iter().any(|candidate| algorithm(candidate).is_some())) else {
            return Ok(Self::default());
        };
        let parameter = HanAlgorithm::parameter(collective);
        let missing = || ToolsError::Missing(parameter.clone());
        let first = tools.int(&parameter)?.ok_or_else(missing)?;
        let known = tools.enumeration(&parameter).unwrap_or_default();
        let number = |candidate: &Candidate| {
            let Some(algorithm) = algorithm(candidate) else { return Ok(first) };
            let found = known.iter().find(|(_, name)| name == algorithm.name());
            found.map(|(number, _)| *number).ok_or_else(missing)
        };
        let numbers = candidates.iter().map(number).collect::<Result<_, _>>()?;
        Ok(Self { tools: Some(tools), parameter, first, now: Cell::new(first), numbers })
    }

    /// Sets the parameter before a call of the candidate at this place.
    pub(crate) fn before(&self, place: usize) -> Result<(), ToolsError> {
        self.numbers.get(place).map_or(Ok(()), |number| self.ask(*number))
    }

    fn ask(&self, number: i32) -> Result<(), ToolsError> {
        if let Some(tools) = self.tools.filter(|_| self.now.get() != number) {
            tools.set_int(&self.parameter, number)?;
            self.now.set(number);
        }
        Ok(())
    }
}

impl Drop for HanSwitch<'_> {
    fn drop(&mut self) {
        // It was set before; if that fails now, the next call reports it.
        let _ = self.ask(self.first);
    }
}
