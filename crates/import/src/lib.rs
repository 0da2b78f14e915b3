//! What others measured: timings with a file and a line each, and what is wrong with them.
//!
//! An [`Importer`] takes files of many formats, known by their content, completes what they say by what their names and
//! the user say, and looks for what is not plausible. [`table`] reads a single table. What cannot be used is
//! reported with its line and left out; nothing is repaired, and nothing is made up.
//!
//! | module | job |
//! |---|---|
//! | `osu`, `imb`, `reprompi`, `predecessor` | one text format each |
//! | `table`, `rows`, `columns`, `headers` | tables with named columns |
//! | `format` | which of them a file is |
//! | `content` | what files hold: unpacked, whole lines, not too large |
//! | `names`, `pattern` | what the names of files say |
//! | `facts` | bringing content, names and options together |
//! | `collect`, `walk` | many files to one set of timings |
//! | `duplicates` | rows about the same |
//! | `plausible` | numbers that can hardly be |
//! | `finding`, `manifest` | what is kept of it all |

mod collect;
mod columns;
mod content;
mod duplicates;
mod error;
mod facts;
mod finding;
mod format;
mod headers;
mod imb;
mod imported;
mod manifest;
mod names;
mod osu;
mod pattern;
mod plausible;
mod predecessor;
mod printed;
mod raw;
mod reprompi;
mod rows;
mod stray;
mod table;
#[cfg(test)]
mod tests;
mod walk;

pub use collect::{Import, Importer, Options, Source, TimeWanted};
pub use content::{MOST_BYTES, read_file};
pub use error::ImportError;
pub use facts::{Facts, Times};
pub use finding::{Code, Finding, Severity};
pub use format::Format;
pub use imported::Imported;
pub use manifest::{ImportManifest, ImportReport, create, doubted, is_suspicion, open, remarks};
pub use pattern::{BadPattern, NamePattern};
pub use plausible::Limits;
pub use walk::{CannotRead, add_all};

/// The timings of one table, under a name for what is said of it. A table that cannot be read to its end is an error as a
/// whole: a part of it would pass for all of it.
pub fn table(name: &str, bytes: &[u8], options: Options) -> Result<Import, ImportError> {
    let mut importer = Importer::new(options);
    importer.add_file(name, &[], bytes, Some(Format::Table))?;
    importer.finish()
}
