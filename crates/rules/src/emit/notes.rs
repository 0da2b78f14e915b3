//! Comments for a file that is made from a table.

use std::collections::BTreeMap;

use crate::collective::Collective;

/// Comments for a file that is made from a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Lines at the top.
    pub header: Vec<String>,
    /// Lines above a communicator rule, by the first of its communicator sizes.
    pub blocks: BTreeMap<(Collective, u64), Vec<String>>,
    /// Comment after a message rule, by the first communicator size and first lookup byte that use it.
    pub rules: BTreeMap<(Collective, u64, u64), String>,
}

/// The text as one line of printable ASCII, which readers of the format skip.
pub(crate) fn harmless(text: &str) -> String {
    let harmless = |c: char| match c {
        ' '..='~' => c,
        c if c.is_control() || c.is_whitespace() => ' ',
        _ => '?',
    };
    text.chars().map(harmless).collect::<String>().trim_end().to_owned()
}
