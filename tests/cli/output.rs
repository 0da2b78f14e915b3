//! Output for people: lines that fit, colours only if they are wanted.

use std::path::Path;
use std::process::{Command, Output};

use crate::made_once::TUNED;
use crate::support::{Ran, bounded, collrules, skip};

/// Fails on lines that are too long, unless they hold a command or a path to be copied.
#[track_caller]
fn fits(text: &str, width: usize) {
    assert!(text.lines().count() > 3, "hardly anything was said:\n{text}");
    for line in text.lines().filter(|line| !line.contains("mpirun --mca") && !line.starts_with("  . /")) {
        assert!(line.chars().count() <= width, "{} columns: {line}\nin\n{text}", line.chars().count());
    }
}

/// Everything that prints text about a run or a rules file.
const SHOWN: [&str; 8] = [
    "tune --simulate --ops bcast,barrier --np 8 --sizes 1K,64K --out again",
    "explain run/rules.conf",
    "explain run/rules.conf --op bcast --np 8 --size 64K",
    "check run/rules.conf",
    "diff run/rules.conf other.conf",
    "analyze run --out again",
    "plan --simulate --np 8 --ops bcast",
    "validate run/rules.conf --pairs 2 --sizes 64K",
];

#[test]
fn output_fits_whatever_the_width() {
    let scratch = tempfile::tempdir().unwrap();
    // In a directory whose name is short enough for a line.
    TUNED.at(&scratch.path().join("run"));
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rules/classic.conf");
    std::fs::copy(other, scratch.path().join("other.conf")).unwrap();
    for (arguments, columns) in SHOWN.iter().flat_map(|arguments| [(arguments, None), (arguments, Some(60))]) {
        let mut command = bounded();
        command.current_dir(scratch.path()).args(arguments.split(' ')).env_remove("COLUMNS");
        command.envs(columns.map(|columns: usize| ("COLUMNS", columns.to_string())));
        let output = command.output().unwrap();
        let ran = Ran::from(output);
        assert!(
            !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
            "{arguments}: escape codes in a pipe"
        );
        fits(&ran.stdout, columns.unwrap_or(80));
        let _ = std::fs::remove_dir_all(scratch.path().join("again"));
    }
}

#[test]
fn colours_are_forced_and_forbidden() {
    let scratch = tempfile::tempdir().unwrap();
    TUNED.at(&scratch.path().join("run"));
    for arguments in ["explain run/rules.conf", "check run/rules.conf", "explain nowhere.conf"] {
        let coloured = |variables: &[(&str, &str)]| {
            let mut command = bounded();
            command.current_dir(scratch.path()).args(arguments.split(' ')).env_remove("NO_COLOR");
            let ran = Ran::from(command.envs(variables.iter().copied()).output().unwrap());
            ran.stdout.contains('\u{1b}') || ran.stderr.contains('\u{1b}')
        };
        assert!(!coloured(&[]), "{arguments}: a pipe");
        assert!(coloured(&[("CLICOLOR_FORCE", "1")]), "{arguments}: forced");
        assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "{arguments}: forbidden");
    }
}

/// A command on a terminal with so many columns, as util-linux's `script` makes one; none where there is no such program.
fn on_terminal(directory: &Path, columns: u32, variables: &str, arguments: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_collrules");
    let inner =
        format!("stty cols {columns} rows 40; env -u COLUMNS -u NO_COLOR -u CI {variables} {program} {arguments}");
    let mut script = Command::new("timeout");
    script.current_dir(directory).args(["60", "script", "--quiet", "--return", "--command", &inner, "/dev/null"]);
    let Output { status, stdout, .. } = script.output().ok()?;
    (status.code() != Some(127)).then(|| String::from_utf8_lossy(&stdout).replace('\r', ""))
}

#[test]
fn terminals_get_what_they_can_show() {
    let scratch = tempfile::tempdir().unwrap();
    TUNED.at(&scratch.path().join("run"));
    let shown = |columns, variables| on_terminal(scratch.path(), columns, variables, "explain run/rules.conf");
    let Some(plain) = shown(72, "TERM=xterm NO_COLOR=1") else {
        return skip("no `script` that makes terminals");
    };
    fits(&plain, 72);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(!shown(80, "TERM=dumb").unwrap().contains('\u{1b}'), "a dumb terminal");
    let coloured = shown(80, "TERM=xterm").unwrap();
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
    let dumb = on_terminal(scratch.path(), 80, "TERM=dumb", "check run/rules.conf").unwrap();
    assert!(dumb.is_ascii(), "{dumb}");
    // Progress: lines on a dumb terminal, wrapped and without a bar that would be drawn over and over.
    let progress = on_terminal(
        scratch.path(),
        60,
        "TERM=dumb",
        "measure --simulate --ops bcast,scatter,barrier --np 8 --out dumb",
    )
    .unwrap();
    assert!(!progress.contains('\u{1b}') && progress.contains("389 points"), "{progress}");
    fits(&progress, 60);
}

/// Names of the commands, from the list in the help.
fn commands() -> Vec<String> {
    let help = collrules("", Path::new("--help")).exits(0).stdout;
    let list = help.split("\nStart:\n").nth(1).unwrap().split("\nOptions:\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(names.len() >= 14 && names.contains(&"tune".to_owned()), "{names:?}");
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn help_fits() {
    fits(&collrules("", Path::new("--help")).exits(0).stdout, 80);
    for name in commands() {
        for option in ["-h", "--help"] {
            fits(&collrules(&name, Path::new(option)).exits(0).stdout, 80);
        }
    }
    assert!(collrules("tune", Path::new("--help")).exits(0).stdout.lines().count() <= 200);
}

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let scratch = tempfile::tempdir().unwrap();
    collrules("man --out", scratch.path()).exits(0);
    assert!(std::fs::read_to_string(scratch.path().join("collrules.1")).unwrap().contains(".SH SUBCOMMANDS"));
    for name in commands() {
        let page = std::fs::read_to_string(scratch.path().join(format!("collrules-{name}.1"))).unwrap();
        assert!(page.contains(&format!("\\fBcollrules {name}\\fR")), "{page}");
        let help = collrules(&name, Path::new("--help")).exits(0).stdout;
        let options = help.lines().filter_map(|line| line.trim_start().split_once("--"));
        let options = options.filter(|(before, _)| before.is_empty() || before.starts_with('-'));
        for (_, option) in options {
            let option = option.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap();
            let written = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(page.contains(&written), "{written} is not on the page of {name}");
        }
    }
    let one = collrules("man", Path::new("check")).exits(0).stdout;
    assert_eq!(one, std::fs::read_to_string(scratch.path().join("collrules-check.1")).unwrap());
    let model = collrules("man lab", Path::new("model")).exits(0).stdout;
    assert_eq!(model, std::fs::read_to_string(scratch.path().join("collrules-lab-model.1")).unwrap());
    assert!(model.contains("collrules\\-lab\\-model\\-predict(1)"), "{model}");
    assert!(scratch.path().join("collrules-lab-model-predict.1").exists());
    collrules("man", Path::new("chekc")).exits(2).complains("`chekc` is not a command; there are tune,");
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = collrules("completions", Path::new(shell)).exits(0).stdout;
        for name in commands() {
            assert!(script.contains(&name), "{name} is not completed in {shell}");
        }
        assert!(script.contains("simulated-release"), "options are not completed in {shell}");
    }
    let script = collrules("completions", Path::new("bash")).exits(0).stdout;
    let check = "source /dev/stdin; COMP_WORDS=(collrules ch); COMP_CWORD=1; _collrules collrules ch collrules; echo ${COMPREPLY[*]}";
    let mut bash = match Command::new("bash")
        .args(["-c", check])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
    {
        Ok(bash) => bash,
        Err(_) => return skip("no bash"),
    };
    use std::io::Write;
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let said = bash.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "check");
}
