//! Requests to HAN for one of its algorithms, call by call.
//!
//! HAN looks at its parameter in every call (`get_algorithm` in `coll_han_dynamic.c`), and allows changes while a
//! program runs, so its algorithms can take turns with other candidates. A rule of its rules file sets this number too.

use std::cell::Cell;

use collrules_record::{Candidate, HanAlgorithm};
use collrules_rules::Collective;

use crate::ffi::{Tools, ToolsError};

/// Setting of HAN's algorithm parameter before the calls of each candidate. Dropping it restores the first value.
pub(crate) struct HanSwitch<'a> {
    tools: &'a Tools,
    parameter: String,
    first: i32,
    now: Cell<i32>,
    /// The algorithm number of each candidate; the first value for candidates outside of HAN.
    numbers: Vec<i32>,
}

impl<'a> HanSwitch<'a> {
    /// None if no candidate is an algorithm of HAN.
    pub(crate) fn new(
        tools: Option<&'a Tools>,
        collective: Collective,
        candidates: &[Candidate],
    ) -> Result<Option<Self>, ToolsError> {
        let algorithm = |candidate: &Candidate| match candidate {
            Candidate::Han(algorithm) => Some(*algorithm),
            _ => None,
        };
        let Some(tools) = tools.filter(|_| candidates.iter().any(|candidate| algorithm(candidate).is_some())) else {
            return Ok(None);
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
        Ok(Some(Self { tools, parameter, first, now: Cell::new(first), numbers }))
    }

    /// Sets the parameter before a call of the candidate at this place.
    pub(crate) fn before(&self, place: usize) -> Result<(), ToolsError> {
        self.ask(self.numbers[place])
    }

    fn ask(&self, number: i32) -> Result<(), ToolsError> {
        if self.now.get() != number {
            self.tools.set_int(&self.parameter, number)?;
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
