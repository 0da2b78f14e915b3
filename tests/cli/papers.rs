//! The questions of five papers, and what answers them.

use std::fs;
use std::path::Path;

use crate::support::{Ran, bounded};

/// All text that a command wrote, its lines joined.
fn written(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let is_text = path.extension().is_some_and(|end| end == "md" || end == "h");
        if path.is_dir() {
            written(&path, text);
        } else if is_text {
            *text += &fs::read_to_string(&path).unwrap();
        }
    }
}

/// Every row of docs/papers.md is a command, and a part of its result.
#[test]
#[ignore = "part of `make test-all`"]
fn papers_are_answered_by_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(root.join("docs/papers.md")).unwrap();
    let mut rows = 0;
    for row in document.lines().filter(|line| line.contains("| `collrules ")) {
        let quoted: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [command, expected] = quoted[..] else { panic!("{row}") };
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        let words = command.split_whitespace().skip(1);
        let words = words.map(|word| if word == "OUT" { out.as_os_str().to_owned() } else { word.into() });
        let ran: Ran = bounded().current_dir(root).args(words).output().unwrap().into();
        // Violations and slow nodes have exit codes of their own.
        assert!(matches!(ran.code, Some(0 | 9 | 10)), "{command}\n{}\n{}", ran.stdout, ran.stderr);
        let mut text = ran.stdout;
        written(&out, &mut text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{command}\ndoes not give {expected}:\n{text}");
        rows += 1;
    }
    assert_eq!(rows, 28);
}
