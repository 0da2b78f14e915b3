//! What a study is about.

use std::collections::BTreeMap;

use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Manifest};
use collrules_rules::Collective;

/// What a study is about, and what of it is drawn.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The heading.
    pub title: String,
    /// What is asked, in a paragraph.
    pub question: String,
    /// Where the numbers come from.
    pub manifest: &'a Manifest,
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
    /// Communicator sizes above this had more ranks than slots.
    pub(super) fn slots(&self) -> Ranks {
        self.manifest.survey.slots()
    }
}
