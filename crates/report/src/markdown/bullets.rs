//! Lists of sentences.

use std::fmt::{self, Write};

use crate::plain;

pub(super) fn bullets(out: &mut String, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(out, "- {}", plain::markdown(line)))
}
