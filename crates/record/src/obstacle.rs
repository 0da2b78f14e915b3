//! Reasons why a plan leaves out cells and mock-ups, as codes with their numbers. Errors of planning state them, so they
//! are errors with words of their own.

use collrules_program::Mockup;
use collrules_rules::Collective;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cell::DataType;
use crate::placement::{Layout, Nodes, UnevenNodes};
use crate::units::{Bytes, Ranks, Seconds};

/// Reason why a cell is not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum CellObstacle {
    /// The message has a part of an element.
    #[error("the message is no multiple of {element} B, the size of {}", data.mpi())]
    PartOfElement {
        /// Bytes of an element.
        element: u64,
        /// Datatype of reductions.
        data: DataType,
    },
    /// Its buffers are larger than allowed.
    #[error("the buffers would take {needed} on a rank; --max-memory allows {allowed}")]
    Memory {
        /// Buffers of a rank.
        needed: Bytes,
        /// Largest buffers of a rank.
        allowed: Bytes,
    },
    /// Its buffers are larger than an MPI call can count.
    #[error("the buffers would take {0} on a rank, which is more than an MPI call can count")]
    Count(Bytes),
    /// The calls of programs that it stands for cannot be made here.
    #[error("{calls}; {:.1} % of the programs' time in collectives{}", 100.0 * share, remedy(*layout))]
    Programs {
        /// The reason.
        calls: ProgramObstacle,
        /// Share of the programs' time in collectives that calls of the collective have with this reason.
        share: f64,
        /// Layout in which they could be made.
        layout: Option<Layout>,
    },
    /// Starting launches for each algorithm takes most of the time.
    #[error("{0}; raise --budget")]
    Starts(StartingCost),
    /// Calls of its collective by default end the job, with this error.
    #[error("its calls by default end the job: {0}")]
    Default(String),
    /// None of the requested mock-ups is one of its collective.
    #[error("none of the mock-ups named is one of it")]
    NoMockup,
    /// The first of its mock-ups that are left out; none remains.
    #[error("no mock-up is left: {0}: {1}")]
    Mockups(Mockup, MockupObstacle),
}

fn remedy(layout: Option<Layout>) -> String {
    layout.map_or(String::new(), |layout| format!("; --layout {layout} measures that"))
}

/// Cost of launches for each algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Error)]
#[error("starting {launches} launches of one algorithm each takes {}, of {} for all measurements", takes.rounded(), of.rounded())]
pub struct StartingCost {
    /// Number of launches.
    pub launches: usize,
    /// Time to start them.
    pub takes: Seconds,
    /// Time of all measurements.
    pub of: Seconds,
}

/// Reason why calls of programs cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Error)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum ProgramObstacle {
    /// There are no more slots than these.
    #[error("there are {0} slots")]
    Slots(Ranks),
    /// Their communicators are on other nodes.
    #[error("the programs call it on {programs}, but here it would be on {here}")]
    Nodes {
        /// Nodes of the programs.
        programs: Nodes,
        /// Nodes here.
        here: Nodes,
    },
}

/// Reason why a mock-up is not measured for a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum MockupObstacle {
    /// It takes other nodes.
    #[error("{0}; it takes two nodes or more, each with the same number of consecutive ranks, at least two")]
    Nodes(UnevenNodes),
    /// A rank has fewer elements than there are pieces.
    #[error("{pieces} pieces are more than the {elements} elements of a rank")]
    Pieces {
        /// Number of pieces.
        pieces: u32,
        /// Number of elements.
        elements: usize,
    },
    /// It pads to no more than the message.
    #[error("{to} is not above the message of {message}")]
    NoPadding {
        /// Size with padding.
        to: Bytes,
        /// Size of the message.
        message: Bytes,
    },
    /// It pads to a part of an element.
    #[error("{0} is no whole number of elements")]
    PartOfElement(Bytes),
    /// All its blocks are more than an MPI call can count.
    #[error("all blocks together, {0}, exceed a C int")]
    Count(Bytes),
    /// It is one of other collectives.
    #[error("it is no mock-up of {0}")]
    OtherCollective(Collective),
    /// It needs more memory than allowed.
    #[error("it needs {needed} per rank in addition to the caller's buffers; --max-extra-memory allows {allowed}")]
    Memory {
        /// Memory of a rank.
        needed: Bytes,
        /// Largest memory of a rank.
        allowed: Bytes,
    },
}
