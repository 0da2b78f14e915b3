//! HAN's own ways to carry out a collective: what its rules file or its parameters can ask of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use collrules_rules::{Collective, Release, han, names, stored_as_text};
use serde::{Deserialize, Serialize};

/// A way of HAN; its text form is the name of an algorithm, or settings joined by `+`: `simple`, `segsize=8192+up=adapt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum HanChoice {
    /// One of its algorithms, for which its rules file can ask by communicator and message size.
    Algorithm(HanAlgorithm),
    /// Parameters, which hold for a collective in a whole job.
    Settings(HanSettings),
}

/// An algorithm of HAN. That which it calls `reproducible` hands the call on to coll/tuned or coll/basic, and is left out:
/// rules say that directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HanAlgorithm {
    /// Segments, those between nodes overlapped with those within.
    Intra,
    /// One level after the other, each by coll/tuned.
    Simple,
}

names!(HanAlgorithm, read as "algorithm of HAN" {
    Intra "intra",
    Simple "simple",
});

/// Parameters of HAN for one collective (`coll_han_component.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HanSettings {
    /// The segment size in bytes; 0 leaves HAN its own, 65536.
    pub segsize: u32,
    /// Whether coll/adapt serves between nodes, in place of coll/libnbc.
    pub adapt: bool,
}

/// A text that names no way of HAN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no way of HAN; known are intra, simple, segsize=BYTES, up=adapt and segsize=BYTES+up=adapt")]
pub struct BadHanChoice(String);

impl HanAlgorithm {
    /// Its number in a collective, by which its parameter and its rules file know it.
    pub fn number(self, release: Release, collective: Collective) -> Option<u32> {
        let names = han::algorithms(release, collective.id());
        let place = names.iter().position(|name| *name == self.name())?;
        u32::try_from(place + 1).ok()
    }

    /// What HAN does where nobody asks for an algorithm (`use_simple_algorithm` in `coll_han_component.c`).
    fn usual(collective: Collective) -> Self {
        match collective {
            Collective::Gather | Collective::Barrier => Self::Simple,
            _ => Self::Intra,
        }
    }

    /// The algorithms that differ from what HAN does by itself.
    pub fn others(release: Release, collective: Collective) -> impl Iterator<Item = Self> {
        let known = Self::ALL.into_iter().filter(move |one| one.number(release, collective).is_some());
        known.filter(move |one| *one != Self::usual(collective))
    }

    /// The parameter that asks for an algorithm, and lets it be changed while a program runs.
    pub fn parameter(collective: Collective) -> String {
        format!("coll_han_use_{collective}_algorithm")
    }
}

impl HanSettings {
    /// The collectives for which HAN has these parameters, and uses them.
    pub const COLLECTIVES: [Collective; 3] = [Collective::Allreduce, Collective::Bcast, Collective::Reduce];

    /// Whether they can change anything for messages of so many bytes: a longer segment is none.
    pub fn act_on(self, collective: Collective, bytes: u64) -> bool {
        Self::COLLECTIVES.contains(&collective) && (self.adapt || u64::from(self.segsize) < bytes)
    }

    /// What MCA settings say for a collective; none where they say nothing.
    pub fn of(pins: &BTreeMap<String, String>, collective: Collective) -> Option<Self> {
        let segsize = pins.get(&format!("coll_han_{collective}_segsize")).and_then(|bytes| bytes.parse().ok());
        let adapt = pins.get(&format!("coll_han_{collective}_up_module")).is_some_and(|module| module == "1");
        (segsize.is_some() || adapt).then(|| Self { segsize: segsize.unwrap_or_default(), adapt })
    }

    /// The collectives of which some of these MCA settings are parameters.
    pub fn set_by(pins: &BTreeMap<String, String>) -> BTreeSet<Collective> {
        let set = |collective: &Collective| {
            let both = Self { segsize: 1, adapt: true }.pins(*collective);
            both.keys().any(|name| pins.contains_key(name))
        };
        Self::COLLECTIVES.into_iter().filter(set).collect()
    }

    /// The MCA settings by which a collective is served so.
    pub fn pins(self, collective: Collective) -> BTreeMap<String, String> {
        let segsize = (self.segsize > 0).then(|| (format!("coll_han_{collective}_segsize"), self.segsize.to_string()));
        // By number: HAN takes the name for the number of the component, and then reads beyond its two communicators.
        let up = self.adapt.then(|| (format!("coll_han_{collective}_up_module"), "1".to_owned()));
        segsize.into_iter().chain(up).collect()
    }
}

impl fmt::Display for HanChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Algorithm(algorithm) => algorithm.fmt(f),
            Self::Settings(settings) => settings.fmt(f),
        }
    }
}

impl fmt::Display for HanSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segsize = (self.segsize > 0).then(|| format!("segsize={}", self.segsize));
        let up = self.adapt.then(|| "up=adapt".to_owned());
        f.pad(&segsize.into_iter().chain(up).collect::<Vec<_>>().join("+"))
    }
}

impl FromStr for HanChoice {
    type Err = BadHanChoice;

    fn from_str(text: &str) -> Result<Self, BadHanChoice> {
        let named = HanAlgorithm::ALL.into_iter().find(|one| one.name() == text);
        named.map_or_else(|| text.parse().map(Self::Settings), |algorithm| Ok(Self::Algorithm(algorithm)))
    }
}

impl FromStr for HanSettings {
    type Err = BadHanChoice;

    fn from_str(text: &str) -> Result<Self, BadHanChoice> {
        let bad = || BadHanChoice(text.to_owned());
        let mut settings = HanSettings::default();
        for part in text.split('+') {
            match part.split_once('=') {
                Some(("segsize", bytes)) if settings.segsize == 0 && !settings.adapt => {
                    // A parameter of Open MPI that holds a C int.
                    let fits = |bytes: &u32| *bytes > 0 && i32::try_from(*bytes).is_ok();
                    settings.segsize = bytes.parse().ok().filter(fits).ok_or_else(bad)?;
                }
                Some(("up", "adapt")) if !settings.adapt => settings.adapt = true,
                _ => return Err(bad()),
            }
        }
        Ok(settings)
    }
}

stored_as_text!(HanChoice);
stored_as_text!(HanSettings);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_han_read_back() {
        let settings = |segsize, adapt| HanChoice::Settings(HanSettings { segsize, adapt });
        let all = [settings(8192, false), settings(0, true), settings(4096, true)];
        for choice in all.into_iter().chain(HanAlgorithm::ALL.map(HanChoice::Algorithm)) {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for bad in ["", "default", "segsize=0", "segsize=4294967295", "up=adapt+segsize=8", "up=libnbc", "segsize=8+"] {
            assert!(bad.parse::<HanChoice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_differs_from_what_han_does_by_itself() {
        let others = |release, collective| HanAlgorithm::others(release, collective).collect::<Vec<_>>();
        assert_eq!(others(Release::V5_0, Collective::Bcast), [HanAlgorithm::Simple]);
        assert_eq!(others(Release::V5_0, Collective::Gather), [HanAlgorithm::Intra]);
        assert_eq!(others(Release::V5_0, Collective::Barrier), []);
        assert_eq!(others(Release::V5_0, Collective::Alltoall), []);
        // Its files know no algorithms there.
        assert_eq!(others(Release::V4_1, Collective::Bcast), []);
        assert_eq!(HanAlgorithm::Simple.number(Release::V5_0, Collective::Allreduce), Some(2));
        let pins = HanSettings { segsize: 8192, adapt: true }.pins(Collective::Bcast);
        assert_eq!(HanSettings::set_by(&pins), [Collective::Bcast].into());
        assert!(HanSettings::set_by(&[("coll_han_priority".to_owned(), "0".to_owned())].into()).is_empty());
        assert_eq!(format!("{pins:?}"), r#"{"coll_han_bcast_segsize": "8192", "coll_han_bcast_up_module": "1"}"#);
    }
}
