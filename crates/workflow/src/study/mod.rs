//! Chosen algorithms compared on a grid.
//!
//! | module | job |
//! |---|---|
//! | `definition` | what is compared, as people write it down |
//! | `scope` | what of a run the study is about |
//! | `written` | what it leaves behind |
//! | `one` | a study on the ranks as mpirun places them |
//! | `placements` | the same on several placements, and a page that compares them |

mod definition;
mod one;
mod placements;
mod scope;
mod written;

use collrules_record::options::Studying;

pub use self::written::{README, STUDY, Studied, TIMES};
use crate::error::WorkflowError;
use crate::session::Session;

/// Measures what a definition asks for, or takes it from a run, and writes the study.
pub fn study(options: &Studying, session: &mut Session<'_>) -> Result<Studied, WorkflowError> {
    let definition = definition::read(&options.definition)?;
    // A run directory has one placement.
    let is_one = |run: &std::path::PathBuf| !placements::are_in(run, &definition);
    if definition.places.is_empty() || options.run.as_ref().is_some_and(is_one) {
        one::one(options, &definition, session).map(|(_, studied)| studied)
    } else {
        placements::study(options, &definition, session)
    }
}
