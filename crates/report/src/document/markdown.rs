//! Documents as Markdown.

use super::model::{Block, Document, SIMULATED, Section, Table, join};
use crate::plain;
use crate::words::{capitalised, wrapped};

/// The usual width of documents.
const WIDTH: usize = 120;

impl Document {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let bold = |text: &str| if text.is_empty() { String::new() } else { format!("**{}**", plain::markdown(text)) };
        let head = [
            heading(1, &capitalised(&self.subject)),
            bold(if self.simulated { SIMULATED } else { "" }),
            bold(&self.headline),
            list(&self.answer, |_| "-".to_owned()),
        ];
        let origin = self.origin.iter().map(|text| paragraph(text));
        let blocks = self.blocks.iter().map(|block| text(block, 2));
        plain::document(join(head.into_iter().chain(origin).chain(blocks), "\n\n") + "\n")
    }
}

fn heading(level: usize, title: &str) -> String {
    format!("{} {}", "#".repeat(level), plain::markdown(title))
}

fn paragraph(text: &str) -> String {
    wrapped(WIDTH, &plain::markdown(text), "", "").join("\n")
}

fn list(items: &[String], mark: impl Fn(usize) -> String) -> String {
    join(items.iter().enumerate().map(|(place, item)| format!("{} {}", mark(place), plain::markdown(item))), "\n")
}

/// Commands between fences that are longer than any in them.
fn fenced(lines: &[String]) -> String {
    let text = join(lines.iter().map(|line| plain::printable_line(line).replace("````", "' ' ' '")), "\n");
    if text.is_empty() { text } else { format!("````sh\n{text}\n````") }
}

/// A block, whose own heading has this level.
fn text(block: &Block, level: usize) -> String {
    match block {
        Block::Prose(text) => paragraph(text),
        Block::List(items) => list(items, |_| "-".to_owned()),
        Block::Ranking(items) => list(items, |place| format!("{}.", place + 1)),
        Block::Table(table) => table.markdown(),
        Block::Commands(lines) => fenced(lines),
        Block::Figure { rows, .. } => join(rows.iter().map(Table::markdown), "\n\n"),
        Block::Section(Section { title, blocks, .. }) => {
            match join(blocks.iter().map(|block| text(block, level + 1)), "\n\n") {
                empty if empty.is_empty() => empty,
                content => format!("{}\n\n{content}", heading(level, title)),
            }
        }
    }
}

impl Table {
    fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: &Vec<String>| {
            format!("| {} |", cells.iter().map(|text| plain::cell(text)).collect::<Vec<_>>().join(" | "))
        };
        let rule: String = self.right.iter().map(|right| if *right { "---:|" } else { "---|" }).collect();
        let rows = join(self.rows.iter().map(line), "\n");
        join([paragraph(&self.about), format!("{}\n|{rule}\n{rows}", line(&self.heads))], "\n\n")
    }
}
