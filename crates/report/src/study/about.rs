//! Subject of a study.

use std::collections::BTreeMap;

use collrules_record::findings::Statistic;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Manifest};
use collrules_rules::Collective;

/// Origin of the measurements.
#[derive(Clone, Debug)]
pub enum MeasuredBy<'a> {
    /// Measured or simulated by collrules.
    Measured(&'a Manifest),
    /// Measured by others: a table of times.
    Others {
        /// Name of the table.
        name: String,
        /// Statistic of one of its times.
        statistic: Statistic,
    },
}

/// Subject of a study, and the figures to draw.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The heading.
    pub title: String,
    /// The question, in a paragraph.
    pub question: String,
    /// Origin of the numbers.
    pub origin: MeasuredBy<'a>,
    /// Remarks on the measurements, such as what was left out, in whole sentences.
    pub remarks: Vec<String>,
    /// Command that repeats the study.
    pub command: String,
    /// Message sizes for which times are drawn over communicator sizes.
    pub over_ranks: Vec<Bytes>,
    /// Communicator sizes for which times are drawn over message sizes.
    pub over_sizes: Vec<Ranks>,
    /// Draw the builtin's times over message sizes, a line per communicator size.
    pub builtin: bool,
    /// Best of the builtin and the reference algorithms according to others.
    pub claims: BTreeMap<Collective, Vec<Candidate>>,
}

impl About<'_> {
    /// Number of slots; larger communicators were oversubscribed. A very large number if unknown.
    pub(super) fn slots(&self) -> Ranks {
        match &self.origin {
            MeasuredBy::Measured(manifest) => manifest.survey.slots(),
            MeasuredBy::Others { .. } => Ranks(u32::MAX),
        }
    }

    /// Returns true if a cost model produced the times.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(&self.origin, MeasuredBy::Measured(manifest) if manifest.is_simulated())
    }
}
