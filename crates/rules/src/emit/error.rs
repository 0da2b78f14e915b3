//! Reasons for refusing to write a table.

use crate::choice::Choice;
use crate::collective::Collective;
use crate::han::Level;
use crate::hazard::{self, Hazard, RankRange};
use crate::table::RuleTable;

/// Reason for refusing to write a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// It would break programs.
    #[error("the rules are not safe to use: {}", .0.iter().map(Hazard::to_string).collect::<Vec<_>>().join(" "))]
    Hazards(Vec<Hazard>),
    /// A bound on requests, for which version 1 has no column.
    #[error("{collective} {choice} for {ranks} bounds its requests, which a classic file of version 1 cannot express")]
    MaxRequests {
        /// The collective.
        collective: Collective,
        /// The communicator sizes.
        ranks: RankRange,
        /// The choice.
        choice: Choice,
    },
    /// A number that Open MPI would truncate.
    #[error("{collective} for {ranks}: {what} {value} is too large for Open MPI; the most is {most}")]
    TooLarge {
        /// The collective.
        collective: Collective,
        /// The communicator sizes.
        ranks: RankRange,
        /// Quantity that is too large.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest that is safe.
        most: u64,
    },
    /// HAN: the file would leave everything to the parameters, and HAN rejects such a file.
    #[error("there are no rules to write, and HAN rejects a file without any")]
    NoHanRules,
    /// HAN: sizes between rules would be left to the parameters, which a file cannot express.
    #[error("{collective} on {level} for {ranks} leaves some sizes to HAN's parameters, which its file cannot express")]
    HanGap {
        /// The collective.
        collective: Collective,
        /// The level.
        level: Level,
        /// The communicator sizes.
        ranks: RankRange,
    },
    /// HAN: a communicator size that Open MPI would truncate.
    #[error("{collective} on {level}: the communicator size {ranks} is too large for Open MPI")]
    HanTooLarge {
        /// The collective.
        collective: Collective,
        /// The level.
        level: Level,
        /// The size.
        ranks: u64,
    },
}

/// The largest C `int`, which holds communicator sizes, algorithms, fan-outs, and segment sizes on their way to use.
pub(crate) const INT_MAX: u64 = i32::MAX as u64;

/// The largest C `long`, the type of message sizes.
pub(crate) const LONG_MAX: u64 = i64::MAX as u64;

/// Refuses a table with hazards that are not accepted.
pub(super) fn refuse_hazards(table: &RuleTable, accepted: impl Fn(&Hazard) -> bool) -> Result<(), EmitError> {
    let hazards: Vec<_> = hazard::check(table).into_iter().filter(|hazard| !accepted(hazard)).collect();
    if hazards.is_empty() { Ok(()) } else { Err(EmitError::Hazards(hazards)) }
}

/// Refuses numbers that Open MPI would truncate, and bounds on requests unless the format has a field for `requests`.
pub(super) fn refuse_inexpressible(table: &RuleTable, requests: bool) -> Result<(), EmitError> {
    for (collective, (first, end), start, choice) in table.choices() {
        let ranks = RankRange { first, end };
        let within = |what, value, most| {
            if value <= most { Ok(()) } else { Err(EmitError::TooLarge { collective, ranks, what, value, most }) }
        };
        within("communicator size", ranks.first, INT_MAX)?;
        within("message size", start, LONG_MAX)?;
        // What else a choice of the builtin says is not written.
        if choice.is_builtin() {
            continue;
        }
        within("algorithm", choice.algorithm.into(), INT_MAX)?;
        within("fan-out", choice.faninout.into(), INT_MAX)?;
        within("segment size", choice.segsize, INT_MAX)?;
        within("bound on requests", choice.max_requests.into(), INT_MAX)?;
        if choice.max_requests != 0 && !requests {
            return Err(EmitError::MaxRequests { collective, ranks, choice });
        }
    }
    Ok(())
}
