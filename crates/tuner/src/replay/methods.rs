//! The simple ways to choose, to compare with.

use std::collections::BTreeMap;
use std::fmt;

use collrules_record::Candidate;

/// A way to choose by the times alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// The fastest candidate, the builtin not being one: what the predecessor does.
    FastestOther,
    /// The fastest, the builtin included.
    Fastest,
    /// The fastest if the builtin takes that much longer, such as 0.15.
    Margin(f64),
}

impl Method {
    /// From the boldest to the most cautious.
    pub(super) const LADDER: [Self; 10] = [
        Self::FastestOther,
        Self::Fastest,
        Self::Margin(0.03),
        Self::Margin(0.05),
        Self::Margin(0.10),
        Self::Margin(0.15),
        Self::Margin(0.20),
        Self::Margin(0.30),
        Self::Margin(0.50),
        Self::Margin(1.00),
    ];

    /// Chooses by seconds. There has to be a builtin and another candidate.
    pub(super) fn choose(self, seconds: &BTreeMap<Candidate, f64>) -> Candidate {
        let builtin = seconds[&Candidate::Builtin];
        let others = seconds.iter().filter(|(candidate, _)| **candidate != Candidate::Builtin);
        let Some((fastest, time)) = others.min_by(|a, b| a.1.total_cmp(b.1)) else { return Candidate::Builtin };
        let replaces = match self {
            Self::FastestOther => true,
            Self::Fastest => *time < builtin,
            Self::Margin(margin) => builtin >= time * (1.0 + margin),
        };
        if replaces { *fastest } else { Candidate::Builtin }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FastestOther => f.write_str("fastest but the builtin"),
            Self::Fastest => f.write_str("fastest"),
            Self::Margin(margin) => write!(f, "fastest if by {:.0} %", margin * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_rules::Choice;

    use super::*;

    #[test]
    fn each_method_chooses_by_its_rule() {
        let (slow, fast) = (Candidate::of(Choice::plain(1)), Candidate::of(Choice::plain(2)));
        let times = |builtin| BTreeMap::from([(Candidate::Builtin, builtin), (slow, 3.0), (fast, 1.0)]);
        for (method, builtin, expected) in [
            (Method::FastestOther, 0.5, fast),
            (Method::Fastest, 0.5, Candidate::Builtin),
            (Method::Fastest, 1.0, Candidate::Builtin),
            (Method::Fastest, 1.01, fast),
            (Method::Margin(0.5), 1.4, Candidate::Builtin),
            (Method::Margin(0.5), 1.5, fast),
        ] {
            assert_eq!(method.choose(&times(builtin)), expected, "{method} with {builtin}");
        }
    }
}
