//! Settings on every rank that decide whether a rules file has an effect, and obstacles to the file.
//!
//! Open MPI says nothing about a missing file, a switch that is off, or a forced algorithm that overrides the file. But
//! each rank can report its settings and the file that it would read.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::path::Path;

pub use collrules_rules::deploy::{HAN_FILE, RULES_FILE, USE_HAN, USE_RULES};
use collrules_rules::settings::variable;
use collrules_rules::words::plural;
use collrules_rules::{Behaviour, Collective};
use serde::{Deserialize, Serialize};

/// The parameter by which users choose components of the coll framework.
pub const COMPONENTS: &str = "coll";
/// The parameter with the priority of `coll/tuned`.
pub const PRIORITY: &str = "coll_tuned_priority";

/// Settings of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// Its host.
    pub host: String,
    /// Its working directory, which relative names start from.
    pub directory: String,
    /// The choice of components, if one was made.
    pub components: Option<String>,
    /// The priority of `coll/tuned`; missing if the component was not opened.
    pub priority: Option<i32>,
    /// The rules of `coll/tuned`.
    pub tuned: RulesReading,
    /// The rules of `coll/han`.
    pub han: RulesReading,
    /// The algorithms that are forced, by collective.
    pub forced: BTreeMap<Collective, i32>,
}

/// Rules as a component would read them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesReading {
    /// True if its rules are in use; missing if the component was not opened.
    pub use_rules: Option<bool>,
    /// The rules file that is set.
    pub file: Option<String>,
    /// The digest of its content, or why it cannot be read; missing if none is set.
    pub content: Option<Result<u64, String>>,
}

/// A component that reads rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `coll/tuned`.
    Tuned,
    /// `coll/han`.
    Han,
}

impl Reader {
    fn name(self) -> &'static str {
        match self {
            Self::Tuned => "coll/tuned",
            Self::Han => "coll/han",
        }
    }

    fn switch(self) -> &'static str {
        match self {
            Self::Tuned => USE_RULES,
            Self::Han => USE_HAN,
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Tuned => RULES_FILE,
            Self::Han => HAN_FILE,
        }
    }

    fn reading(self, rank: &Circumstances) -> &RulesReading {
        match self {
            Self::Tuned => &rank.tuned,
            Self::Han => &rank.han,
        }
    }
}

/// A number that distinguishes contents, the same in all processes of a build.
pub fn digest(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

/// Obstacle to a rules file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The component that reads the rules is not among the components.
    #[error("{}", describe_absence(*reader, components.as_deref(), on))]
    Absent {
        /// The component.
        reader: Reader,
        /// The choice of components, if one was made.
        components: Option<String>,
        /// Ranks concerned.
        on: RankHosts,
    },
    /// Rules are switched off.
    #[error("the rules of {} are switched off {}; set {} to 1", _0.name(), _1, _0.switch())]
    Off(Reader, RankHosts),
    /// No rules file is set.
    #[error("no rules file for {} is set {}; set {} to the absolute path of one", _0.name(), _1, _0.file())]
    NoFile(Reader, RankHosts),
    /// Another file is set than the one in question.
    #[error("another rules file is set {on}: `{set}`; set {} to the absolute path of this one", reader.file())]
    OtherFile {
        /// Component that reads the file.
        reader: Reader,
        /// File that is set.
        set: String,
        /// Ranks concerned.
        on: RankHosts,
    },
    /// The file is named by a relative path, which each rank looks up from its working directory.
    #[error(
        "`{set}` is a relative path, looked up from the working directory of each rank (here {}), and silently ignored \
         if it is not found; set {} to an absolute path",
        directories.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", "),
        reader.file()
    )]
    Relative {
        /// Component that reads the file.
        reader: Reader,
        /// File that is set.
        set: String,
        /// The working directories of ranks.
        directories: BTreeSet<String>,
    },
    /// The file cannot be read.
    #[error(
        "`{file}` cannot be read {on} ({why}), and Open MPI ignores it there; copy it to every node, or put it on a \
         shared file system"
    )]
    Unreadable {
        /// The file.
        file: String,
        /// Reason.
        why: String,
        /// Ranks concerned.
        on: RankHosts,
    },
    /// Ranks read other content than the file has here.
    #[error(
        "`{file}` has different content {on} than here; ranks that read different rules can hang: copy the file again"
    )]
    OtherContent {
        /// The file.
        file: String,
        /// Ranks concerned.
        on: RankHosts,
    },
    /// A parameter of the tuning has another value.
    #[error(
        "{name} is {} {on}; the tuning sets it to {wanted}",
        found.as_deref().unwrap_or("not set")
    )]
    OtherValue {
        /// The parameter; behind `env:`, an environment variable.
        name: String,
        /// Value in the tuning.
        wanted: String,
        /// Value that ranks have; missing if it is not set or does not exist.
        found: Option<String>,
        /// Ranks concerned.
        on: RankHosts,
    },
    /// An algorithm is forced, which this version prefers to any rule.
    #[error(
        "algorithm {algorithm} of {collective} is forced, which overrides all rules in this version of Open MPI; remove \
         coll_tuned_{collective}_algorithm"
    )]
    Forced {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: i32,
    },
}

/// Ranks, and their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankHosts {
    ranks: Vec<usize>,
    hosts: BTreeSet<String>,
    all: bool,
}

impl Obstacle {
    /// The parameter to change, if the obstacle is one.
    pub fn parameter(&self) -> Option<String> {
        match self {
            Self::Absent { components, .. } => components.as_ref().map(|_| COMPONENTS.to_owned()),
            Self::Off(reader, _) => Some(reader.switch().to_owned()),
            Self::NoFile(reader, _) | Self::OtherFile { reader, .. } | Self::Relative { reader, .. } => {
                Some(reader.file().to_owned())
            }
            Self::Unreadable { .. } | Self::OtherContent { .. } => None,
            Self::OtherValue { name, .. } => Some(name.clone()).filter(|name| variable(name).is_none()),
            Self::Forced { collective, .. } => Some(format!("coll_tuned_{collective}_algorithm")),
        }
    }
}

impl RankHosts {
    /// The ranks that are affected; none if there are none.
    fn new(found: &[Circumstances], is_affected: impl Fn(usize) -> bool) -> Option<Self> {
        let ranks: Vec<usize> = (0..found.len()).filter(|rank| is_affected(*rank)).collect();
        let hosts = ranks.iter().map(|rank| found[*rank].host.clone()).collect();
        (!ranks.is_empty()).then_some(Self { all: ranks.len() == found.len(), ranks, hosts })
    }
}

impl fmt::Display for RankHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        if self.all {
            return f.write_str("on all ranks");
        }
        let ranks: Vec<String> = self.ranks.iter().take(8).map(ToString::to_string).collect();
        let more = if self.ranks.len() > ranks.len() { ", ..." } else { "" };
        write!(f, "on {} {}{more} ({})", plural(ranks.len(), "rank"), ranks.join(", "), hosts.join(", "))
    }
}

fn describe_absence(reader: Reader, components: Option<&str>, on: &RankHosts) -> String {
    let name = reader.name();
    match components {
        Some(components) => format!(
            "{name} is left out {on}: the parameter {COMPONENTS} is `{components}`; reset it, or name {} among the \
             components",
            name.trim_start_matches("coll/")
        ),
        None => format!("this Open MPI has no component {name} {on}, so a rules file for it has no effect"),
    }
}

/// Lists the obstacles to a component reading this file with this content.
pub fn obstacles(found: &[Circumstances], reader: Reader, file: &Path, content: &[u8]) -> Vec<Obstacle> {
    let reading = |rank: &Circumstances| reader.reading(rank).clone();
    let on = |affected: &dyn Fn(&RulesReading) -> bool| RankHosts::new(found, |rank| affected(&reading(&found[rank])));
    // One obstacle for each value that some ranks have.
    let by_value = |value: &dyn Fn(&RulesReading) -> Option<String>| {
        let values: BTreeSet<String> = found.iter().filter_map(|rank| value(&reading(rank))).collect();
        values
            .into_iter()
            .filter_map(|it| Some((on(&|rank| value(rank).as_ref() == Some(&it))?, it)))
            .collect::<Vec<_>>()
    };
    let mut obstacles = Vec::new();
    if let Some(on) = on(&|rank| rank.use_rules.is_none()) {
        let components = found.iter().find_map(|rank| rank.components.clone());
        obstacles.push(Obstacle::Absent { reader, components, on });
    }
    obstacles.extend(on(&|rank| rank.use_rules == Some(false)).map(|on| Obstacle::Off(reader, on)));
    let unset = on(&|rank| rank.use_rules.is_some() && rank.file.is_none());
    obstacles.extend(unset.map(|on| Obstacle::NoFile(reader, on)));
    for (_, set) in by_value(&|rank| rank.file.clone().filter(|file| Path::new(file).is_relative())) {
        let ranks = found.iter().filter(|rank| reading(rank).file.as_ref() == Some(&set));
        obstacles.push(Obstacle::Relative {
            reader,
            directories: ranks.map(|rank| rank.directory.clone()).collect(),
            set,
        });
    }
    // Whether a relative name means another file is not the question.
    let is_other = |set: &String| Path::new(set).is_absolute() && !same_file(Path::new(set), file);
    let other = |rank: &RulesReading| rank.file.clone().filter(is_other);
    obstacles.extend(by_value(&other).into_iter().map(|(on, set)| Obstacle::OtherFile { reader, set, on }));
    let unreadable = |rank: &RulesReading| rank.content.clone()?.err();
    for (on, why) in by_value(&unreadable) {
        let mut ranks = found.iter().map(reading).filter(|rank| unreadable(rank).as_ref() == Some(&why));
        let file = ranks.next().and_then(|rank| rank.file).unwrap_or_default();
        obstacles.push(Obstacle::Unreadable { file, why, on });
    }
    let expected = digest(content);
    let differs =
        |rank: &RulesReading| other(rank).is_none() && matches!(rank.content, Some(Ok(digest)) if digest != expected);
    obstacles.extend(on(&differs).map(|on| Obstacle::OtherContent { file: file.to_string_lossy().into_owned(), on }));
    obstacles
}

/// Lists the parameters of a tuning that ranks have other values of. `values` has those of each rank, by name.
pub fn other_values(
    found: &[Circumstances],
    values: &[BTreeMap<String, String>],
    wanted: &BTreeMap<String, String>,
) -> Vec<Obstacle> {
    let of_parameter = |(name, wanted): (&String, &String)| {
        let others: BTreeSet<Option<&String>> = values
            .iter()
            .map(|rank| rank.get(name))
            .filter(|value| value.is_none_or(|value| !is_same_value(value, wanted)))
            .collect();
        let obstacle = |other: Option<&String>| {
            let on = RankHosts::new(found, |rank| values.get(rank).is_some_and(|values| values.get(name) == other))?;
            Some(Obstacle::OtherValue { name: name.clone(), wanted: wanted.clone(), found: other.cloned(), on })
        };
        others.into_iter().filter_map(obstacle).collect::<Vec<_>>()
    };
    wanted.iter().flat_map(of_parameter).collect()
}

/// Returns true if two texts are one value of a parameter: `MPI_T` says `true` if `1` was set. A list that leaves out more
/// components than asked for leaves these out as well.
pub fn is_same_value(found: &str, wanted: &str) -> bool {
    let plain = |text: &str| match text {
        "1" | "yes" | "enabled" => "true".to_owned(),
        "0" | "no" | "disabled" => "false".to_owned(),
        other => other.to_owned(),
    };
    if let (Some(found), Some(wanted)) = (found.strip_prefix('^'), wanted.strip_prefix('^')) {
        return wanted.split(',').all(|component| found.split(',').any(|other| other == component));
    }
    found == wanted || plain(found) == plain(wanted)
}

/// The algorithms that are forced for collectives that have rules, where this version of Open MPI prefers them.
pub fn forced(found: &[Circumstances], ruled: &BTreeSet<Collective>, behaviour: &Behaviour) -> Vec<Obstacle> {
    if !behaviour.forced_first {
        return Vec::new();
    }
    let forced: BTreeMap<Collective, i32> = found.iter().flat_map(|rank| rank.forced.clone()).collect();
    let forced = forced.into_iter().filter(|(collective, _)| ruled.contains(collective));
    forced.map(|(collective, algorithm)| Obstacle::Forced { collective, algorithm }).collect()
}

/// Returns true if two names stand for the same file: the same path, or the same file on this host.
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
            tuned: RulesReading {
                use_rules: Some(true),
                file: Some("/rules.conf".to_owned()),
                content: Some(Ok(digest(CONTENT))),
            },
            ..Circumstances::default()
        }
    }

    fn said(found: &[Circumstances], release: Release) -> Vec<String> {
        let ruled = BTreeSet::from([Collective::Bcast]);
        let behaviour = Behaviour::latest(release);
        let mut all = obstacles(found, Reader::Tuned, Path::new("/rules.conf"), CONTENT);
        all.extend(forced(found, &ruled, &behaviour));
        all.iter().map(ToString::to_string).collect()
    }

    /// The only obstacle for two ranks, of which the second differs.
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
        let off = of_second(|rank| rank.tuned.use_rules = Some(false));
        assert!(off.starts_with("the rules of coll/tuned are switched off on rank 1 (b); set coll_tuned_use"), "{off}");
        let none = of_second(|rank| (rank.tuned.file, rank.tuned.content) = (None, None));
        assert!(none.starts_with("no rules file for coll/tuned is set on rank 1 (b)"), "{none}");
        let other = of_second(|rank| rank.tuned.file = Some("/other".to_owned()));
        assert!(other.contains("on rank 1 (b): `/other`"), "{other}");
        let missing = of_second(|rank| rank.tuned.content = Some(Err("No such file".to_owned())));
        assert!(missing.starts_with("`/rules.conf` cannot be read on rank 1 (b) (No such file)"), "{missing}");
        let content = of_second(|rank| rank.tuned.content = Some(Ok(1)));
        assert!(content.starts_with("`/rules.conf` has different content on rank 1 (b)"), "{content}");
    }

    #[test]
    fn a_missing_component_is_put_down_to_the_choice_of_components() {
        let without = |rank: Circumstances| Circumstances {
            components: Some("^tuned".to_owned()),
            priority: None,
            tuned: RulesReading::default(),
            ..rank
        };
        let said = said(&[without(rank("a")), without(rank("b"))], Release::V5_0);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("coll/tuned is left out on all ranks: the parameter coll is `^tuned`"), "{said:?}");
    }

    #[test]
    fn a_parameter_with_another_value_is_named_with_its_ranks() {
        let found = [rank("a"), rank("b")];
        let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let wanted = of(&[("coll", "^han"), ("env:UCX_TLS", "rc"), ("mpi_leave_pinned", "1"), ("x_limit", "8192")]);
        let said = |values: &[BTreeMap<String, String>]| -> Vec<String> {
            other_values(&found, values, &wanted).iter().map(ToString::to_string).collect()
        };
        let right =
            of(&[("coll", "^ucc,han"), ("env:UCX_TLS", "rc"), ("mpi_leave_pinned", "true"), ("x_limit", "8192")]);
        assert_eq!(said(&[right.clone(), right.clone()]), [""; 0]);
        let wrong = of(&[("coll", "^ucc"), ("mpi_leave_pinned", "true"), ("x_limit", "4096")]);
        assert_eq!(
            said(&[right, wrong]),
            [
                "coll is ^ucc on rank 1 (b); the tuning sets it to ^han",
                "env:UCX_TLS is not set on rank 1 (b); the tuning sets it to rc",
                "x_limit is 4096 on rank 1 (b); the tuning sets it to 8192",
            ]
        );
    }

    /// HAN's half of a tuning has its own file, and its own reasons.
    #[test]
    fn what_han_reads_is_looked_at_in_the_same_way() {
        let said = |rank: &Circumstances| {
            let found = obstacles(std::slice::from_ref(rank), Reader::Han, Path::new("/han.conf"), CONTENT);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let mut one = rank("a");
        one.han = RulesReading {
            use_rules: Some(true),
            file: Some("/han.conf".to_owned()),
            content: Some(Ok(digest(CONTENT))),
        };
        assert_eq!(said(&one), [""; 0]);
        one.han.use_rules = Some(false);
        one.han.content = Some(Err("No such file".to_owned()));
        let both = said(&one);
        assert!(both[0].contains("coll/han are switched off on all ranks; set coll_han_use_dynamic_file_rules to 1"));
        assert!(both[1].starts_with("`/han.conf` cannot be read"), "{both:?}");
        one.han = RulesReading::default();
        one.components = Some("^han".to_owned());
        assert!(said(&one)[0].starts_with("coll/han is left out on all ranks: the parameter coll is `^han`"));
    }

    #[test]
    fn a_relative_path_is_an_obstacle_even_where_it_is_found() {
        let relative = |mut rank: Circumstances| {
            rank.tuned.file = Some("rules.conf".to_owned());
            rank
        };
        let said = said(&[relative(rank("a")), relative(rank("b"))], Release::V5_0);
        assert!(said[0].starts_with(
            "`rules.conf` is a relative path, looked up from the working directory of each rank (here /work)"
        ));
    }

    #[test]
    fn forced_algorithms_are_in_the_way_of_their_own_rules_where_they_win() {
        let mut first = rank("a");
        first.forced = BTreeMap::from([(Collective::Bcast, 1), (Collective::Gather, 2)]);
        let found = [first];
        assert_eq!(said(&found, Release::V4_1), [""; 0]);
        let said = said(&found, Release::V5_0);
        assert_eq!(said.len(), 1, "gather has no rules: {said:?}");
        assert!(said[0].starts_with("algorithm 1 of bcast is forced"), "{said:?}");
    }
}
