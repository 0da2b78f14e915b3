//! Options of an import.

use collrules_record::findings::Statistic;
use collrules_rules::Release;

use super::facts::Facts;

/// Bytes per second that one process can send or receive at most, if nothing else is said: what the fastest single network
/// port carries (400 Gb/s: InfiniBand NDR, Ethernet, Slingshot 400), and more than one core copies from memory to memory on the
/// processors of these years.
pub const PROCESS_BANDWIDTH: f64 = 50e9;

/// Options of the user for an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// The release of Open MPI whose algorithm numbers are meant.
    pub release: Release,
    /// Facts that hold for all files.
    pub facts: Facts,
    /// Units of time per second, for columns that name no unit.
    pub per_second: Option<f64>,
    /// The time to import if there are several; if none is named, that of the slowest rank if all have it, else the mean over
    /// ranks.
    pub time: Option<Statistic>,
    /// True if timings with a warning are left out.
    pub leave_out_flagged: bool,
    /// Bytes per second that one process of the measured machine can send or receive at most.
    pub process_bandwidth: f64,
}

impl Options {
    /// Options with the release alone.
    pub fn new(release: Release) -> Self {
        let (facts, per_second, time) = (Facts::default(), None, None);
        let (leave_out_flagged, process_bandwidth) = (false, PROCESS_BANDWIDTH);
        Self { release, facts, per_second, time, leave_out_flagged, process_bandwidth }
    }
}
