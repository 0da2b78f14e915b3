//! The nouns that the stages of collrules share, and the run directory between them.
//!
//! **Measured calls**
//!
//! | module | job |
//! |---|---|
//! | [`units`] | seconds; bytes and ranks are in the rules crate |
//! | [`cell`] | collective, communicator size, message size |
//! | [`candidate`] | one way to carry out a call that can be timed, and its names |
//! | [`component`] | the name of a component of Open MPI's coll framework |
//! | [`competitor`] | components that take calls before coll/tuned does, with their settings |
//! | [`pattern`] | messages and operations that are timed to know the machine |
//! | [`condition`] | conditions of timed calls: root, buffers, late ranks |
//! | [`transport`] | components that carry messages, and the paths that these take |
//! | [`placement`] | nodes of a communicator's ranks, and the component that runs its calls |
//!
//! **Request and plan**
//!
//! | module | job |
//! |---|---|
//! | [`options`] | options of commands, as their help has them and as runs store them |
//! | [`values`] | values of options, as people write them |
//! | [`policy`] | how verdicts become rules |
//! | [`profile`] | calls of a program, and the record of one of its ranks |
//! | [`grid`] | the measured cells, and their alternatives |
//! | [`experiment`] | what a command measures |
//! | [`plan`] | the cells of a campaign and the candidates of each |
//! | [`question`] | the groups in which the alternatives of a cell race |
//! | [`obstacle`] | reasons why a plan leaves out cells and mock-ups |
//! | [`launch`] | one start of the job |
//!
//! **Run**
//!
//! | module | job |
//! |---|---|
//! | [`rundir`] | the run directory: created once, appended to, read back |
//! | [`manifest`] | origin of the numbers of a run, with the survey of the system |
//! | [`allocation`] | the allocation of a job by a batch system |
//! | [`ask`] | questions to programs of the system, with limits of time and length |
//! | [`sample`] | one timing, and its line in the samples file |
//! | [`clock`] | facts about the clock and the harness of a launch |
//! | [`benchmark`] | an OSU-style benchmark and its lines |
//!
//! **Conclusions**
//!
//! | module | job |
//! |---|---|
//! | [`estimate`] | a value with its interval |
//! | [`criteria`] | criteria that a candidate has to meet |
//! | [`findings`] | conclusions of the analysis |
//! | [`reason`], [`remark`] | reasons for keeping the default; remarks on the data or the rules |
//! | [`conduct`] | effects of rules in programs, which make other calls than a benchmark |
//! | [`tree`] | the rules as a tree with its evidence |
//! | [`han_rules`] | HAN's rules for the calls of programs |
//! | [`tuning`] | rules of coll/tuned, rules of HAN and parameters, as one value |
//! | [`proof`] | facts that a proof of the rules showed |
//! | [`comparison`] | launches of arms: what they time, and their log |
//! | [`validation`] | results of launches without and with the rules file |
//! | [`settings`] | the search for settings of a whole job: its result |
//! | [`state`] | steps of a tuning that ended, with their results |
//! | [`installed`] | a tuning that was installed for an Open MPI |

pub mod allocation;
pub mod ask;
pub mod benchmark;
pub mod candidate;
pub mod cell;
pub mod clock;
pub mod comparison;
pub mod competitor;
pub mod component;
pub mod condition;
pub mod conduct;
pub mod criteria;
pub mod estimate;
pub mod experiment;
mod file;
pub mod findings;
pub mod grid;
pub mod han_rules;
pub mod installed;
pub mod launch;
pub mod manifest;
pub mod obstacle;
pub mod options;
mod packed;
pub mod pattern;
pub mod placement;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod proof;
pub mod question;
pub mod reason;
pub mod remark;
pub mod rundir;
pub mod sample;
pub mod settings;
pub mod state;
pub mod transport;
pub mod tree;
pub mod tuning;
pub mod units;
pub mod validation;
pub mod values;

pub use candidate::{Candidate, CandidateName, HanAlgorithm};
pub use cell::{Arguments, Cell, DataType};
pub use collrules_program::{Even, Mockup};
pub use comparison::Stage;
pub use component::Component;
pub use condition::Condition;
pub use criteria::Criteria;
pub use estimate::Estimate;
pub use experiment::Experiment;
pub use file::{Digests, FormatVersion, digest};
pub use findings::Findings;
pub use han_rules::{CallRule, HanRule, HanRules};
pub use launch::Launch;
pub use manifest::{Manifest, Survey};
pub use pattern::{ArmSubject, Cast, Pattern, Subject};
pub use placement::{Arrangement, Layout, Nodes, Placement, RunningComponent};
pub use plan::Plan;
pub use policy::{Assumptions, Policy};
pub use profile::Profile;
pub use remark::Remark;
pub use rundir::RunDir;
pub use sample::Sample;
pub use settings::Settings;
pub use state::{Step, TuningState};
pub use tuning::Tuning;
pub use units::{Bytes, Ranks, Seconds};
pub use validation::Validation;
