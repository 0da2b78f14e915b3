//! Timed calls, in the one loop that times both real calls and the loop's own cost.

use crate::clock::seconds;
use crate::sync::{Began, Begun};

/// Timing of one call on this rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CallTiming {
    /// Start in nanoseconds, on the clock that also gives the end.
    pub(crate) at: i64,
    pub(crate) seconds: f64,
    /// Punctuality of this rank's start.
    pub(crate) began: Began,
}

/// Makes this many calls one after the other, each between a start and an end, and appends their times. A failed call
/// ends the loop, with its place.
pub(crate) fn time_calls<E>(
    count: usize,
    mut begin: impl FnMut(usize) -> Begun,
    mut call: impl FnMut(usize) -> Result<(), E>,
    mut end: impl FnMut() -> i64,
    taken: &mut Vec<CallTiming>,
) -> Result<(), (usize, E)> {
    for place in 0..count {
        let Begun { at, began } = begin(place);
        let result = call(place);
        taken.push(CallTiming { at, seconds: seconds(end() - at), began });
        result.map_err(|error| (place, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_what_lies_between_its_beginning_and_its_end() {
        let time = std::cell::Cell::new(0);
        let begin = |_| Begun { at: time.get(), began: if time.get() > 0 { Began::Missed } else { Began::InTime } };
        let call = |place: usize| {
            time.set(time.get() + 1000 * (place as i64 + 1));
            if place < 2 { Ok(()) } else { Err("out") }
        };
        let mut taken = Vec::new();
        assert_eq!(time_calls(5, begin, call, || time.get(), &mut taken), Err((2, "out")));
        let expected = [(1e-6, Began::InTime), (2e-6, Began::Missed), (3e-6, Began::Missed)];
        assert_eq!(taken.len(), 3);
        for (turn, (seconds, began)) in taken.iter().zip(expected) {
            assert!((turn.seconds - seconds).abs() < 1e-15 && turn.began == began, "{taken:?}");
        }
    }
}
