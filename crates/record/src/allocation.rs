//! Allocation that a batch system gave to the job in which collrules runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Ranks, Seconds};

/// A batch system whose jobs are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BatchSystem {
    /// Slurm
    Slurm,
    /// PBS Professional, OpenPBS, Torque
    Pbs,
    /// IBM Spectrum LSF
    Lsf,
    /// Grid Engine
    Sge,
}

impl BatchSystem {
    /// All batch systems, in order.
    pub const ALL: [Self; 4] = [Self::Slurm, Self::Pbs, Self::Lsf, Self::Sge];

    /// The word for it in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slurm => "slurm",
            Self::Pbs => "pbs",
            Self::Lsf => "lsf",
            Self::Sge => "sge",
        }
    }
}

impl fmt::Display for BatchSystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Slurm => "Slurm",
            Self::Pbs => "PBS",
            Self::Lsf => "LSF",
            Self::Sge => "Grid Engine",
        })
    }
}

/// The job of a batch system in which a session measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// Batch system that runs the job.
    pub system: BatchSystem,
    /// Job id that the batch system gave.
    pub job: String,
    /// The partition, or the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The number of nodes; 0 if unknown.
    pub nodes: u32,
    /// The number of ranks that the batch system expects; 0 if unknown.
    pub slots: Ranks,
    /// The time left when the session began; missing if there is no limit or it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Seconds>,
}

impl fmt::Display for Allocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, job, partition, nodes, slots, left } = self;
        write!(formatter, "{system} job {job}")?;
        if let Some(partition) = partition {
            write!(formatter, " in {partition}")?;
        }
        let counted = |count: u32, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let left = left.map(|left| format!("{} left", left.rounded()));
        let facts = [counted(*nodes, "node"), counted(slots.0, "slot"), left];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() { Ok(()) } else { write!(formatter, ": {}", facts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_job_is_said() {
        let whole = Allocation {
            system: BatchSystem::Slurm,
            job: "12".to_owned(),
            partition: Some("main".to_owned()),
            nodes: 3,
            slots: Ranks(6),
            left: Some(Seconds(300.0)),
        };
        assert_eq!(whole.to_string(), "Slurm job 12 in main: 3 nodes, 6 slots, 5 min left");
        let bare = Allocation { partition: None, nodes: 0, slots: Ranks(0), left: None, ..whole };
        assert_eq!(bare.to_string(), "Slurm job 12");
    }
}
