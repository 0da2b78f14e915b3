//! Strips of message sizes: where a collective is faster, and where the default stays.

use std::collections::BTreeSet;

use collrules_record::Cell;
use collrules_record::units::Bytes;
use collrules_rules::Collective;

use crate::document::markup;
use crate::gains::{CellGain, Gains, Removal, SizeState};
use crate::plot::{Axis, X};
use crate::summary::sizes;
use crate::words::times;

/// Neighbouring sizes in the same state.
struct StripSegment {
    class: &'static str,
    /// Begin and width in percent.
    left: f64,
    width: f64,
    note: String,
}

/// Half of the width of a hole, in percent.
const HOLE: f64 = 0.6;

/// Pixels of an axis, so that it has four or five labels.
const WIDTH: u32 = 310;

/// The axis of all sizes that were measured or compared; none if calls have no sizes. It ends half a power of two beyond
/// them.
pub(super) fn axis(gains: &Gains<'_>) -> Option<Axis> {
    let sized = gains.iter().map(|(cell, _)| cell).filter(|cell| cell.collective.has_sizes());
    let sizes: BTreeSet<Bytes> = sized.map(|cell| cell.bytes).collect();
    let range = (position(*sizes.first()?) - 0.5, position(*sizes.last()?) + 0.5);
    let sizes: Vec<u64> = sizes.into_iter().map(|bytes| bytes.0).collect();
    Some(Axis { range, ..X::MessageBytes.axis(&sizes, WIDTH) })
}

/// A place on an axis in percent.
fn percent(axis: &Axis, position: f64) -> f64 {
    axis.place(position, (0.0, 100.0)).clamp(0.0, 100.0)
}

fn position(bytes: Bytes) -> f64 {
    X::MessageBytes.position(bytes.0 as f64)
}

/// The legend of the states that occur, and the axis, as markup.
pub(super) fn overview(gains: &Gains<'_>, axis: Option<&Axis>) -> String {
    let present: BTreeSet<(&str, &str)> = gains.iter().map(|(_, gain)| gain.describe()).collect();
    let states: String =
        present.into_iter().rev().map(|(class, name)| format!("<li><i class=\"{class}\"></i>{name}")).collect();
    let tick = |axis: &Axis, at: f64| {
        let label = X::MessageBytes.label(at);
        format!("<span style=\"left:{:.2}%\">{}</span>", percent(axis, at), markup(&label))
    };
    let ticks: String = axis.into_iter().flat_map(|axis| axis.ticks.iter().map(|at| tick(axis, *at))).collect();
    format!(
        "<div class=\"overview\">\n<ul class=\"levels states\" aria-label=\"Colours of the message sizes\">{states}</ul>\n\
         <div class=\"row axis\" aria-hidden=\"true\"><span class=\"ranks\">ranks</span><span class=\"ticks\">{ticks}\
         </span></div>\n</div>"
    )
}

/// The strips of a collective, one for each communicator, as markup.
pub(super) fn strips(gains: &Gains<'_>, axis: Option<&Axis>, collective: Collective) -> String {
    let part = |StripSegment { class, left, width, note }: &StripSegment| {
        let note = markup(note);
        format!("<i class=\"{class}\" style=\"left:{left:.2}%;width:{width:.2}%\" title=\"{note}\"></i>")
    };
    let cells: Vec<(Cell, CellGain)> = gains.of_collective(collective).collect();
    let strip = |cells: &[(Cell, CellGain)]| {
        let (ranks, parts) = (cells[0].0.ranks, parts(gains, cells, axis));
        let notes: String = parts.iter().map(|part| format!("{}. ", markup(&part.note))).collect();
        let parts: String = parts.iter().map(part).collect();
        format!(
            "<span class=\"row\"><span class=\"ranks\">{ranks}</span><span class=\"strip\" role=\"img\" \
             aria-label=\"{notes}\">{parts}</span></span>"
        )
    };
    let strips: String = cells.chunk_by(|(a, _), (b, _)| a.ranks == b.ranks).map(strip).collect();
    format!("<span class=\"strips\">{strips}</span>")
}

/// A hole in the rules between two sizes is drawn over both.
fn parts(gains: &Gains<'_>, cells: &[(Cell, CellGain)], axis: Option<&Axis>) -> Vec<StripSegment> {
    let edge = |place: usize| match (place.checked_sub(1).and_then(|before| cells.get(before)), cells.get(place)) {
        (Some((a, _)), Some((b, _))) => f64::midpoint(position(a.bytes), position(b.bytes)),
        (None, Some((first, _))) => position(first.bytes) - 0.5,
        (Some((last, _)), None) => position(last.bytes) + 0.5,
        (None, None) => 0.0,
    };
    let mut begin = 0;
    let part = |part: &[(Cell, CellGain)]| {
        let (from, to) = (begin, begin + part.len());
        begin = to;
        let (left, right) = match axis.filter(|_| part[0].0.collective.has_sizes()) {
            Some(axis) => (percent(axis, edge(from)), percent(axis, edge(to))),
            None => (0.0, 100.0),
        };
        let before =
            from.checked_sub(1).map(|before| cells[before].0).filter(|before| gains.has_hole(*before, part[0].0));
        let hole = before.map(|before| {
            let note = format!("default between {} and {}", before.bytes, part[0].0.bytes);
            StripSegment { class: "no", left: left - HOLE, width: 2.0 * HOLE, note }
        });
        let (class, said) = part[0].1.describe();
        let why = removal(part)
            .map_or(String::new(), |why| format!(" ({}{})", why.describe(), beside(why, cells, (from, to))));
        let note = format!("{}: {said}{why}{}", place(part), span(part));
        let part = StripSegment { class, left, width: right - left, note };
        std::iter::once(part).chain(hole)
    };
    let joined = |(one, a): &(Cell, CellGain), (other, b): &(Cell, CellGain)| {
        a.describe() == b.describe()
            && removal(&[(*one, *a)]) == removal(&[(*other, *b)])
            && !gains.has_hole(*one, *other)
    };
    cells.chunk_by(joined).flat_map(part).collect()
}

/// The reason why the rule of the first of these sizes is gone.
fn removal(part: &[(Cell, CellGain)]) -> Option<Removal> {
    match part.first()?.1.state {
        SizeState::Removed(why) => Some(why),
        _ => None,
    }
}

/// The speedups of both neighbours of sizes that were not compared: `; both neighbours are 2.60x and 2.70x faster`.
fn beside(why: Removal, cells: &[(Cell, CellGain)], (from, to): (usize, usize)) -> String {
    let speedup = |place: Option<usize>| {
        let (_, gain) = cells.get(place?)?;
        gain.speedup.filter(|_| gain.state == SizeState::Faster).map(|speedup| times(speedup.point))
    };
    match (why, speedup(from.checked_sub(1)), speedup(Some(to))) {
        (Removal::NotReached, Some(below), Some(above)) => format!("; both neighbours are {below} and {above} faster"),
        _ => String::new(),
    }
}

fn place(part: &[(Cell, CellGain)]) -> String {
    let (first, last) = (part[0].0, part[part.len() - 1].0);
    let ranks = first.ranks;
    match first.collective.has_sizes() {
        true => format!("{} on {ranks} ranks", sizes(first.collective, first.bytes, last.bytes)),
        false => format!("{ranks} ranks"),
    }
}

/// The speedups of these sizes: `, 1.20x to 1.35x`.
fn span(part: &[(Cell, CellGain)]) -> String {
    let speedups = || part.iter().filter_map(|(_, gain)| gain.speedup).map(|speedup| speedup.point);
    let (least, most) = (speedups().reduce(f64::min), speedups().reduce(f64::max));
    match least.zip(most) {
        None => String::new(),
        Some((least, most)) if times(least) == times(most) => format!(", {}", times(least)),
        Some((least, most)) => format!(", {} to {}", times(least), times(most)),
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::validation::Outcome;

    use super::*;
    use crate::validation::fixture::validation;

    #[test]
    fn neighbours_in_one_state_are_one_part_and_parts_fill_the_axis() {
        let mut found = validation(Outcome::Faster, 2.0);
        let first = found.round.cells[0].clone();
        for (bytes, verdict) in [(1 << 13, Outcome::Faster), (1 << 14, Outcome::Undecided), (1 << 20, Outcome::Faster)]
        {
            let mut next = first.clone();
            (next.cell.bytes, next.verdict) = (Bytes(bytes), verdict);
            found.round.cells.push(next);
        }
        let gains = Gains::of_comparison(&found);
        let axis = axis(&gains).expect("sizes");
        let parts = parts(&gains, &gains.iter().collect::<Vec<_>>(), Some(&axis));
        assert_eq!(parts.iter().map(|part| part.class).collect::<Vec<_>>(), ["yes", "open", "yes"]);
        assert!(parts[0].left.abs() < 1e-9 && (parts.iter().map(|part| part.width).sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(parts[0].note, "5793 B to 8 KiB on 1024 ranks: faster, confirmed, 2.00x");
        let labels = axis.ticks.iter().map(|tick| X::MessageBytes.label(*tick).replace('\u{202f}', " "));
        assert_eq!(labels.collect::<Vec<_>>(), ["5793 B", "16 KiB", "64 KiB", "256 KiB", "1 MiB"]);
        assert_eq!(overview(&gains, Some(&axis)).matches("<li>").count(), 2);
    }
}
