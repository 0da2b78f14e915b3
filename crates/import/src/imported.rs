//! An imported timing and its place.

use collrules_record::findings::Statistic;
use collrules_record::sample::{TableTiming, TimedRow};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};

use super::facts::TimeStatistics;

/// One timing and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Index of the source.
    pub source: usize,
    /// The line in it, from 1.
    pub line: u64,
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that was timed.
    pub candidate: Candidate,
    /// The start of the MPI job.
    pub launch: u32,
    /// The call within the launch; 0 where calls were averaged.
    pub round: u32,
    /// The times.
    pub times: TimeStatistics,
    /// True if the mean is a median over calls.
    pub(super) is_median: bool,
    /// True if the buffers are in the memory of a device.
    pub(super) is_on_device: bool,
}

impl Imported {
    /// The row of the samples file, with the times that the source has.
    pub fn to_row(&self) -> TimedRow {
        let Self { cell, candidate, launch, round, times, .. } = *self;
        TimedRow { launch, round, cell, candidate, max: times.max, min: times.min, mean: times.mean }
    }

    /// The row of a table with one time; none without that time.
    pub fn in_table(&self, statistic: Statistic) -> Option<TableTiming> {
        let Self { cell, candidate, launch, .. } = *self;
        Some(TableTiming { cell, candidate, launch, time: self.time(statistic)? })
    }

    /// The time in the statistic of the import.
    pub fn time(&self, statistic: Statistic) -> Option<Seconds> {
        match statistic {
            Statistic::RankAverage => self.times.mean,
            _ => self.times.max,
        }
    }
}
