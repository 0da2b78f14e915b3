//! Fresh launches of arms, for every command that compares a tuning with the default.
//!
//! | module | job |
//! |---|---|
//! | `arms` | arms by what they switch on; calls, messages and guards that launches time |
//! | `launcher` | blocks of launches, from the log if they are there |

mod arms;
mod launcher;
#[cfg(test)]
mod tests;

pub(crate) use arms::{
    Arms, CellWeights, OWN_START, guard_cells, guard_patterns, list_messages, loop_schedule, measuring_time, screened,
    subject_time,
};
pub(crate) use launcher::{ArmJobs, JobLauncher, first_line};
