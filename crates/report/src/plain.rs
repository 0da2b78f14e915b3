//! Untrusted text, such as titles, notes, paths and version strings of libraries, made harmless for output.

/// Text as one line, with blanks instead of control characters and of characters that change the direction of writing.
pub fn printable_line(text: &str) -> String {
    if !text.contains(is_control) {
        return text.to_owned();
    }
    text.split(|char| char == ' ' || is_control(char)).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A whole document without control characters.
pub(crate) fn document(text: String) -> String {
    let is_hostile = |char| char != '\n' && is_control(char);
    if text.contains(is_hostile) { text.replace(is_hostile, " ") } else { text }
}

/// Text for a line of Markdown: it neither ends the line nor begins HTML, a link or a block of code.
pub(crate) fn markdown(text: &str) -> String {
    let text = printable_line(text).replace('<', "&lt;").replace("```", "\\`\\`\\`").replace("~~~", "\\~\\~\\~");
    let mut parts = text.split("](");
    let mut escaped = parts.next().unwrap_or_default().replace("]:", "]\\:");
    for part in parts {
        // Links of our own documents lead to files next to them.
        let is_path = |char: char| char.is_alphanumeric() || matches!(char, '/' | '.' | '-' | '_');
        let is_ours = part.split_once(')').is_some_and(|(target, _)| target.chars().all(is_path));
        escaped += if is_ours { "](" } else { "]\\(" };
        escaped += &part.replace("]:", "]\\:");
    }
    escaped
}

/// Text for a cell of a Markdown table.
pub(crate) fn cell(text: &str) -> String {
    markdown(text).replace('|', "\\|")
}

/// Text for a field of CSV: spreadsheets take text that begins with one of these characters for a formula.
pub(crate) fn spreadsheet(text: &str) -> String {
    let text = printable_line(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// Text for HTML and SVG, between tags and in attributes.
pub(crate) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // No other control characters are allowed in XML.
            control if control.is_control() && !matches!(control, '\t' | '\n') => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula() {
        assert_eq!(spreadsheet("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(spreadsheet("\t@SUM(1)"), "'@SUM(1)");
        assert_eq!(spreadsheet("not significant"), "not significant");
    }

    #[test]
    fn nothing_hostile_is_left() {
        let hostile = "a\n\n# b\u{1b}[31m\0c\r\u{9b}2J <script> | ```x\u{202e}";
        assert_eq!(printable_line(hostile), "a # b [31m c 2J <script> | ```x");
        assert_eq!(markdown(hostile), "a # b [31m c 2J &lt;script> | \\`\\`\\`x");
        assert_eq!(cell("a | b\nc"), "a \\| b c");
        assert_eq!(
            markdown("[x](javascript:y) [x](a&#58;b) [x]: y [1](a/b.md)"),
            "[x]\\(javascript:y) [x]\\(a&#58;b) [x]\\: y [1](a/b.md)"
        );
        assert_eq!(markup("<a b='\"'>&\u{1b}"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;\u{fffd}");
        assert_eq!(printable_line("two  blanks, µs"), "two  blanks, µs");
    }
}
