//! Errors of an analysis.

use collrules_record::rundir::RunDirError;

/// Reason why an analysis has no result. Poor data is no error: it leaves the builtin in place, and remarks say so.
#[derive(Debug, thiserror::Error)]
pub enum TunerError {
    /// The samples are of another format, or no samples at all.
    #[error(transparent)]
    Record(#[from] RunDirError),
    /// The samples are not a table, or a value has not the type of its column.
    #[error("the samples cannot be read: {0}")]
    Samples(String),
    /// Nothing was timed or failed.
    #[error("there are no timings to decide on{}", of_unusable(*.left_out))]
    NoSamples {
        /// Number of timings that could not be used.
        left_out: usize,
    },
    /// No mock-up was timed.
    #[error(
        "there are no timings of mock-ups; `collrules lab guidelines` measures them, and a table names them in a column candidate"
    )]
    NoMockups,
    /// There is no default to compare mock-ups with.
    #[error("there are mock-ups, but no timings of the default to compare them with")]
    NoBuiltin,
    /// A criterion with an invalid value.
    #[error("{name} is {value}; it has to be {wanted}")]
    Criteria {
        /// The criterion.
        name: &'static str,
        /// The value.
        value: f64,
        /// Values that are accepted.
        wanted: &'static str,
    },
}

fn of_unusable(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ": the only one was left out because it is zero, negative or not a number".to_owned(),
        _ => format!(": all {count} were left out because they are zero, negative or not a number"),
    }
}
