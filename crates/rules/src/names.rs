//! Names of the values of plain enums, and values stored as text.

/// A text that cannot be read as a value: the text, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadText(pub String);

impl From<BadText> for String {
    fn from(bad: BadText) -> Self {
        bad.0
    }
}

/// Lets a type be read from text by its function `read`, which returns its error in words; with the words after a bad text in
/// the error, `read` returns none for one.
#[macro_export]
macro_rules! read_from_text {
    ($type:ty, |$text:ident| $read:expr) => {
        impl std::str::FromStr for $type {
            type Err = $crate::names::BadText;

            fn from_str($text: &str) -> Result<Self, Self::Err> {
                $read.map_err($crate::names::BadText)
            }
        }
    };
    ($type:ty) => {
        $crate::read_from_text!($type, |text| Self::read(text));
    };
    ($type:ty, $wrong:literal) => {
        $crate::read_from_text!($type, |text| Self::read(text).ok_or_else(|| format!(concat!("`{}` ", $wrong), text)));
    };
}

/// The value with this name, in any case.
pub fn find<T: Copy>(what: &'static str, all: &[T], name: fn(T) -> &'static str, text: &str) -> Result<T, String> {
    let text = text.trim();
    let found = all.iter().copied().find(|one| name(*one).eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        format!("`{text}` is no {what}; known are {}", known.join(", "))
    })
}

/// Counts the letters to insert, remove or change to turn one word into the other.
pub use strsim::levenshtein as distance;

/// The name that was probably meant, for the middle of a sentence: the shortest one that has all letters of a long word in
/// order, as if parts were left out; else the nearest one, or none if more than three letters, or half of the word, would
/// have to change.
pub fn meant<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> String {
    const LONG: usize = 12;
    const MOST_SLIPS: usize = 3;
    let word = word.to_ascii_lowercase();
    let names: Vec<&str> = names.into_iter().collect();
    let letters = |text: &str| text.chars().filter(|sign| *sign != '_').collect::<Vec<char>>();
    let own = letters(&word);
    let has_all = |name: &&str| {
        let mut others = letters(name).into_iter();
        own.len() >= LONG && own.iter().all(|sign| others.any(|other| other == *sign))
    };
    let whole = names.iter().copied().filter(has_all).min_by_key(|name| name.len());
    let nearest = || {
        let nearest = names.iter().map(|name| (distance(name, &word), *name)).min();
        nearest.filter(|(distance, _)| *distance <= MOST_SLIPS.min(word.chars().count() / 2)).map(|(_, name)| name)
    };
    whole.or_else(nearest).map_or(String::new(), |name| format!("; the nearest name is {name}"))
}

/// Declares an enum without fields, each value with its name; or gives names to one that is declared elsewhere. It gets the
/// list `ALL`, and the names for display and, with `read as`, for reading.
#[macro_export]
macro_rules! names {
    (
        $(#[$meta:meta])* $vis:vis enum $type:ident $(, read as $what:literal)?
        { $($(#[$about:meta])* $value:ident $(= $id:literal)? $name:literal,)+ }
    ) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$about])* $value $(= $id)?,)+
        }

        $crate::names!($type $(, read as $what)? { $($value $name,)+ });
    };
    ($type:ident { $($value:ident $name:literal,)+ }) => {
        impl $type {
            /// All values, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The name, as written by people and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
    ($type:ident, read as $what:literal { $($value:ident $name:literal,)+ }) => {
        $crate::names!($type { $($value $name,)+ });

        $crate::read_from_text!($type, |text| $crate::names::find($what, &Self::ALL, Self::name, text));
    };
}

/// Lets serde store a type as text, through `Display` and `FromStr`, with `#[serde(into = "String", try_from =
/// "String")]`.
#[macro_export]
macro_rules! stored_as_text {
    ($type:ident) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::Distribution;

    #[test]
    fn slips_are_near_what_was_meant() {
        let far = [("", "abc"), ("scan", "scan"), ("kitten", "sitting")].map(|(a, b)| super::distance(a, b));
        assert_eq!(far, [3, 0, 3]);
        assert_eq!(super::meant(["scan", "bcast"], "Bcats"), "; the nearest name is bcast");
        assert_eq!(super::meant(["scan", "bcast"], "whatever"), "");
        assert_eq!(super::meant(["allreduce"], "allgather"), "", "five letters would have to change");
    }

    #[test]
    fn names_read_back() {
        for distribution in Distribution::ALL {
            assert_eq!(distribution.to_string().parse(), Ok(distribution));
        }
        assert_eq!(" One-Per-Node".parse(), Ok(Distribution::OnePerNode));
        let unknown = "two-per-node".parse::<Distribution>().expect_err("unknown").to_string();
        assert_eq!(unknown, "`two-per-node` is no distribution; known are any, one-per-node, single-node");
    }
}
