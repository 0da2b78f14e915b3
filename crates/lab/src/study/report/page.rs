//! Text and origin of a study.

use std::collections::BTreeSet;

use collrules_record::findings::Statistic;
use collrules_record::{Manifest, Ranks};
use collrules_report::document::{Block, Document};

use crate::study::definition::Definition;
use crate::study::results::Study;

/// Origin of the measurements.
#[derive(Clone, Debug)]
pub(in crate::study) enum MeasuredBy<'a> {
    /// Measured or simulated by collrules.
    Measured(&'a Manifest),
    /// Measured by others: a table of times with this name.
    Others(String, Statistic),
}

/// A definition with what it does not say.
#[derive(Clone, Debug)]
pub(in crate::study) struct About<'a> {
    /// The definition.
    pub definition: &'a Definition,
    /// Remarks on the measurements, such as what was left out, in whole sentences.
    pub remarks: Vec<String>,
    /// Command that repeats the study.
    pub command: String,
}

impl About<'_> {
    /// The communicator sizes for which times are drawn over message sizes.
    pub(super) fn drawn_over_sizes(&self, study: &Study) -> Vec<Ranks> {
        let (wanted, measured) = (&self.definition.figures.over_sizes, study.cells.iter().map(|cell| cell.cell.ranks));
        let drawn: BTreeSet<Ranks> = measured.clone().filter(|ranks| wanted.contains(ranks)).collect();
        let largest = measured.max().filter(|_| drawn.is_empty() && !wanted.is_empty());
        drawn.into_iter().chain(largest).collect()
    }

    /// A document with this answer, a sentence about the measurements, and these parts.
    pub(in crate::study) fn document(
        &self,
        simulated: bool,
        answer: Vec<String>,
        measured: Option<String>,
        mut blocks: Vec<Block>,
    ) -> Document {
        let question = self.definition.question.trim().to_owned();
        let origin = [question].into_iter().chain(measured).chain(self.remarks.clone()).collect();
        blocks.push(Block::section("", "Command", vec![Block::Commands(vec![self.command.clone()])]));
        let subject = self.definition.title.trim().to_owned();
        Document { subject, simulated, answer, origin, blocks, ..Document::default() }
    }
}
