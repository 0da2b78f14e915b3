//! Measuring: plans the grid, launches the MPI job that measures it, or simulates one.
//!
//! The runner does not depend on the tuner: only the run directory lies between them. It does not link MPI: the job is
//! a separate program (`collrules-worker`), which it starts with `mpirun`; it writes a [`wire::WorkerRequest`] to its standard
//! input, and reads [`wire::WorkerEvent`]s.
//!
//! | module | job |
//! |---|---|
//! | [`grid`] | planning: from a survey and the user's options to a plan |
//! | [`launch`] | the measurements of one start of the job |
//! | [`schedule`] | the order of visits, and the end of each point |
//! | [`engine`] | the measuring loop, the same for MPI and simulation |
//! | [`forecast`] | the expected duration of a campaign |
//! | [`turns`] | jobs that live at the same time and take turns |
//! | [`wire`] | messages between controller and worker |
//! | [`backend`] | the interface of backends: survey, measure, probe |
//! | [`job_clock`] | the clock by which jobs take time |
//! | [`mpi`] | the backend that launches MPI jobs |
//! | [`simulate`] | the backend that computes times from a cost model |
//! | [`separate`] | the launches of a campaign: all candidates together, or one alone |
//! | [`campaign`] | conversion of events to rows of the run directory, launch after launch |
//! | [`running`] | search for the component that a collective uses |
//! | [`circumstances`] | obstacles to a rules file |
//! | [`proof`] | proof that the Open MPI in use obeys a rules file |
//! | [`selection`] | Open MPI's log of the rules that it selects |
//! | [`messages`] | check of the intended algorithm by counted messages |
//! | [`validation`] | measurements for the comparison of a rules file with none |

pub mod backend;
pub mod campaign;
pub mod circumstances;
pub mod engine;
pub mod error;
pub mod forecast;
pub mod grid;
pub mod job_clock;
pub mod launch;
pub mod messages;
pub mod mpi;
pub mod proof;
pub mod running;
pub mod schedule;
mod scratch;
pub mod selection;
pub mod separate;
pub mod simulate;
pub mod turns;
pub mod validation;
pub mod wire;

pub use backend::Backend;
pub use error::RunnerError;
