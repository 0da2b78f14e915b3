//! Names of files as the user describes them: `{collective}_{np}_{algorithm}*.txt`.

use collrules_record::CandidateName;
use std::str::FromStr;

use super::facts::{Facts, collective_named};
use collrules_record::units::Ranks;

/// A description of names. `{collective}`, `{np}`, `{algorithm}` and `{launch}` stand for these facts, `*` for anything
/// within a part, `/` separates parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Literal(String),
    Any,
    Collective,
    Ranks,
    Algorithm,
    Launch,
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name pattern: {1}; write one like {{collective}}-np{{np}}-a{{algorithm}}*.txt")]
pub struct BadPattern(String, String);

impl FromStr for NamePattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let bad = |what: &str| BadPattern(text.to_owned(), what.to_owned());
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('*') {
                tokens.push(Token::Any);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let (name, after) = after.split_once('}').ok_or_else(|| bad("a brace is not closed"))?;
                tokens.push(match name {
                    "collective" => Token::Collective,
                    "np" => Token::Ranks,
                    "algorithm" => Token::Algorithm,
                    "launch" => Token::Launch,
                    _ => return Err(bad("known are {collective}, {np}, {algorithm}, {launch}")),
                });
                rest = after;
            } else {
                let end = rest.find(['*', '{']).unwrap_or(rest.len());
                tokens.push(Token::Literal(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
        if tokens.iter().all(|token| matches!(token, Token::Literal(_) | Token::Any)) {
            return Err(bad("it tells nothing"));
        }
        Ok(Self { tokens })
    }
}

impl NamePattern {
    /// Reads the facts from a path, if a whole number of its last parts matches the pattern.
    pub fn facts(&self, path: &str) -> Option<Facts> {
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        starts.into_iter().find_map(|start| {
            let mut failed = vec![false; (self.tokens.len() + 1) * (path.len() + 1)];
            self.from(0, path, start, &mut failed)
        })
    }

    /// Returns the number of directories that it describes.
    pub(super) fn directories(&self) -> usize {
        let slashes = |token: &Token| if let Token::Literal(text) = token { text.matches('/').count() } else { 0 };
        self.tokens.iter().map(slashes).sum()
    }

    /// Matches the tokens from one on. Failed places are remembered, so that the time is at most the product of the
    /// lengths.
    fn from(&self, token: usize, path: &str, at: usize, failed: &mut [bool]) -> Option<Facts> {
        let Some(current) = self.tokens.get(token) else {
            return (at == path.len()).then(Facts::default);
        };
        let memo = token * (path.len() + 1) + at;
        if failed[memo] {
            return None;
        }
        let rest = &path[at..];
        let found = match current {
            Token::Literal(text) => {
                rest.starts_with(text.as_str()).then(|| self.from(token + 1, path, at + text.len(), failed)).flatten()
            }
            _ => {
                let fits = |c: char| match current {
                    Token::Ranks | Token::Launch => c.is_ascii_digit(),
                    Token::Collective => c.is_ascii_alphabetic() || c == '_',
                    Token::Algorithm => c.is_ascii_alphanumeric() || c == '_',
                    _ => c != '/',
                };
                let longest: usize = rest.chars().take_while(|c| fits(*c)).map(char::len_utf8).sum();
                let least = usize::from(*current != Token::Any);
                let ends = (least..=longest).rev().filter(|end| rest.is_char_boundary(*end));
                ends.into_iter().find_map(|end| {
                    let own = current.facts(&rest[..end])?;
                    Some(own.or(self.from(token + 1, path, at + end, failed)?))
                })
            }
        };
        failed[memo] = found.is_none();
        found
    }
}

impl Token {
    fn facts(&self, text: &str) -> Option<Facts> {
        let facts = Facts::default();
        Some(match self {
            Self::Collective => Facts { collective: Some(collective_named(text)?), ..facts },
            Self::Ranks => Facts { ranks: Some(Ranks(text.parse().ok().filter(|ranks| *ranks > 0)?)), ..facts },
            Self::Algorithm => Facts { algorithm: Some(CandidateName::read(text)), ..facts },
            Self::Launch => Facts { launch: Some(text.parse().ok()?), ..facts },
            Self::Any | Self::Literal(_) => facts,
        })
    }
}

#[cfg(test)]
mod tests {
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn a_pattern_finds_what_it_names() {
        let pattern: NamePattern = "{collective}_{np}_{algorithm}*.txt".parse().expect("a pattern");
        let facts = pattern.facts("data/osu_bcast_16_3-b.txt").expect("fits");
        assert_eq!(facts.collective, Some(Collective::Bcast));
        assert_eq!(facts.ranks, Some(Ranks(16)));
        assert_eq!(facts.algorithm, Some(CandidateName::Id(3)));
        assert_eq!(pattern.facts("bcast_16.txt"), None);
        assert_eq!(pattern.facts("bcast_16_3.csv"), None);
        let pattern: NamePattern = "{np}/*/{launch}".parse().expect("a pattern");
        let facts = pattern.facts("deep/down/8/x/2").expect("fits");
        assert_eq!((facts.ranks, facts.launch), (Some(Ranks(8)), Some(2)));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, why) in
            [("", "tells nothing"), ("*.txt", "tells nothing"), ("{np", "not closed"), ("{x}", "known are")]
        {
            let error = text.parse::<NamePattern>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    /// Matching takes exponential time unless failures are remembered.
    #[test]
    fn many_stars_are_no_trouble() {
        let pattern: NamePattern = format!("{}{{np}}x", "*a".repeat(30)).parse().expect("a pattern");
        assert_eq!(pattern.facts(&"a".repeat(200)), None);
    }
}
