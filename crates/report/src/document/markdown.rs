//! Documents as Markdown.

use super::{Block, Document, Part, SIMULATED, Table, joined};
use crate::plain;
use crate::words::{capitalised, wrapped};

/// The usual width of documents.
const WIDTH: usize = 120;

impl Document {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let bold = |text: &str| format!("**{}**", plain::markdown(text));
        let origin: Vec<Block> = self.origin.iter().cloned().map(Block::Prose).collect();
        let chunks = [
            heading(1, &capitalised(&self.subject)),
            if self.simulated { bold(SIMULATED) } else { String::new() },
            if self.headline.is_empty() { String::new() } else { bold(&self.headline) },
            text(&Block::List(self.answer.clone()), 2),
            joined(&origin, "\n\n", |block| text(block, 2)),
            joined(&self.blocks, "\n\n", |block| text(block, 2)),
        ];
        let chunks: Vec<String> = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        plain::document(chunks.join("\n\n") + "\n")
    }
}

fn heading(level: usize, title: &str) -> String {
    format!("{} {}", "#".repeat(level), plain::markdown(title))
}

/// A block below headings of this level.
fn text(block: &Block, level: usize) -> String {
    let items = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join("\n");
    match block {
        Block::Prose(text) => wrapped(WIDTH, &plain::markdown(text), "", "").join("\n"),
        Block::List(all) => items(&mut all.iter().map(|item| format!("- {}", plain::markdown(item)))),
        Block::Ranking(all) => {
            items(&mut (1..).zip(all).map(|(place, item)| format!("{place}. {}", plain::markdown(item))))
        }
        Block::Table(table) => table.markdown(),
        Block::Commands(lines) if lines.is_empty() => String::new(),
        Block::Commands(lines) => {
            format!("```sh\n{}\n```", items(&mut lines.iter().map(|line| plain::line(line).replace("```", "'''"))))
        }
        // Four backquotes: names in it may hold three.
        Block::Verbatim(text) => format!("````text\n{}\n````", text.trim_end().replace("````", "")),
        Block::Figure { rows, .. } => rows.iter().map(Table::markdown).collect::<Vec<_>>().join("\n\n"),
        Block::Part(Part { title, blocks, .. }) => match joined(blocks, "\n\n", |block| text(block, level + 1)) {
            empty if empty.is_empty() => empty,
            content => format!("{}\n\n{content}", heading(level, title)),
        },
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
        let rows: Vec<String> = self.rows.iter().map(line).collect();
        format!("{}\n|{rule}\n{}", line(&self.heads), rows.join("\n"))
    }
}
