//! Settings on every rank that decide whether a rules file has an effect, and obstacles to the file.
//!
//! Open MPI says nothing about a missing file, a switch that is off, or a forced algorithm that overrides the file. But
//! each rank can report its settings and the file that it would read.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::path::Path;

pub use collrules_rules::deploy::{HAN_FILE, RULES_FILE, USE_HAN, USE_RULES};
use collrules_rules::kind::FileKind;
use collrules_rules::settings::variable;
use collrules_rules::words::plural;
use collrules_rules::{Behaviour, Collective};
use serde::{Deserialize, Serialize};

/// The parameter by which users choose components of the coll framework.
pub const COMPONENTS: &str = "coll";

/// Settings of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// Its host.
    pub host: String,
    /// Its working directory, which relative names start from.
    pub directory: String,
    /// The choice of components, if one was made.
    pub components: Option<String>,
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

/// A number that distinguishes contents, the same in all processes of a build.
pub fn digest(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

/// Obstacle to a rules file, or to a parameter of a tuning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What is wrong, on which ranks, and a remedy.
    pub why: String,
    /// The parameter to change, if that is the remedy.
    pub parameter: Option<String>,
}

/// Names the ranks that are affected, with their hosts; none if there are none.
fn name_ranks(found: &[Circumstances], is_affected: impl Fn(usize) -> bool) -> Option<String> {
    let ranks: Vec<usize> = (0..found.len()).filter(|rank| is_affected(*rank)).collect();
    let hosts: BTreeSet<&str> = ranks.iter().map(|rank| found[*rank].host.as_str()).collect();
    let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
    let named: Vec<String> = ranks.iter().take(8).map(ToString::to_string).collect();
    let more = if ranks.len() > named.len() { ", ..." } else { "" };
    match ranks.len() {
        0 => None,
        all if all == found.len() => Some("on all ranks".to_owned()),
        _ => Some(format!("on {} {}{more} ({hosts})", plural(named.len(), "rank"), named.join(", "))),
    }
}

/// Lists the obstacles to the component for this kind of file reading a file with this content.
pub fn obstacles(found: &[Circumstances], kind: FileKind, file: &Path, content: &[u8]) -> Vec<Obstacle> {
    let (name, switch, parameter) = match kind {
        FileKind::Tuned => ("coll/tuned", USE_RULES, RULES_FILE),
        FileKind::Han => ("coll/han", USE_HAN, HAN_FILE),
    };
    let of_kind = |rank: usize| match kind {
        FileKind::Tuned => &found[rank].tuned,
        FileKind::Han => &found[rank].han,
    };
    let readings: Vec<&RulesReading> = (0..found.len()).map(of_kind).collect();
    let on = |affected: &dyn Fn(&RulesReading) -> bool| name_ranks(found, |rank| affected(readings[rank]));
    // One obstacle for each value that some ranks have.
    let by_value = |value: &dyn Fn(&RulesReading) -> Option<String>| {
        let values: BTreeSet<String> = readings.iter().filter_map(|rank| value(rank)).collect();
        values
            .into_iter()
            .filter_map(|it| Some((on(&|rank| value(rank).as_ref() == Some(&it))?, it)))
            .collect::<Vec<_>>()
    };
    let mut obstacles = Vec::new();
    let mut add = |parameter: Option<&str>, why: String| {
        obstacles.push(Obstacle { why, parameter: parameter.map(str::to_owned) });
    };
    if let Some(on) = on(&|rank| rank.use_rules.is_none()) {
        match found.iter().find_map(|rank| rank.components.as_ref()) {
            Some(components) => add(
                Some(COMPONENTS),
                format!(
                    "{name} is left out {on}: the parameter {COMPONENTS} is `{components}`; reset it, or name {} among \
                     the components",
                    name.trim_start_matches("coll/")
                ),
            ),
            None => {
                add(None, format!("this Open MPI has no component {name} {on}, so a rules file for it has no effect"));
            }
        }
    }
    if let Some(on) = on(&|rank| rank.use_rules == Some(false)) {
        add(Some(switch), format!("the rules of {name} are switched off {on}; set {switch} to 1"));
    }
    if let Some(on) = on(&|rank| rank.use_rules.is_some() && rank.file.is_none()) {
        let why = format!("no rules file for {name} is set {on}; set {parameter} to the absolute path of one");
        add(Some(parameter), why);
    }
    for (_, set) in by_value(&|rank| rank.file.clone().filter(|file| Path::new(file).is_relative())) {
        let ranks = found.iter().zip(&readings).filter(|(_, reading)| reading.file.as_ref() == Some(&set));
        let directories: BTreeSet<&str> = ranks.map(|(rank, _)| rank.directory.as_str()).collect();
        let directories = directories.into_iter().take(3).collect::<Vec<_>>().join(", ");
        let why = format!(
            "`{set}` is a relative path, looked up from the working directory of each rank (here {directories}), and \
             silently ignored if it is not found; set {parameter} to an absolute path"
        );
        add(Some(parameter), why);
    }
    // Whether a relative name means another file is not the question.
    let is_other = |set: &String| Path::new(set).is_absolute() && !same_file(Path::new(set), file);
    let other = |rank: &RulesReading| rank.file.clone().filter(is_other);
    for (on, set) in by_value(&other) {
        let why = format!("another rules file is set {on}: `{set}`; set {parameter} to the absolute path of this one");
        add(Some(parameter), why);
    }
    let unreadable = |rank: &RulesReading| rank.content.clone()?.err();
    for (on, cause) in by_value(&unreadable) {
        let reading = readings.iter().find(|rank| unreadable(rank).as_ref() == Some(&cause));
        let file = reading.and_then(|rank| rank.file.as_deref()).unwrap_or_default();
        let why = format!(
            "`{file}` cannot be read {on} ({cause}), and Open MPI ignores it there; copy it to every node, or put it on a \
             shared file system"
        );
        add(None, why);
    }
    let expected = digest(content);
    let differs =
        |rank: &RulesReading| other(rank).is_none() && matches!(rank.content, Some(Ok(digest)) if digest != expected);
    if let Some(on) = on(&differs) {
        let why = format!(
            "`{}` has different content {on} than here; ranks that read different rules can hang: copy the file again",
            file.display()
        );
        add(None, why);
    }
    obstacles
}

/// Lists the parameters of a tuning, or environment variables after `env:`, that ranks have other values of. `values` has
/// those of each rank, by name.
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
            let on = name_ranks(found, |rank| values.get(rank).is_some_and(|values| values.get(name) == other))?;
            let value = other.map_or("not set", String::as_str);
            let why = format!("{name} is {value} {on}; the tuning sets it to {wanted}");
            Some(Obstacle { why, parameter: Some(name.clone()).filter(|name| variable(name).is_none()) })
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
    let obstacle = |(collective, algorithm)| {
        let parameter = format!("coll_tuned_{collective}_algorithm");
        let why = format!(
            "algorithm {algorithm} of {collective} is forced, which overrides all rules in this version of Open MPI; remove \
             {parameter}"
        );
        Obstacle { why, parameter: Some(parameter) }
    };
    forced.map(obstacle).collect()
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
        let mut all = obstacles(found, FileKind::Tuned, Path::new("/rules.conf"), CONTENT);
        all.extend(forced(found, &ruled, &behaviour));
        all.iter().map(|it| it.why.clone()).collect()
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
            other_values(&found, values, &wanted).iter().map(|it| it.why.clone()).collect()
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
            let found = obstacles(std::slice::from_ref(rank), FileKind::Han, Path::new("/han.conf"), CONTENT);
            found.iter().map(|it| it.why.clone()).collect::<Vec<_>>()
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
