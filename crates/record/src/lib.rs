//! The nouns that the stages of collrules share, and the run directory that lies between them.
//!
//! | module | job |
//! |---|---|
//! | [`allocation`] | what a batch system gave to a job |
//! | [`units`] | seconds, beside the bytes and ranks of the rules crate |
//! | [`candidate`] | one way to carry out a call that can be timed |
//! | [`candidate_name`] | what people and files call a candidate |
//! | [`comparison`] | what changed from one run to a later one |
//! | [`pattern`] | messages and operations that are timed to know the machine |
//! | [`pattern_fit`] | what patterns take, as lines with bends |
//! | [`mockup`] | the name of other calls that do what a collective does |
//! | [`model`] | what probes say about a machine: parameters of messages, nodes and pairs |
//! | [`component`] | the name of a component of Open MPI's coll framework |
//! | [`cell`] | collective, communicator size, message size |
//! | [`clock`] | what is known about the clock and the harness of a launch |
//! | [`survey`] | what was found on the system before measuring |
//! | [`han_choice`] | HAN's own ways to carry out a collective |
//! | [`handover`] | what HAN's rules file says of the calls of programs |
//! | [`rival`] | components that take calls before coll/tuned does, and what can be set for each |
//! | [`placement`] | where the ranks of a communicator are, and which component serves them there |
//! | [`plan`] | the cells of a campaign and the candidates of each |
//! | [`policy`] | how verdicts become rules |
//! | [`sample`] | one timing, and its line in the samples file |
//! | [`options`] | what a user asked a workflow to do |
//! | [`values`] | values of options, as people write them |
//! | [`installed`] | a tuning that was installed for an Open MPI |
//! | [`irregular`] | calls that now and then take many times as long |
//! | [`manifest`] | where the numbers of a run come from |
//! | [`profile`] | what a program calls, and what one rank of it leaves behind |
//! | [`proof`] | what was shown about the rules |
//! | [`rundir`] | the run directory: created once, appended to, read back |
//! | [`benchmark`] | an OSU-style benchmark and its lines |
//! | [`drift`] | whether a machine behaves as it did, and its rules still hold |
//! | [`estimate`] | a value with its interval |
//! | [`arrangement`] | where a communicator's ranks are, and what a site has of each |
//! | [`laid_out`] | what rules for several layouts mean to each of them |
//! | [`mod@line`] | lines through times, and where one line gives way to another |
//! | [`findings`] | what the analysis concluded, as plain data |
//! | [`guidelines`] | what a check of performance guidelines found |
//! | [`status`] | how far the jobs and runs of a directory are |
//! | [`submission`] | jobs of a batch system that were handed in for a run |
//! | [`tree`] | the rules as a tree with its evidence |
//! | [`tried`] | what runs of a program without and with a tuning showed |
//! | [`validation`] | what launches without and with the rules file showed |

pub mod allocation;
pub mod arrangement;
pub mod benchmark;
pub mod candidate;
pub mod candidate_name;
pub mod cell;
pub mod clock;
pub mod comparison;
pub mod component;
pub mod drift;
pub mod estimate;
pub mod findings;
mod format;
pub mod guidelines;
pub mod han_choice;
pub mod handover;
pub mod installed;
pub mod irregular;
pub mod laid_out;
pub mod line;
pub mod manifest;
pub mod memory;
pub mod mockup;
pub mod model;
pub mod options;
mod packed;
pub mod pattern;
pub mod pattern_fit;
pub mod placement;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod proof;
pub mod rival;
pub mod rundir;
pub mod sample;
pub mod status;
pub mod study;
pub mod submission;
pub mod survey;
pub mod tree;
pub mod tried;
pub mod units;
pub mod validation;
pub mod values;

pub use arrangement::{Arrangement, Shares};
pub use candidate::Candidate;
pub use candidate_name::CandidateName;
pub use cell::Cell;
pub use component::Component;
pub use estimate::Estimate;
pub use han_choice::{HanAlgorithm, HanChoice, HanSettings};
pub use handover::{Handed, Handover};
pub use manifest::Manifest;
pub use mockup::Mockup;
pub use pattern::{Cast, Pattern, Subject};
pub use placement::{Even, Layout, Nodes, Placement, Serving};
pub use plan::Plan;
pub use policy::Policy;
pub use profile::Profile;
pub use rundir::RunDir;
pub use sample::Sample;
pub use survey::Survey;
pub use units::{Bytes, Ranks, Seconds};
pub use validation::Validation;
