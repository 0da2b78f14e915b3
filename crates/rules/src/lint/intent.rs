//! What a file was written as, which shows in its first character.

/// The format that a file was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Classic,
    Json,
}

impl Intent {
    pub(super) fn of(source: &[u8]) -> Self {
        let text = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[') => Self::Json,
            _ => Self::Classic,
        }
    }
}
