//! Logarithmic axes with ticks that people read: 1 B, 4 KiB, 10 µs.

use std::ops::Range;

use collrules_record::units::{Bytes, Seconds};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// What lies along the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum X {
    /// Message bytes.
    MessageBytes,
    /// The number of ranks of the communicator.
    Ranks,
}

/// An axis of positions, which are logarithms to the base of 2 or 10, or the numbers of rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) range: (f64, f64),
    /// Positions with a label.
    pub(super) ticks: Vec<f64>,
    /// Positions with a line alone.
    pub(super) fine: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
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
    pub(super) fn position(self, value: f64) -> f64 {
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
    pub(super) fn label(self, position: f64) -> String {
        if position < 0.0 { "0".to_owned() } else { self.value(position.exp2().round() as u64) }
    }

    /// An axis over these values in a plot of so many pixels.
    pub(super) fn axis(self, values: &[u64], width: u32) -> Axis {
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
            _ => powers(range, room),
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

/// Whether ascending positions are this far from each other.
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

/// An axis over times in seconds.
pub(super) fn time_axis(seconds: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = span(seconds.filter_map(time_position));
    let margin = ((high - low) * 0.05).max(0.05);
    let range = (low - margin, high + margin);
    let decades = (range.0.floor() as i32)..=(range.1.ceil() as i32);
    let at = |digits: &'static [f64]| {
        let within = |position: &f64| (range.0..=range.1).contains(position);
        decades
            .clone()
            .flat_map(move |decade| digits.iter().map(move |digit| f64::from(decade) + digit.log10()))
            .filter(within)
    };
    let few = at(&[1.0]).count() < 3;
    let (ticks, fine): (Vec<f64>, Vec<f64>) = match (few, at(&[1.0, 2.0, 5.0]).count() < 3) {
        (false, _) => (at(&[1.0]).collect(), Vec::new()),
        (true, false) => (at(&[1.0, 2.0, 5.0]).collect(), Vec::new()),
        (true, true) => (at(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]).collect(), Vec::new()),
    };
    let fine = if few { fine } else { at(&[2.0, 5.0]).collect() };
    Axis { range, ticks, fine }
}

/// The label of a time at a position of a tick.
pub(super) fn time_label(position: f64) -> String {
    let seconds = Seconds(10f64.powf(position)).to_string();
    // As `1.000µs`: zeros behind the point say nothing on an axis.
    let digits = seconds.trim_end_matches(char::is_alphabetic);
    let unit = &seconds[digits.len()..];
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}\u{202f}{unit}")
}

/// A size or time with a narrow space before its unit.
pub(super) fn spaced(text: &str) -> String {
    let digits = text.trim_end_matches(char::is_alphabetic);
    format!("{digits}\u{202f}{}", &text[digits.len()..])
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
    fn times_have_few_ticks_whatever_their_range() {
        let labels = |seconds: &[f64]| {
            let axis = time_axis(seconds.iter().copied());
            axis.ticks.iter().map(|tick| time_label(*tick).replace('\u{202f}', " ")).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[1.5e-6, 2e-3]), ["10 µs", "100 µs", "1 ms"]);
        assert_eq!(labels(&[1.5e-6, 3e-5]), ["2 µs", "5 µs", "10 µs", "20 µs"]);
        assert!((2..9).contains(&labels(&[1.0e-6, 1.9e-6]).len()), "{:?}", labels(&[1.0e-6, 1.9e-6]));
        for seconds in [vec![], vec![0.0], vec![1e-9], vec![1e-9, 1e4]] {
            assert!(time_axis(seconds.iter().copied()).ticks.len() < 15, "{seconds:?}");
        }
    }
}
