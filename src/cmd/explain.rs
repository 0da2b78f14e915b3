//! `collrules explain`: the rule for a call, or the contents of a whole file, in every release.

use std::path::{Path, PathBuf};

use collrules_record::units::Ranks;
use collrules_report::terminal::aligned;
use collrules_rules::explain::{self, Answer, ChoiceRange, Explanation, MessageSizes, VersionGroup};
use collrules_rules::han::{Level, is_han};
use collrules_rules::lines::{Excerpt, Lines};
use collrules_rules::{Behaviour, Bytes, Call, Collective, Distribution, load};
use serde_json::json;

use super::han;
use super::source::{self, align_lines, contents_json, pretty, printable_path};
use crate::failure::Failure;
use crate::screen::{self, TextStyle, paint};

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The rules file, of any format; - is standard input, and a run directory stands for its rules
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

pub(crate) fn run(args: &Explain) -> Result<(), Failure> {
    let bytes = source::read(&args.file)?;
    if is_han(&bytes) {
        return han::explain(args, &bytes);
    }
    let versions = source::versions(&args.release);
    let lines = Lines::new(&bytes);
    let text = match call(args)? {
        Some(call) => {
            let answers =
                versions.iter().map(|version| (*version, explain::call(&load(&bytes, version), &lines, &call)));
            let groups = explain::group(answers);
            if args.json {
                pretty(&json!({ "file": args.file, "call": call, "answers": groups }))?
            } else {
                let blocks: Vec<String> = groups.iter().map(|group| block(&args.file, group)).collect();
                format!("{}\n\n{}", title(&args.file, &call), blocks.join("\n"))
            }
        }
        None => {
            let answer = |version| wanted(explain::contents(&load(&bytes, version), &lines), args);
            let groups = explain::group(versions.iter().map(|version| (*version, answer(version))));
            if args.json {
                pretty(&json!({ "file": args.file, "answers": groups.iter().map(contents_json).collect::<Vec<_>>() }))?
            } else {
                groups.iter().map(|group| contents(args, group)).collect::<Vec<_>>().join("\n")
            }
        }
    };
    screen::print(&text)
}

/// The call in the options; none if they leave a part open, so that ranges are shown.
fn call(args: &Explain) -> Result<Option<Call>, Failure> {
    let (Some(collective), Some(ranks)) = (args.op, args.np) else { return Ok(None) };
    let message = match args.size {
        Some(size) => size,
        None if !collective.has_sizes() => Bytes(0),
        None if of_one_call(args) => {
            return Err(Failure::usage(format!("give --size, the message size of the {collective}")));
        }
        None => return Ok(None),
    };
    if !message.0.is_multiple_of(args.type_size) {
        return Err(Failure::usage(format!(
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
fn wanted(answer: Answer<Vec<ChoiceRange>>, args: &Explain) -> Answer<Vec<ChoiceRange>> {
    let Answer::Accepted(mut ranges) = answer else { return answer };
    ranges.retain(|range| {
        args.op.is_none_or(|op| op == range.collective) && args.np.is_none_or(|ranks| range.ranks.holds(ranks))
    });
    Answer::Accepted(ranges)
}

fn title(file: &Path, call: &Call) -> String {
    let size = if call.collective.has_sizes() { format!(" of {}", call.message) } else { String::new() };
    let mut more = String::new();
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

fn block(file: &Path, group: &VersionGroup<Answer<Explanation>>) -> String {
    let lines = match &group.answer {
        Answer::Accepted(served) => served_lines(file, served, group.versions.iter().any(|version| version.han_first)),
        other => not_in_force(file, other),
    };
    format!("{}:\n{}", paint(TextStyle::Heading, &group.label()), align_lines(&lines))
}

fn served_lines(file: &Path, served: &Explanation, han: bool) -> Vec<(&'static str, String)> {
    let mut lines = vec![("looks up", format!("{} ({} bytes)", Bytes(served.lookup_bytes), served.lookup_bytes))];
    lines.extend(served.place.iter().map(|place| ("decided by", at(file, place))));
    lines.push(("because", served.because.clone()));
    if served.choice.is_builtin() {
        lines.push(("says", "default".to_owned()));
    } else {
        lines.push(("says", format!("{} ({})", served.said, served.choice)));
    }
    lines.push(("runs", served.runs.clone()));
    lines.extend(served.reasons.iter().map(|reason| ("since", reason.clone())));
    if han && !served.choice.is_builtin() {
        lines.push(("but", "on several nodes, coll/han of 5.0 and later may run the call instead".to_owned()));
    }
    lines
}

/// Describes why a file is not accepted; empty if it is.
fn not_in_force<T>(file: &Path, answer: &Answer<T>) -> Vec<(&'static str, String)> {
    match answer {
        Answer::Rejected { why, .. } => vec![
            ("ignores", format!("the whole file, without a message ({why})")),
            ("runs", "Open MPI's own decision".to_owned()),
        ],
        Answer::Crashes { at: place, why } => vec![("crashes", format!("{}: {why}", at(file, place)))],
        Answer::Accepted(_) => Vec::new(),
    }
}

fn contents(args: &Explain, group: &VersionGroup<Answer<Vec<ChoiceRange>>>) -> String {
    let title = paint(TextStyle::Heading, &group.label());
    let rows = match &group.answer {
        Answer::Accepted(rows) if rows.is_empty() => {
            let calls = args.op.map_or_else(|| "call".to_owned(), |op| op.to_string());
            let ranks = args.np.map_or_else(String::new, |ranks| format!(" on {ranks} ranks"));
            return format!("{title}: {} leaves every {calls}{ranks} to Open MPI.\n", printable_path(&args.file));
        }
        Answer::Accepted(rows) => rows,
        other => {
            return format!("{title}:\n{}", align_lines(&not_in_force(&args.file, other)));
        }
    };
    let distributed = rows.iter().any(|row| row.distribution != Distribution::Any);
    // Equal sizes need only one column.
    let one_size = rows.iter().all(|row| message(row) == looked_up(row));
    let mut header = vec!["collective", "communicators", "looked up", "message", "choice"];
    if one_size {
        header.splice(2..4, ["message sizes"]);
    }
    if distributed {
        header.insert(1, "on nodes");
    }
    // Cells equal to those of the line above stay empty.
    let mut before: Option<&ChoiceRange> = None;
    let cells = rows.iter().map(|row| {
        let same = before.replace(row).is_some_and(|before| {
            (before.collective, before.distribution, before.ranks) == (row.collective, row.distribution, row.ranks)
        });
        let once = |text: String| if same { String::new() } else { text };
        let mut cells = vec![once(row.collective.to_string()), once(row.ranks.to_string()), looked_up(row)];
        cells.extend((!one_size).then(|| message(row)));
        cells.push(row.said.clone());
        if distributed {
            cells.insert(1, once(row.distribution.name().to_owned()));
        }
        cells
    });
    format!("{title}:\n{}\n", aligned(screen::width(), &header, cells, &[]))
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
