//! Logarithmic axes with ticks that people read: 1 B, 4 KiB, 10 µs.

use std::ops::Range;

use collrules_record::units::{Bytes, Seconds};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Quantity along the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum X {
    /// Message bytes.
    MessageBytes,
    /// The number of ranks of the communicator.
    Ranks,
}

/// An axis of positions, which are logarithms to the base of 2 or 10.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) range: (f64, f64),
    /// Positions with a label.
    pub(crate) ticks: Vec<f64>,
    /// Positions with a line alone.
    pub(crate) fine: Vec<f64>,
}

impl Axis {
    /// The place of a position on a line from one end to another.
    pub(crate) fn place(&self, position: f64, (from, to): (f64, f64)) -> f64 {
        from + (to - from) * (position - self.range.0) / (self.range.1 - self.range.0)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        self.place(*value, (from.into(), to.into())).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.fine.clone() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        value.to_string()
    }
}

impl X {
    /// The position of a value. 0 bytes have none of their own on a logarithmic axis, and lie one power below 1.
    pub(crate) fn position(self, value: f64) -> f64 {
        value.max(0.5).log2()
    }

    /// A value with its unit: `4 KiB`, `16`.
    pub(crate) fn value(self, value: u64) -> String {
        match self {
            Self::MessageBytes => spaced(&Bytes(value).to_string()),
            Self::Ranks => value.to_string(),
        }
    }

    /// The label at a position of a tick.
    pub(crate) fn label(self, position: f64) -> String {
        if position < 0.0 { "0".to_owned() } else { self.value(position.exp2().round() as u64) }
    }

    /// An axis over these values in a plot of so many pixels.
    pub(crate) fn axis(self, values: &[u64], width: u32) -> Axis {
        let room = (width / if self == Self::Ranks { 36 } else { 62 }).max(1) as usize;
        let positions = || values.iter().map(|value| self.position(*value as f64));
        let (low, high) = span(positions());
        let margin = ((high - low) * 0.03).max(0.3);
        let range = (low - margin, high + margin);
        let ticks = match self {
            // Every measured size has a label where there is room for it.
            Self::Ranks if values.len() <= room && apart(positions(), (range.1 - range.0) / room as f64) => {
                positions().collect()
            }
            _ => with_ends((low, high), powers(range, room), 0.75 * (range.1 - range.0) / room as f64),
        };
        Axis { range, ticks, fine: Vec::new() }
    }
}

/// Powers of two, or of a power of two, that fit into so many labels.
fn powers(range: (f64, f64), room: usize) -> Vec<f64> {
    let (first, last) = (range.0.ceil().max(0.0) as i32, range.1.floor() as i32);
    let count = |step: &i32| (last.div_euclid(*step) - (first - 1).div_euclid(*step)).max(0) as usize;
    let step = [1, 2, 3, 4, 5, 10, 20].into_iter().find(|step| count(step) <= room.max(1)).unwrap_or(20);
    (first..=last).filter(|power| power % step == 0).map(f64::from).collect()
}

/// Ticks that name both ends, and of the others those that are this far from them.
fn with_ends(ends: (f64, f64), inner: Vec<f64>, distance: f64) -> Vec<f64> {
    let mut ticks = vec![ends.0];
    ticks.extend(inner.into_iter().filter(|tick| *tick - ends.0 >= distance && ends.1 - *tick >= distance));
    ticks.extend((ends.1 - ends.0 >= distance.min(1.0) * 0.5).then_some(ends.1));
    ticks
}

/// Returns true if ascending positions are at least this far from each other.
fn apart(positions: impl Iterator<Item = f64>, distance: f64) -> bool {
    let positions: Vec<f64> = positions.collect();
    positions.windows(2).all(|pair| pair[1] - pair[0] >= distance)
}

fn span(positions: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = positions.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// The position of a time; none where a logarithm has none.
pub(super) fn time_position(seconds: f64) -> Option<f64> {
    (seconds > 0.0 && seconds.is_finite()).then(|| seconds.log10())
}

/// The steps of a decade at which axes of times end and have labels.
const STEPS: [&[f64]; 3] = [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]];

/// The share of a time axis that a label needs.
const LABEL: f64 = 0.075;

/// An axis over times in seconds. It begins and ends with a labelled round time.
pub(super) fn time_axis(seconds: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = span(seconds.filter_map(time_position));
    let decades = (low.floor() as i32 - 1)..=(high.ceil() as i32 + 1);
    let at = |digits: &'static [f64]| {
        decades.clone().flat_map(move |decade| digits.iter().map(move |digit| f64::from(decade) + digit.log10()))
    };
    // Times are rarely as round as their logarithms' last digits.
    const NEAR: f64 = 1e-9;
    let ends = |digits: &'static [f64]| {
        let below = at(digits).take_while(|tick| *tick <= low + NEAR).last().unwrap_or(low);
        let above = at(digits).find(|tick| *tick >= high - NEAR && *tick > below + NEAR).unwrap_or(high);
        (below, above)
    };
    let inner = |digits: &'static [f64], (below, above): (f64, f64)| -> Vec<f64> {
        at(digits).filter(|tick| *tick > below + NEAR && *tick < above - NEAR).collect()
    };
    let wide = ends(STEPS[1]);
    let (ends, step) = match inner(STEPS[0], wide).len() {
        0 if inner(STEPS[1], wide).is_empty() => (ends(STEPS[2]), 2),
        0 | 1 => (wide, 1),
        _ => (wide, 0),
    };
    let room = LABEL * (ends.1 - ends.0);
    let margin = 0.02 * (ends.1 - ends.0);
    Axis {
        range: (ends.0 - margin, ends.1 + margin),
        ticks: with_ends(ends, inner(STEPS[step], ends), room),
        fine: if step == 0 { inner(&[2.0, 5.0], ends) } else { Vec::new() },
    }
}

/// The label of a time at a position of a tick.
pub(super) fn time_label(position: f64) -> String {
    spaced(&Seconds(10f64.powf(position)).to_string())
}

/// A size or time with a narrow space before its unit.
pub(super) fn spaced(text: &str) -> String {
    text.replace(' ', "\u{202f}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round_and_have_room() {
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        let axis = X::MessageBytes.axis(&sizes, 400);
        let labels: Vec<String> = axis.ticks.iter().map(|tick| X::MessageBytes.label(*tick)).collect();
        assert_eq!(
            labels,
            ["1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"].map(|text| text.replace(' ', "\u{202f}"))
        );
        let axis = X::Ranks.axis(&[2, 4, 7], 400);
        assert_eq!(axis.ticks.iter().map(|tick| X::Ranks.label(*tick)).collect::<Vec<_>>(), ["2", "4", "7"]);
        assert_eq!(X::MessageBytes.label(X::MessageBytes.position(0.0)), "0");
    }

    #[test]
    fn ends_are_named_where_they_are_no_step_of_the_ticks() {
        let labels = |sizes: &[u64]| {
            let axis = X::MessageBytes.axis(sizes, 420);
            axis.ticks.iter().map(|tick| X::MessageBytes.label(*tick).replace('\u{202f}', " ")).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[2, 64, 4096, 1 << 23]), ["2 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB", "8 MiB"]);
        assert_eq!(labels(&[1000]), ["1000 B"]);
        assert_eq!(labels(&[0, 8]).first().map(String::as_str), Some("0"));
        assert_eq!(labels(&[]).len(), 2);
        assert_eq!(
            X::Ranks.axis(&(1..=100).collect::<Vec<_>>(), 420).ticks.last().map(|tick| X::Ranks.label(*tick)),
            Some("100".to_owned())
        );
    }

    #[test]
    fn times_have_few_ticks_whatever_their_range() {
        let labels = |seconds: &[f64]| {
            let axis = time_axis(seconds.iter().copied());
            axis.ticks.iter().map(|tick| time_label(*tick).replace('\u{202f}', " ")).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[1.5e-6, 2e-3]), ["1 µs", "10 µs", "100 µs", "1 ms", "2 ms"]);
        assert_eq!(labels(&[1.5e-6, 3e-5]), ["1 µs", "2 µs", "5 µs", "10 µs", "20 µs", "50 µs"]);
        assert_eq!(labels(&[1.1e-6, 1.4e-6]), ["1 µs", "1.5 µs"]);
        assert!((2..9).contains(&labels(&[1.0e-6, 1.9e-6]).len()), "{:?}", labels(&[1.0e-6, 1.9e-6]));
        for seconds in [vec![], vec![0.0], vec![1e-9], vec![1e-9, 1e4]] {
            assert!(time_axis(seconds.iter().copied()).ticks.len() < 15, "{seconds:?}");
        }
    }
}
