//! Documents and their blocks.

/// First sentence of every document of simulated times.
pub(crate) const SIMULATED: &str = "SIMULATED: a cost model gave these times. They say nothing about any real machine.";

/// A result for people.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Subject of the result, without a capital: `communication model`.
    pub subject: String,
    /// True if a cost model gave the times.
    pub simulated: bool,
    /// The verdict in a few words.
    pub headline: String,
    /// Class of its colour: `faster`, `open` or none.
    pub class: &'static str,
    /// The result in whole sentences. On a terminal they come last, where they stay visible.
    pub answer: Vec<String>,
    /// Origin of the numbers.
    pub origin: Vec<String>,
    /// All else.
    pub blocks: Vec<Block>,
}

/// A piece of a document. Empty ones, and parts of nothing else, are left out.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Prose(String),
    /// Items without an order.
    List(Vec<String>),
    /// Items by rank.
    Ranking(Vec<String>),
    /// Rows of cells.
    Table(Table),
    /// Commands, a line each.
    Commands(Vec<String>),
    /// A drawing for pages, and the tables that other formats have in its place.
    Figure {
        /// The markup.
        drawing: String,
        /// The tables.
        rows: Vec<Table>,
    },
    /// Blocks under a heading.
    Section(Section),
}

/// Blocks under a heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its anchor in a page; empty for none.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// True for the most important ones: a page does not fold them, and a terminal shows them.
    pub open: bool,
    /// Markup that a page has behind the title, also if the part is folded.
    pub summary: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// Rows of cells under heads.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(super) heads: Vec<String>,
    /// True for each column that is aligned to the right.
    pub(super) right: Vec<bool>,
    pub(super) rows: Vec<Vec<String>>,
    /// A paragraph before the table.
    pub(super) about: String,
    /// The number of rows that a terminal shows, and a sentence about the others.
    pub(super) most: Option<(usize, String)>,
}

impl Table {
    /// A table; columns whose head ends with a colon are aligned to the right.
    pub fn new<H: AsRef<str>, R: IntoIterator<Item = String>>(
        heads: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let rows = rows.into_iter().map(|row| row.into_iter().collect()).collect();
        let mut table = Self { rows, ..Self::default() };
        for head in heads {
            let text = head.as_ref().strip_suffix(':');
            table.right.push(text.is_some());
            table.heads.push(text.unwrap_or(head.as_ref()).to_owned());
        }
        table
    }

    /// With a paragraph before it.
    pub fn about(self, about: &str) -> Self {
        Self { about: about.to_owned(), ..self }
    }

    /// Limits the rows on a terminal, with a sentence about the others.
    pub fn at_most(self, rows: usize, others: String) -> Self {
        Self { most: Some((rows, others)), ..self }
    }
}

impl Block {
    /// A paragraph.
    pub fn prose(text: impl Into<String>) -> Self {
        Self::Prose(text.into())
    }

    /// Rows below these heads.
    pub fn table<H: AsRef<str>, R: IntoIterator<Item = String>>(
        heads: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        Self::Table(Table::new(heads, rows))
    }

    /// A drawing that only pages have.
    pub fn drawing(drawing: String) -> Self {
        Self::Figure { drawing, rows: Vec::new() }
    }

    /// A drawing, and the tables that other formats have in its place.
    pub fn or_rows(self, tables: Vec<Table>) -> Self {
        match self {
            Self::Figure { drawing, .. } => Self::Figure { drawing, rows: tables },
            other => other,
        }
    }

    /// A part that pages fold.
    pub fn section(id: &str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self::Section(Section { id: id.to_owned(), title: title.into(), blocks, ..Section::default() })
    }

    /// A part that pages show at once, as terminals do.
    pub fn open(id: &str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self::Section(Section { id: id.to_owned(), title: title.into(), open: true, blocks, ..Section::default() })
    }
}

/// Texts in a row, without the empty ones.
pub(super) fn join(texts: impl IntoIterator<Item = String>, between: &str) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let hostile = "<b>|`\u{1b}[2J\n# x";
        let text = || hostile.to_owned();
        Document {
            subject: text(),
            headline: text(),
            answer: vec![text(), "use `collrules verify`".to_owned()],
            origin: vec![text()],
            blocks: vec![
                Block::open(
                    "id",
                    text(),
                    vec![
                        Block::Prose(text()),
                        Block::List(vec![text()]),
                        Block::Ranking(vec![text(); 12]),
                        Block::Table(
                            Table::new(["a:", "b"], [[text(), text()], [text(), text()]]).at_most(1, "1 more".into()),
                        ),
                        Block::Commands(vec![text()]),
                    ],
                ),
                Block::section("folded", "folded", vec![Block::prose("hidden")]),
                Block::open("figure", "figures alone", vec![Block::drawing("<svg></svg>".to_owned())]),
                Block::open("empty", "never shown", vec![Block::List(Vec::new())]),
            ],
            ..Document::default()
        }
    }

    #[test]
    fn no_format_lets_text_become_markup() {
        let (text, markdown, page) = (document().text(80), document().markdown(), document().page("a tool"));
        for rendered in [&text, &markdown, &page] {
            assert!(!rendered.contains(|char: char| char.is_control() && char != '\n'), "{rendered}");
            assert!(!rendered.contains("never shown"), "{rendered}");
        }
        let outside_of_code: String = markdown.split("````").step_by(2).collect();
        assert!(!outside_of_code.contains("<b>") && !outside_of_code.contains("\n# x"), "{markdown}");
        assert!(outside_of_code.contains("&lt;b>\\|"), "{markdown}");
        let body = page.split("<body>").nth(1).expect("a body");
        assert!(!body.contains("<b>") && body.contains("&lt;b&gt;") && body.contains("<code>collrules verify</code>"));
    }

    #[test]
    fn formats_show_what_they_can() {
        let (text, markdown, page) = (document().text(80), document().markdown(), document().page(""));
        assert!(!text.contains("hidden") && markdown.contains("hidden") && page.contains("hidden"));
        assert!(!text.contains("figures alone") && !markdown.contains("figures alone") && page.contains("<svg>"));
        assert!(text.contains("and 2 more") && text.contains("1 more") && !markdown.contains("1 more"), "{text}");
        assert!(text.ends_with("use `collrules verify`\n"), "the answer comes last: {text}");
        let simulated = Document { simulated: true, ..document() };
        for rendered in [simulated.text(80), simulated.markdown(), simulated.page("")] {
            assert!(rendered.contains("SIMULATED: a cost model"), "{rendered}");
        }
    }
}
