//! Statements of the lines around outputs, such as commands: ranks, algorithms, settings, units, and the MPI library.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use collrules_record::{Candidate, CandidateName};
use collrules_rules::Release;
use regex::{Captures, Regex};

use crate::columns::{Columns, Role, per_second, time_role};
use crate::facts::{CompleteFacts, Facts, collective_named, has_word, words};
use crate::finding::{Finding, FindingCode, ImportError};
use crate::names::spellings;

/// A statement, with the line that makes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) line: u64,
    pub(super) text: String,
    /// What it is about: a parameter of the framework coll, or a name in [`FORMS`].
    pub(super) about: String,
    /// As the line has it; of `nodes` their number.
    pub(super) value: String,
    /// True if another line in front of the same output says something else.
    pub(super) is_disputed: bool,
}

/// The forms of statements.
const FORMS: &str = include_str!("statements.txt");

/// A launcher with its own options, and the program that it starts with the program's.
const COMMAND: &str = r"(?<own>(?:LAUNCHER\b|\s:)(?:\s+(?:FLAG\b|--?\w*mca\s+\S+\s+\S+|-\S*=\S*|-[a-z]+\d+\b|-\S+\s+[^-\s:|;&#]\S*|-\S+))*)(?<program>(?:\s+[^-\s:|;&#](?:[^\s|;&#]|\s[^:|;&#])*)?)";
/// An option of a program, with its number.
const OPTION: &str = r"\s--?\S+(?:\s+\d\S*)?";
/// Ranks that a command starts.
const TASKS: &str = r"\s(?:-{1,2}np|--ntasks)(?:\s*|=)(COUNT)|MPIRUN\b.*?\s(?-i:-c)\s*(COUNT)|LAUNCHER\b.*?\s--?(?-i:n)(?:\s*|=)(COUNT)";

struct Expressions {
    command: Regex,
    option: Regex,
    tasks: Regex,
    forms: Vec<Regex>,
}

static EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(|| {
    let lines = FORMS.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let (words, forms): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains(" := "));
    let words: Vec<(&str, &str)> = words.iter().filter_map(|line| line.split_once(" := ")).collect();
    let collectives = spellings();
    let compile = |form: &str| {
        let form = form.replace("COLLECTIVE", &collectives);
        let text = words.iter().fold(form, |text, (word, meaning)| text.replace(word, meaning));
        Regex::new(&format!("(?i){text}")).expect("an expression that a test compiles")
    };
    let forms = forms.into_iter().map(compile).collect();
    Expressions { command: compile(COMMAND), option: compile(OPTION), tasks: compile(TASKS), forms }
});

/// The ranks that each command of a line starts, over all of its programs, as text if they are no plain numbers.
fn started_ranks(text: &str) -> Vec<String> {
    let started = text.split(['|', ';', '&']).filter_map(|command| {
        let count = |(place, program): (usize, &str)| {
            let program = format!("{} {program}", if place == 0 { "" } else { "mpirun" });
            let found = EXPRESSIONS.tasks.captures(&program)?;
            Some(trim_count(found.iter().skip(1).flatten().next()?.as_str()))
        };
        let counts: Vec<String> = command.split(" : ").enumerate().filter_map(count).collect();
        let numbers: Option<Vec<u32>> = counts.iter().map(|count| count.parse().ok()).collect();
        let sum = numbers.and_then(|numbers| numbers.into_iter().try_fold(0, u32::checked_add));
        (!counts.is_empty()).then(|| sum.map_or(counts.join(" : "), |sum| sum.to_string()))
    });
    started.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A number without the end of the sentence.
fn trim_count(text: &str) -> String {
    text.trim_end_matches(['.', ',', '\'']).to_owned()
}

impl Statement {
    pub(super) fn new(line: u64, text: &str, about: &str, value: &str) -> Self {
        let (text, about, value) = (text.to_owned(), about.to_owned(), value.to_owned());
        Self { line, text, about, value, is_disputed: false }
    }
}

/// All statements of a line. Lines that were read earlier may name the nodes of its ranks per node, or the reverse.
pub(super) fn read(line: u64, text: &str, earlier: &[Statement]) -> Vec<Statement> {
    let statement = |about: &str, value: &str| Statement::new(line, text, about, value);
    let of_ranks = |ranks: &str| statement("ranks", ranks);
    let own = &*EXPRESSIONS.command.replace_all(text, |command: &Captures<'_>| {
        format!("{}{}", &command["own"], EXPRESSIONS.option.replace_all(&command["program"], ""))
    });
    let mut stated: Vec<Statement> = started_ranks(own).iter().map(|ranks| of_ranks(ranks)).collect();
    let is_started = !stated.is_empty();
    for (expression, found) in
        EXPRESSIONS.forms.iter().flat_map(|it| it.captures_iter(own).map(move |found| (it, found)))
    {
        let names = expression.capture_names().flatten();
        let values: Vec<_> = names.filter_map(|name| Some((name, found.name(name)?.as_str()))).collect();
        let (about, value) = match values[..] {
            [(_, parameter), (_, value)] => (parameter.to_lowercase(), value.to_lowercase()),
            [("hosts", names)] => ("nodes".to_owned(), count_hosts(names).to_string()),
            [("ranks", count)] => ("ranks".to_owned(), trim_count(count)),
            [(about, value)] => (about.to_owned(), value.to_owned()),
            _ => continue,
        };
        let is_told = about == "mention" && ["ranks", "each"].iter().any(|about| find(&stated, about).is_some());
        if !is_told && find(&stated, &about).is_none() {
            stated.push(statement(&about, &value));
        }
    }
    // With a number of tasks, that of each node is the largest one for Slurm.
    let is_limit = is_started && ["srun", "SBATCH"].iter().any(|name| text.contains(name));
    let is_placed = !is_limit && ["nodes", "each"].iter().any(|about| find(&stated, about).is_some());
    let earlier = earlier.iter().rev().filter(|_| find(&stated, "ranks").is_none());
    let count = |about| find(stated.iter().chain(earlier.clone()), about)?.value.parse::<u32>().ok();
    let placed = count("nodes").filter(|_| is_placed).zip(count("each"));
    let placed = placed.and_then(|(nodes, each)| nodes.checked_mul(each)).map(|ranks| of_ranks(&ranks.to_string()));
    stated.extend(placed.filter(|placed| !stated.contains(placed)));
    stated.retain(|it| (it.about.as_str(), it.value.as_str()) != ("ranks", "0"));
    stated
}

/// Statements of the parts of a path about the MPI library. Below a part that names Open MPI, others are something else.
pub(super) fn of_path(parts: &[&str]) -> Vec<Statement> {
    let ours = parts.iter().rposition(|part| has_word(&words(part), &["ompi", "openmpi"]));
    let all = [("version", parts), ("library", &parts[ours.map_or(0, |place| place + 1)..])];
    let stated = |(about, parts): (&str, &[&str])| {
        let path = parts.join("/");
        let read = read(1, &format!("path: {path}/ {}/", path.replace('_', " ")), &[]);
        read.into_iter().filter(|it| it.about == about).collect::<Vec<_>>()
    };
    all.into_iter().flat_map(stated).collect()
}

/// The first statement about something.
pub(super) fn find<'a>(stated: impl IntoIterator<Item = &'a Statement>, about: &str) -> Option<&'a Statement> {
    stated.into_iter().find(|statement| statement.about == about)
}

fn count_hosts(names: &str) -> usize {
    names.split(',').map(|host| host.split(':').next()).collect::<BTreeSet<_>>().len()
}

/// Returns true if a text names nothing but Open MPI, perhaps of this release, such as `openmpi/5.0.3`.
fn is_open_mpi(text: &str, release: Release) -> bool {
    let words = words(text).join(" ").replace("open mpi", "ompi").replace("openmpi", "ompi");
    let version = words.trim_start_matches("ompi").trim_start_matches([' ', 'v']);
    let version = version.split_whitespace().take(3).collect::<Vec<_>>().join(".");
    version.is_empty() || version.parse() == Ok(release)
}

/// Assumptions about the rows of an output.
pub(super) struct Assumed<'a> {
    pub(super) subject: &'a CompleteFacts,
    /// Facts that the output itself names, which may be about a part of the ranks that a command starts.
    pub(super) content: &'a Facts,
    pub(super) columns: Option<&'a Columns>,
    /// The directory of the Open MPI that ran.
    pub(super) installation: Option<&'a str>,
    pub(super) release: Release,
}

/// Compares the statements about an output with what is assumed about its rows. Returns a finding about an algorithm that
/// Open MPI may not have forced.
pub(super) fn compare(stated: &[Statement], assumed: &Assumed<'_>) -> Result<Option<Finding>, ImportError> {
    let last = |about: &str| find(stated.iter().rev(), about);
    let CompleteFacts { collective, ranks, candidate, .. } = *assumed.subject;
    for statement in stated {
        if let Some(what) = assumed.contradiction(statement, |about| Some(last(about)?.value.as_str())) {
            let (release, Statement { text, value, .. }) = (assumed.release, statement);
            let what = format!(
                "{candidate} on {ranks} ranks with Open MPI {release} is assumed, but the file or its path says {what} \
                 ({value}); correct the option or the name, or remove the line if it is about something else: {text}"
            );
            return Err(ImportError::doubtful(what).at(statement.line));
        }
    }
    let forced = last(&format!("coll_tuned_{collective}_algorithm"));
    let forced = forced.filter(|_| last(USE_RULES).is_none() && assumed.is_forced());
    Ok(forced.map(|statement| {
        let what = format!(
            "an algorithm is forced, but no line sets {USE_RULES}, without which Open MPI ignores that: unless it was set \
             elsewhere, these are times of the default"
        );
        Finding::new(FindingCode::NotForced, what).at(statement.line)
    }))
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
            _ => name != "tuned" && self.is_other(name.trim_start_matches("tuned:")) == Some(true),
        };
        let what = || format!("the row names {name}, and has the number of {}", self.subject.candidate);
        if is_other { Err(ImportError::doubtful(what()).at(line)) } else { Ok(()) }
    }

    fn is_forced(&self) -> bool {
        matches!(self.subject.candidate, Candidate::Tuned(_))
    }

    /// Returns true if a number or a name is that of another algorithm, as is a number without one. Words without one may
    /// be about something else.
    fn is_other(&self, name: &str) -> Option<bool> {
        let number = |of: Candidate| of.choice().map_or(0, |choice| choice.algorithm);
        let name = CandidateName::read(name);
        match name.candidate(self.release, self.subject.collective) {
            Ok(named) => Some(number(named) != number(self.subject.candidate)),
            Err(_) => matches!(name, CandidateName::Id(_)).then_some(true),
        }
    }

    /// Returns how a statement contradicts what is assumed, if it does, given the last values of settings.
    fn contradiction<'a>(&self, stated: &Statement, setting: impl Fn(&str) -> Option<&'a str>) -> Option<&'static str> {
        let CompleteFacts { collective, ranks, candidate, .. } = *self.subject;
        let (about, value, content) = (stated.about.as_str(), stated.value.as_str(), self.content);
        let is_ours = self.is_forced() || candidate == Candidate::Builtin;
        let is_ignored = setting(USE_RULES).is_some_and(|it| ["0", "f", "false", "n", "no", "disabled"].contains(&it));
        let priority = about.strip_prefix("coll_").and_then(|about| about.strip_suffix("_priority"));
        let parameter = about.strip_prefix("coll_tuned_").unwrap_or(about).split_once("_algorithm");
        let (is_contradicted, what) = match (about, priority, parameter) {
            ("collective", ..) => {
                (content.collective.is_none() && collective_named(value) != Some(collective), "another collective")
            }
            ("ranks" | "mention", ..) => {
                (content.ranks.is_none() && value.parse() != Ok(ranks.0), "another number of ranks")
            }
            ("algorithm" | "heading", ..) => {
                let words = words(value);
                let is_number = words.first().is_some_and(|word| word.parse::<u32>().is_ok());
                let most = if is_number { 1 } else { words.len() };
                let least = if about == "heading" { words.len() } else { 1 };
                let first = (least..=most).rev().find_map(|count| self.is_other(&words[..count].join("_")));
                (content.algorithm.is_none() && first == Some(true), "another algorithm")
            }
            ("version", ..) => (value.parse() != Ok(self.release), "another release (--release)"),
            ("library", ..) => {
                (!is_open_mpi(value, self.release), "another library or release, whose algorithms may be others")
            }
            ("component", ..) => {
                (!["", "tuned"].contains(&&*value.to_lowercase()), "another component than coll/tuned")
            }
            ("installation", ..) => (
                self.installation.is_some_and(|known| known != value),
                "another installation than that of other timings",
            ),
            ("unit", ..) => {
                let times = self.columns.iter().flat_map(|columns| &columns.columns).filter(|column| column.is_time());
                let is_other = |own: f64| Some(own) != per_second(&value.to_lowercase().replace('-', ""));
                (times.filter_map(|time| time.per_second).any(is_other), "another unit than the header or --unit")
            }
            ("statistic", ..) => {
                let role = time_role(&words(&format!("time {value}")));
                let is_other = matches!(role, Some(Role::Max | Role::Min | Role::Spread));
                let is_named = self.columns.is_some_and(|columns| columns.has(Role::Max));
                (is_other && !is_named, "a statistic other than a mean; name the column after it")
            }
            ("kind", ..) => (true, "that these are no times of blocking calls on data of hosts"),
            ("size_unit", ..) => (collective.has_sizes(), "another unit of sizes than bytes"),
            ("order", ..) => (true, "another order of columns than their header"),
            ("coll", ..) => {
                let is_listed = value.trim_start_matches('^').split(',').any(|component| component == "tuned");
                (is_ours && is_listed == value.starts_with('^'), "components without coll/tuned")
            }
            (_, Some(component), _) => {
                let tuned = setting("coll_tuned_priority").and_then(|it| it.parse().ok()).unwrap_or(TUNED_PRIORITY);
                let own = value.parse().ok().filter(|_| component != "tuned" && !PASSING.contains(&component));
                (is_ours && tuned <= own.unwrap_or(BASIC_PRIORITY), "that coll/tuned has not the highest priority")
            }
            (USE_RULES, ..) => (is_ignored && self.is_forced(), "that Open MPI forces no algorithm"),
            _ if about.ends_with("_dynamic_rules_filename") => {
                (!is_ignored && candidate == Candidate::Builtin, "that rules chose the algorithms")
            }
            (.., Some((of, parameter))) if collective_named(of) == Some(collective) && !is_ignored => {
                let choice = candidate.choice().filter(|_| self.is_forced());
                let differs = |own: u64| value.parse().is_ok_and(|value: u64| value > 0 && value != own);
                let is_other = match (parameter, choice) {
                    ("", _) => self.is_other(value) == Some(true),
                    ("_segmentsize", Some(choice)) => differs(choice.segsize),
                    ("_tree_fanout" | "_chain_fanout", Some(choice)) => differs(choice.faninout.into()),
                    ("_max_requests", Some(choice)) => differs(choice.max_requests.into()),
                    (parameter, _) => parameter.ends_with("_radix") && value != "0",
                };
                (is_other, "another algorithm (--algorithm ID, or tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS)")
            }
            _ => (false, ""),
        };
        is_contradicted.then_some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without what is compared only.
    fn facts(text: &str) -> Vec<(String, String)> {
        let mut stated = read(1, text, &[]);
        stated.retain(|it| !["collective", "mention", "heading"].contains(&it.about.as_str()));
        stated.into_iter().map(|statement| (statement.about, statement.value)).collect()
    }

    #[test]
    fn other_libraries_are_known_by_their_names() {
        for (path, library) in [
            ("I_MPI_ADJUST_BCAST=3_np8.txt", Some("I_MPI_")),
            ("impi/bcast-np8-a0.txt", Some("impi")),
            ("bcast-np8-mvapich2.txt", Some("mvapich")),
            ("bcast_mpich_np8.txt", Some("mpich")),
            ("IntelMPI2021/bcast-np8-a0.txt", Some("IntelMPI")),
            ("intel-mpi/bcast-np8-a0.txt", Some("intel-mpi")),
            ("ucc/bcast-np8-a0.txt", Some("ucc")),
            ("mpich/ompi/bcast-np8-a0.txt", None),
            ("mpich-vs-ompi/bcast-np8-a0.txt", None),
            ("success/bcast-np8-a0.txt", None),
        ] {
            let stated = of_path(&path.split('/').collect::<Vec<_>>());
            assert_eq!(find(&stated, "library").map(|it| it.value.as_str()), library, "{path}");
        }
    }

    #[test]
    fn commands_and_headings_state_facts() {
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let ranks = |count: u32| setting("ranks", &count.to_string());
        let nodes = |count: u32| setting("nodes", &count.to_string());
        let each = |count: u32| setting("each", &count.to_string());
        let unit = |name: &str| setting("unit", name);
        let algorithm = |name: &str| setting("algorithm", name);
        let version = |text: &str| setting("version", text);
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
            ("# [ms]", vec![unit("ms")]),
            ("# time (s)", vec![unit("s")]),
            ("# times in ms", vec![unit("ms")]),
            ("all timings are ns, medians", vec![unit("ns")]),
            ("Latency is in seconds", vec![unit("seconds")]),
            ("# unit: ms", vec![unit("ms")]),
            ("values in microseconds (mean)", vec![unit("microseconds")]),
            ("# took 3 ms in all", vec![]),
            ("# waited in s1 for a time", vec![]),
            ("# total time (s): 12.3", vec![]),
            ("time: 3 s", vec![]),
            ("real time 0m3.2s", vec![]),
            ("# statistic: maximum over 1000 calls", vec![setting("statistic", "maximum")]),
            ("statistic p99", vec![setting("statistic", "p99")]),
            ("metric: mean", vec![setting("statistic", "mean")]),
            ("# sizes and ranks are swapped", vec![setting("order", "swapped")]),
            ("# columns 3 and 4 interchanged", vec![setting("order", "interchanged")]),
            ("keys exchanged with host", vec![]),
            ("2 more processes have sent help message help-mpi-btl.txt", vec![]),
            ("# ( 2 additional processes waiting in MPI_Barrier)", vec![]),
            ("--mca coll_tuned_bcast_algorithm 3", vec![setting("coll_tuned_bcast_algorithm", "3")]),
            ("export OMPI_MCA_coll_tuned_bcast_algorithm=3", vec![setting("coll_tuned_bcast_algorithm", "3")]),
            ("Algorithm: 3", vec![algorithm("3")]),
            ("algo: tuned", vec![algorithm("tuned")]),
            ("component: tuned", vec![setting("component", "tuned")]),
            ("# coll = tuned", vec![setting("component", "tuned")]),
            ("component: han", vec![setting("component", "han")]),
            ("--mca coll tuned,self -np 4 x", vec![ranks(4), setting("coll", "tuned,self")]),
            ("coll: tuned 30, basic 10", vec![]),
            ("## algorithm 5 (pipeline)", vec![algorithm("5")]),
            ("algo=recursive doubling", vec![algorithm("recursive doubling")]),
            ("Alg: recursive-doubling", vec![algorithm("recursive-doubling")]),
            ("mpirun (Open MPI) 4.1.5", vec![version("4.1.5")]),
            ("module load openmpi/4.1.5-gcc", vec![version("4.1.5")]),
            ("Open MPI: 5.0.3", vec![version("5.0.3")]),
            ("Open MPI v4.0.7, package: x", vec![version("4.0.7")]),
            ("MVAPICH2 Version: 2.3.7", vec![setting("library", "MVAPICH")]),
            ("# MPI Version : 3.1", vec![]),
            (
                "/opt/openmpi-4.1.5/bin/mpirun -np 2 x",
                vec![ranks(2), version("4.1.5"), setting("installation", "/opt/openmpi-4.1.5")],
            ),
        ] {
            assert_eq!(facts(text), stated, "{text}");
        }
    }
}
