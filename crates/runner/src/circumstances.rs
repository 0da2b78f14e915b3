//! What decides whether a rules file has an effect, as every rank finds it, and what stands in the way of it.
//!
//! Open MPI says nothing of a file that it does not find, of a switch that is off, or of a forced algorithm that beats the
//! file. Each rank can be asked for its settings, though, and for the file that it would read.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::path::Path;

use collrules_rules::{Behaviour, Collective};
use serde::{Deserialize, Serialize};

/// The parameter by which users choose components of the coll framework.
pub const COMPONENTS: &str = "coll";
/// The parameter with the priority of `coll/tuned`.
pub const PRIORITY: &str = "coll_tuned_priority";
/// The parameter that switches rules on.
pub const USE_RULES: &str = "coll_tuned_use_dynamic_rules";
/// The parameter that names the rules file.
pub const RULES_FILE: &str = "coll_tuned_dynamic_rules_filename";

/// What one rank finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// Its host.
    pub host: String,
    /// The directory that it works in, which relative names start from.
    pub directory: String,
    /// The choice of components, where somebody made one.
    pub components: Option<String>,
    /// The priority of `coll/tuned`; missing where the component was not even opened.
    pub priority: Option<i32>,
    /// Whether rules are in use; missing where `coll/tuned` was not opened.
    pub use_rules: Option<bool>,
    /// The rules file that is set.
    pub file: Option<String>,
    /// The digest of its content, or why it cannot be read; missing where none is set.
    pub content: Option<Result<u64, String>>,
    /// The algorithms that are forced, by collective.
    pub forced: BTreeMap<Collective, i32>,
}

/// A number that tells contents apart, the same in all processes of a build.
pub fn digest(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

/// What stands in the way of a rules file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// `coll/tuned` is not among the components.
    NoTuned {
        /// The choice of components, if somebody made one.
        components: Option<String>,
        /// Where.
        on: Ranks,
    },
    /// Rules are switched off.
    Off(Ranks),
    /// No rules file is set.
    NoFile(Ranks),
    /// Another file is set than the one in question.
    OtherFile {
        /// What is set.
        set: String,
        /// Where.
        on: Ranks,
    },
    /// The file is named by a relative path, which is looked up from where each rank happens to work.
    Relative {
        /// What is set.
        set: String,
        /// The directories that ranks work in.
        directories: BTreeSet<String>,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        why: String,
        /// Where.
        on: Ranks,
    },
    /// What ranks read differs from the file as it is here.
    OtherContent {
        /// The file.
        file: String,
        /// Where.
        on: Ranks,
    },
    /// An algorithm is forced, which this version prefers to any rule.
    Forced {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: i32,
    },
}

/// Ranks, and their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    ranks: Vec<usize>,
    hosts: BTreeSet<String>,
    all: bool,
}

impl Obstacle {
    /// The parameter that has to be set otherwise, if it is one.
    pub fn parameter(&self) -> Option<String> {
        match self {
            Self::NoTuned { components, .. } => components.as_ref().map(|_| COMPONENTS.to_owned()),
            Self::Off(_) => Some(USE_RULES.to_owned()),
            Self::NoFile(_) | Self::OtherFile { .. } | Self::Relative { .. } => Some(RULES_FILE.to_owned()),
            Self::Unreadable { .. } | Self::OtherContent { .. } => None,
            Self::Forced { collective, .. } => Some(format!("coll_tuned_{collective}_algorithm")),
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        if self.all {
            return f.write_str("on all ranks");
        }
        let ranks: Vec<String> = self.ranks.iter().take(8).map(ToString::to_string).collect();
        let more = if self.ranks.len() > ranks.len() { ", ..." } else { "" };
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        write!(f, "on {noun} {}{more} ({})", ranks.join(", "), hosts.join(", "))
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTuned { components: Some(components), on } => write!(
                f,
                "coll/tuned is left out {on}: the parameter {COMPONENTS} is `{components}`; remove it, or name tuned \
                 among the components"
            ),
            Self::NoTuned { components: None, on } => {
                write!(f, "this Open MPI has no component coll/tuned {on}, so that no rules file can have an effect")
            }
            Self::Off(on) => write!(f, "rules are switched off {on}; set {USE_RULES} to 1"),
            Self::NoFile(on) => write!(f, "no rules file is set {on}; set {RULES_FILE} to the absolute path of one"),
            Self::OtherFile { set, on } => {
                write!(f, "another rules file is set {on}: `{set}`; set {RULES_FILE} to the absolute path of this one")
            }
            Self::Relative { set, directories } => {
                let directories: Vec<&str> = directories.iter().take(3).map(String::as_str).collect();
                write!(
                    f,
                    "`{set}` is a relative path, looked up from wherever a rank works (here {}), and silently ignored \
                     where it is not found; set {RULES_FILE} to an absolute path",
                    directories.join(", ")
                )
            }
            Self::Unreadable { file, why, on } => write!(
                f,
                "`{file}` cannot be read {on} ({why}), and Open MPI ignores it there; put it on every node, or where \
                 all nodes see it"
            ),
            Self::OtherContent { file, on } => write!(
                f,
                "`{file}` has another content {on} than here; ranks that read different rules can hang: copy the file \
                 again"
            ),
            Self::Forced { collective, algorithm } => write!(
                f,
                "algorithm {algorithm} of {collective} is forced, which this version of Open MPI prefers to any rule; \
                 remove coll_tuned_{collective}_algorithm"
            ),
        }
    }
}

/// What stands in the way of a file with this content and rules for these collectives, under a version of Open MPI.
pub fn obstacles(
    found: &[Circumstances],
    file: &Path,
    content: &[u8],
    ruled: &BTreeSet<Collective>,
    behaviour: &Behaviour,
) -> Vec<Obstacle> {
    let on = |affected: &dyn Fn(&Circumstances) -> bool| {
        let ranks: Vec<usize> = (0..found.len()).filter(|rank| affected(&found[*rank])).collect();
        let hosts = ranks.iter().map(|rank| found[*rank].host.clone()).collect();
        (!ranks.is_empty()).then_some(Ranks { all: ranks.len() == found.len(), ranks, hosts })
    };
    // One obstacle for each value that some ranks have.
    let by_value = |value: &dyn Fn(&Circumstances) -> Option<String>| {
        let values: BTreeSet<String> = found.iter().filter_map(value).collect();
        values
            .into_iter()
            .filter_map(|it| Some((on(&|rank| value(rank).as_ref() == Some(&it))?, it)))
            .collect::<Vec<_>>()
    };
    let mut obstacles = Vec::new();
    if let Some(on) = on(&|rank| rank.use_rules.is_none()) {
        let components = found.iter().find_map(|rank| rank.components.clone());
        obstacles.push(Obstacle::NoTuned { components, on });
    }
    obstacles.extend(on(&|rank| rank.use_rules == Some(false)).map(Obstacle::Off));
    obstacles.extend(on(&|rank| rank.use_rules.is_some() && rank.file.is_none()).map(Obstacle::NoFile));
    for (_, set) in by_value(&|rank| rank.file.clone().filter(|file| Path::new(file).is_relative())) {
        let ranks = found.iter().filter(|rank| rank.file.as_ref() == Some(&set));
        obstacles.push(Obstacle::Relative { directories: ranks.map(|rank| rank.directory.clone()).collect(), set });
    }
    // Whether a relative name means another file is not the question.
    let is_other = |set: &String| Path::new(set).is_absolute() && !same_file(Path::new(set), file);
    let other = |rank: &Circumstances| rank.file.clone().filter(is_other);
    obstacles.extend(by_value(&other).into_iter().map(|(on, set)| Obstacle::OtherFile { set, on }));
    let name = |rank: &Circumstances| rank.file.clone().unwrap_or_default();
    let unreadable = |rank: &Circumstances| rank.content.clone()?.err();
    for (on, why) in by_value(&unreadable) {
        let file = found.iter().find(|rank| unreadable(rank).as_ref() == Some(&why)).map(name).unwrap_or_default();
        obstacles.push(Obstacle::Unreadable { file, why, on });
    }
    let expected = digest(content);
    let differs =
        |rank: &Circumstances| other(rank).is_none() && matches!(rank.content, Some(Ok(digest)) if digest != expected);
    obstacles.extend(on(&differs).map(|on| Obstacle::OtherContent { file: file.to_string_lossy().into_owned(), on }));
    if behaviour.forced_first {
        let forced: BTreeMap<Collective, i32> = found.iter().flat_map(|rank| rank.forced.clone()).collect();
        let forced = forced.into_iter().filter(|(collective, _)| ruled.contains(collective));
        obstacles.extend(forced.map(|(collective, algorithm)| Obstacle::Forced { collective, algorithm }));
    }
    obstacles
}

/// Whether two names stand for the same file: the same path, or as far as this host can tell.
fn same_file(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || resolved(one) == resolved(other)
}

#[cfg(test)]
mod tests {
    use collrules_rules::Release;

    use super::*;

    const CONTENT: &[u8] = b"1\n";

    fn rank(host: &str) -> Circumstances {
        Circumstances {
            host: host.to_owned(),
            directory: "/work".to_owned(),
            priority: Some(30),
            use_rules: Some(true),
            file: Some("/rules.conf".to_owned()),
            content: Some(Ok(digest(CONTENT))),
            ..Circumstances::default()
        }
    }

    fn said(found: &[Circumstances], release: Release) -> Vec<String> {
        let ruled = BTreeSet::from([Collective::Bcast]);
        let behaviour = Behaviour::latest(release);
        let found = obstacles(found, Path::new("/rules.conf"), CONTENT, &ruled, &behaviour);
        found.iter().map(ToString::to_string).collect()
    }

    /// The one obstacle of two ranks, of which the second one differs.
    fn of_second(change: impl Fn(&mut Circumstances)) -> String {
        let mut second = rank("b");
        change(&mut second);
        let said = said(&[rank("a"), second], Release::V5_0);
        assert_eq!(said.len(), 1, "{said:?}");
        said.into_iter().next().unwrap_or_default()
    }

    #[test]
    fn nothing_stands_in_the_way_of_what_is_set_right() {
        assert_eq!(said(&[rank("a"), rank("b")], Release::V5_0), [""; 0]);
    }

    #[test]
    fn each_obstacle_is_named_with_its_place() {
        let off = of_second(|rank| rank.use_rules = Some(false));
        assert!(off.starts_with("rules are switched off on rank 1 (b); set coll_tuned_use"), "{off}");
        let none = of_second(|rank| (rank.file, rank.content) = (None, None));
        assert!(none.starts_with("no rules file is set on rank 1 (b)"), "{none}");
        let other = of_second(|rank| rank.file = Some("/other".to_owned()));
        assert!(other.contains("on rank 1 (b): `/other`"), "{other}");
        let missing = of_second(|rank| rank.content = Some(Err("No such file".to_owned())));
        assert!(missing.starts_with("`/rules.conf` cannot be read on rank 1 (b) (No such file)"), "{missing}");
        let content = of_second(|rank| rank.content = Some(Ok(1)));
        assert!(content.starts_with("`/rules.conf` has another content on rank 1 (b)"), "{content}");
    }

    #[test]
    fn a_missing_component_is_put_down_to_the_choice_of_components() {
        let without = |rank: Circumstances| Circumstances {
            components: Some("^tuned".to_owned()),
            priority: None,
            use_rules: None,
            file: None,
            content: None,
            ..rank
        };
        let said = said(&[without(rank("a")), without(rank("b"))], Release::V5_0);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("coll/tuned is left out on all ranks: the parameter coll is `^tuned`"), "{said:?}");
    }

    #[test]
    fn a_relative_path_is_an_obstacle_even_where_it_is_found() {
        let relative = |rank: Circumstances| Circumstances { file: Some("rules.conf".to_owned()), ..rank };
        let said = said(&[relative(rank("a")), relative(rank("b"))], Release::V5_0);
        assert!(
            said[0].starts_with("`rules.conf` is a relative path, looked up from wherever a rank works (here /work)")
        );
    }

    #[test]
    fn forced_algorithms_are_in_the_way_of_their_own_rules_where_they_win() {
        let mut forced = rank("a");
        forced.forced = BTreeMap::from([(Collective::Bcast, 1), (Collective::Gather, 2)]);
        let found = [forced];
        assert_eq!(said(&found, Release::V4_1), [""; 0]);
        let said = said(&found, Release::V5_0);
        assert_eq!(said.len(), 1, "gather has no rules: {said:?}");
        assert!(said[0].starts_with("algorithm 1 of bcast is forced"), "{said:?}");
    }
}
