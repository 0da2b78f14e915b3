//! Text from elsewhere, such as titles, notes, paths and what a library says of itself, made harmless where it is shown.

/// Text as one line without control characters, which terminals would obey, nor those that turn the direction of writing
/// around: they become blanks.
pub fn line(text: &str) -> String {
    if !text.contains(is_control) {
        return text.to_owned();
    }
    text.split(|char| char == ' ' || is_control(char)).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text as it may stand in a line of Markdown: it neither ends the line nor begins HTML or a block of code.
pub fn markdown(text: &str) -> String {
    line(text).replace('<', "&lt;").replace("```", "\\`\\`\\`").replace("~~~", "\\~\\~\\~")
}

/// Text as it may stand in a cell of a Markdown table.
pub fn cell(text: &str) -> String {
    markdown(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_is_left() {
        let hostile = "a\n\n# b\u{1b}[31m\0c\r\u{9b}2J <script> | ```x\u{202e}";
        assert_eq!(line(hostile), "a # b [31m c 2J <script> | ```x");
        assert_eq!(markdown(hostile), "a # b [31m c 2J &lt;script> | \\`\\`\\`x");
        assert_eq!(cell("a | b\nc"), "a \\| b c");
        assert_eq!(line("two  blanks, µs"), "two  blanks, µs");
    }
}
