//! Documents for a terminal, and aligned tables.

use std::fmt::Display;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

use super::model::{Block, Document, SIMULATED, Section, Table, join};
use crate::plain;
use crate::words::wrapped;

/// Largest number of items of a ranking.
const RANKED: usize = 10;

impl Document {
    /// For a terminal with this many columns: the most important parts, then the answer.
    pub fn text(&self, width: usize) -> String {
        let say = |texts: &[String]| join(texts.iter().map(|text| sentence(width, text, "", "")), "\n");
        let warning = if self.simulated { SIMULATED } else { "" };
        let blocks = join(self.blocks.iter().map(|block| text(block, width)), "\n\n");
        join([sentence(width, warning, "", ""), say(&self.origin), blocks, say(&self.answer)], "\n\n") + "\n"
    }
}

fn sentence(width: usize, text: &str, first: &str, rest: &str) -> String {
    wrapped(width, &plain::printable_line(text), first, rest).join("\n")
}

fn text(block: &Block, width: usize) -> String {
    match block {
        Block::Prose(text) => sentence(width, text, "", ""),
        Block::List(all) => join(all.iter().map(|item| sentence(width, item, "- ", "  ")), "\n"),
        Block::Ranking(all) => {
            let rank = |(place, item): (usize, &String)| sentence(width, item, &format!("{:>2}. ", place + 1), "    ");
            let more = all.len().saturating_sub(RANKED);
            let more = (more > 0).then(|| format!("    and {more} more"));
            join(all.iter().take(RANKED).enumerate().map(rank).chain(more), "\n")
        }
        Block::Table(table) => table.text(width),
        Block::Commands(lines) => join(lines.iter().map(|line| plain::printable_line(line)), "\n"),
        Block::Figure { rows, .. } => join(rows.iter().map(|table| table.text(width)), "\n"),
        Block::Section(Section { open: false, .. }) => String::new(),
        Block::Section(Section { title, blocks, .. }) => {
            match join(blocks.iter().map(|block| text(block, width)), "\n") {
                empty if empty.is_empty() => empty,
                content => format!("{}:\n{content}", plain::printable_line(title)),
            }
        }
    }
}

impl Table {
    /// For a terminal with this many columns.
    pub fn text(&self, width: usize) -> String {
        let (most, others) = self.most.as_ref().map_or((usize::MAX, ""), |(most, others)| (*most, others));
        let clean = |row: &Vec<String>| row.iter().map(|cell| plain::printable_line(cell)).collect();
        let right: Vec<usize> = (0..self.right.len()).filter(|column| self.right[*column]).collect();
        let table = aligned(width, &self.heads, self.rows.iter().take(most).map(clean), &right);
        let others = if self.rows.len() > most { others } else { "" };
        let chunks = [sentence(width, &self.about, "", ""), table, sentence(width, others, "", "")];
        if self.rows.is_empty() { String::new() } else { join(chunks, "\n") }
    }
}

/// Number of blanks between columns; one between numbers if that lets rows fit on lines of their own.
const GAP: usize = 2;

/// A table without lines; columns in `right` are aligned to the right.
///
/// Cells are wrapped to lines of at most `width` columns: between words if whole words fit, otherwise within the
/// longest words.
pub fn aligned<H: AsRef<str> + Display>(
    width: usize,
    header: &[H],
    rows: impl IntoIterator<Item = Vec<String>>,
    right: &[usize],
) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let (natural, gaps) = (natural_width(header, &rows), header.len().saturating_sub(1));
    // Numbers are told apart by one blank.
    let is_of_numbers = 2 * right.len() > header.len();
    let gap = if is_of_numbers && (natural + gaps..natural + GAP * gaps).contains(&width) { 1 } else { GAP };
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    // The gap behind the last column is not seen.
    let width = width + gap;
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let least = least_widths((width, gap), header, &rows);
    for ((place, column), least) in table.column_iter_mut().enumerate().zip(least) {
        let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
        column.set_padding((0, gap as u16)).set_constraint(ColumnConstraint::LowerBoundary(least));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.add_rows(rows);
    table.trim_fmt()
}

/// The width of all columns together if no cell is wrapped, without gaps.
fn natural_width<H: AsRef<str>>(header: &[H], rows: &[Vec<String>]) -> usize {
    let column = |(place, name): (usize, &H)| {
        let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.chars().count());
        cells.chain([name.as_ref().chars().count()]).max().unwrap_or(0)
    };
    header.iter().enumerate().map(column).sum()
}

/// Returns the width that each column needs for its longest word, reduced in the widest ones if they do not fit.
fn least_widths<H: AsRef<str>>((width, gap): (usize, usize), header: &[H], rows: &[Vec<String>]) -> Vec<usize> {
    let words =
        |place: usize| rows.iter().filter_map(move |row| row.get(place)).flat_map(|cell| cell.split_whitespace());
    let of_header = header.iter().map(|name| name.as_ref().split_whitespace());
    let longest =
        of_header.enumerate().map(|(place, name)| name.chain(words(place)).map(|word| word.chars().count()).max());
    let mut least: Vec<usize> = longest.map(|longest| longest.unwrap_or(0) + gap).collect();
    while least.iter().sum::<usize>() > width {
        match least.iter_mut().max() {
            Some(widest) if *widest > gap + 1 => *widest -= 1,
            _ => break,
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize) -> String {
        let rows = [["4", "pipeline, 64 KiB segments"], ["16", "recursive_doubling"]];
        Table::new(["ranks:", "run by"], rows.map(|row| row.map(str::to_owned))).text(width)
    }

    #[test]
    fn words_are_whole_at_any_width() {
        assert_eq!(table(80), "ranks  run by\n    4  pipeline, 64 KiB segments\n   16  recursive_doubling");
        assert_eq!(table(25), "ranks  run by\n    4  pipeline, 64 KiB\n       segments\n   16  recursive_doubling");
    }

    #[test]
    fn lines_fit_even_if_words_do_not() {
        assert!(table(20).lines().all(|line| line.chars().count() <= 20), "{}", table(20));
    }
}
