//! Effect of a choice on a call: fallbacks, clamped parameters, errors, endless loops.
//!
//! The conditions are those of `ompi/mca/coll/base/coll_base_*.c`; the data is in the [`registry`].

use crate::call::Call;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::registry::{self, Algorithm, Fallback, When};
use crate::release::Release;
use crate::units::Bytes;

/// Effect of a choice on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Algorithm that runs, or the outcome if none does.
    pub algorithm: EffectiveAlgorithm,
    /// The algorithm and the parameters that it really uses, all others 0: choices with equal ones have the same
    /// effect. Only the id if no algorithm of the registry runs.
    pub choice: Choice,
    /// Reasons why the effect differs from the choice, one sentence each.
    pub reasons: Vec<String>,
}

/// Algorithm that runs in the end, or the outcome if none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectiveAlgorithm {
    /// Open MPI's built-in decision, or another component.
    Builtin,
    /// An algorithm of the release.
    Algorithm(&'static Algorithm),
    /// An implementation without an id.
    Instead(&'static str),
    /// The call fails on every rank, which aborts the program unless it handles errors.
    Error(ErrorClass),
    /// The call never returns.
    Endless,
    /// The call crashes.
    Crash,
}

/// An MPI error class, with Open MPI's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// `MPI_ERR_ARG`: the algorithm does not exist.
    Argument = 13,
    /// `MPI_ERR_UNSUPPORTED_OPERATION`: an algorithm for two ranks on another number.
    Unsupported = 52,
}

impl ErrorClass {
    /// Open MPI's number.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// The constant's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Argument => "MPI_ERR_ARG",
            Self::Unsupported => "MPI_ERR_UNSUPPORTED_OPERATION",
        }
    }
}

/// The most chains that Open MPI builds (`MAXTREEFANOUT`).
const MOST_CHAINS: u32 = 32;

/// Computes the effect of a choice that the rules make for a call.
pub fn effective(release: Release, collective: Collective, choice: Choice, call: &Call) -> Effective {
    let mut reasons = Vec::new();
    let mut ends = |algorithm, reason: String| {
        reasons.push(reason);
        let choice = Choice::plain(choice.algorithm);
        Effective { algorithm, choice, reasons: std::mem::take(&mut reasons) }
    };
    if call.ranks.0 < 2 {
        let reason = "communicators of one rank use coll/self, not coll/tuned".to_owned();
        return Effective { choice: Choice::BUILTIN, ..ends(EffectiveAlgorithm::Builtin, reason) };
    }
    if choice.is_builtin() {
        let linear = registry::algorithm(release, collective, 1).ok().filter(|_| !collective.has_default());
        let Some(linear) = linear else {
            return ends(EffectiveAlgorithm::Builtin, "algorithm 0 leaves the decision to Open MPI".to_owned());
        };
        let reason = "there is no built-in decision: 0 runs linear".to_owned();
        return Effective { choice: Choice::plain(1), ..ends(EffectiveAlgorithm::Algorithm(linear), reason) };
    }
    let first = match registry::algorithm(release, collective, choice.algorithm) {
        Ok(algorithm) => algorithm,
        Err(unknown) => return ends(EffectiveAlgorithm::Error(ErrorClass::Argument), unknown.to_string()),
    };
    if let Some(what) = first.in_place.filter(|_| call.in_place) {
        return ends(EffectiveAlgorithm::Instead(what), format!("in place, {what} runs instead of {}", first.name));
    }
    if first.only_two && call.ranks.0 != 2 {
        let reason = format!("{} is made for exactly 2 ranks, not {}", first.name, call.ranks);
        return ends(EffectiveAlgorithm::Error(ErrorClass::Unsupported), reason);
    }
    if splits(collective, first) && call.type_size == 0 && int_segsize(choice) > 0 {
        let reason = format!("{} divides the segment size by the size of the datatype, which is 0", first.name);
        return ends(EffectiveAlgorithm::Crash, reason);
    }
    let (algorithm, choice) = fall_back(release, collective, first, choice, call, &mut reasons);
    if algorithm.radix && (choice.faninout as i32) < 2 {
        reasons.push(format!("{} uses the fan-out as its radix, and never ends with one below 2", algorithm.name));
        let choice = Choice::plain(algorithm.id);
        return Effective { algorithm: EffectiveAlgorithm::Endless, choice, reasons };
    }
    let choice = parameters(collective, algorithm, choice, call, &mut reasons);
    Effective { algorithm: EffectiveAlgorithm::Algorithm(algorithm), choice, reasons }
}

/// The algorithm that runs in the end, and the choice with its id and fan-out.
fn fall_back(
    release: Release,
    collective: Collective,
    mut algorithm: &'static Algorithm,
    mut choice: Choice,
    call: &Call,
    reasons: &mut Vec<String>,
) -> (&'static Algorithm, Choice) {
    let applies = |fallback: &&Fallback, choice| holds(fallback.when, choice, call);
    while let Some(fallback) = algorithm.fallbacks.iter().find(|fallback| applies(fallback, choice)) {
        // Every fallback is to an algorithm of the same release, and none leads back.
        let Ok(next) = registry::algorithm(release, collective, fallback.runs) else { break };
        reasons.push(format!("{} needs {}: {} runs instead", algorithm.name, need(fallback.when, call), next.name));
        choice.algorithm = next.id;
        choice.faninout = fallback.faninout.unwrap_or(choice.faninout);
        algorithm = next;
    }
    (algorithm, choice)
}

fn holds(when: When, choice: Choice, call: &Call) -> bool {
    let (ranks, count) = (u64::from(call.ranks.0), call.count());
    match when {
        When::OddRanks => ranks % 2 == 1,
        When::NotPowerOfTwo => !ranks.is_power_of_two(),
        When::FewerThanRanks => count < ranks,
        When::FewerThanPowerOfTwo => count < 1 << ranks.ilog2(),
        When::FewerThanSegments => count < ranks.saturating_mul(segment_count(choice, call)),
        When::TooSmallToSplit => {
            // The smaller half.
            let half = count / 2;
            let segsize = int_segsize(choice);
            let segsize = if segsize > 0 { segsize.max(call.type_size) } else { 0 };
            half == 0 || segsize > half.saturating_mul(call.type_size)
        }
        When::NonCommutativeOperation => !call.commutative,
    }
}

/// Describes the condition for an algorithm not to fall back.
fn need(when: When, call: &Call) -> String {
    let ranks = call.ranks.0;
    match when {
        When::OddRanks => format!("an even number of ranks, not {ranks}"),
        When::NotPowerOfTwo => format!("a power of two of ranks, not {ranks}"),
        When::FewerThanRanks => format!("at least {ranks} elements, one for every rank, not {}", call.count()),
        When::FewerThanPowerOfTwo => format!("at least {} elements, not {}", 1u64 << ranks.ilog2(), call.count()),
        When::FewerThanSegments => format!("segments, and elements for one on every of {ranks} ranks"),
        When::TooSmallToSplit => format!("at least 2 elements, and a segment in each half, not {}", call.message),
        When::NonCommutativeOperation => "an operation that commutes".to_owned(),
    }
}

/// The parameters that an algorithm really uses.
fn parameters(
    collective: Collective,
    algorithm: &Algorithm,
    choice: Choice,
    call: &Call,
    reasons: &mut Vec<String>,
) -> Choice {
    let mut used = Choice::plain(algorithm.id);
    if algorithm.uses.faninout && algorithm.radix {
        used.faninout = choice.faninout;
    } else if algorithm.uses.faninout {
        let chains = u32::try_from(choice.faninout as i32).unwrap_or(0);
        used.faninout = chains.clamp(1, MOST_CHAINS).min(call.ranks.0 - 1);
        if used.faninout != chains {
            reasons.push(format!("a fan-out of {} becomes {}", choice.faninout as i32, used.faninout));
        }
    }
    let segmented = if splits(collective, algorithm) {
        // Segments of a half; the segment holds one element at least.
        let elements = int_segsize(choice).checked_div(call.type_size).unwrap_or(0).max(1);
        int_segsize(choice) > 0 && call.count().div_ceil(2) > elements
    } else {
        algorithm.uses.segsize && segment_count(choice, call) < call.count()
    };
    if segmented {
        used.segsize = int_segsize(choice);
    } else if choice.segsize != 0 {
        let why = if !algorithm.uses.segsize {
            format!("{} has no segments", algorithm.name)
        } else if int_segsize(choice) < call.type_size {
            format!("segments of {} hold no element of {}", Bytes(int_segsize(choice)), Bytes(call.type_size))
        } else {
            format!("segments of {} hold all of {}", Bytes(int_segsize(choice)), call.message)
        };
        reasons.push(format!("{why}: it goes in one piece"));
    }
    if algorithm.uses.max_requests && collective == Collective::Alltoall {
        let partners = call.ranks.0 - 1;
        let bound = u32::try_from(choice.max_requests as i32).unwrap_or(0);
        used.max_requests = if bound == 0 { partners } else { bound.min(partners) };
        if bound != 0 && bound > partners {
            reasons.push(format!("there are no more than {partners} requests to bound"));
        }
    } else if algorithm.uses.max_requests {
        // Blocking sends without a bound, and nothing to bound without segments.
        used.max_requests = u32::try_from(choice.max_requests as i32).unwrap_or(0);
    }
    used
}

/// Returns true if the algorithm splits the message in halves and divides those into segments.
fn splits(collective: Collective, algorithm: &Algorithm) -> bool {
    collective == Collective::Bcast && algorithm.fallbacks.iter().any(|fallback| fallback.when == When::TooSmallToSplit)
}

/// The segment size as Open MPI passes it on: the lower half of a `long`, read as unsigned.
fn int_segsize(choice: Choice) -> u64 {
    choice.segsize & u64::from(u32::MAX)
}

/// Elements in a segment; all of them without segments (`COLL_BASE_COMPUTED_SEGCOUNT`).
fn segment_count(choice: Choice, call: &Call) -> u64 {
    let (segsize, type_size, count) = (int_segsize(choice), call.type_size, call.count());
    if type_size == 0 || segsize < type_size || segsize >= type_size.saturating_mul(count) {
        return count;
    }
    let rest = segsize % type_size;
    segsize / type_size + u64::from(rest > type_size / 2)
}

#[cfg(test)]
mod tests;
