//! Meanings and units of column headers, in all their spellings.

use collrules_rules::names;

names! {
    /// Content of a column, with the name that messages use, and that tables should have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Role {
        Collective "collective",
        /// A number.
        AlgorithmId "algorithm_id",
        /// A number or a name.
        Algorithm "algorithm",
        /// A choice, as in our own samples.
        Candidate "candidate",
        Ranks "comm_size",
        Bytes "message_bytes",
        Launch "launch",
        Mean "avg_latency_us",
        Min "min_latency_us",
        Max "max_latency_us",
    }
}

/// Meaning of a column: its content, and for times their number of units per second, if the header has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColumnMeaning {
    pub(super) role: Role,
    pub(super) per_second: Option<f64>,
}

/// The meaning of a header such as `comm_size`, `# Size`, `Avg Latency(us)`, `t_max[usec]`, `latency (ms)`.
pub(super) fn meaning(header: &str) -> Option<ColumnMeaning> {
    let words: Vec<String> = header
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase())
        .collect();
    if let Some(role) = plain_role(&words.join("_")) {
        return Some(ColumnMeaning { role, per_second: None });
    }
    // A time may carry its unit as a last word.
    let (last, others) = words.split_last()?;
    match (per_second(last), others.is_empty()) {
        (Some(scale), false) => {
            time_role(&others.join("_")).map(|role| ColumnMeaning { role, per_second: Some(scale) })
        }
        _ => time_role(&words.join("_")).map(|role| ColumnMeaning { role, per_second: None }),
    }
}

/// Returns the number of these units per second.
pub(super) fn per_second(unit: &str) -> Option<f64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some(1e3),
        "us" | "usec" | "usecs" | "µs" | "μs" | "microsecond" | "microseconds" => Some(1e6),
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Some(1e9),
        _ => None,
    }
}

fn plain_role(name: &str) -> Option<Role> {
    Some(match name {
        "collective" | "coll" | "operation" | "op" | "benchmark" | "test" => Role::Collective,
        "algorithm_id" | "alg_id" | "algo_id" | "algid" | "alg" | "algo" => Role::AlgorithmId,
        "algorithm" | "algorithm_name" | "alg_name" | "algo_name" => Role::Algorithm,
        "candidate" => Role::Candidate,
        "comm_size" | "communicator_size" | "ranks" | "nranks" | "num_ranks" | "np" | "np_total" | "nprocs"
        | "procs" | "num_procs" | "processes" | "nproc" => Role::Ranks,
        "message_bytes" | "message_size" | "msg_size" | "msize" | "msize_bytes" | "size" | "size_bytes" | "bytes" => {
            Role::Bytes
        }
        "launch" | "run" | "run_id" | "trial" => Role::Launch,
        _ => return None,
    })
}

fn time_role(name: &str) -> Option<Role> {
    Some(match name {
        "avg_latency" | "latency" | "latency_avg" | "avg" | "mean" | "average" | "time" | "t_avg" | "avg_time"
        | "mean_time" | "mean_latency" | "runtime" => Role::Mean,
        "min_latency" | "latency_min" | "t_min" | "min" | "min_time" => Role::Min,
        "max_latency" | "latency_max" | "t_max" | "max" | "max_time" => Role::Max,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_known_however_they_are_spelled() {
        for (header, role, per_second) in [
            ("comm_size", Role::Ranks, None),
            ("# Size", Role::Bytes, None),
            ("#bytes", Role::Bytes, None),
            ("Avg Latency(us)", Role::Mean, Some(1e6)),
            ("avg_latency_us", Role::Mean, Some(1e6)),
            ("t_max[usec]", Role::Max, Some(1e6)),
            ("Latency (ms)", Role::Mean, Some(1e3)),
            ("time [s]", Role::Mean, Some(1.0)),
            ("latency", Role::Mean, None),
            ("NP_total", Role::Ranks, None),
            ("ALGO_NAME", Role::Algorithm, None),
        ] {
            assert_eq!(meaning(header), Some(ColumnMeaning { role, per_second }), "{header}");
        }
        for header in ["", "us", "note", "P50 Tail Lat(us)", "Iterations", "Mbytes/sec", "#repetitions"] {
            assert_eq!(meaning(header), None, "{header}");
        }
    }
}
