//! Statements of the lines around outputs, such as commands: ranks, algorithms, settings, units, and the MPI library.

use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::LazyLock;

use collrules_record::units::Ranks;
use collrules_record::{Candidate, CandidateName};
use collrules_rules::Release;
use regex::Regex;

use crate::columns::{Columns, Role, per_second, time_role, words};
use crate::facts::{CompleteFacts, Facts, collective_named};
use crate::finding::{Finding, FindingCode, ImportError};

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
    Ranks(u32),
    Nodes(u32),
    /// Ranks of each node.
    PerNode(u32),
    /// Words that begin with the number or the name of an algorithm.
    Algorithm(String),
    /// The component `tuned` carried the calls out.
    Tuned,
    /// A parameter of the framework coll, and its value.
    Setting(String, String),
    /// A version of Open MPI.
    Version(String),
    /// Another library.
    Library(String),
    /// The directory of an installation.
    Installation(String),
    /// Units of times in a second.
    Unit(f64),
    /// A statistic of times other than a mean or a median.
    Statistic(String),
    /// The columns are in another order than their header says.
    Swapped,
}

/// The fact of the values that an expression found.
enum Form {
    Count(fn(u32) -> Stated),
    Text(fn(String) -> Stated),
    Values(fn(&[&str]) -> Option<Stated>),
}
use Form::{Count, Text, Values};

/// Words of the forms.
const WORDS: [(&str, &str); 9] = [
    ("BEGIN", r"(?:^|[^_a-z0-9-])"),
    ("COUNT", r"IS(\d+)(?:[^\d.a-z/ ]|\s+[^p\s]|\s*$)"),
    ("NUMBER", r"(?:^|[^\w.-])(\d+)\s+"),
    ("RANKS", r"(?:(?:mpi\s+)?(?:ranks|processes|procs|tasks))"),
    ("MPIRUN", r"(?:mpirun|mpiexec|orterun|prterun)"),
    ("UNIT", r"((?:s|ms|us|µs|μs|ns)|(?:secs?|msecs?|usecs?|nsecs?)|(?:milli|micro|nano)?seconds?)"),
    ("TIMES", r"\b(?:times?|timings?|latency|latencies|durations?|values|results|numbers|units?)\b"),
    ("GAP", r"[^0-9a-z/]{0,4}"),
    ("IS", r"\s*[:=]\s*"),
];

/// Forms of statements, with these words. Of several statements about the same thing the first counts.
const FORMS: [(Form, &str); 23] = [
    // `coll_tuned_priority 0`, `OMPI_MCA_coll_tuned_bcast_algorithm=3`, `--mca coll ^tuned`, `OMPI_MCA_coll=^tuned`.
    (Values(setting), r#"(?:\b|OMPI_MCA_)(coll_\w+|(?:mca\s+|OMPI_MCA_)coll)["']?(?:IS|\s+)["']?([\^\w/.,-]+)"#),
    // `Algorithm: 3`, `alg=binomial`, `algorithm 3`.
    (
        Text(Stated::Algorithm),
        r"BEGINalg(?:o|orithm)?(?:[ _]?(?:id|number|no\.?))?(?:IS(\w+(?:[ -]\w+)*)|\s+#?(\d+)\b)",
    ),
    // `component: tuned`, `coll = tuned`.
    (Text(|_| Stated::Tuned), r"BEGIN(?:(?:coll\w*[ _])?(?:component|module)|coll)IS(tuned)\s*$"),
    // `Procs: 8`, `number of ranks = 8`, `world size: 8`.
    (Count(Stated::Ranks), r"(?:^|[^a-z0-9-])(?:np|(?:n|num)_?proc|(?:(?:n|num)_?)?RANKS)\bCOUNT"),
    (Count(Stated::Ranks), r"(?:^|[^a-z0-9-])(?:comm|communicator|mpi|world)[ _]size\bCOUNT"),
    // `on 8 ranks`, `[8 processes]`, `8 processes on 2 nodes`.
    (Count(Stated::Ranks), r"NUMBERRANKS\s*(?:$|[^\w\s/]|(?:with|for|at|using|and|x)\b)"),
    (Count(Stated::Ranks), r"NUMBERRANKS\s+(?:on|over|across)\s+(?:\d+\s+)?(?:nodes|hosts)\b"),
    // `8 processes per node`, `x 8 ranks`, `Processes: 8 per node`, `ppr:8:node`.
    (Count(Stated::PerNode), r"NUMBERRANKS\s*(?:per|/|on\s+each|each)\s*(?:node|host)"),
    (Count(Stated::PerNode), r"(?:\bx|(?:nodes|hosts)\s*\*)\s*(\d+)\s+RANKS\b"),
    (Count(Stated::PerNode), r"RANKSIS(\d+)\s+per\s+(?:node|host)|\bppr:(\d+):node\b"),
    // `--ntasks-per-node=8`, `SLURM_NTASKS_PER_NODE=8`, `ppn: 8`, `mpiprocs=8`, and of mpirun `-N 8`.
    (Count(Stated::PerNode), r"RANKS[ _-]per[ _-](?:node|host)(?:IS|\s+)(\d+)\b"),
    (Count(Stated::PerNode), r"(?:\bppn|-perhost|-npernode|\bmpiprocs|\bptile)(?:IS|\s+)(\d+)\b"),
    (Count(Stated::PerNode), r"MPIRUN\b.*\s(?-i:-N)(?:\s*|=)(\d+)\b"),
    // `4 nodes`, `Nodes: 4`, `SLURM_NNODES=4`, `-l select=4`, and of Slurm `-N 4`.
    (Count(Stated::Nodes), r"NUMBER(?:compute\s+)?(?:nodes?|hosts?)\b"),
    (Count(Stated::Nodes), r"(?:^|[^a-z])(?:n?nodes|num_nodes|hosts|select)IS(\d+)\b|\s--nodes\s+(\d+)\b"),
    (Count(Stated::Nodes), r"(?:srun|salloc|SBATCH)\b.*\s(?-i:-N)(?:\s*|=)(\d+)\b"),
    // The hosts of mpirun.
    (Values(|values| Some(Stated::Nodes(count_hosts(values.first()?)))), r"\s-{1,2}(?:host|(?-i:H))(?:\s+|=)(\S+)"),
    // `Open MPI 4.1.5`, `openmpi-4.1.5`.
    (
        Text(Stated::Version),
        r"\b(?:open[ _-]?mpi|ompi)GAP(?:version|release|repo revision)?GAP/?v?(\d+\.\d+(?:\.\d+)?)",
    ),
    (Text(Stated::Library), r"\b(mpich|mvapich)2?\b|\b(intel(?:\(r\))? mpi) library"),
    // `/opt/a/bin/mpirun`.
    (Text(Stated::Installation), r#"(?:^|[\s"'=])(/\S*)/bin/MPIRUN\b"#),
    // `[ms]` alone, `times in ms`, `Time (s)`, `unit: us`; no times such as `in 3 s` or `time (s): 3`.
    (
        Values(|values| Some(Stated::Unit(per_second(&values.first()?.to_lowercase())?))),
        r"^\W*UNIT\W*$|TIMES.*?(?:\b(?:in|units?|is|are)\s|[:=]|\s[\[(])\s*UNIT\b\s*[\])]?\s*(?:$|[,;.]|[^\W\d]|[\[(])",
    ),
    // `statistic: p99`, `metric = maximum`.
    (Values(statistic), r"\b(?:statistics?|stat|metric|aggregat(?:e|ion))\b\s*[:=]?\s*(\w+)"),
    (Text(|_| Stated::Swapped), r"\b(?:columns?|ranks|sizes?|\w+_bytes|\w+_size)\b.*\b(swapped|(?:inter|ex)changed)\b"),
];

fn setting(values: &[&str]) -> Option<Stated> {
    let [name, value] = *values else { return None };
    let name = if name.starts_with("coll_") { name } else { "coll" };
    Some(Stated::Setting(name.to_owned(), value.trim_end_matches([',', '.']).to_lowercase()))
}

fn statistic(values: &[&str]) -> Option<Stated> {
    let name = values.first()?.to_lowercase();
    let role = time_role(&["time".to_owned(), name.clone()]);
    matches!(role, Some(Role::Max | Role::Min | Role::Spread)).then_some(Stated::Statistic(name))
}

fn count_hosts(names: &str) -> u32 {
    names.split(',').map(|host| host.split(':').next()).collect::<BTreeSet<_>>().len() as u32
}

/// The ranks of a program that a command starts; the `FORMS`.
static EXPRESSIONS: LazyLock<(Regex, [Regex; FORMS.len()])> = LazyLock::new(|| {
    let compile = |form: &str| {
        let text = WORDS.iter().fold(form.to_owned(), |text, (word, meaning)| text.replace(word, meaning));
        Regex::new(&format!("(?i){text}")).expect("an expression that a test compiles")
    };
    let tasks = r"\s(?:-{1,2}np|--ntasks)(?:\s*|=)(\d+)\b|MPIRUN\b[^|]*?\s(?-i:-c)\s*(\d+)\b";
    let number = r"(?:MPIRUN|srun|aprun|BSUB|SBATCH)\b[^|]*?\s--?(?-i:n)(?:\s*|=)(\d+)\b";
    (compile(&format!("{tasks}|{number}")), FORMS.map(|(_, form)| compile(form)))
});

/// The ranks that a command starts, over all of its programs.
fn started_ranks(text: &str) -> Option<u32> {
    let mut programs = text.split(" : ");
    let count = |program: String| {
        let found = EXPRESSIONS.0.captures(&program)?;
        found.iter().skip(1).flatten().next()?.as_str().parse::<u32>().ok()
    };
    let first = count(format!(" {}", programs.next()?))?;
    programs.filter_map(|program| count(format!("mpirun {program}"))).try_fold(first, u32::checked_add)
}

/// All statements of a line. Lines that were read earlier may name the nodes of its ranks per node, or the reverse.
pub(super) fn read(line: u64, text: &str, earlier: &[Statement]) -> Vec<Statement> {
    let started = started_ranks(text);
    let mut facts: Vec<Stated> = started.map(Stated::Ranks).into_iter().collect();
    for (expression, (form, _)) in EXPRESSIONS.1.iter().zip(&FORMS) {
        for found in expression.captures_iter(text) {
            let values: Vec<&str> = found.iter().skip(1).flatten().map(|value| value.as_str()).collect();
            let fact = match form {
                Count(of) => values.first().and_then(|count| Some(of(count.parse().ok()?))),
                Text(of) => values.first().map(|text| of((*text).to_owned())),
                Values(of) => of(&values),
            };
            facts.extend(fact.filter(|fact| !facts.iter().any(|known| is_about_same(known, fact))));
        }
    }
    // With a number of tasks, that of each node is the largest one for Slurm.
    let is_limit = started.is_some() && ["srun", "SBATCH"].iter().any(|name| text.contains(name));
    let has = |wanted: fn(&Stated) -> bool| facts.iter().any(wanted);
    let is_placed = !is_limit && has(|fact| matches!(fact, Stated::Nodes(_) | Stated::PerNode(_)));
    let is_alone = !has(|fact| matches!(fact, Stated::Ranks(_)));
    let earlier = earlier.iter().rev().map(|statement| &statement.fact).filter(|_| is_alone);
    let placed = placed_ranks(facts.iter().chain(earlier)).filter(|_| is_placed).map(Stated::Ranks);
    let placed = placed.filter(|placed| !facts.contains(placed));
    facts.extend(placed);
    facts.retain(|fact| *fact != Stated::Ranks(0));
    facts.into_iter().map(|fact| Statement { line, text: text.to_owned(), fact, is_disputed: false }).collect()
}

/// The nodes times the ranks of each.
fn placed_ranks<'a>(facts: impl Iterator<Item = &'a Stated> + Clone) -> Option<u32> {
    let nodes = facts.clone().find_map(|fact| if let Stated::Nodes(count) = fact { Some(*count) } else { None });
    let each = facts.clone().find_map(|fact| if let Stated::PerNode(count) = fact { Some(*count) } else { None });
    each?.checked_mul(nodes?)
}

/// The facts that statements about an output supply if nothing else does: the ranks, and the default, which
/// ompi-collectives-tuning and others call `tuned`.
pub(super) fn supplied<'a>(stated: impl IntoIterator<Item = &'a Statement>) -> Facts {
    let mut facts = Facts::default();
    for statement in stated.into_iter().filter(|statement| !statement.is_disputed) {
        match &statement.fact {
            Stated::Ranks(ranks) => facts.ranks = facts.ranks.or(Some(Ranks(*ranks))),
            Stated::Algorithm(words) if !words.eq_ignore_ascii_case("tuned") => {}
            Stated::Algorithm(_) | Stated::Tuned => {
                facts.algorithm = Some(CandidateName::Complete(Candidate::Builtin));
            }
            _ => {}
        }
    }
    facts
}

/// Returns true if both are about the same thing, so that the later one replaces the other.
pub(super) fn is_about_same(one: &Stated, other: &Stated) -> bool {
    match (one, other) {
        (Stated::Setting(one, _), Stated::Setting(other, _)) => one == other,
        _ => discriminant(one) == discriminant(other),
    }
}

/// Assumptions about the rows of an output.
pub(super) struct Assumed<'a> {
    pub(super) subject: &'a CompleteFacts,
    /// Facts that the output itself names, which may be about a part of the ranks that a command starts.
    pub(super) content: &'a Facts,
    pub(super) columns: Option<&'a Columns>,
    pub(super) release: Release,
}

/// Compares the statements about an output with what is assumed about its rows. Returns a finding about an algorithm that
/// Open MPI may not have forced.
pub(super) fn compare(stated: &[Statement], assumed: &Assumed<'_>) -> Result<Option<Finding>, ImportError> {
    let value = |wanted: &str| {
        let named = |statement: &Statement| match &statement.fact {
            Stated::Setting(name, value) if name == wanted => Some((statement.line, value.clone())),
            _ => None,
        };
        stated.iter().rev().find_map(named)
    };
    for statement in stated {
        let contradiction = match &statement.fact {
            Stated::Setting(name, setting) => assumed.setting(name, setting, |name| Some(value(name)?.1)),
            other => assumed.contradiction(other),
        };
        if let Some(why) = contradiction {
            return Err(statement.error(&why));
        }
    }
    let forced = value(&format!("coll_tuned_{}_algorithm", assumed.subject.collective));
    let forced = forced.filter(|_| value(USE_RULES).is_none() && assumed.is_forced());
    Ok(forced.map(|(line, _)| {
        let what = format!(
            "an algorithm is forced, but no line sets {USE_RULES}, without which Open MPI ignores that: unless it was set \
             elsewhere, these are times of the default"
        );
        Finding::new(FindingCode::NotForced, what).at(line)
    }))
}

impl Statement {
    /// The error that a file contradicts what is assumed about it.
    pub(super) fn error(&self, why: &str) -> ImportError {
        let remedy = "correct the option or the name, or remove the line if it is about something else";
        let what = format!("the file contradicts what is assumed about it: {why} ({remedy}): {}", self.text);
        ImportError::doubtful(what).at(self.line)
    }
}

/// Without this setting Open MPI neither forces algorithms nor reads rules. [src coll_tuned_module.c]
const USE_RULES: &str = "coll_tuned_use_dynamic_rules";
/// Priority of `tuned` unless it is set. [src coll_tuned_component.c]
const TUNED_PRIORITY: i64 = 30;
/// The highest default priority of the other components that every release has, `basic`. [src coll_basic_component.c]
const BASIC_PRIORITY: i64 = 10;
/// Components that pass blocking collectives of the communicators in question on, or have none.
const PASSING: [&str; 8] = ["accelerator", "cuda", "demo", "inter", "libnbc", "monitoring", "self", "sync"];

impl Assumed<'_> {
    /// Compares the name of an algorithm, or a candidate, with the number on the same row. Words that name no algorithm, and
    /// `tuned`, may be about something else.
    pub(super) fn compare_name(&self, line: u64, name: &str) -> Result<(), ImportError> {
        let is_other = match CandidateName::read(name) {
            CandidateName::Complete(named) => named != self.subject.candidate,
            _ if name == "tuned" => false,
            _ => self.other_algorithm(&[name.trim_start_matches("tuned:").to_owned()]).is_some(),
        };
        let what = || format!("the row names {name}, and has the number of {}", self.subject.candidate);
        if is_other { Err(ImportError::doubtful(what()).at(line)) } else { Ok(()) }
    }

    fn is_forced(&self) -> bool {
        matches!(self.subject.candidate, Candidate::Tuned(_))
    }

    /// Returns how a fact contradicts what is assumed, if it does.
    fn contradiction(&self, fact: &Stated) -> Option<String> {
        let CompleteFacts { ranks, .. } = *self.subject;
        match fact {
            Stated::Ranks(stated) => (self.content.ranks.is_none() && *stated != ranks.0)
                .then(|| format!("it says {stated} ranks, and {ranks} are assumed")),
            Stated::Algorithm(text) => {
                let words = words(text);
                let is_number = words.first().is_some_and(|word| word.parse::<u32>().is_ok());
                let counts = if is_number { 1..=1 } else { 1..=words.len() };
                let names: Vec<String> = counts.rev().map(|count| words[..count].join("_")).collect();
                self.other_algorithm(&names).filter(|_| self.content.algorithm.is_none())
            }
            Stated::Version(stated) => (stated.parse::<Release>() != Ok(self.release)).then(|| {
                let family: Vec<&str> = stated.split('.').take(2).collect();
                format!("it says Open MPI {stated}, and {} is assumed (--release {})", self.release, family.join("."))
            }),
            Stated::Library(library) => Some(format!("it says {library}, whose algorithms are not those of Open MPI")),
            Stated::Unit(unit) => {
                let columns = self.columns.map_or(&[][..], |columns| &columns.columns);
                let is_other =
                    columns.iter().any(|column| column.is_time() && column.per_second.is_some_and(|own| own != *unit));
                is_other.then(|| "it says another unit of times than the header or --unit".to_owned())
            }
            Stated::Statistic(name) => {
                let is_named = self.columns.is_some_and(|columns| columns.has(Role::Max));
                (!is_named).then(|| format!("it says {name}, and times are taken for means; name the column after it"))
            }
            Stated::Swapped => Some("it says that columns are in another order than their header".to_owned()),
            Stated::Setting(..) | Stated::Nodes(_) | Stated::PerNode(_) | Stated::Tuned | Stated::Installation(_) => {
                None
            }
        }
    }

    /// Returns how the first of these names that has an algorithm contradicts the assumed one. A number always does if it
    /// has none; words that have none may be about something else.
    fn other_algorithm(&self, names: &[String]) -> Option<String> {
        let CompleteFacts { collective, candidate, .. } = *self.subject;
        let number = |of: Candidate| of.choice().map_or(0, |choice| choice.algorithm);
        let differs = names.iter().find_map(|name| {
            let name = CandidateName::read(name);
            match name.candidate(self.release, collective) {
                Ok(named) => Some(number(named) != number(candidate)),
                Err(_) => matches!(name, CandidateName::Id(_)).then_some(true),
            }
        });
        let what = || format!("it says another algorithm of {collective} than {candidate}, which is assumed");
        differs?.then(what)
    }

    /// Returns how a setting contradicts what is assumed, given the values of all of them.
    fn setting(&self, name: &str, setting: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let CompleteFacts { collective, candidate, .. } = *self.subject;
        let is_ours = self.is_forced() || candidate == Candidate::Builtin;
        let is_dynamic = |value: String| !["0", "f", "false", "n", "no", "disabled"].contains(&value.as_str());
        let is_ignored = value(USE_RULES).map(is_dynamic) == Some(false);
        let (is_contradicted, why) = if name == "coll" {
            let is_listed = setting.trim_start_matches('^').split(',').any(|component| component == "tuned");
            let is_left_out = is_listed == setting.starts_with('^');
            (is_ours && is_left_out, format!("coll/tuned is not among the components {setting}"))
        } else if let Some(component) = name.trim_start_matches("coll_").strip_suffix("_priority") {
            let tuned = value("coll_tuned_priority").and_then(|it| it.parse().ok()).unwrap_or(TUNED_PRIORITY);
            let own = setting.parse().ok().filter(|_| component != "tuned" && !PASSING.contains(&component));
            let (other, component) = own.map_or((BASIC_PRIORITY, "basic"), |own: i64| (own, component));
            (is_ours && tuned <= other, format!("{component} has priority {other}, and coll/tuned {tuned}"))
        } else if name == USE_RULES {
            (is_ignored && self.is_forced(), "without dynamic rules Open MPI forces no algorithm".to_owned())
        } else if name.ends_with("_dynamic_rules_filename") {
            (!is_ignored && candidate == Candidate::Builtin, "rules chose the algorithms".to_owned())
        } else {
            let (of, parameter) = name.strip_prefix("coll_tuned_")?.split_once("_algorithm")?;
            let is_about = collective_named(of) == Some(collective) && !is_ignored;
            let choice = match candidate {
                _ if is_about && parameter.is_empty() => return self.other_algorithm(&[setting.to_owned()]),
                Candidate::Tuned(choice) if is_about => choice,
                _ => return None,
            };
            let assumed = match parameter {
                "_segmentsize" => choice.segsize,
                "_tree_fanout" | "_chain_fanout" => u64::from(choice.faninout),
                "_max_requests" => u64::from(choice.max_requests),
                _ => return None,
            };
            let differs = setting.parse().is_ok_and(|value: u64| value > 0 && value != assumed);
            let remedy = "--algorithm tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS";
            (differs, format!("it says {of}{parameter} {setting} ({remedy})"))
        };
        is_contradicted.then(|| format!("{why}, but {candidate} is assumed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Vec<Stated> {
        read(1, text, &[]).into_iter().map(|statement| statement.fact).collect()
    }

    #[test]
    fn commands_and_headings_state_facts() {
        let (ranks, nodes, each, unit) = (Stated::Ranks, Stated::Nodes, Stated::PerNode, Stated::Unit);
        let setting = |name: &str, value: &str| Stated::Setting(name.to_owned(), value.to_owned());
        let algorithm = |name: &str| Stated::Algorithm(name.to_owned());
        let version = |text: &str| Stated::Version(text.to_owned());
        for (text, stated) in [
            ("+ mpirun -np 8 ./osu_bcast", vec![ranks(8)]),
            ("mpiexec -n 16 ./osu_bcast -f", vec![ranks(16)]),
            ("srun -n16 ./osu_bcast -i100", vec![ranks(16)]),
            ("$ srun --ntasks=32 -c 4 ./osu_bcast", vec![ranks(32)]),
            ("mpirun -n 4 -host a x : -n 4 -host b x", vec![ranks(8), nodes(1)]),
            ("nice -n 10 mpirun -np 4 x | head -n 5", vec![ranks(4)]),
            ("head -n 5 out", vec![]),
            ("Procs: 8", vec![ranks(8)]),
            ("Number of ranks = 64", vec![ranks(64)]),
            ("Processes: 4 per node", vec![each(4)]),
            ("srun -N 2 ./osu_bcast", vec![nodes(2)]),
            ("OMPI_MCA_btl_tcp_progress=1.5", vec![]),
            ("algorithm selection took 3 s", vec![]),
            ("# 4 ranks, builtin", vec![ranks(4)]),
            ("=== running on 12 processes ===", vec![ranks(12)]),
            ("Running with 32 processes on 2 nodes", vec![ranks(32), nodes(2)]),
            ("--- 32 ranks, binomial ---", vec![ranks(32)]),
            ("8 processes on node n1", vec![]),
            ("srun -N 4 --ntasks-per-node=8 ./osu_bcast", vec![each(8), nodes(4), ranks(32)]),
            ("srun --nodes=2 --ntasks-per-node 8 -n 12 ./osu_bcast", vec![ranks(12), each(8), nodes(2)]),
            ("srun --ntasks-per-node=8 ./osu_bcast", vec![each(8)]),
            ("mpirun --host n1:32,n2:32 --map-by ppr:16:node ./osu_bcast", vec![each(16), nodes(2), ranks(32)]),
            ("mpirun -H n1,n1,n2 -npernode 4 ./osu_bcast", vec![each(4), nodes(2), ranks(8)]),
            ("mpirun -N 16 ./osu_bcast", vec![each(16)]),
            ("--mca coll_tuned_use_dynamic_rules 1", vec![setting("coll_tuned_use_dynamic_rules", "1")]),
            ("OMPI_MCA_coll=^Tuned", vec![setting("coll", "^tuned")]),
            (
                "coll_tuned_priority=0 -x OMPI_MCA_coll_han_priority=1",
                vec![setting("coll_tuned_priority", "0"), setting("coll_han_priority", "1")],
            ),
            (
                "--mca coll_tuned_dynamic_rules_filename \"/x/r.conf\"",
                vec![setting("coll_tuned_dynamic_rules_filename", "/x/r.conf")],
            ),
            ("--mca coll ^hcoll,ucc", vec![setting("coll", "^hcoll,ucc")]),
            ("coll = allreduce", vec![]),
            ("=== running on 12 processes", vec![ranks(12)]),
            ("[32 ranks]", vec![ranks(32)]),
            ("== bcast, 32 ranks, 4 KiB ==", vec![ranks(32)]),
            ("bcast {32 MPI ranks}", vec![ranks(32)]),
            ("4 nodes with 8 processes per node", vec![each(8), nodes(4), ranks(32)]),
            ("8 ranks/node on 4 nodes", vec![each(8), nodes(4), ranks(32)]),
            ("2 nodes x 16 ranks", vec![ranks(16), each(16), nodes(2), ranks(32)]),
            ("Nodes: 4, PPN: 8", vec![each(8), nodes(4), ranks(32)]),
            ("#PBS -l select=4:ncpus=8:mpiprocs=8", vec![each(8), nodes(4), ranks(32)]),
            ("#SBATCH -N 4", vec![nodes(4)]),
            ("#SBATCH --tasks-per-node=8", vec![each(8)]),
            ("SLURM_NTASKS_PER_NODE=8", vec![each(8)]),
            ("SLURM_NNODES=4", vec![nodes(4)]),
            ("mpirun -np 16 --host n1,n2 --map-by ppr:16:node x", vec![ranks(16), each(16), nodes(2), ranks(32)]),
            ("mpirun -np 8 --host n1,n2 --map-by ppr:4:node x", vec![ranks(8), each(4), nodes(2)]),
            ("# [ms]", vec![unit(1e3)]),
            ("# time (s)", vec![unit(1.0)]),
            ("# times in ms", vec![unit(1e3)]),
            ("all timings are ns, medians", vec![unit(1e9)]),
            ("Latency is in seconds", vec![unit(1.0)]),
            ("# unit: ms", vec![unit(1e3)]),
            ("values in microseconds (mean)", vec![unit(1e6)]),
            ("# took 3 ms in all", vec![]),
            ("# waited in s1 for a time", vec![]),
            ("# total time (s): 12.3", vec![]),
            ("time: 3 s", vec![]),
            ("real time 0m3.2s", vec![]),
            ("# statistic: maximum over 1000 calls", vec![Stated::Statistic("maximum".to_owned())]),
            ("statistic p99", vec![Stated::Statistic("p99".to_owned())]),
            ("metric: mean", vec![]),
            ("# sizes and ranks are swapped", vec![Stated::Swapped]),
            ("# columns 3 and 4 interchanged", vec![Stated::Swapped]),
            ("keys exchanged with host", vec![]),
            ("2 more processes have sent help message help-mpi-btl.txt", vec![]),
            ("# ( 2 additional processes waiting in MPI_Barrier)", vec![]),
            ("--mca coll_tuned_bcast_algorithm 3", vec![setting("coll_tuned_bcast_algorithm", "3")]),
            ("export OMPI_MCA_coll_tuned_bcast_algorithm=3", vec![setting("coll_tuned_bcast_algorithm", "3")]),
            ("Algorithm: 3", vec![algorithm("3")]),
            ("algo: tuned", vec![algorithm("tuned")]),
            ("component: tuned", vec![Stated::Tuned]),
            ("# coll = tuned", vec![Stated::Tuned]),
            ("component: han", vec![]),
            ("--mca coll tuned,self -np 4 x", vec![ranks(4), setting("coll", "tuned,self")]),
            ("coll: tuned 30, basic 10", vec![]),
            ("## algorithm 5 (pipeline)", vec![algorithm("5")]),
            ("algo=recursive doubling", vec![algorithm("recursive doubling")]),
            ("Alg: recursive-doubling", vec![algorithm("recursive-doubling")]),
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
