//! Documents as pages: everything in one file, nothing fetched.
//!
//! Pages are complete without their script; it adds numbers at the pointer, highlights algorithms, and opens folded parts
//! for printing where the browser does not. Numbers of curves are read back from their paths, so that no number is in the
//! page twice.

use super::model::{Block, Document, SIMULATED, Section, Table, join};
use crate::plain;
use crate::plot::{self, Entry, Picture};

pub(crate) use crate::plain::markup;

impl Document {
    /// As a page of HTML that needs no other file. `tool` names the program and its version; it may be empty.
    pub fn page(&self, tool: &str) -> String {
        let subject = markup(&self.subject);
        let title = match self.class {
            "open" => format!("{}: {subject}", markup(&self.headline)),
            _ => format!("collrules: {subject}"),
        };
        let warning = if self.simulated { SIMULATED } else { "" };
        let (lead, more) = self.answer.split_first().map_or(("", &[][..]), |(lead, more)| (lead.as_str(), more));
        let origin: Vec<String> = self.origin.iter().map(|text| prose(text)).collect();
        plain::document(format!(
            include_str!("page.html"),
            title = if self.simulated { format!("SIMULATED: {title}") } else { title },
            plot_style = plot::STYLE,
            style = include_str!("page.css"),
            // On every page of paper too.
            print_style = wrap("@page{@top-center{content:\"", warning, "\";font:700 9pt sans-serif}}"),
            warning = wrap("<p class=\"simulated\" role=\"note\">", warning, "</p>\n"),
            subject = subject,
            class = self.class,
            headline = markup(&self.headline),
            lead = wrap("<p class=\"lead\">", &prose(lead), "</p>\n"),
            more = list("ul", more),
            origin = wrap("<p class=\"source\">", &origin.join("<br>"), "</p>\n"),
            content = join(self.blocks.iter().map(|block| element(block, 0)), "\n"),
            tool = wrap("Written by ", &markup(tool), ". "),
            script = include_str!("page.js"),
        ))
    }
}

/// A content between these, unless it is empty.
pub(super) fn wrap(before: &str, content: &str, after: &str) -> String {
    if content.is_empty() { String::new() } else { format!("{before}{content}{after}") }
}

/// A sentence as markup; what stands between backquotes is code.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A lonely backquote is one.
        return markup(text);
    }
    let mark = |(place, part): (usize, &&str)| match place % 2 {
        0 => markup(part),
        _ => format!("<code>{}</code>", markup(part)),
    };
    parts.iter().enumerate().map(mark).collect()
}

fn list(tag: &str, items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("<li>{}", prose(item))).collect();
    wrap(&format!("<{tag}>"), &items, &format!("</{tag}>"))
}

/// A block below this number of headings.
fn element(block: &Block, depth: usize) -> String {
    match block {
        Block::Prose(text) => wrap("<p>", &prose(text), "</p>"),
        Block::List(items) => list("ul", items),
        Block::Ranking(items) => list("ol", items),
        Block::Table(table) => table.element(),
        Block::Commands(lines) => {
            let command = |line: &String| {
                let line = markup(line);
                format!(
                    "<div class=\"code\"><pre><code>{line}</code></pre><button type=\"button\" class=\"copy\" hidden>copy</button></div>"
                )
            };
            lines.iter().map(command).collect()
        }
        Block::Figure { drawing, .. } => drawing.clone(),
        Block::Section(part) => part.element(depth),
    }
}

impl Section {
    fn element(&self, depth: usize) -> String {
        let content = join(self.blocks.iter().map(|block| element(block, depth + 1)), "\n");
        if content.is_empty() {
            return content;
        }
        let id = wrap(" id=\"", &markup(&self.id), "\"");
        let title = markup(&self.title);
        let class = if self.summary.is_empty() { "part" } else { "collective" };
        let open = if self.open { " open" } else { "" };
        match (depth, self.open) {
            (0, _) => format!(
                "<details class=\"{class}\"{id}{open}><summary><h2>{title}</h2>{}</summary>\n{content}\n</details>",
                self.summary
            ),
            (_, true) => format!("<h{level}{id}>{title}</h{level}>\n{content}", level = depth + 2),
            (_, false) => format!("<details{id}><summary>{title}</summary>\n{content}\n</details>"),
        }
    }
}

impl Table {
    fn element(&self) -> String {
        let class = |column: usize| if self.right.get(column) == Some(&true) { " class=\"n\"" } else { "" };
        let head = |(column, text): (usize, &String)| format!("<th scope=\"col\"{}>{}", class(column), markup(text));
        let row = |cells: &Vec<String>| {
            let cell = |(column, text): (usize, &String)| {
                let tag = if column == 0 { "th scope=\"row\"" } else { "td" };
                format!("<{tag}{}>{}", class(column), prose(text))
            };
            format!("\n<tr>{}</tr>", cells.iter().enumerate().map(cell).collect::<String>())
        };
        let heads: String = self.heads.iter().enumerate().map(head).collect();
        let rows: String = self.rows.iter().map(row).collect();
        let about = wrap("<p>", &prose(&self.about), "</p>\n");
        let before = format!("{about}<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>");
        wrap(&before, &rows, "\n</tbody></table></div>")
    }
}

/// Plots side by side, with captions.
pub fn plots(plots: impl IntoIterator<Item = (String, Picture)>) -> Block {
    let figure = |(caption, picture): (String, Picture)| {
        format!("<figure><figcaption>{}</figcaption>{}</figure>\n", markup(&caption), picture.fragment())
    };
    Block::drawing(wrap("<div class=\"plots\">\n", &plots.into_iter().map(figure).collect::<String>(), "</div>"))
}

/// The legend of the lines of plots.
pub fn legend(entries: &[Entry]) -> Block {
    let key = |Entry { class, name }: &Entry| {
        let name = markup(name);
        format!(
            "<li><button type=\"button\" class=\"{class}\" data-name=\"{name}\" aria-pressed=\"false\"><svg width=\"26\" \
             height=\"10\" viewBox=\"0 0 26 10\" class=\"plot\" aria-hidden=\"true\"><g class=\"{class}\">\
             <path d=\"M0 5h26\"/><path class=\"iv\" d=\"M13 5h0\"/></g></svg>{name}</button>"
        )
    };
    let keys: String = entries.iter().map(key).collect();
    Block::drawing(format!("<div class=\"legend\"><ul aria-label=\"Algorithms\">{keys}</ul></div>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_are_code_and_the_rest_is_text() {
        assert_eq!(prose("ask `collrules verify` & see"), "ask <code>collrules verify</code> &amp; see");
        assert_eq!(prose("a ` alone <b>"), "a ` alone &lt;b&gt;");
        assert_eq!(prose("`<i>`"), "<code>&lt;i&gt;</code>");
    }
}
