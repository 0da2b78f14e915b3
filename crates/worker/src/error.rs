//! Errors that end the worker early.

use collrules_record::{Candidate, Cell, Pattern};

use crate::ffi;

/// An error that ends the worker early; its text goes to the controller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error("a request of the controller cannot be read: {0}")]
    BadRequest(String),
    #[error("{0}")]
    Tools(#[from] ffi::ToolsError),
    #[error("{cell}: the message is no multiple of the {size} B of the datatype that reductions are called with")]
    PartOfElement { cell: Cell, size: u64 },
    #[error("{cell} cannot be carried out as {candidate}")]
    NoProgram { cell: Cell, candidate: Candidate },
    #[error("{pattern} cannot be carried out by the ranks that were named for it")]
    NoPatternProgram { pattern: Pattern },
    #[error("{call}: {cause}")]
    TooLarge { call: String, cause: String },
    #[error("{candidate} failed with MPI error class {class} while it was timed ({cell}), after its check had passed")]
    TimedCallFailed { candidate: String, cell: String, class: i32 },
    #[error("a communicator cannot be duplicated without some components (MPI error class {0})")]
    NoDuplicate(ffi::MpiErrorClass),
    #[error(
        "messages cannot be counted: this Open MPI has no monitoring layer, or its settings leave it out \
         (pml_monitoring of the point-to-point framework)"
    )]
    NotMonitored,
    #[error("messages cannot be counted among {ranks} ranks, only up to {most}")]
    TooManyToCount { ranks: u32, most: usize },
    #[error("the MPI library is not Open MPI; it calls itself `{0}`")]
    NotOpenMpi(String),
    #[error("the job has {has} ranks, and a communicator of {wants} is requested")]
    TooFewRanks { has: u32, wants: u32 },
    #[error(
        "`{file}` cannot be read on {hosts} ({cause}): every node has to see the directory of the run; name one on a file \
         system that the nodes share (--out, or --scratch)"
    )]
    Unseen { file: String, cause: String, hosts: String },
    #[error(
        "the ranks of this job are on other nodes than those that the job before had when it was asked: leave out the \
         mock-ups lane and hier (--only), or place ranks node after node (mpirun --map-by slot)"
    )]
    NotOnNodes,
}
