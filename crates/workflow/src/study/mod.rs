//! Chosen algorithms compared on a grid.
//!
//! | module | job |
//! |---|---|
//! | `between` | sizes between those of a definition, where classes cross |
//! | `definition` | what is compared, as people write it down |
//! | `scope` | what of a run the study is about |
//! | `written` | what it leaves behind |
//! | `one` | a study on the ranks as mpirun places them |
//! | `table` | a study of what others measured |
//! | `placements` | the same on several placements, and a page that compares them |

mod between;
mod definition;
mod one;
mod placements;
mod scope;
mod table;
mod written;

use collrules_record::options::Studying;

pub use self::written::{README, STUDY, Studied, TIMES};
use crate::error::WorkflowError;
use crate::session::Session;

/// Measures what a definition asks for, or takes it from a run, and writes the study.
pub fn study(options: &Studying, session: &mut Session<'_>) -> Result<Studied, WorkflowError> {
    if definition::is_table(&options.definition)? {
        refuse_measuring(options)?;
        return table::study(options, None, &options.definition, session);
    }
    let definition = definition::read(&options.definition)?;
    if let Some(path) = table::named(options) {
        return table::study(options, Some(&definition), &path, session);
    }
    if options.release.is_some() {
        return Err(WorkflowError::Usage("--release is for tables: a run and a job know their own".to_owned()));
    }
    // A run directory has one placement.
    let is_one = |run: &std::path::PathBuf| !placements::are_in(run, &definition);
    if definition.places.is_empty() || options.run.as_ref().is_some_and(is_one) {
        one::one(options, &definition, session).map(|(_, studied)| studied)
    } else {
        placements::study(options, &definition, session)
    }
}

/// What asks for measurements beside a table.
fn refuse_measuring(options: &Studying) -> Result<(), WorkflowError> {
    let asked = [
        ("--run", options.run.is_some()),
        ("--budget", options.budget.is_some()),
        ("--launches", options.launches.is_some()),
        ("--refine", options.refine > 0),
    ];
    let asked = asked.into_iter().find(|(_, asked)| *asked);
    asked.map_or(Ok(()), |(option, _)| {
        let why = format!("{option} asks for measurements, and {} is a table", options.definition.display());
        Err(WorkflowError::Usage(why))
    })
}
