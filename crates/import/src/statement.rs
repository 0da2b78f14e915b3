//! Statements of the lines around outputs, such as commands: ranks, algorithms, and the MPI library.

use std::mem::discriminant;
use std::sync::LazyLock;

use collrules_record::units::Ranks;
use collrules_record::{Candidate, CandidateName};
use collrules_rules::{Collective, Release};
use regex::Regex;

use crate::columns::words;
use crate::facts::{Facts, collective_named};
use crate::finding::ImportError;

/// A statement, with the line that makes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) line: u64,
    pub(super) text: String,
    pub(super) fact: Stated,
    /// True if another line in front of the same output says something else.
    pub(super) is_disputed: bool,
}

/// Content of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stated {
    Ranks(Ranks),
    /// An algorithm, of this collective if one is named: the words that begin with its number or name.
    Algorithm(Option<Collective>, Vec<String>),
    /// The component `tuned` carried the calls out.
    Tuned,
    /// Settings under which another component than `tuned` carries the calls out.
    NotRunByTuned(String),
    /// Rules were in use.
    Rules,
    /// True if forced algorithms and rules were in use, false if Open MPI ignored them.
    Dynamic(bool),
    /// A parameter of the forced algorithm of a collective, and its value.
    Parameter(Collective, String, u64),
    /// A version of Open MPI.
    Version(String),
    /// Another library.
    Library(String),
    /// The directory of an installation.
    Installation(String),
}

/// `-np 8`, `--ntasks=8`, or `-n 8` of a launcher, and the word in front.
const OPTION: &str = r"(\S*)\s+(-{1,2}np|--ntasks|--n|-n|-c)(?:\s*|=)(\d+)\b";
/// `coll_tuned_bcast_algorithm 3`, `OMPI_MCA_coll_tuned_bcast_algorithm=3`.
const FORCED: &str = r#"coll_tuned_([a-z_]+?)_algorithm["']?(?:\s*[=:]\s*|\s+)["']?(\w+)"#;

/// `coll_tuned_priority 0`, `OMPI_MCA_coll_tuned_use_dynamic_rules=1`, `--mca coll ^tuned`, `OMPI_MCA_coll=^tuned`.
const SETTING: &str =
    r#"(?:\b|OMPI_MCA_)(coll_[a-z_0-9]+|mca\s+coll|OMPI_MCA_coll)["']?(?:\s*=\s*|\s+)["']?([\^\w/.,-]+)"#;
/// `srun -N 4`, of which each node gets `--ntasks-per-node=8`.
const NODES: &str = r"\s(?:-N|--nodes)(?:\s*|=)(\d+)\b";
/// The hosts of mpirun.
const HOSTS: &str = r"\s-{1,2}(?:host|H)(?:\s+|=)(\S+)";
/// Ranks of each node: of all launchers, and of mpirun.
const PER_NODE: &str = r"(?:--ntasks-per-node|-{1,2}npernode|-{1,2}ppn|-perhost)(?:\s+|=)(\d+)\b|\bppr:(\d+):node\b";

/// The fact of a value.
type Form = fn(&str) -> Option<Stated>;

/// Other forms of statements, each with the value as its first group. Of several about the same thing the first counts.
const FORMS: [(&str, Form); 7] = [
    // `Algorithm: 3`, `alg=binomial`, `algorithm 3`.
    (
        r"(?i)(?:^|[^_a-z0-9-])alg(?:o|orithm)?(?:[ _]?(?:id|number|no\.?))?(?:\s*[:=]\s*(\w+(?:[ -]\w+)*)|\s+#?(\d+)\b)",
        |name| Some(Stated::Algorithm(None, words(name))),
    ),
    // `component: tuned`, `coll = tuned`.
    (r"(?i)(?:^|[^_a-z0-9-])(?:(?:coll(?:ective)?[ _])?(?:component|module)|coll)\s*[:=]\s*(tuned)\s*$", |_| {
        Some(Stated::Tuned)
    }),
    // `Procs: 8`, `number of ranks = 8`.
    (
        r"(?i)(?:^|[^a-z0-9-])(?:np|(?:n|num)_?(?:procs?|ranks|tasks|processes)|procs|processes|ranks|tasks|(?:comm|communicator|mpi|world)[ _]size)\b\s*[:=]\s*(\d+)(?:[^\d.a-z/ ]|\s+[^p\s]|\s*$)",
        |count| Some(Stated::Ranks(count.parse().ok()?)),
    ),
    // `on 8 ranks`, `# 8 processes`.
    (
        r"(?i)(?:\b(?:on|with|using|for|over|running)\s+|^[#=*-]*\s*)(\d+)\s+(?:mpi\s+)?(?:ranks|processes|procs|tasks)\s*(?:$|[,;.:)=*-]|(?:on|over|across)\s+(?:\d+\s+)?(?:nodes|hosts))",
        |count| Some(Stated::Ranks(count.parse().ok()?)),
    ),
    // `Open MPI 4.1.5`, `openmpi-4.1.5`.
    (
        r"(?i)\b(?:open[ _-]?mpi|ompi)[^0-9a-z/]{0,4}(?:version|release|repo revision)?[^0-9a-z/]{0,4}/?v?(\d+\.\d+(?:\.\d+)?)",
        |version| Some(Stated::Version(version.to_owned())),
    ),
    (r"(?i)\b(mpich|mvapich)2?\b|\b(intel(?:\(r\))? mpi) library", |library| Some(Stated::Library(library.to_owned()))),
    // `/opt/a/bin/mpirun`.
    (r#"(?:^|[\s"'=])(/\S*)/bin/(?:mpirun|mpiexec|orterun|prterun)\b"#, |directory| {
        Some(Stated::Installation(directory.to_owned()))
    }),
];

/// `OPTION`, `FORCED`, and the `FORMS`.
static EXPRESSIONS: LazyLock<(Regex, Regex, [Regex; FORMS.len()])> =
    LazyLock::new(|| (compile(OPTION), compile(FORCED), FORMS.map(|(text, _)| compile(text))));
/// `SETTING`.
static SETTINGS: LazyLock<Regex> = LazyLock::new(|| compile(SETTING));
/// `NODES`, `HOSTS`, `PER_NODE`.
static PLACES: LazyLock<[Regex; 3]> = LazyLock::new(|| [NODES, HOSTS, PER_NODE].map(compile));

fn compile(text: &str) -> Regex {
    Regex::new(text).expect("an expression that a test compiles")
}

/// Priority of `tuned` unless it is set. [src coll_tuned_component.c]
const TUNED_PRIORITY: i64 = 30;
/// The highest default priority of the other components that every release has, `basic`. [src coll_basic_component.c]
const BASIC_PRIORITY: i64 = 10;
/// Components that pass blocking collectives of the communicators in question on, or have none.
const PASSING: [&str; 8] = ["accelerator", "cuda", "demo", "inter", "libnbc", "monitoring", "self", "sync"];

/// Facts that the settings of a line state: the component that ran the calls, rules, parameters of algorithms.
fn settings(text: &str) -> Vec<Stated> {
    let mut facts = Vec::new();
    let (mut tuned, mut other) = (TUNED_PRIORITY, (BASIC_PRIORITY, "basic"));
    let (mut has_rules, mut is_dynamic) = (false, None);
    for found in SETTINGS.captures_iter(text) {
        let (Some(name), Some(value)) = (found.get(1), found.get(2)) else { continue };
        let (name, value) = (name.as_str(), value.as_str());
        let Some(name) = name.strip_prefix("coll_") else {
            let is_listed = value.trim_start_matches('^').split(',').any(|component| component == "tuned");
            if is_listed == value.starts_with('^') {
                facts.push(Stated::NotRunByTuned(format!("the components are {value}, without tuned")));
            }
            continue;
        };
        if let Some((component, priority)) = name.strip_suffix("_priority").zip(value.parse::<i64>().ok()) {
            match component {
                "tuned" => tuned = priority,
                _ if PASSING.contains(&component) || priority <= other.0 => {}
                _ => other = (priority, component),
            }
        } else if name == "tuned_use_dynamic_rules" {
            is_dynamic = Some(!["0", "f", "false", "n", "no", "disabled"].contains(&value.to_lowercase().as_str()));
        } else if name.ends_with("_dynamic_rules_filename") {
            has_rules = true;
        } else if let Some((collective, parameter)) =
            name.strip_prefix("tuned_").and_then(|name| name.split_once("_algorithm_"))
            && let (Some(collective), Ok(value @ 1..)) = (collective_named(collective), value.parse())
        {
            facts.push(Stated::Parameter(collective, parameter.to_owned(), value));
        }
    }
    if tuned <= other.0 {
        facts.push(Stated::NotRunByTuned(format!("{} has priority {}, and tuned {tuned}", other.1, other.0)));
    }
    facts.extend(is_dynamic.map(Stated::Dynamic));
    facts.extend((has_rules && is_dynamic != Some(false)).then_some(Stated::Rules));
    facts
}

/// The ranks of a command that says how many each node gets, and names or counts the nodes.
fn placed_ranks(text: &str) -> Option<Ranks> {
    let [nodes, hosts, per_node] = &*PLACES;
    let number = |found: regex::Captures| found.iter().skip(1).flatten().next()?.as_str().parse::<u32>().ok();
    let each = number(per_node.captures(text)?)?;
    let counted = || number(nodes.captures(text)?);
    let named = || {
        let hosts = hosts.captures(text)?;
        let names = hosts[1].split(',').map(|host| host.split(':').next().unwrap_or(host));
        u32::try_from(names.collect::<std::collections::BTreeSet<_>>().len()).ok()
    };
    let count = if text.contains("srun") { counted() } else { named() };
    each.checked_mul(count?).filter(|count| *count > 0).map(Ranks)
}

/// Programs with an option `-n` that is about something else.
const OTHERS: [&str; 8] = ["head", "tail", "nice", "sed", "sort", "xargs", "echo", "cut"];

/// All statements of a line.
pub(super) fn read(line: u64, text: &str) -> Vec<Statement> {
    let (_, forced, forms) = &*EXPRESSIONS;
    let forced = forced
        .captures_iter(text)
        .filter_map(|found| Some(Stated::Algorithm(Some(collective_named(&found[1])?), vec![found[2].to_lowercase()])));
    let ranks = started_ranks(text).or_else(|| placed_ranks(text)).map(Stated::Ranks);
    let mut facts: Vec<Stated> = forced.chain(ranks).chain(settings(text)).collect();
    for (expression, (_, form)) in forms.iter().zip(FORMS) {
        let found = expression.captures(text).and_then(|found| found.iter().skip(1).flatten().next());
        let fact = found.and_then(|value| form(value.as_str()));
        let is_new = |fact: &Stated| !facts.iter().any(|known| discriminant(known) == discriminant(fact));
        facts.extend(fact.filter(is_new));
    }
    facts.into_iter().map(|fact| Statement { line, text: text.to_owned(), fact, is_disputed: false }).collect()
}

/// The ranks that a command starts, over all of its programs.
fn started_ranks(text: &str) -> Option<Ranks> {
    let is_mpi = ["mpirun", "mpiexec", "srun", "orterun", "prterun", "aprun"].iter().any(|name| text.contains(name));
    let spaced = format!(" {text}");
    let counts = EXPRESSIONS.0.captures_iter(&spaced).filter_map(|found| {
        let is_other = OTHERS.iter().any(|other| found[1].rsplit('/').next() == Some(other));
        let is_ranks = match &found[2] {
            "-c" => is_mpi && !text.contains("srun"),
            "-n" | "--n" => !is_other,
            _ => true,
        };
        found[3].parse::<u32>().ok().filter(|_| is_ranks)
    });
    let counts: Vec<u32> = counts.collect();
    let count = if text.contains(" : ") { counts.iter().sum() } else { *counts.first()? };
    (count > 0).then_some(Ranks(count))
}

/// The facts that statements about an output supply if nothing else does: the ranks, and the default, which
/// ompi-collectives-tuning and others call `tuned`.
pub(super) fn supplied<'a>(stated: impl IntoIterator<Item = &'a Statement>) -> Facts {
    let mut facts = Facts::default();
    for statement in stated.into_iter().filter(|statement| !statement.is_disputed) {
        match &statement.fact {
            Stated::Ranks(ranks) => facts.ranks = facts.ranks.or(Some(*ranks)),
            Stated::Algorithm(_, words) if words != &["tuned"] => {}
            Stated::Algorithm(..) | Stated::Tuned => {
                facts.algorithm = Some(CandidateName::Complete(Candidate::Builtin))
            }
            _ => {}
        }
    }
    facts
}

impl Statement {
    /// Returns true if both are about the same thing, so that this one, which is later, replaces the other.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        match (&self.fact, &other.fact) {
            (Stated::Algorithm(own, _), Stated::Algorithm(others, _)) => own == others,
            (Stated::Parameter(own, name, _), Stated::Parameter(others, other, _)) => (own, name) == (others, other),
            (own, others) => discriminant(own) == discriminant(others),
        }
    }

    /// The error that a file contradicts what is assumed about it.
    pub(super) fn error(&self, why: &str) -> ImportError {
        let what = format!("the file contradicts what is assumed about it: {why}: {}", self.text);
        ImportError::Doubtful(what).at(self.line)
    }

    /// Returns how the statement contradicts what is assumed about rows, if it does. `content` is what the output itself
    /// says, which may be about a part of the ranks that a command starts.
    pub(super) fn contradiction(
        &self,
        content: &Facts,
        ranks: Ranks,
        (collective, candidate): (Collective, Candidate),
        release: Release,
    ) -> Option<String> {
        match &self.fact {
            Stated::Ranks(stated) => (content.ranks.is_none() && *stated != ranks)
                .then(|| format!("it says {stated} ranks, and {ranks} are assumed")),
            Stated::Algorithm(of, words) => {
                let named = |count: usize| CandidateName::read(&words[..count].join("_"));
                let is_number = matches!(named(1), CandidateName::Id(_));
                let counts = if is_number { 1..=1 } else { 1..=words.len() };
                let named = counts.rev().find_map(|count| named(count).candidate(release, collective).ok());
                // Words that name no algorithm may be about something else.
                let is_about = of.is_none_or(|of| of == collective) && content.algorithm.is_none();
                let number = |of: Candidate| of.choice().map_or(0, |choice| choice.algorithm);
                let differs = named.map_or(is_number, |named| number(named) != number(candidate));
                (is_about && differs)
                    .then(|| format!("it says another algorithm of {collective} than {candidate}, which is assumed"))
            }
            Stated::NotRunByTuned(why) => matches!(candidate, Candidate::Builtin | Candidate::Tuned(_))
                .then(|| format!("coll/tuned did not carry out the calls, since {why}, but {candidate} is assumed")),
            Stated::Rules => (candidate == Candidate::Builtin)
                .then(|| "rules chose the algorithms, and Open MPI's own choice is assumed".to_owned()),
            Stated::Dynamic(is_dynamic) => (!is_dynamic && matches!(candidate, Candidate::Tuned(_)))
                .then(|| format!("without dynamic rules Open MPI forces no algorithm, and {candidate} is assumed")),
            Stated::Parameter(of, name, value) => {
                let Candidate::Tuned(choice) = candidate else { return None };
                let assumed = match name.as_str() {
                    "segmentsize" => choice.segsize,
                    "tree_fanout" | "chain_fanout" => u64::from(choice.faninout),
                    "max_requests" => u64::from(choice.max_requests),
                    _ => return None,
                };
                let remedy = "--algorithm tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS";
                (*of == collective && *value != assumed)
                    .then(|| format!("it says {name} {value}, and {candidate} is assumed ({remedy})"))
            }
            Stated::Version(stated) => (stated.parse::<Release>() != Ok(release)).then(|| {
                let family: Vec<&str> = stated.split('.').take(2).collect();
                format!("it says Open MPI {stated}, and {release} is assumed (--release {})", family.join("."))
            }),
            Stated::Library(library) => Some(format!("it says {library}, whose algorithms are not those of Open MPI")),
            Stated::Installation(_) | Stated::Tuned => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Vec<Stated> {
        read(1, text).into_iter().map(|statement| statement.fact).collect()
    }

    #[test]
    fn commands_and_headings_state_facts() {
        let (ranks, bcast) = (|count| Stated::Ranks(Ranks(count)), Some(Collective::Bcast));
        let algorithm = |of, name: &str| Stated::Algorithm(of, name.split(' ').map(str::to_owned).collect());
        let version = |text: &str| Stated::Version(text.to_owned());
        for (text, stated) in [
            ("+ mpirun -np 8 ./osu_bcast", vec![ranks(8)]),
            ("mpiexec -n 16 ./osu_bcast -f", vec![ranks(16)]),
            ("srun -n16 ./osu_bcast -i100", vec![ranks(16)]),
            ("$ srun --ntasks=32 -c 4 ./osu_bcast", vec![ranks(32)]),
            ("mpirun -n 4 -host a x : -n 4 -host b x", vec![ranks(8)]),
            ("nice -n 10 mpirun -np 4 x | head -n 5", vec![ranks(4)]),
            ("head -n 5 out", vec![]),
            ("Procs: 8", vec![ranks(8)]),
            ("Number of ranks = 64", vec![ranks(64)]),
            ("Processes: 4 per node", vec![]),
            ("srun -N 2 ./osu_bcast", vec![]),
            ("OMPI_MCA_btl_tcp_progress=1.5", vec![]),
            ("algorithm selection took 3 s", vec![]),
            ("# 4 ranks, builtin", vec![ranks(4)]),
            ("=== running on 12 processes ===", vec![ranks(12)]),
            ("Running with 32 processes on 2 nodes", vec![ranks(32)]),
            ("--- 32 ranks, binomial ---", vec![ranks(32)]),
            ("8 processes on node n1", vec![]),
            ("srun -N 4 --ntasks-per-node=8 ./osu_bcast", vec![ranks(32)]),
            ("srun --nodes=2 --ntasks-per-node 8 -n 12 ./osu_bcast", vec![ranks(12)]),
            ("srun --ntasks-per-node=8 ./osu_bcast", vec![]),
            ("mpirun --host n1:32,n2:32 --map-by ppr:16:node ./osu_bcast", vec![ranks(32)]),
            ("mpirun -H n1,n1,n2 -npernode 4 ./osu_bcast", vec![ranks(8)]),
            ("mpirun -N 16 ./osu_bcast", vec![]),
            ("--mca coll_tuned_use_dynamic_rules 1", vec![Stated::Dynamic(true)]),
            ("OMPI_MCA_coll_tuned_use_dynamic_rules=0", vec![Stated::Dynamic(false)]),
            ("OMPI_MCA_coll_tuned_dynamic_rules_filename=/x/rules.conf", vec![Stated::Rules]),
            (
                "--mca coll_tuned_use_dynamic_rules no --mca coll_tuned_dynamic_rules_filename r",
                vec![Stated::Dynamic(false)],
            ),
            (
                "--mca coll_tuned_bcast_algorithm_segmentsize 8192",
                vec![Stated::Parameter(Collective::Bcast, "segmentsize".to_owned(), 8192)],
            ),
            ("--mca coll ^hcoll,ucc", vec![]),
            ("coll = allreduce", vec![]),
            ("--mca coll_hcoll_enable 0 --mca coll_tuned_priority 100 --mca coll_han_priority 50", vec![]),
            ("OMPI_MCA_coll_sync_priority=100 --mca coll_han_priority 0", vec![]),
            ("=== running on 12 processes", vec![ranks(12)]),
            ("2 more processes have sent help message help-mpi-btl.txt", vec![]),
            ("# ( 2 additional processes waiting in MPI_Barrier)", vec![]),
            ("--mca coll_tuned_bcast_algorithm 3", vec![algorithm(bcast, "3")]),
            ("export OMPI_MCA_coll_tuned_bcast_algorithm=3", vec![algorithm(bcast, "3")]),
            ("Algorithm: 3", vec![algorithm(None, "3")]),
            ("algo: tuned", vec![algorithm(None, "tuned")]),
            ("component: tuned", vec![Stated::Tuned]),
            ("# coll = tuned", vec![Stated::Tuned]),
            ("component: han", vec![]),
            ("--mca coll tuned,self -np 4 x", vec![ranks(4)]),
            ("coll: tuned 30, basic 10", vec![]),
            ("## algorithm 5 (pipeline)", vec![algorithm(None, "5")]),
            ("algo=recursive doubling", vec![algorithm(None, "recursive doubling")]),
            ("Alg: recursive-doubling", vec![algorithm(None, "recursive doubling")]),
            ("mpirun (Open MPI) 4.1.5", vec![version("4.1.5")]),
            ("module load openmpi/4.1.5-gcc", vec![version("4.1.5")]),
            ("Open MPI: 5.0.3", vec![version("5.0.3")]),
            ("Open MPI v4.0.7, package: x", vec![version("4.0.7")]),
            ("MVAPICH2 Version: 2.3.7", vec![Stated::Library("MVAPICH".to_owned())]),
            ("# MPI Version : 3.1", vec![]),
            (
                "/opt/openmpi-4.1.5/bin/mpirun -np 2 x",
                vec![ranks(2), version("4.1.5"), Stated::Installation("/opt/openmpi-4.1.5".to_owned())],
            ),
        ] {
            assert_eq!(facts(text), stated, "{text}");
        }
    }
}
