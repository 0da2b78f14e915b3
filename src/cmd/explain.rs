//! `collrules explain`: the rule for a call, or the contents of a whole file, in every release.

use std::path::{Path, PathBuf};

use collrules_record::units::Ranks;
use collrules_report::terminal::aligned;
use collrules_rules::explain::{self, Answer, ChoiceRange, Contents, Explanation, MessageSizes, VersionGroup};
use collrules_rules::han::Level;
use collrules_rules::kind::{FileKind, RuleChoice};
use collrules_rules::lines::{Excerpt, Lines};
use collrules_rules::{Behaviour, Bytes, Call, Collective, Distribution};
use collrules_workflow::WorkflowError;
use serde::Serialize;
use serde_json::{Value, json};

use super::source::{self, align_lines, pretty, printable_path};
use crate::screen::{self, TextStyle, paint};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Explain {
    /// The rules file, of any format; - is standard input, and a run directory stands for its rules, those of HAN as well
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The collective that is called [default: show all ranges of all collectives]
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<Collective>,
    /// Size of the communicator [default: show the ranges of all]
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<Ranks>,
    /// Size that the caller passes, as benchmarks print it: the block of one rank for scatter [default: show all
    /// ranges]
    #[arg(long, value_name = "SIZE", requires_all = ["op", "np"])]
    pub(crate) size: Option<Bytes>,
    /// Topology level, in a rules file of coll/han: intra_node, inter_node, global_communicator
    #[arg(long, value_name = "LEVEL", default_value = "global_communicator")]
    pub(crate) level: Level,
    /// Release, or version, to explain; may be repeated [default: all that differ]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Vec<Behaviour>,
    /// Size of the datatype in bytes
    #[arg(long, value_name = "N", default_value_t = 1, requires_all = ["op", "np"])]
    pub(crate) type_size: u64,
    /// See the call as a rank other than the root
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) not_root: bool,
    /// The caller passes MPI_IN_PLACE
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) in_place: bool,
    /// The operation does not commute
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) non_commutative: bool,
    /// Distribution of the communicator over nodes: any, one-per-node, single-node
    #[arg(long, value_name = "HOW", default_value = "any", requires_all = ["op", "np"])]
    pub(crate) distribution: Distribution,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Explain) -> Result<(), WorkflowError> {
    let files = source::files_of(&args.file);
    let explained: Vec<String> =
        files.iter().map(|file| explain(&Explain { file: file.clone(), ..args.clone() })).collect::<Result<_, _>>()?;
    let named =
        |(file, text): (&PathBuf, String)| format!("{}\n{text}", paint(TextStyle::Heading, &printable_path(file)));
    screen::print(&match (explained.len(), args.json) {
        (1, _) => explained.concat(),
        (_, true) => format!("[\n{}]\n", explained.join(",\n")),
        (_, false) => files.iter().zip(explained).map(named).collect::<Vec<_>>().join("\n"),
    })
}

/// Explains a file.
fn explain(args: &Explain) -> Result<String, WorkflowError> {
    let bytes = source::read(&args.file)?;
    let lines = Lines::new(&bytes);
    let kind = FileKind::of(&bytes);
    let versions = source::versions(kind, &args.release).into_iter();
    let loads = versions.map(|version| (version, kind.load(&bytes, &version)));
    Ok(match call(args)? {
        Some(call) => {
            let answer = |load| explain::call(&load, &lines, &call, args.level);
            let groups = explain::group(loads.map(|(version, load)| (version, answer(load))));
            let level = (kind == FileKind::Han).then_some(args.level);
            let blocks = blocks(args, kind, json!({ "call": call, "level": level }), &groups, |group, explained| {
                format!(":\n{}", align_lines(&explained_lines(args, explained, &group.versions)))
            })?;
            if args.json { blocks } else { format!("{}\n\n{blocks}", title(&args.file, &call, level)) }
        }
        None => {
            let answer = |load| wanted(explain::contents(&load, &lines), args);
            let groups = explain::group(loads.map(|(version, load)| (version, answer(load))));
            blocks(args, kind, json!({}), &groups, |_, Contents { rules }| contents(args, kind, rules))?
        }
    })
}

/// The answers of all versions, each under the names of those that give it; in JSON, further members of the whole.
fn blocks<T: Serialize>(
    args: &Explain,
    kind: FileKind,
    mut further: Value,
    groups: &[VersionGroup<Answer<T>>],
    accepted: impl Fn(&VersionGroup<Answer<T>>, &T) -> String,
) -> Result<String, WorkflowError> {
    if args.json {
        further["file"] = json!(args.file.to_string_lossy());
        further["answers"] = json!(groups);
        return pretty(&further);
    }
    let block = |group: &VersionGroup<Answer<T>>| {
        let text = match &group.answer {
            Answer::Accepted(answer) => accepted(group, answer),
            Answer::Rejected { why, .. } => {
                let ignores = format!("the whole file, without a message ({why})");
                let runs = kind.default_words().to_owned();
                format!(":\n{}", align_lines(&[("ignores", ignores), ("runs", runs)]))
            }
            Answer::Crashes { at: place, why } => {
                format!(":\n{}", align_lines(&[("crashes", format!("{}: {why}", at(&args.file, place)))]))
            }
        };
        paint(TextStyle::Heading, &group.label()) + &text
    };
    Ok(groups.iter().map(block).collect::<Vec<_>>().join("\n"))
}

/// The call in the options; none if they leave a part open, so that ranges are shown.
fn call(args: &Explain) -> Result<Option<Call>, WorkflowError> {
    let (Some(collective), Some(ranks)) = (args.op, args.np) else { return Ok(None) };
    let message = match args.size {
        Some(size) => size,
        None if !collective.has_sizes() => Bytes(0),
        None if of_one_call(args) => {
            return Err(WorkflowError::usage(format!("give --size, the message size of the {collective}")));
        }
        None => return Ok(None),
    };
    if !message.0.is_multiple_of(args.type_size) {
        return Err(WorkflowError::usage(format!(
            "a message of {message} holds no whole number of elements of {}; give a --size that --type-size divides",
            Bytes(args.type_size)
        )));
    }
    let call = Call::new(collective, ranks, message).with_type_size(args.type_size);
    Ok(Some(Call {
        is_root: !args.not_root,
        in_place: args.in_place,
        commutative: !args.non_commutative,
        distribution: args.distribution,
        ..call
    }))
}

/// Returns true if an option describes a single call.
fn of_one_call(args: &Explain) -> bool {
    let distributed = args.distribution != Distribution::Any;
    args.not_root || args.in_place || args.non_commutative || distributed || args.type_size != 1
}

/// The requested ranges.
fn wanted(mut answer: Answer<Contents>, args: &Explain) -> Answer<Contents> {
    if let Answer::Accepted(contents) = &mut answer {
        contents.rules.retain(|range| {
            args.op.is_none_or(|op| op == range.collective) && args.np.is_none_or(|np| range.ranks.holds(np))
        });
    }
    answer
}

fn title(file: &Path, call: &Call, level: Option<Level>) -> String {
    let size = if call.collective.has_sizes() { format!(" of {}", call.message) } else { String::new() };
    let mut more = level.map_or_else(String::new, |level| format!(" of {level}"));
    if call.type_size != 1 {
        more += &format!(", datatype of {}", Bytes(call.type_size));
    }
    if call.distribution != Distribution::Any {
        more += &format!(", {}", call.distribution.name());
    }
    for (said, words) in [
        (!call.is_root, ", not at the root"),
        (call.in_place, ", in place"),
        (!call.commutative, ", with an operation that does not commute"),
    ] {
        more += if said { words } else { "" };
    }
    format!("{}{size} on {} ranks{more}, by {}", call.collective, call.ranks, printable_path(file))
}

fn at(file: &Path, place: &Excerpt) -> String {
    format!("{}:{}: {}", printable_path(file), place.line, place.text)
}

/// The rule that decides a call, and what runs.
fn explained_lines(args: &Explain, explained: &Explanation, versions: &[Behaviour]) -> Vec<(&'static str, String)> {
    let (said, is_tuned) = match explained.choice {
        RuleChoice::Tuned(choice) if choice.is_builtin() => ("default".to_owned(), false),
        RuleChoice::Tuned(choice) => (format!("{} ({choice})", explained.said), true),
        RuleChoice::Han(_) => (explained.said.clone(), false),
    };
    let mut lines = vec![("looks up", format!("{} ({} bytes)", Bytes(explained.lookup_bytes), explained.lookup_bytes))];
    lines.extend(explained.place.iter().map(|place| ("decided by", at(&args.file, place))));
    lines.extend([("because", explained.because.clone()), ("says", said), ("runs", explained.runs.clone())]);
    lines.extend(explained.reasons.iter().map(|reason| ("since", reason.clone())));
    if is_tuned && versions.iter().any(|version| version.han_first) {
        lines.push(("but", "on several nodes, coll/han of 5.0 and later may run the call instead".to_owned()));
    }
    lines
}

/// The choices in a table, in which cells equal to those of the line above stay empty.
fn contents(args: &Explain, kind: FileKind, rows: &[ChoiceRange]) -> String {
    if rows.is_empty() {
        let calls = args.op.map_or_else(|| "call".to_owned(), |op| op.to_string());
        let ranks = args.np.map_or_else(String::new, |ranks| format!(" on {ranks} ranks"));
        let file = printable_path(&args.file);
        return format!(": {file} leaves every {calls}{ranks} to {}.\n", kind.default_words());
    }
    let part = rows.iter().find_map(|row| row.part.title());
    // Equal sizes need only one column.
    let one_size = rows.iter().all(|row| message(row) == looked_up(row));
    let mut header = vec!["collective", "communicators", "looked up", "message", "choice"];
    if one_size {
        header.splice(2..4, ["message sizes"]);
    }
    header.splice(1..1, part);
    let mut before: Option<&ChoiceRange> = None;
    let cells = rows.iter().map(|row| {
        let same = before.replace(row).is_some_and(|before| {
            (before.collective, before.part, before.ranks) == (row.collective, row.part, row.ranks)
        });
        let once = |text: String| if same { String::new() } else { text };
        let mut cells = vec![once(row.collective.to_string()), once(row.ranks.to_string()), looked_up(row)];
        cells.extend((!one_size).then(|| message(row)));
        cells.push(row.said.clone());
        cells.splice(1..1, part.map(|_| once(row.part.to_string())));
        cells
    });
    format!(":\n{}\n", aligned(screen::width(), &header, cells, &[]))
}

fn looked_up(row: &ChoiceRange) -> String {
    if row.message == MessageSizes::None { "-".to_owned() } else { row.lookup.to_string() }
}

fn message(row: &ChoiceRange) -> String {
    match row.message {
        MessageSizes::Same => row.lookup.to_string(),
        MessageSizes::PerRank(sizes) => sizes.to_string(),
        MessageSizes::OverRanks if row.lookup.first == 0 && row.lookup.end.is_none() => row.lookup.to_string(),
        MessageSizes::OverRanks => "that over the ranks".to_owned(),
        MessageSizes::CountFree => "any (ranks x datatype)".to_owned(),
        MessageSizes::None => "-".to_owned(),
    }
}
