//! Interface of machines on which calls are played instead of computed from formulas.

use std::fmt;

use collrules_record::{Cast, Cell, Pattern};
use collrules_rules::Choice;

/// A machine on which calls are played, such as that of a communication model. Errors say why it cannot play something.
pub trait PlayedMachine: fmt::Debug + Send + Sync {
    /// A name that distinguishes machines.
    fn name(&self) -> String;

    /// The host of each rank.
    fn hosts(&self) -> Vec<String>;

    /// The time of a call with this choice, in seconds.
    fn seconds(&self, cell: Cell, choice: Choice) -> Result<f64, String>;

    /// The time of a pattern with this cast, in seconds.
    fn pattern_seconds(&self, pattern: Pattern, cast: &Cast) -> Result<f64, String>;

    /// Returns the delay of this many calls in a row, in seconds. `random` returns numbers from 0 to 1.
    fn delay(&self, cell: Cell, choice: Choice, calls: u32, random: &mut dyn FnMut() -> f64) -> f64;
}
