//! Statements of documents about the program, checked against it.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_rules::lint::Code;

use crate::support::bounded;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Markdown files that are written by hand.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root().to_owned(), root().join("docs"), root().join("examples")];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && directory != root() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 15, "{found:?}");
    found
}

/// The anchor of a heading, as forges make them.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn has_heading(document: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(document).unwrap();
    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line.trim_start_matches('#').trim()) == wanted)
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let is_web = link.starts_with("http");
            if !is_web && (!target.exists() || !heading.is_empty() && !has_heading(&target, heading)) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_guide_to_rules_files_lists_every_code() {
    let guide = fs::read_to_string(root().join("docs/guide/rules-files.md")).unwrap();
    for code in Code::ALL {
        let severity = format!("{:?}", code.severity()).to_lowercase();
        let row = format!("| {code} {severity} | {} |", code.title().replace('|', "\\|"));
        assert!(guide.lines().any(|line| line == row), "docs/guide/rules-files.md lacks:\n{row}");
    }
}

/// The words of a shell's line; a comment ends it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quote = None;
    let mut word: Option<String> = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Lines of the blocks that are for a shell and call collrules.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("collrules ")).collect()
}

#[test]
fn commands_in_documents_can_be_typed() {
    let mut count = 0;
    for document in documents() {
        for line in commands(&fs::read_to_string(&document).unwrap()) {
            let mut words = words(line.split(" > ").next().unwrap());
            // With a name that does not exist at its end, or before another program, a command line is parsed and nothing
            // is done.
            let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
            words.insert(end, "--no-such-option".to_owned());
            let ran = bounded().args(&words[1..]).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            let complaint = "unexpected argument '--no-such-option' found";
            assert!(said.contains(complaint), "{}: {line}\n{said}", document.display());
            count += 1;
        }
    }
    assert!(count > 20, "{count} commands were found");
}
