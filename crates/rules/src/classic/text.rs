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
        self.write(f, 1)
    }
}

/// The text of a file with a version line, which must be the very first, and a fifth column in the rules that need it.
pub(crate) struct Version2<'f>(pub(crate) &'f ClassicFile);

impl fmt::Display for Version2<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rule-file-version-2")?;
        self.0.write(f, 2)
    }
}

impl ClassicFile {
    fn write(&self, f: &mut fmt::Formatter<'_>, version: u32) -> fmt::Result {
        let widths = self.widths();
        let width = self.width(widths, version);
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
                    let numbers = rule_numbers(rule, widths, version);
                    write!(f, "{numbers:<width$}  # {}", words(collective, rule, version))?;
                    if let Some(note) = &rule.note {
                        write!(f, "; {}", harmless(note))?;
                    }
                    writeln!(f)?;
                }
            }
        }
        Ok(())
    }

    fn every_comm_rule(&self) -> impl Iterator<Item = &ClassicCommRule> {
        self.collectives.iter().flat_map(|block| &block.sizes)
    }

    fn every_rule(&self) -> impl Iterator<Item = &ClassicRule> {
        self.every_comm_rule().flat_map(|comm_rule| &comm_rule.rules)
    }

    /// The widths of the first four columns of message rules.
    fn widths(&self) -> [usize; 4] {
        let mut widths = [1; 4];
        for rule in self.every_rule() {
            for (width, number) in widths.iter_mut().zip(columns(rule)) {
                *width = (*width).max(digits(number));
            }
        }
        widths
    }

    /// The width of all numbers on a line.
    fn width(&self, columns: [usize; 4], version: u32) -> usize {
        let fifth = self.every_rule().map(|rule| fifth_column(rule, version).len()).max().unwrap_or(0);
        let rules = columns.iter().sum::<usize>() + columns.len() - 1 + fifth;
        self.every_comm_rule().map(|comm_rule| numbers(comm_rule).len()).fold(rules, usize::max)
    }
}

fn numbers(comm_rule: &ClassicCommRule) -> String {
    format!("{} {}", comm_rule.comm_size, comm_rule.rules.len())
}

fn columns(rule: &ClassicRule) -> [u64; 4] {
    [rule.size, rule.choice.algorithm.into(), rule.choice.faninout.into(), rule.choice.segsize]
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The bound on requests with a blank before it; nothing where the rule needs none.
fn fifth_column(rule: &ClassicRule, version: u32) -> String {
    match rule.choice.max_requests {
        0 => String::new(),
        _ if version < 2 => String::new(),
        bound => format!(" {bound}"),
    }
}

fn rule_numbers(rule: &ClassicRule, [w0, w1, w2, w3]: [usize; 4], version: u32) -> String {
    let [size, algorithm, faninout, segsize] = columns(rule);
    format!("{size:>w0$} {algorithm:>w1$} {faninout:>w2$} {segsize:>w3$}{}", fifth_column(rule, version))
}

fn words(collective: Option<Collective>, rule: &ClassicRule, version: u32) -> String {
    let known = collective.and_then(|collective| registry::in_any_release(collective, rule.choice.algorithm));
    let max_requests = if version < 2 { 0 } else { rule.choice.max_requests };
    registry::words(known, Choice { max_requests, ..rule.choice })
}

/// A comment that fills a line.
fn full_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "{}", format!("# {}", harmless(text)).trim_end())
}

/// The text as one line of printable ASCII, which the reader skips to the end of the line whatever it says.
pub(crate) fn harmless(text: &str) -> String {
    let harmless = |c: char| match c {
        ' '..='~' => c,
        c if c.is_control() || c.is_whitespace() => ' ',
        _ => '?',
    };
    text.chars().map(harmless).collect::<String>().trim_end().to_owned()
}
