//! The text of a file.

use std::fmt;

use super::{ClassicCommRule, ClassicFile, ClassicRule};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::registry;

/// The text of the file: plain decimal numbers, one rule per line, each line with its comment.
///
/// The `max_requests` of choices are left out, as version 1 has no column for them; [`ClassicFile::from_table`]
/// refuses them. Every file has a comment: a lone `0` would be JSON to Open MPI 6.0.
impl fmt::Display for ClassicFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let width = self.width(widths);
        for line in &self.header {
            full_line(f, line)?;
        }
        if !self.header.is_empty() {
            writeln!(f)?;
        }
        writeln!(f, "{:<width$}  # collectives", self.collectives.len())?;
        for block in &self.collectives {
            writeln!(f)?;
            for line in &block.notes {
                full_line(f, line)?;
            }
            let collective = Collective::from_id(block.id);
            let name = collective.map_or("collective without tuned algorithms", Collective::name);
            writeln!(f, "{:<width$}  # {name}", block.id)?;
            writeln!(f, "{:<width$}  # communicator sizes", block.sizes.len())?;
            for comm_rule in &block.sizes {
                for line in &comm_rule.notes {
                    full_line(f, line)?;
                }
                writeln!(f, "{:<width$}  # communicator size, message sizes", numbers(comm_rule))?;
                for rule in &comm_rule.rules {
                    write_rule(f, collective, rule, widths, width)?;
                }
            }
        }
        Ok(())
    }
}

impl ClassicFile {
    fn every_comm_rule(&self) -> impl Iterator<Item = &ClassicCommRule> {
        self.collectives.iter().flat_map(|block| &block.sizes)
    }

    /// The widths of the four columns of message rules.
    fn widths(&self) -> [usize; 4] {
        let mut widths = [1; 4];
        for rule in self.every_comm_rule().flat_map(|comm_rule| &comm_rule.rules) {
            for (width, number) in widths.iter_mut().zip(columns(rule)) {
                *width = (*width).max(number.to_string().len());
            }
        }
        widths
    }

    /// The width of all numbers on a line.
    fn width(&self, columns: [usize; 4]) -> usize {
        let rules = columns.iter().sum::<usize>() + columns.len() - 1;
        self.every_comm_rule().map(|comm_rule| numbers(comm_rule).len()).fold(rules, usize::max)
    }
}

fn numbers(comm_rule: &ClassicCommRule) -> String {
    format!("{} {}", comm_rule.comm_size, comm_rule.rules.len())
}

fn columns(rule: &ClassicRule) -> [u64; 4] {
    [rule.size, rule.choice.algorithm.into(), rule.choice.faninout.into(), rule.choice.segsize]
}

fn write_rule(
    f: &mut fmt::Formatter<'_>,
    collective: Option<Collective>,
    rule: &ClassicRule,
    [w0, w1, w2, w3]: [usize; 4],
    width: usize,
) -> fmt::Result {
    let [size, algorithm, faninout, segsize] = columns(rule);
    let known = collective.and_then(|collective| registry::in_any_release(collective, rule.choice.algorithm));
    let words = registry::words(known, Choice { max_requests: 0, ..rule.choice });
    let numbers = format!("{size:>w0$} {algorithm:>w1$} {faninout:>w2$} {segsize:>w3$}");
    write!(f, "{numbers:<width$}  # {words}")?;
    if let Some(note) = &rule.note {
        write!(f, "; {}", harmless(note))?;
    }
    writeln!(f)
}

/// A comment that fills a line.
fn full_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "{}", format!("# {}", harmless(text)).trim_end())
}

/// The text as one line of printable ASCII, which the reader skips to the end of the line whatever it says.
fn harmless(text: &str) -> String {
    let harmless = |c: char| match c {
        ' '..='~' => c,
        c if c.is_control() || c.is_whitespace() => ' ',
        _ => '?',
    };
    text.chars().map(harmless).collect::<String>().trim_end().to_owned()
}
