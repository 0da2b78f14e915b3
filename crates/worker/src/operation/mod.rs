//! A collective call with its buffers, its known data and its check.
//!
//! | module | calls |
//! |---|---|
//! | `data` | all that move or sum data |
//! | `barrier` | barrier |
//! | `mockup` | other calls that do the same, on the same buffers |
//! | `scripted` | the same by reference algorithms, with messages |
//! | `scene` | (patterns, on buffers of their own) |

mod barrier;
mod data;
mod memory;
mod mockup;
mod scene;
mod scripted;

use std::rc::Rc;

use collrules_guidelines::Seat;
use collrules_record::cell::type_size;
use collrules_record::{Candidate, Cell, Mockup, Pattern};
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::{Communicator, SimpleCommunicator};

use self::data::{Buffers, Data};
use self::mockup::Prepared;
use crate::ffi::{Called, ErrorClass, calls};
use crate::nodes::Parts;
pub(crate) use memory::TooLarge;
pub(crate) use scene::Scene;

/// Why a call cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsupported {
    #[error("{cell}: the message is no multiple of the {size} B of the datatype that reductions are called with")]
    PartOfElement { cell: Cell, size: u64 },
    #[error("{mockup} is no mock-up of {cell}")]
    NoMockup { cell: Cell, mockup: Mockup },
    #[error("{cell}: {cause}")]
    TooLarge { cell: Cell, cause: TooLarge },
    #[error("{pattern} cannot be carried out by the ranks that were named for it")]
    NoScene { pattern: Pattern },
    #[error("{pattern}: {cause}")]
    LargeScene { pattern: Pattern, cause: TooLarge },
}

/// The buffers of one rank for the calls of a cell. Rooted collectives have rank 0 for their root; nothing is called
/// in place, and the v-collectives have the same count for every rank, as OSU's benchmarks do.
pub(crate) struct Operation {
    family: Family,
    mockups: Vec<(Mockup, Prepared)>,
}

/// How a call is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// By the collective itself.
    Itself,
    /// By the mock-up with this number.
    Mockup(usize),
    /// By the messages of a reference algorithm.
    Messages(Reference),
}

enum Family {
    Barrier,
    Data(Box<dyn Buffers>),
}

impl Operation {
    /// Buffers of a member of the communicator, for calls and for the mock-ups and reference algorithms among these
    /// candidates, touched once so that no page is missing later. Some mock-ups need the communicators of nodes.
    pub(crate) fn new(
        cell: Cell,
        comm: &SimpleCommunicator,
        candidates: &[Candidate],
        parts: Option<&Rc<Parts>>,
    ) -> Result<Self, Unsupported> {
        let size = type_size(cell.collective);
        if !cell.bytes.0.is_multiple_of(size) {
            return Err(Unsupported::PartOfElement { cell, size });
        }
        let too_large = |cause| Unsupported::TooLarge { cell, cause };
        let seat = Seat::of(cell, comm.rank() as usize, parts.map(|parts| parts.even));
        let mut family = match (cell.collective, size) {
            (Collective::Barrier, _) => Family::Barrier,
            (_, 1) => Family::Data(Box::new(Data::<u8>::new(seat).map_err(too_large)?)),
            _ => Family::Data(Box::new(Data::<i32>::new(seat).map_err(too_large)?)),
        };
        let mut mockups = Vec::new();
        let mut references = Vec::new();
        for candidate in candidates {
            match *candidate {
                Candidate::Reference(reference) => references.push(reference),
                Candidate::Mockup(mockup) => {
                    let program = collrules_guidelines::program(mockup, seat);
                    let program = program.ok_or(Unsupported::NoMockup { cell, mockup })?;
                    mockups.push((mockup, Prepared::new(program, seat, parts.cloned()).map_err(too_large)?));
                }
                _ => {}
            }
        }
        if let Family::Data(data) = &mut family {
            data.rehearse(cell, &references).map_err(too_large)?;
        }
        Ok(Self { family, mockups })
    }

    /// How a candidate's calls are carried out: looked up before they are timed.
    pub(crate) fn means(&self, candidate: Candidate) -> Means {
        if let Candidate::Reference(reference) = candidate {
            return Means::Messages(reference);
        }
        let place = self.mockups.iter().position(|(mockup, _)| candidate == Candidate::Mockup(*mockup));
        place.map_or(Means::Itself, Means::Mockup)
    }

    /// One call, or what stands for it.
    pub(crate) fn call(&mut self, comm: &SimpleCommunicator, means: Means) -> Called {
        self.call_without(comm, means, None)
    }

    /// The same, leaving out a step of a mock-up, if one is named.
    fn call_without(&mut self, comm: &SimpleCommunicator, means: Means, skipped: Option<usize>) -> Called {
        match (means, &mut self.family) {
            // No reference algorithm is one of barrier.
            (Means::Itself | Means::Messages(_), Family::Barrier) => calls::barrier(comm),
            (Means::Itself, Family::Data(data)) => data.call(comm),
            (Means::Messages(reference), Family::Data(data)) => data.carry_out(reference, comm),
            (Means::Mockup(at), Family::Barrier) => self.mockups[at].1.run(comm, (&[], &mut []), skipped),
            (Means::Mockup(at), Family::Data(data)) => self.mockups[at].1.run(comm, data.as_bytes(), skipped),
        }
    }

    /// Calls on known data, and says whether this rank has what it should have afterwards. `salt` makes the data
    /// differ from call to call, so that what an earlier call left behind is not taken for a result.
    pub(crate) fn checked_call(
        &mut self,
        comm: &SimpleCommunicator,
        means: Means,
        salt: u64,
        skipped: Option<usize>,
    ) -> Result<bool, ErrorClass> {
        match &mut self.family {
            Family::Barrier => return barrier::checked(comm, &mut || self.call_without(comm, means, skipped)),
            Family::Data(data) => data.fill(salt),
        }
        self.call_without(comm, means, skipped)?;
        match &self.family {
            Family::Barrier => Ok(true),
            Family::Data(data) => Ok(data.is_right(salt)),
        }
    }
}

#[cfg(test)]
mod tests;
