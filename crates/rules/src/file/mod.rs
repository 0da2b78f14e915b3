//! Meaning of a rules file to a version of Open MPI, whatever its format.
//!
//! Reads exactly as Open MPI does: accepts what a version accepts, rejects what it rejects, with the reason, and
//! reports what makes it crash. Any bytes can be read, in time `n log n` in their number.

mod classic;
mod fault;
mod index;
mod json;
mod lookup;
mod model;

use crate::behaviour::Behaviour;
use crate::json::{JsonDocument, SyntaxError};

pub use fault::{Fault, FaultKind, Field};
pub(crate) use json::{COMM_RULE_KEYS, ROOT_KEYS, RULE_KEYS, is_inf};
pub use lookup::{Lookup, Reason, RuleRef};
pub use model::{CollectiveRules, CommRule, Format, Loaded, Rule, RuleState};

/// Reads a file as a version does, with `coll_tuned_alltoall_algorithm_max_requests` at its default of 0.
pub fn load(bytes: &[u8], behaviour: &Behaviour) -> Result<Loaded, Fault> {
    load_inheriting(bytes, behaviour, 0)
}

/// Like [`load()`], with another value of `coll_tuned_alltoall_algorithm_max_requests`, which newer versions use for
/// classic rules without the fifth column.
pub fn load_inheriting(bytes: &[u8], behaviour: &Behaviour, max_requests: u32) -> Result<Loaded, Fault> {
    if !behaviour.reads_json {
        return load_classic(None, bytes, behaviour, max_requests);
    }
    match JsonDocument::parse(bytes) {
        Ok(document) => json::load(&document, behaviour),
        Err(error) => load_classic(Some(error), bytes, behaviour, max_requests),
    }
}

fn load_classic(
    not_json: Option<SyntaxError>,
    bytes: &[u8],
    behaviour: &Behaviour,
    max_requests: u32,
) -> Result<Loaded, Fault> {
    let inherited = if behaviour.inherits_requests { max_requests } else { 0 };
    let place = |fault: Fault| Fault { line: Some(fault.span.line(bytes)), not_json, ..fault };
    let (header, collectives) = classic::read(bytes, behaviour, inherited).map_err(place)?;
    Ok(Loaded::new(*behaviour, Format::Classic { header }, collectives))
}

#[cfg(test)]
mod tests;
