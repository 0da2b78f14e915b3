//! One value per communicator size and message size.

use std::collections::BTreeSet;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::canvas::{Canvas, FONT};
use super::ink::SCALE;
use super::ink::{COLOURS, Ink};
use super::picture::{Entry, Picture};

/// Tiles in rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heatmap {
    /// Description for readers who cannot see the map.
    pub(crate) description: String,
    /// The labels of the columns, from the left.
    pub(crate) columns: Vec<String>,
    /// The labels of the rows, from the top.
    pub(crate) rows: Vec<String>,
    /// The tiles; places without one stay empty.
    pub(crate) tiles: Vec<Tile>,
    /// Write a text that neighbours in a row have in common once, across them.
    pub(crate) join: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    /// Its row and column, from 0 on.
    pub(crate) at: (usize, usize),
    /// Its colour.
    pub(crate) fill: Fill,
    /// Texts on it: the first that has room is written.
    pub(crate) text: Vec<String>,
    /// All about it, in words.
    pub(crate) note: String,
}

/// The colour of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    /// The builtin.
    Builtin,
    /// A candidate; from [`COLOURS`] on the colours repeat, lighter.
    Series(usize),
    /// A ratio: blue above 1, orange below.
    Ratio(f64),
    /// A time over one that is usual or possible: orange above 1, blue below.
    Slowness(f64),
    /// Undecided.
    Open,
}

/// Ratios from which on a tile is in the next colour; the neutral one is the fifth.
const LEVELS: [f64; 9] = [0.5, 0.67, 0.8, 0.97, 1.03, 1.25, 1.5, 2.0, 4.0];

/// Slownesses from which on a tile is in the next colour; the neutral one is the third.
const SLOW_LEVELS: [f64; 6] = [0.8, 0.97, 1.05, 1.25, 2.0, 10.0];

impl Fill {
    /// The classes of such a tile.
    pub(crate) fn class(self) -> String {
        match self {
            Self::Builtin => "t tb".to_owned(),
            Self::Open => "t x".to_owned(),
            Self::Series(number) if number < COLOURS => format!("t s{number}"),
            Self::Series(number) => format!("t s{} light", number % COLOURS),
            Self::Ratio(ratio) => format!("t d{}", LEVELS.iter().filter(|level| ratio >= **level).count()),
            Self::Slowness(ratio) => {
                format!("t d{}", SLOW_LEVELS.len() - SLOW_LEVELS.iter().filter(|level| ratio >= **level).count())
            }
        }
    }
}

/// The range of values of each colour, in words, from the lowest.
fn ranges(levels: &[f64], name: impl Fn(f64) -> String) -> impl Iterator<Item = String> {
    let text = move |place: usize| match (place.checked_sub(1).map(|below| levels[below]), levels.get(place)) {
        (None, Some(end)) => format!("under {}", name(*end)),
        (Some(begin), None) => format!("{} and more", name(begin)),
        (Some(begin), Some(end)) => format!("{} to {}", name(begin), name(*end)),
        (None, None) => String::new(),
    };
    (0..=levels.len()).map(text)
}

/// Returns the legend for the colours of ratios, from slow to fast; `name` describes a ratio.
fn levels(name: impl Fn(f64) -> String) -> Vec<Entry> {
    let names = ranges(&LEVELS, name);
    names.enumerate().map(|(place, name)| Entry { class: format!("t d{place}"), name }).collect()
}

/// Returns the legend for the colours of slownesses, from fast to slow; `name` describes a ratio.
fn slow_levels(name: impl Fn(f64) -> String) -> Vec<Entry> {
    let last = SLOW_LEVELS.len();
    let names = ranges(&SLOW_LEVELS, name);
    names.enumerate().map(|(place, name)| Entry { class: format!("t d{}", last - place), name }).collect()
}

const ROW: i32 = 28 * SCALE;
/// The least width of the labels of rows.
const LEFT: i32 = 48 * SCALE;
const BOTTOM: i32 = 24 * SCALE;
const EDGE: i32 = 4 * SCALE;

impl Heatmap {
    /// The legend of the ratios that occur; `name` describes a ratio.
    pub(crate) fn ratios(&self, name: impl Fn(f64) -> String) -> Vec<Entry> {
        self.legend(levels(name))
    }

    /// The legend of the slownesses that occur; `name` describes a ratio.
    pub(crate) fn slownesses(&self, name: impl Fn(f64) -> String) -> Vec<Entry> {
        let mut entries = slow_levels(name);
        entries.push(Entry { class: Fill::Open.class(), name: "undecided".to_owned() });
        self.legend(entries)
    }

    /// The entries of a legend whose colours occur.
    pub(crate) fn legend(&self, entries: Vec<Entry>) -> Vec<Entry> {
        let classes: BTreeSet<String> = self.tiles.iter().map(|tile| tile.fill.class()).collect();
        entries.into_iter().filter(|entry| classes.contains(&entry.class)).collect()
    }

    /// The drawing.
    pub(crate) fn picture(&self) -> Picture {
        let columns = self.columns.len().max(1) as i32;
        let wide = (880 * SCALE / columns).clamp(34 * SCALE, 160 * SCALE);
        let size =
            (self.left() + columns * wide + self.right(wide), EDGE + self.rows.len().max(1) as i32 * ROW + BOTTOM);
        let size = (size.0.unsigned_abs(), size.1.unsigned_abs());
        let canvas = Canvas::new(size);
        // Only fonts that cannot be read make plotters fail, and the canvas reads none.
        let _ = self.draw(canvas.clone(), wide);
        Picture {
            description: self.description.clone(),
            attributes: " data-kind=\"tiles\"".to_owned(),
            size,
            content: canvas.finish(),
            legend: Vec::new(),
        }
    }

    /// The width of the labels of rows with their ticks.
    fn left(&self) -> i32 {
        let longest = self.rows.iter().map(|label| label.chars().count()).max().unwrap_or(0) as i32;
        LEFT.max(longest * FONT * 6 / 10 + 12 * SCALE)
    }

    /// The room that the label of the last column needs on the right.
    fn right(&self, wide: i32) -> i32 {
        EDGE.max((self.longest_column() - wide) / 2)
    }

    /// The width of the longest label of a column.
    fn longest_column(&self) -> i32 {
        self.columns.iter().map(|label| label.chars().count()).max().unwrap_or(0) as i32 * FONT * 6 / 10
    }

    fn draw(&self, canvas: Canvas, wide: i32) -> Result<(), DrawingAreaErrorKind<std::convert::Infallible>> {
        let area = canvas.clone().into_drawing_area();
        let (columns, rows) = (self.columns.len().max(1) as f64, self.rows.len().max(1) as f64);
        // Labels take turns where there is no room for all.
        let turn = 1 + (self.longest_column() + 4 * SCALE - 1) / wide;
        let centres = |count: usize, turn: i32| {
            (0..count)
                .filter(|place| *place as i32 % turn.max(1) == 0)
                .map(|place| place as f64 + 0.5)
                .collect::<Vec<_>>()
        };
        let mut chart = ChartBuilder::on(&area)
            .margin_top(EDGE)
            .margin_right(self.right(wide))
            .x_label_area_size(BOTTOM)
            .y_label_area_size(self.left())
            .build_cartesian_2d(
                Axis { range: (0.0, columns), ticks: centres(self.columns.len(), turn), fine: Vec::new() },
                Axis { range: (rows, 0.0), ticks: centres(self.rows.len(), 1), fine: Vec::new() },
            )?;
        let font = ("sans-serif", FONT).into_font().color(&Ink::Text.colour());
        let label = |labels: &[String], at: f64| labels.get(at as usize).cloned().unwrap_or_default();
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(Ink::Nothing.colour())
            .label_style(font.clone())
            .set_all_tick_mark_size(4 * SCALE)
            .x_label_formatter(&|at| label(&self.columns, *at))
            .y_label_formatter(&|at| label(&self.rows, *at))
            .draw()?;
        let area = chart.plotting_area();
        for (place, tile) in self.tiles.iter().enumerate() {
            let (y, x) = (tile.at.0 as f64, tile.at.1 as f64);
            canvas.open(&tile.fill.class(), &tile.note);
            // A hair keeps tiles apart without colours; those that share a text share their area.
            let shares = |other: Option<&Tile>, left: bool| {
                let both = |other| if left { alike(other, tile) } else { alike(tile, other) };
                self.join && other.is_some_and(both)
            };
            let before = place.checked_sub(1).and_then(|place| self.tiles.get(place));
            let left = if shares(before, true) { x } else { x + 0.03 };
            let right = if shares(self.tiles.get(place + 1), false) { x + 1.01 } else { x + 0.97 };
            area.draw(&Rectangle::new([(left, y + 0.03), (right, y + 0.97)], Ink::Group.colour().filled()))?;
            canvas.close();
        }
        let middle = font.pos(Pos::new(HPos::Center, VPos::Center));
        for run in self.tiles.chunk_by(|a, b| self.join && alike(a, b)) {
            let room = run.len() as i32 * wide - 4 * SCALE;
            let fits = |text: &&String| text.chars().count() as i32 * FONT * 58 / 100 <= room;
            let Some(text) = run[0].text.iter().find(fits).filter(|text| !text.is_empty()) else { continue };
            let at = (run[0].at.1 as f64 + run.len() as f64 / 2.0, run[0].at.0 as f64 + 0.5);
            canvas.open(&format!("{} over", run[0].fill.class()), "");
            area.draw(&Text::new(text.clone(), at, middle.clone()))?;
            canvas.close();
        }
        Ok(())
    }
}

/// Returns true if tiles are neighbours in a row with the same colour and text.
fn alike(a: &Tile, b: &Tile) -> bool {
    a.at.0 == b.at.0 && a.at.1 + 1 == b.at.1 && a.fill == b.fill && a.text == b.text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(column: usize, fill: Fill, text: &str) -> Tile {
        Tile { at: (0, column), fill, text: vec![text.to_owned(), "s_a".to_owned()], note: format!("note {column} <") }
    }

    #[test]
    fn neighbours_that_say_the_same_say_it_once() {
        let columns: Vec<String> = (0..20).map(|column| format!("{column} KiB")).collect();
        let tiles = vec![
            tile(0, Fill::Series(1), "scatter_allgather"),
            tile(1, Fill::Series(1), "scatter_allgather"),
            tile(2, Fill::Series(1), "scatter_allgather"),
            tile(3, Fill::Builtin, "scatter_allgather"),
        ];
        let heatmap = Heatmap { columns, rows: vec!["8".to_owned()], tiles, join: true, ..Heatmap::default() };
        let text = heatmap.picture().fragment();
        assert_eq!(text.matches(">scatter_allgather<").count(), 1);
        assert_eq!(text.matches(">s_a<").count(), 1, "what has no room for the long text has the short one");
        assert_eq!(text.matches("<rect").count(), 4);
        assert!(text.contains("note 3 &lt;") && text.contains("aria-label=\"\""));
        Heatmap::default().picture();
    }

    #[test]
    fn ratios_have_the_colour_of_their_level() {
        for (ratio, class) in [(0.3, "d0"), (0.9, "d3"), (1.0, "d4"), (1.03, "d5"), (1.3, "d6"), (9.0, "d9")] {
            assert_eq!(Fill::Ratio(ratio).class(), format!("t {class}"));
        }
        let name = |ratio: f64| format!("{ratio}x");
        assert_eq!(levels(name).len(), 10);
        let tiles = vec![tile(0, Fill::Ratio(1.0), "1"), tile(1, Fill::Ratio(1.7), "1.7")];
        let names: Vec<String> =
            Heatmap { tiles, ..Heatmap::default() }.ratios(name).into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["0.97x to 1.03x", "1.5x to 2x"], "a legend has the colours of its map");
    }

    /// Row labels of `allgather` and `reduce_scatter_block` began outside of the drawing.
    #[test]
    fn row_labels_are_within_the_drawing() {
        let rows = vec!["reduce_scatter_block".to_owned(), "8".to_owned()];
        let text = Heatmap { columns: vec!["1".to_owned()], rows, ..Heatmap::default() }.picture().fragment();
        let label = text.split("<text x=\"").find(|text| text.contains("reduce_scatter_block")).expect("a label");
        let end: i32 = label.split('"').next().and_then(|number| number.parse().ok()).expect("a place");
        assert!(label.contains("text-anchor=\"end\"") && end > 20 * FONT * 58 / 100, "{label}");
    }

    /// The legend of the model's map said that what is slow is blue.
    #[test]
    fn slow_is_orange_and_the_legend_says_so() {
        let legend = slow_levels(|ratio| format!("{ratio}x"));
        for (ratio, name) in [
            (0.28, "under 0.8x"),
            (1.0, "0.97x to 1.05x"),
            (1.1, "1.05x to 1.25x"),
            (3.0, "2x to 10x"),
            (540.0, "10x and more"),
        ] {
            let class = Fill::Slowness(ratio).class();
            assert!(legend.iter().any(|entry| entry.class == class && entry.name == name), "{ratio}: {class}");
            assert_ne!(class, Fill::Open.class(), "undecided has no colour of a slowness");
        }
        assert_eq!(Fill::Slowness(30.0).class(), Fill::Ratio(0.1).class());
    }
}
