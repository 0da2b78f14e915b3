//! One value per communicator size and message size.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::canvas::{Canvas, FONT, SCALE};
use super::ink::{COLOURS, Ink};
use super::picture::{Entry, Picture};

/// Tiles in rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heatmap {
    /// What it is, for readers who cannot see it.
    pub(crate) description: String,
    /// The labels of the columns, from the left.
    pub(crate) columns: Vec<String>,
    /// The labels of the rows, from the top.
    pub(crate) rows: Vec<String>,
    /// What there is; places without a tile stay empty.
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
    /// What is written on it: the first of these that has room.
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
}

/// Ratios from which on a tile is in the next colour; the neutral one is the fifth.
const LEVELS: [f64; 9] = [0.5, 0.67, 0.8, 0.97, 1.03, 1.25, 1.5, 2.0, 4.0];

impl Fill {
    /// The classes of such a tile.
    pub(crate) fn class(self) -> String {
        match self {
            Self::Builtin => "t tb".to_owned(),
            Self::Series(number) if number < COLOURS => format!("t s{number}"),
            Self::Series(number) => format!("t s{} light", number % COLOURS),
            Self::Ratio(ratio) => format!("t d{}", LEVELS.iter().filter(|level| ratio >= **level).count()),
        }
    }
}

/// What the colours of ratios mean, from slow to fast.
pub(crate) fn levels() -> Vec<Entry> {
    let name = |place: usize| match place {
        0 => format!("under {}x", LEVELS[0]),
        9 => format!("from {}x", LEVELS[8]),
        _ => format!("{}x", LEVELS[place - 1]),
    };
    (0..=LEVELS.len()).map(|place| Entry { class: format!("t d{place}"), name: name(place) }).collect()
}

const ROW: i32 = 28 * SCALE;
const LEFT: i32 = 48 * SCALE;
const BOTTOM: i32 = 24 * SCALE;
const EDGE: i32 = 4 * SCALE;

impl Heatmap {
    /// The drawing.
    pub(crate) fn picture(&self) -> Picture {
        let columns = self.columns.len().max(1) as i32;
        let wide = (880 * SCALE / columns).clamp(34 * SCALE, 160 * SCALE);
        let size = (LEFT + columns * wide + EDGE, EDGE + self.rows.len().max(1) as i32 * ROW + BOTTOM);
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

    fn draw(&self, canvas: Canvas, wide: i32) -> Result<(), DrawingAreaErrorKind<std::convert::Infallible>> {
        let area = canvas.clone().into_drawing_area();
        let (columns, rows) = (self.columns.len().max(1) as f64, self.rows.len().max(1) as f64);
        let longest = self.columns.iter().map(|label| label.chars().count()).max().unwrap_or(0) as i32;
        // Labels take turns where there is no room for all.
        let turn = 1 + (longest * FONT * 6 / 10 + 4 * SCALE - 1) / wide;
        let centres = |count: usize, turn: i32| {
            (0..count)
                .filter(|place| *place as i32 % turn.max(1) == 0)
                .map(|place| place as f64 + 0.5)
                .collect::<Vec<_>>()
        };
        let mut chart = ChartBuilder::on(&area)
            .margin_top(EDGE)
            .margin_right(EDGE)
            .x_label_area_size(BOTTOM)
            .y_label_area_size(LEFT)
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

/// Whether tiles are neighbours in a row that say the same.
fn alike(a: &Tile, b: &Tile) -> bool {
    a.at.0 == b.at.0 && a.at.1 + 1 == b.at.1 && a.fill == b.fill && a.text == b.text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(column: usize, fill: Fill, text: &str) -> Tile {
        Tile { at: (0, column), fill, text: vec![text.to_owned(), "6".to_owned()], note: format!("note {column} <") }
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
        assert_eq!(text.matches(">6<").count(), 1, "what has no room for the long text has the short one");
        assert_eq!(text.matches("<rect").count(), 4);
        assert!(text.contains("note 3 &lt;") && text.contains("aria-label=\"\""));
        Heatmap::default().picture();
    }

    #[test]
    fn ratios_have_the_colour_of_their_level() {
        for (ratio, class) in [(0.3, "d0"), (0.9, "d3"), (1.0, "d4"), (1.03, "d5"), (1.3, "d6"), (9.0, "d9")] {
            assert_eq!(Fill::Ratio(ratio).class(), format!("t {class}"));
        }
        assert_eq!(levels().len(), 10);
    }
}
