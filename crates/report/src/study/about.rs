//! What a study is about.

use std::collections::BTreeMap;

use collrules_record::findings::Statistic;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Manifest};
use collrules_rules::Collective;

/// Who measured.
#[derive(Clone, Debug)]
pub enum MeasuredBy<'a> {
    /// We did, or simulated.
    Measured(&'a Manifest),
    /// Others did, and a table has their times.
    Others {
        /// What the table is called.
        name: String,
        /// What one of its times is.
        statistic: Statistic,
    },
}

/// What a study is about, and what of it is drawn.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The heading.
    pub title: String,
    /// What is asked, in a paragraph.
    pub question: String,
    /// Where the numbers come from.
    pub origin: MeasuredBy<'a>,
    /// What else to know about the measurements, such as what was left out, in whole sentences.
    pub remarks: Vec<String>,
    /// How to make it again.
    pub command: String,
    /// Message sizes for which times are drawn over communicator sizes.
    pub over_ranks: Vec<Bytes>,
    /// Communicator sizes for which times are drawn over message sizes.
    pub over_sizes: Vec<Ranks>,
    /// Draw the builtin's times over message sizes, a line per communicator size.
    pub builtin: bool,
    /// What others found to be the best of the builtin and the reference algorithms.
    pub claims: BTreeMap<Collective, Vec<Candidate>>,
}

impl About<'_> {
    /// Communicator sizes above this had more ranks than slots, as far as that is known.
    pub(super) fn slots(&self) -> Ranks {
        match &self.origin {
            MeasuredBy::Measured(manifest) => manifest.survey.slots(),
            MeasuredBy::Others { .. } => Ranks(u32::MAX),
        }
    }

    /// Whether a cost model gave the times.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(&self.origin, MeasuredBy::Measured(manifest) if manifest.backend == "simulation")
    }
}
