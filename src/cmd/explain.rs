//! `collrules explain`: the rule for a call, or the contents of a whole file, in every release.

use std::path::{Path, PathBuf};

use collrules_record::units::Ranks;
use collrules_report::terminal::aligned;
use collrules_rules::explain::{self, Answer, ChoiceRange, Explanation, MessageSizes, VersionGroup};
use collrules_rules::han::{self, HanChoiceRange, HanExplanation, Level, is_han};
use collrules_rules::hazard::RankRange;
use collrules_rules::lines::{Excerpt, Lines};
use collrules_rules::{Behaviour, Bytes, Call, Collective, Distribution, load};
use serde::Serialize;
use serde_json::{Value, json};

use super::source::{self, align_lines, contents_json, han_versions, pretty, printable_path};
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
    let lines = Lines::new(&bytes);
    screen::print(&if is_han(&bytes) {
        explain_han(args, &bytes, &lines)?
    } else {
        explain_tuned(args, &bytes, &lines)?
    })
}

fn explain_tuned(args: &Explain, bytes: &[u8], lines: &Lines<'_>) -> Result<String, Failure> {
    let loads = source::versions(&args.release).into_iter().map(|version| (version, load(bytes, &version)));
    let ignored = |why: &str| format!("the whole file, without a message ({why})");
    let refused = Refused { ignored: &ignored, instead: "Open MPI's own decision" };
    match call(args)? {
        Some(call) => {
            let groups = explain::group(loads.map(|(version, load)| (version, explain::call(&load, lines, &call))));
            let has_han = |versions: &[Behaviour]| versions.iter().any(|version| version.han_first);
            let served = |served: &Explanation, versions: &[Behaviour]| served_lines(args, served, has_han(versions));
            print_call(args, ("call", json!(call)), &title(&args.file, &call), &groups, &refused, served)
        }
        None => {
            let answer = |load| wanted(explain::contents(&load, lines), args, |row| (row.collective, row.ranks));
            let groups = explain::group(loads.map(|(version, load)| (version, answer(load))));
            let calls = args.op.map_or_else(|| "call".to_owned(), |op| op.to_string());
            let ranks = args.np.map_or_else(String::new, |ranks| format!(" on {ranks} ranks"));
            print_contents(args, &format!("{calls}{ranks} to Open MPI"), &groups, &refused, contents)
        }
    }
}

fn explain_han(args: &Explain, bytes: &[u8], lines: &Lines<'_>) -> Result<String, Failure> {
    let loads = han_versions(&args.release).into_iter().map(|version| (version, han::load(bytes, &version)));
    let file = printable_path(&args.file);
    let ignored = |why: &str| format!("the whole of {file} ({why})");
    let refused = Refused { ignored: &ignored, instead: "what HAN's parameters say" };
    let size = args.size.or(args.op.filter(|op| !op.has_sizes()).map(|_| Bytes(0)));
    match (args.op, args.np, size) {
        (Some(collective), Some(ranks), Some(size)) => {
            let call = |load| han::call(&load, lines, collective, args.level, ranks.0, size.0);
            let groups = explain::group(loads.map(|(version, load)| (version, call(load))));
            let of_size = if collective.has_sizes() { format!(" of {size}") } else { String::new() };
            let title = format!("{collective}{of_size} on {ranks} ranks of {}, by {file}", args.level);
            let served = |served: &HanExplanation, _: &[Behaviour]| {
                let said = han::words(collective, served.choice);
                decision_lines(args, served.lookup_bytes, served.place.as_ref(), &served.because, said, &served.runs)
            };
            print_call(args, ("level", json!(args.level)), &title, &groups, &refused, served)
        }
        _ => {
            let answer = |load| wanted(han::contents(&load, lines), args, |row| (row.collective, row.ranks));
            let groups = explain::group(loads.map(|(version, load)| (version, answer(load))));
            print_contents(args, "such call to HAN's parameters", &groups, &refused, han_contents)
        }
    }
}

/// Words for a file that a version does not use.
struct Refused<'a> {
    /// The extent, from the reason.
    ignored: &'a dyn Fn(&str) -> String,
    /// The basis of decisions then.
    instead: &'static str,
}

impl Refused<'_> {
    /// Describes why a file is not accepted.
    fn lines<T>(&self, file: &Path, answer: &Answer<T>) -> Vec<(&'static str, String)> {
        match answer {
            Answer::Rejected { why, .. } => {
                vec![("ignores", (self.ignored)(why)), ("runs", self.instead.to_owned())]
            }
            Answer::Crashes { at: place, why } => vec![("crashes", format!("{}: {why}", at(file, place)))],
            Answer::Accepted(_) => Vec::new(),
        }
    }
}

fn print_call<T: Serialize>(
    args: &Explain,
    (key, call): (&str, Value),
    title: &str,
    groups: &[VersionGroup<Answer<T>>],
    refused: &Refused<'_>,
    served: impl Fn(&T, &[Behaviour]) -> Vec<(&'static str, String)>,
) -> Result<String, Failure> {
    if args.json {
        return pretty(&json!({ "file": args.file, (key): call, "answers": groups }));
    }
    let block = |group: &VersionGroup<Answer<T>>| {
        let lines = match &group.answer {
            Answer::Accepted(answer) => served(answer, &group.versions),
            other => refused.lines(&args.file, other),
        };
        format!("{}:\n{}", paint(TextStyle::Heading, &group.label()), align_lines(&lines))
    };
    Ok(format!("{title}\n\n{}", groups.iter().map(block).collect::<Vec<_>>().join("\n")))
}

fn print_contents<T: Serialize>(
    args: &Explain,
    left: &str,
    groups: &[VersionGroup<Answer<Vec<T>>>],
    refused: &Refused<'_>,
    table: impl Fn(&[T]) -> String,
) -> Result<String, Failure> {
    if args.json {
        let answers: Vec<_> = groups.iter().map(contents_json).collect();
        return pretty(&json!({ "file": args.file, "answers": answers }));
    }
    let block = |group: &VersionGroup<Answer<Vec<T>>>| {
        let title = paint(TextStyle::Heading, &group.label());
        match &group.answer {
            Answer::Accepted(rows) if rows.is_empty() => {
                format!("{title}: {} leaves every {left}.\n", printable_path(&args.file))
            }
            Answer::Accepted(rows) => format!("{title}:\n{}\n", table(rows)),
            other => format!("{title}:\n{}", align_lines(&refused.lines(&args.file, other))),
        }
    };
    Ok(groups.iter().map(block).collect::<Vec<_>>().join("\n"))
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
fn wanted<T>(answer: Answer<Vec<T>>, args: &Explain, key: fn(&T) -> (Collective, RankRange)) -> Answer<Vec<T>> {
    let Answer::Accepted(mut ranges) = answer else { return answer };
    ranges.retain(|range| {
        let (collective, ranks) = key(range);
        args.op.is_none_or(|op| op == collective) && args.np.is_none_or(|np| ranks.holds(np))
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

/// The rule that decides a call, and what runs.
fn decision_lines(
    args: &Explain,
    lookup_bytes: u64,
    place: Option<&Excerpt>,
    because: &str,
    said: String,
    runs: &str,
) -> Vec<(&'static str, String)> {
    let mut lines = vec![("looks up", format!("{} ({lookup_bytes} bytes)", Bytes(lookup_bytes)))];
    lines.extend(place.map(|place| ("decided by", at(&args.file, place))));
    lines.extend([("because", because.to_owned()), ("says", said), ("runs", runs.to_owned())]);
    lines
}

fn served_lines(args: &Explain, served: &Explanation, han: bool) -> Vec<(&'static str, String)> {
    let is_builtin = served.choice.is_builtin();
    let said = if is_builtin { "default".to_owned() } else { format!("{} ({})", served.said, served.choice) };
    let place = served.place.as_ref();
    let mut lines = decision_lines(args, served.lookup_bytes, place, &served.because, said, &served.runs);
    lines.extend(served.reasons.iter().map(|reason| ("since", reason.clone())));
    if han && !is_builtin {
        lines.push(("but", "on several nodes, coll/han of 5.0 and later may run the call instead".to_owned()));
    }
    lines
}

/// A table in which cells equal to those of the line above stay empty.
fn contents(rows: &[ChoiceRange]) -> String {
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
    aligned(screen::width(), &header, cells, &[])
}

/// Like [`contents`], of a file of HAN.
fn han_contents(ranges: &[HanChoiceRange]) -> String {
    let header = ["collective", "level", "communicators", "message sizes", "component"];
    let mut before: Option<&HanChoiceRange> = None;
    let cells = ranges.iter().map(|range| {
        let same = before.replace(range).is_some_and(|before| {
            (before.collective, before.level, before.ranks) == (range.collective, range.level, range.ranks)
        });
        let once = |text: String| if same { String::new() } else { text };
        let (level, ranks) = (once(range.level.to_string()), once(range.ranks.to_string()));
        let choice = han::words(range.collective, range.choice);
        vec![once(range.collective.to_string()), level, ranks, range.sizes.to_string(), choice]
    });
    aligned(screen::width(), &header, cells, &[])
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
