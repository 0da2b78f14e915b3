//! Asking HAN for one of its algorithms, call by call.
//!
//! HAN looks at its parameter in every call (`get_algorithm` in `coll_han_dynamic.c`), and lets it be changed while a program
//! runs, so that its algorithms take turns with everything else. What its rules file asks for comes to the same number.

use std::cell::Cell;

use collrules_record::{Candidate, HanAlgorithm, HanChoice};
use collrules_rules::Collective;

use crate::ffi::{Tools, ToolsError};

/// What HAN is asked for before the calls of each candidate. What was asked for at first is asked for again in the end.
pub(crate) struct Asking<'a> {
    tools: &'a Tools,
    parameter: String,
    first: i32,
    now: Cell<i32>,
    /// The number of each candidate's algorithm; that of the beginning for all that are not of HAN.
    numbers: Vec<i32>,
}

impl<'a> Asking<'a> {
    /// Nothing where none of the candidates is an algorithm of HAN.
    pub(crate) fn of(
        tools: Option<&'a Tools>,
        collective: Collective,
        candidates: &[Candidate],
    ) -> Result<Option<Self>, ToolsError> {
        let algorithm = |candidate: &Candidate| match candidate {
            Candidate::Han(HanChoice::Algorithm(algorithm)) => Some(*algorithm),
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

    /// Before a call of the candidate at this place.
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

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        // It was set before; where that does not hold any more, the next call says so.
        let _ = self.ask(self.first);
    }
}
