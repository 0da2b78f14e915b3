//! A parameter file of Open MPI with a block of collrules: adding it, finding it, and removing it without a trace.
//!
//! The last line that sets a parameter wins within a file: `ompi_info` of 4.1.4 and of 5.0.11 names it as the source.
//! So the block goes to the end. All other lines stay byte for byte, whatever their encoding.

use std::ops::Range;

use crate::names::meant;
use crate::settings::parameters::Parameters;

/// The first line of the block.
pub const BEGIN: &str =
    "# >>> written by `collrules install`; `collrules install --undo` removes it, with --user from a user's file >>>";
/// Its last line.
pub const END: &str = "# <<< written by `collrules install` <<<";

/// Line in a block of a file that did not exist before.
const NO_FILE: &str = "# There was no such file before.";
/// Line in a block of a file that did not end in a line break.
const NO_BREAK: &str = "# The line above had no line break.";

/// A line that gives a parameter a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterLine {
    /// Its number, from 1.
    pub number: usize,
    /// The parameter.
    pub name: String,
    /// The value.
    pub value: String,
    /// True if the line is in the block.
    pub ours: bool,
}

/// A setting that Open MPI reads otherwise than it seems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OddSetting {
    /// The value begins with a quote.
    #[error("the quotes belong to the value: remove them")]
    Quotes,
    /// A comment follows the value.
    #[error("the comment belongs to the value: write it on a line of its own")]
    Comment,
    /// The line ends as on Windows.
    #[error("the carriage return at the end of the line belongs to the value: write the file with plain line ends")]
    CarriageReturn,
    /// The value of a boolean is neither a number nor a word for one.
    #[error("`{0}` is no boolean for Open MPI: write 1 or 0, true or false in lower case")]
    NoBoolean(String),
    /// The parameter has no such value.
    #[error("`{0}` is not a value of this parameter, and Open MPI keeps another one; it can be {1}")]
    NoChoice(String, String),
    /// There is no such parameter.
    #[error("`ompi_info` knows no parameter {0}, and Open MPI ignores it without a message{1}")]
    Unknown(String, String),
}

/// Frameworks of the runtime: `ompi_info` of 5.0 and later does not list their parameters, but mpirun may read them.
const RUNTIME: [&str; 13] =
    ["orte", "prte", "pmix", "opal", "plm", "ras", "rmaps", "ess", "oob", "odls", "iof", "state", "hwloc"];

/// Lists what Open MPI reads otherwise than it seems in a setting, given the parameters that it has.
pub fn list_oddities(name: &str, value: &str, parameters: &Parameters) -> Vec<OddSetting> {
    let parameter = parameters.get(name);
    let kind = parameter.map_or("", |parameter| parameter.kind.as_str());
    let choices = parameter.map_or(&[][..], |parameter| &parameter.choices);
    let is_choice = |part: &str| choices.iter().any(|choice| choice == part) || is_integer(part);
    let is_runtime = RUNTIME.contains(&name.split('_').next().unwrap_or_default());
    let odd = [
        (value.ends_with('\r'), OddSetting::CarriageReturn),
        (value.starts_with(['"', '\'']), OddSetting::Quotes),
        (value.contains(" #") || value.contains("\t#"), OddSetting::Comment),
        (kind == "bool" && !is_boolean(value), OddSetting::NoBoolean(value.to_owned())),
        (
            kind != "bool" && !choices.is_empty() && !value.split(',').all(is_choice),
            OddSetting::NoChoice(value.to_owned(), choices.join(", ")),
        ),
        (
            parameter.is_none() && !parameters.is_empty() && !is_runtime,
            OddSetting::Unknown(name.to_owned(), meant(parameters.names(), name)),
        ),
    ];
    odd.into_iter().filter_map(|(is, odd)| is.then_some(odd)).collect()
}

/// Returns true for a number as `strtol` reads it, in decimal or hexadecimal digits.
fn is_integer(text: &str) -> bool {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse::<i64>().is_ok(), |digits| i64::from_str_radix(digits, 16).is_ok())
}

/// Returns true if Open MPI reads a value as a boolean (`mca_base_var_enum_bool_vfs`): an integer, or one of these words.
pub fn is_boolean(value: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "t", "enabled", "yes", "false", "f", "disabled", "no"];
    WORDS.contains(&value) || is_integer(value)
}

/// The lines of a parameter file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterLines {
    /// Those that give a parameter a value.
    pub set: Vec<ParameterLine>,
    /// The numbers of those that Open MPI skips with a message of its parser, such as lines without `=`.
    pub unread: Vec<usize>,
}

/// A block that cannot be distinguished from other lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} begins or ends a block of `collrules install` without its other end: mend or remove it by hand")]
pub struct Damaged {
    /// The line of the marker without its other end.
    pub line: usize,
}

/// The lines of a file, as Open MPI reads it (`opal/util/keyval/keyval_lex.l`): values reach to
/// the end of the line without blanks and tabs; comments begin a line, or are between `/*` and `*/`; options of mpirun
/// have a value that ends with a blank, or is in quotes.
pub fn lines(file: &[u8]) -> Result<ParameterLines, Damaged> {
    const WHITE: [char; 4] = [' ', '\t', '\x0b', '\x0c'];
    let block = block(file)?.unwrap_or_default();
    let (mut at, mut in_comment) = (0, false);
    let (mut set, mut unread) = (Vec::new(), Vec::new());
    for (place, line) in split(file).enumerate() {
        let ours = block.contains(&at);
        at += line.len();
        let text = String::from_utf8_lossy(line);
        let mut text = text.trim_end_matches('\n').trim_start_matches(WHITE);
        while in_comment || text.starts_with("/*") {
            let end = text.find("*/");
            in_comment = end.is_none();
            let Some(end) = end else { break };
            text = text[end + 2..].trim_start_matches(WHITE);
        }
        if in_comment || text.starts_with('#') || text.starts_with("//") {
            continue;
        }
        let mut add = |name: &str, value: &str| {
            set.push(ParameterLine { number: place + 1, name: name.to_owned(), value: value.to_owned(), ours });
        };
        let is_option = |word: &str| matches!(word, "-mca" | "--mca");
        if text.split_whitespace().next().is_some_and(is_option) {
            let mut words = quoted_words(text).into_iter();
            while let Some(word) = words.next() {
                if is_option(word)
                    && let (Some(name), Some(value)) = (words.next(), words.next())
                {
                    add(name, value);
                }
            }
        } else if !text.trim().is_empty() {
            let is_name = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.');
            let parts = text.split_once('=').map(|(name, value)| (name.trim_end_matches(WHITE), value));
            match parts.filter(|(name, _)| !name.is_empty() && name.chars().all(is_name)) {
                Some((name, value)) => add(name, value.trim_start_matches(WHITE).trim_end_matches([' ', '\t'])),
                None => unread.push(place + 1),
            }
        }
    }
    Ok(ParameterLines { set, unread })
}

/// The words of a line, those in quotes without them.
fn quoted_words(mut text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    loop {
        text = text.trim_start();
        let Some(first) = text.chars().next() else { return words };
        let quoted = text[first.len_utf8()..].split_once(first).filter(|_| matches!(first, '"' | '\''));
        let (word, rest) = quoted.unwrap_or_else(|| text.split_once(char::is_whitespace).unwrap_or((text, "")));
        words.push(word);
        text = rest;
    }
}

/// The file with a block of these lines at its end, replacing any earlier one. `None` means no file.
pub fn with_block(file: Option<&[u8]>, block: &[String]) -> Result<Vec<u8>, Damaged> {
    let before = match file {
        Some(file) => without_block(file)?,
        None => None,
    };
    let remark = match &before {
        None => Some(NO_FILE),
        Some(text) if !text.is_empty() && !text.ends_with(b"\n") => Some(NO_BREAK),
        Some(_) => None,
    };
    let mut text = before.unwrap_or_default();
    if remark == Some(NO_BREAK) {
        text.push(b'\n');
    }
    let lines = [BEGIN].into_iter().chain(remark).chain(block.iter().map(String::as_str)).chain([END]);
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

/// The file without the block, as it was before; none if there was no file, and nothing else was added since.
pub fn without_block(file: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    let Some(block) = block(file)? else { return Ok(Some(file.to_vec())) };
    let said = |remark: &str| split(&file[block.clone()]).nth(1).is_some_and(|line| is(line, remark));
    let (mut text, after) = (file[..block.start].to_vec(), &file[block.end..]);
    if said(NO_BREAK) && after.is_empty() {
        text.pop();
    }
    text.extend_from_slice(after);
    Ok((!text.is_empty() || !said(NO_FILE)).then_some(text))
}

/// Finds the range of bytes of the block.
fn block(file: &[u8]) -> Result<Option<Range<usize>>, Damaged> {
    let (mut at, mut open, mut found) = (0, None, None);
    for (place, line) in split(file).enumerate() {
        let begin = at;
        at += line.len();
        let damaged = Err(Damaged { line: place + 1 });
        match (is(line, BEGIN), is(line, END), open, &found) {
            (true, _, None, None) => open = Some((begin, place + 1)),
            (true, ..) | (_, true, None, _) => return damaged,
            (_, true, Some((begin, _)), _) => (open, found) = (None, Some(begin..at)),
            _ => {}
        }
    }
    match open {
        Some((_, line)) => Err(Damaged { line }),
        None => Ok(found),
    }
}

/// Lines with their breaks.
fn split(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split_inclusive(|byte| *byte == b'\n')
}

fn is(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii() == wanted.as_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(file: Option<&str>, block: &[&str]) -> String {
        let block: Vec<String> = block.iter().map(|line| (*line).to_owned()).collect();
        String::from_utf8(with_block(file.map(str::as_bytes), &block).expect("whole")).expect("text")
    }

    #[test]
    fn a_block_goes_to_the_end_and_leaves_no_trace() {
        let text = put(Some("a = 1\nmtl = ^ofi"), &["x = 2"]);
        assert_eq!(text, format!("a = 1\nmtl = ^ofi\n{BEGIN}\n{NO_BREAK}\nx = 2\n{END}\n"));
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"a = 1\nmtl = ^ofi".to_vec())));
        assert_eq!(without_block(put(None, &["x = 2"]).as_bytes()), Ok(None));
        assert_eq!(without_block(put(Some(""), &["x = 2"]).as_bytes()), Ok(Some(Vec::new())));
        // A line was added behind it since: that stays, on a line of its own.
        let text = put(Some("a = 1"), &["x = 2"]) + "b = 3\n";
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"a = 1\nb = 3\n".to_vec())));
        let text = put(None, &["x = 2"]) + "b = 3\n";
        assert_eq!(without_block(text.as_bytes()), Ok(Some(b"b = 3\n".to_vec())));
    }

    #[test]
    fn lines_are_read_as_open_mpi_reads_them() {
        let text = format!("# a = 0\n a=1 # 2\n//b = 3\n{BEGIN}\na = 4\n{END}\nc =\n");
        let found = lines(text.as_bytes()).expect("whole").set;
        let shown: Vec<_> =
            found.iter().map(|line| (line.number, line.name.as_str(), line.value.as_str(), line.ours)).collect();
        assert_eq!(shown, [(2, "a", "1 # 2", false), (5, "a", "4", true), (7, "c", "", false)]);
    }

    /// As `keyval_lex.l` reads them: what looks like a comment or a quote belongs to the value.
    #[test]
    fn values_reach_to_the_end_of_the_line() {
        let text = "a = \"1\"\n/* b = 2\nc = 3 */ d = 4\n-mca e 5\n--mca f \"6 7\" --mca g 8\nh = 9\r\n\
                    i = 10 # ten\n/* */j=11 \t\nk l = 12\n= 13\n";
        let ParameterLines { set: found, unread } = lines(text.as_bytes()).expect("whole");
        assert_eq!(unread, [9, 10]);
        let shown: Vec<_> = found.iter().map(|it| (it.number, it.name.as_str(), it.value.as_str())).collect();
        assert_eq!(
            shown,
            [
                (1, "a", "\"1\""),
                (3, "d", "4"),
                (4, "e", "5"),
                (5, "f", "6 7"),
                (5, "g", "8"),
                (6, "h", "9\r"),
                (7, "i", "10 # ten"),
                (8, "j", "11"),
            ]
        );
    }

    /// 5.0.11 prints "keyval parser: error 2 reading file" for them.
    #[test]
    fn lines_without_a_value_are_not_read() {
        for (text, unread) in [
            ("coll_tuned_bcast_algorithm binomial\na = 1\n", vec![1]),
            ("a = 1\n\n  \n# b\n// c\nd\n", vec![6]),
            ("a = 1\r\n\r\nb: 2\r\n", vec![3]),
            ("/* a\nb */\nexport c=1\n", vec![3]),
        ] {
            assert_eq!(lines(text.as_bytes()).expect("whole").unread, unread, "{text:?}");
        }
    }

    #[test]
    fn odd_lines_are_named() {
        let listed = |name: &str, kind: &str| format!("mca:coll:tuned:param:{name}:type:{kind}\n");
        let listed: String = [
            ("coll_tuned_use_dynamic_rules", "bool"),
            ("coll_tuned_dynamic_rules_filename", "string"),
            ("coll_tuned_bcast_algorithm_segmentsize", "int"),
            ("coll_han_bcast_segsize", "int"),
            ("coll_han_use_dynamic_file_rules", "bool"),
            ("coll_tuned_bcast_algorithm", "int"),
        ]
        .map(|(name, kind)| listed(name, kind))
        .concat();
        let values = ["0:ignore", "6:binomial"];
        let listed = values.iter().fold(listed, |listed, value| {
            listed + &format!("mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:{value}\n")
        });
        let parameters = Parameters::read(&listed, "");
        let odd = |line: &str| {
            let ParameterLine { name, value, .. } = &lines(line.as_bytes()).expect("whole").set[0];
            list_oddities(name, value, &parameters)
        };
        let name = "coll_tuned_use_dynamic_rules";
        for value in ["1", "true", "yes", "-1", "t"] {
            assert_eq!(odd(&format!("{name} = {value}")), [], "{value}");
        }
        assert_eq!(odd(&format!("{name} = True")), [OddSetting::NoBoolean("True".to_owned())]);
        assert_eq!(odd("coll_tuned_dynamic_rules_filename = \"/etc/r\""), [OddSetting::Quotes]);
        assert_eq!(odd("coll_tuned_dynamic_rules_filename = /etc/r # rules"), [OddSetting::Comment]);
        assert_eq!(odd("coll_tuned_dynamic_rules_filename = /etc/r\r\n"), [OddSetting::CarriageReturn]);
        for value in ["6", "binomial", "0x6", "-1"] {
            assert_eq!(odd(&format!("coll_tuned_bcast_algorithm = {value}")), [], "{value}");
        }
        let other = OddSetting::NoChoice("binomal".to_owned(), "ignore, binomial".to_owned());
        assert_eq!(odd("coll_tuned_bcast_algorithm = binomal"), [other]);
        for runtime in ["plm_rsh_agent = ssh", "ras = slurm", "orte_default_hostfile = /x"] {
            assert_eq!(odd(runtime), [], "{runtime}");
        }
        let unknown =
            |name: &str, near: &str| OddSetting::Unknown(name.to_owned(), format!("; the nearest name is {near}"));
        for (wrong, near) in [
            ("use_dynamic_rules", "coll_tuned_use_dynamic_rules"),
            ("coll_tuned_bcast_segment_size", "coll_tuned_bcast_algorithm_segmentsize"),
            ("coll_tuned_use_dynamic_rule", "coll_tuned_use_dynamic_rules"),
            ("coll_tuned_dynamic_rule_filename", "coll_tuned_dynamic_rules_filename"),
            ("col_tuned_use_dynamic_rules", "coll_tuned_use_dynamic_rules"),
        ] {
            assert_eq!(odd(&format!("{wrong} = 1")), [unknown(wrong, near)]);
        }
        assert_eq!(list_oddities("x", "1", &Parameters::read("", "")), []);
    }

    #[test]
    fn half_a_block_is_nobodys() {
        for (text, line) in [
            (format!("a = 1\n{BEGIN}\nx = 2\n"), 2),
            (format!("{END}\n"), 1),
            (format!("{BEGIN}\n{BEGIN}\n{END}\n"), 2),
            (format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"), 3),
        ] {
            assert_eq!(without_block(text.as_bytes()), Err(Damaged { line }), "{text}");
            assert_eq!(with_block(Some(text.as_bytes()), &[]), Err(Damaged { line }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_there_comes_back(file in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))) {
            let block = ["x = 2".to_owned()];
            let once = with_block(file.as_deref(), &block).expect("whole");
            let twice = with_block(Some(&once), &block).expect("whole");
            prop_assert_eq!(&once, &twice);
            prop_assert_eq!(without_block(&twice).expect("whole"), file);
        }
    }
}
