//! Points to samples: plans the grid, launches the MPI job that measures it, or simulates one.
//!
//! The runner never sees the tuner: what it measures goes to the run directory, and that is all that lies between.
//! It never links MPI either: the job is a program of its own (`collrules-worker`), which it starts with `mpirun`,
//! hands a [`wire::Job`] on standard input, and listens to for [`wire::Event`]s.
//!
//! | module | job |
//! |---|---|
//! | [`grid`] | from a survey and the user's wishes to a plan |
//! | [`launch`] | what one start of the job measures |
//! | [`schedule`] | which cell is visited next, and when a point has enough samples |
//! | [`engine`] | the measuring loop, the same for MPI and simulation |
//! | [`forecast`] | how long a campaign will take |
//! | [`wire`] | what controller and worker say to each other |
//! | [`backend`] | what can survey, measure and probe |
//! | [`mpi`] | the backend that launches MPI jobs |
//! | [`simulate`] | the backend that computes times from a cost model |
//! | [`separate`] | the launches of a campaign: all candidates together, or one alone |
//! | [`campaign`] | from events to rows of the run directory, launch after launch, whatever happens to them |
//! | [`serving`] | which component serves a collective |
//! | [`circumstances`] | what stands in the way of a rules file |
//! | [`proof`] | that the Open MPI in use obeys a rules file |
//! | [`messages`] | that the algorithm that was meant is the one that runs, as far as messages tell |
//! | [`validation`] | what is measured to compare a rules file with nothing |

pub mod backend;
pub mod campaign;
pub mod circumstances;
pub mod engine;
pub mod error;
pub mod forecast;
pub mod grid;
pub mod launch;
pub mod messages;
pub mod mpi;
pub mod proof;
pub mod schedule;
mod scratch;
pub mod separate;
pub mod serving;
pub mod simulate;
pub mod validation;
pub mod wire;

pub use backend::Backend;
pub use error::RunnerError;
