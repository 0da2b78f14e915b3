//! Import of measurements by other programs: timings, each with its file and line, and their problems.
//!
//! An [`Importer`] reads files of many formats, recognized by their content, adds facts from their names and from the
//! user, and looks for implausible values. [`table`] reads a single table. Unusable lines are reported and left out;
//! nothing is repaired or invented.
//!
//! | module | job |
//! |---|---|
//! | `formats` | the programs whose output is read, their marks, the meaning of their sizes |
//! | `reader`, `row`, `columns` | one loop over the lines of any format; a row; a header |
//! | `content` | contents of files: uncompressed, whole lines, not too large |
//! | `names` | facts in the names of files |
//! | `statement` | statements of lines around outputs |
//! | `facts`, `options` | combining facts of content, names and options |
//! | `timing` | timings: whether they are possible, and which are compared |
//! | `unread` | columns that are not read |
//! | `collect`, `walk` | combining files to one set of timings |
//! | `group` | grouping by a key |
//! | `plausible` | implausible numbers |
//! | `finding`, `manifest` | findings and errors of an import; its files |

mod collect;
mod columns;
mod content;
mod facts;
mod finding;
mod formats;
mod group;
mod manifest;
mod names;
mod options;
mod plausible;
mod reader;
mod row;
mod statement;
#[cfg(test)]
mod tests;
mod timing;
mod unread;
mod walk;

pub use collect::{Import, Importer, SourceFile};
pub use content::{MOST_BYTES, read_file};
pub use facts::Facts;
pub use finding::{Finding, FindingCode, FindingSeverity, ImportError};
pub use formats::ImportFormat;
pub use manifest::{ImportManifest, ImportReport, create, doubted, open, remarks};
pub use options::{Options, PROCESS_BANDWIDTH};
pub use timing::{Imported, TimeStatistics};
pub use walk::{CannotRead, add_all};

/// The timings of one table; `name` is that of its file. A table that cannot be read to its end is an error as a
/// whole, so that a part is not taken for all of it.
pub fn table(name: &str, bytes: &[u8], options: Options) -> Result<Import, ImportError> {
    let mut importer = Importer::new(options);
    importer.add_file(name, &[name], bytes)?;
    importer.finish()
}
