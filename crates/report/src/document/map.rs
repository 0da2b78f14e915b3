//! Maps of pages: a table with one value per row and column, in colour and as text.

use std::collections::BTreeSet;

use super::html::wrap;
use super::model::Block;
use crate::plain::markup;
use crate::plot::{COLOURS, Entry};

/// Tiles in rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// What the map shows, in rows, columns and colours; it begins with a name.
    caption: String,
    /// The labels of the columns, from the left.
    columns: Vec<String>,
    /// The label of each row, from the top, and its tiles; places without one stay empty.
    rows: Vec<(String, Vec<Option<Tile>>)>,
    /// Writes a text that neighbours in a row have in common once, across them.
    joins: bool,
}

/// A place of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Its colour.
    pub fill: Fill,
    /// Text on it.
    pub text: String,
    /// All about it, in words.
    pub note: String,
}

/// The colour of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// The builtin.
    Builtin,
    /// A candidate; from `COLOURS` on the colours repeat, lighter.
    Series(usize),
    /// A ratio: blue above 1, orange below.
    Ratio(f64),
    /// A time over one that is usual or possible: orange above 1, blue below.
    Slowness(f64),
    /// Undecided.
    Open,
}

/// Columns that fit into the width of a page.
const MOST_COLUMNS: usize = 30;

/// Ratios from which on a tile is in the next colour; the neutral one is the fifth.
const LEVELS: [f64; 9] = [0.5, 0.67, 0.8, 0.97, 1.03, 1.25, 1.5, 2.0, 4.0];

/// Slownesses from which on a tile is in the next colour; the neutral one is the third.
const SLOW_LEVELS: [f64; 6] = [0.8, 0.97, 1.05, 1.25, 2.0, 10.0];

/// The number of the colour of a slowness above so many levels.
const fn slow(above: usize) -> usize {
    SLOW_LEVELS.len() - above
}

impl Fill {
    /// The classes of such a tile.
    pub fn class(self) -> String {
        let above = |levels: &[f64], value: f64| levels.iter().filter(|level| value >= **level).count();
        match self {
            Self::Builtin => "t tb".to_owned(),
            Self::Open => "t x".to_owned(),
            Self::Series(number) if number < COLOURS => format!("t s{number}"),
            Self::Series(number) => format!("t s{} light", number % COLOURS),
            Self::Ratio(ratio) => format!("t d{}", above(&LEVELS, ratio)),
            Self::Slowness(ratio) => format!("t d{}", slow(above(&SLOW_LEVELS, ratio))),
        }
    }
}

/// The legend for the colours of ratios, from slow to fast; `name` describes a ratio.
pub fn ratios(name: impl Fn(f64) -> String) -> Vec<Entry> {
    ranges(&LEVELS, name).enumerate().map(|(above, name)| Entry { class: format!("t d{above}"), name }).collect()
}

/// The legend for the colours of slownesses, from fast to slow; `name` describes a ratio.
pub fn slownesses(name: impl Fn(f64) -> String) -> Vec<Entry> {
    let level = |(above, name): (usize, String)| Entry { class: format!("t d{}", slow(above)), name };
    let open = Entry { class: Fill::Open.class(), name: "undecided".to_owned() };
    ranges(&SLOW_LEVELS, name).enumerate().map(level).chain([open]).collect()
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

impl Heatmap {
    /// The map of the values in rows and columns, whose places may have a tile.
    pub fn new<R: ToString, C>(
        caption: impl Into<String>,
        rows: &BTreeSet<R>,
        columns: &BTreeSet<C>,
        label: impl Fn(&C) -> String,
        tile: impl Fn(&R, &C) -> Option<Tile>,
    ) -> Self {
        let row = |row: &R| (row.to_string(), columns.iter().map(|column| tile(row, column)).collect());
        Self {
            caption: caption.into(),
            columns: columns.iter().map(label).collect(),
            rows: rows.iter().map(row).collect(),
            joins: false,
        }
    }

    /// Writes a text that neighbours in a row have in common once, across them.
    pub fn join(self) -> Self {
        Self { joins: true, ..self }
    }

    /// The map with those entries of a legend whose colours occur. If it is too wide for a page, neighbouring columns with
    /// the same colours are one.
    pub fn block(&self, legend: Vec<Entry>) -> Block {
        if self.columns.len() > MOST_COLUMNS {
            return self.merge_columns().draw(legend);
        }
        self.draw(legend)
    }

    /// The map with one column for neighbours that have the same colours in each row.
    fn merge_columns(&self) -> Self {
        let colour = |tile: &Option<Tile>| tile.as_ref().map(|tile| tile.fill.class());
        let is_like = |a: usize, b: usize| self.rows.iter().all(|(_, tiles)| colour(&tiles[a]) == colour(&tiles[b]));
        let places: Vec<usize> = (0..self.columns.len()).collect();
        let runs: Vec<&[usize]> = places.chunk_by(|a, b| is_like(*a, *b)).collect();
        let label = |run: &&[usize]| match (&self.columns[run[0]], &self.columns[run[run.len() - 1]]) {
            (first, last) if first == last => first.clone(),
            (first, last) => format!("{first} to {last}"),
        };
        let merged = |tiles: &[Option<Tile>], run: &[usize]| {
            let all: Vec<&Tile> = run.iter().filter_map(|place| tiles[*place].as_ref()).collect();
            let first = *all.first()?;
            let texts: BTreeSet<&str> = all.iter().map(|tile| tile.text.as_str()).collect();
            let text = match all[all.len() - 1] {
                _ if texts.len() == 1 => first.text.clone(),
                last => format!("{}..{}", first.text, last.text),
            };
            let notes: Vec<&str> = all.iter().map(|tile| tile.note.as_str()).collect();
            Some(Tile { fill: first.fill, text, note: notes.join("\n") })
        };
        let row = |(label, tiles): &(String, Vec<Option<Tile>>)| {
            (label.clone(), runs.iter().map(|run| merged(tiles, run)).collect())
        };
        Self {
            caption: self.caption.clone(),
            columns: runs.iter().map(label).collect(),
            rows: self.rows.iter().map(row).collect(),
            joins: self.joins,
        }
    }

    fn draw(&self, legend: Vec<Entry>) -> Block {
        let tiles = self.rows.iter().flat_map(|(_, tiles)| tiles).flatten();
        let classes: BTreeSet<String> = tiles.map(|tile| tile.fill.class()).collect();
        if classes.is_empty() {
            return Block::drawing(String::new());
        }
        let (name, rest) = self.caption.split_at(self.caption.find([',', ':']).unwrap_or(self.caption.len()));
        let heads: String = self.columns.iter().map(|label| format!("<th scope=\"col\">{}", markup(label))).collect();
        let row = |(label, tiles): &(String, Vec<Option<Tile>>)| {
            format!("\n<tr><th scope=\"row\">{}{}</tr>", markup(label), self.cells(tiles))
        };
        let longest = self.rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        let levels = legend.iter().filter(|entry| classes.contains(&entry.class));
        let levels = levels.map(|entry| format!("<li class=\"{}\">{}", entry.class, markup(&entry.name)));
        Block::drawing(format!(
            "<figure class=\"map\"><figcaption><strong>{}</strong>{}</figcaption><div class=\"scroll\">\
             <table style=\"--columns:{};--label:{longest}\"><thead><tr><td>{heads}</tr></thead><tbody>{}\n</tbody></table></div>\n\
             <ul class=\"levels\" aria-label=\"Colours\">{}</ul></figure>",
            markup(name),
            markup(rest),
            self.columns.len(),
            self.rows.iter().map(row).collect::<String>(),
            levels.collect::<String>(),
        ))
    }

    /// The cells of a row. A text across several is in the first of them.
    fn cells(&self, tiles: &[Option<Tile>]) -> String {
        let alike = |a: &Option<Tile>, b: &Option<Tile>| {
            let key = |tile: &Option<Tile>| tile.as_ref().map(|tile| (tile.fill, tile.text.clone()));
            self.joins && key(a) == key(b)
        };
        let run = |run: &[Option<Tile>]| -> String {
            let cell = |(place, tile): (usize, &Option<Tile>)| {
                let Some(Tile { fill, text, note }) = tile else { return "<td>".to_owned() };
                let text = match place {
                    0 => wrap(&format!("<span style=\"--n:{}\">", run.len()), &markup(text), "</span>"),
                    _ => String::new(),
                };
                let joined = if place + 1 < run.len() { " joined" } else { "" };
                format!("<td class=\"{}{joined}\" title=\"{}\">{text}", fill.class(), markup(note))
            };
            run.iter().enumerate().map(cell).collect()
        };
        tiles.chunk_by(alike).map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(tiles: &[(Fill, &str)]) -> Heatmap {
        let places: BTreeSet<usize> = (0..tiles.len()).collect();
        let tile = |_: &i32, place: &usize| {
            let (fill, text) = tiles[*place];
            Some(Tile { fill, text: text.to_owned(), note: format!("note {place} <") })
        };
        Heatmap::new("Speed: all", &BTreeSet::from([8]), &places, |place| format!("{place} KiB"), tile)
    }

    fn text(map: &Heatmap, legend: Vec<Entry>) -> String {
        match map.block(legend) {
            Block::Figure { drawing, .. } => drawing,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn neighbours_that_say_the_same_say_it_once() {
        let shared = (Fill::Series(1), "scatter_allgather");
        let map = map(&[shared, shared, shared, (Fill::Builtin, "scatter_allgather")]).join();
        let drawn = text(&map, Vec::new());
        assert_eq!(drawn.matches(">scatter_allgather<").count(), 2, "{drawn}");
        assert!(drawn.contains("<span style=\"--n:3\">") && drawn.contains("note 3 &lt;"), "{drawn}");
        assert_eq!(drawn.matches("<td class=\"t s1").count(), 3, "each has a note of its own: {drawn}");
        assert_eq!(text(&Heatmap::default(), Vec::new()), "", "a map of nothing is left out");
    }

    #[test]
    fn equal_columns_of_a_wide_map_are_one() {
        let tiles: Vec<(Fill, &str)> = (0..40)
            .map(|place| if place < 39 { (Fill::Ratio(1.0), "1.00") } else { (Fill::Ratio(3.0), "3.00") })
            .collect();
        let wide = text(&map(&tiles), Vec::new());
        assert_eq!(wide.matches("<td class").count(), 2, "{wide}");
        assert!(
            wide.contains(">0 KiB to 38 KiB") && wide.contains(">39 KiB") && wide.contains("--columns:2;"),
            "{wide}"
        );
        assert!(wide.contains("note 0 &lt;") && wide.contains("note 38 &lt;"), "no note is lost: {wide}");
        assert_eq!(text(&map(&tiles[..30]), Vec::new()).matches("<td class").count(), 30);
    }

    #[test]
    fn ratios_have_the_colour_of_their_level() {
        for (ratio, class) in [(0.3, "d0"), (0.9, "d3"), (1.0, "d4"), (1.03, "d5"), (1.3, "d6"), (9.0, "d9")] {
            assert_eq!(Fill::Ratio(ratio).class(), format!("t {class}"));
        }
        let name = |ratio: f64| format!("{ratio}x");
        assert_eq!(ratios(name).len(), 10);
        let text = text(&map(&[(Fill::Ratio(1.0), "1"), (Fill::Ratio(1.7), "1.7")]), ratios(name));
        assert_eq!(text.matches("<li").count(), 2, "a legend has the colours of its map: {text}");
        assert!(text.contains(">0.97x to 1.03x") && text.contains(">1.5x to 2x"), "{text}");
    }

    /// The legend of the model's map said that what is slow is blue.
    #[test]
    fn slow_is_orange_and_the_legend_says_so() {
        let legend = slownesses(|ratio| format!("{ratio}x"));
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
