//! Statements of documents about the program, checked against it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_rules::Operation;
use collrules_rules::lint::Code;

use crate::made_once::TUNED;
use crate::programs::profile;
use crate::support::{Ran, bounded, data};

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

/// Lines of the blocks that are for a shell and call collrules, or write a file that a later line reads.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("collrules ") || line.starts_with("printf ")).collect()
}

#[test]
fn commands_in_documents_can_be_typed() {
    let mut count = 0;
    for document in documents() {
        let commands = commands(&fs::read_to_string(&document).unwrap());
        for line in commands.into_iter().filter(|line| line.starts_with("collrules ")) {
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

/// Commands about an installation of Open MPI, which no simulation stands for: tests of their own run them.
const OF_INSTALLATIONS: [&str; 9] =
    ["doctor", "install", "installed", "lab bench", "port", "settings", "try", "verify", "worker"];

/// Exit codes that the documents state for commands which find something.
fn documented_codes(command: &str) -> &'static [i32] {
    match command {
        "tune" => &[0, 12],
        "validate" => &[0, 8],
        "drift" => &[0, 5, 8, 11],
        "diff" => &[0, 1],
        "lab guidelines" => &[0, 9],
        "lab model" => &[0, 10],
        _ => &[0],
    }
}

/// A directory in which the commands of a document run one after the other, in simulation.
struct Reader {
    directory: tempfile::TempDir,
}

impl Reader {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, said) in [("sbatch", "echo 7"), ("squeue", "echo Invalid job id specified >&2; exit 1")] {
            let program = directory.path().join(name);
            fs::write(&program, format!("#!/bin/sh\n{said}\n")).unwrap();
            fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes an input that a document takes for granted.
    fn supply(&self, name: &str) {
        let place = self.path(name);
        let copy = |from: PathBuf| {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(from, &place).unwrap();
        };
        let make = |words: &str| {
            let mut words = words.split(' ').collect::<Vec<_>>();
            words.push(name);
            self.run(&words).exits(0);
        };
        let rules = |name: &str| copy(root().join("examples/rules").join(name));
        let osu = data("osu-output/bcast-np4.txt");
        match name {
            _ if place.exists() && !place.join("job.sh").exists() => {}
            "tuned" | "tuned-5.0.7" | "run" => TUNED.at(&place),
            "tuned/rules.conf" => self.supply("tuned"),
            "rules.conf" | "old.conf" | "site.conf" => rules("classic.conf"),
            "new.json" => rules("tuned.json"),
            "han-of-site.conf" => rules("han.conf"),
            "timings.csv.gz" => copy(data("thin-barrier-approx.csv")),
            "bcast.txt" => copy(osu),
            "results/" => {
                for algorithm in 0..3 {
                    let file = self.path(&format!("results/np4/a{algorithm}/bcast.txt"));
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::copy(&osu, file).unwrap();
                }
            }
            "p" => {
                let calls = [(8, Operation::Bcast, 1 << 20, 40.0), (4, Operation::Allreduce, 4096, 10.0)];
                profile(self.directory.path(), name, &calls);
            }
            "EARLIER" | "check" => make("lab guidelines --simulate --ops bcast --np 2 --sizes 1K --out"),
            "sizes/nodes-2" | "sizes/nodes-4" | "sizes/nodes-8" => {
                // There, submit left its script.
                make(&format!(
                    "measure --simulate --ops bcast --sizes 64K,1M --np {} --out",
                    name.rsplit('-').next().unwrap()
                ));
            }
            _ => {}
        }
    }

    fn run(&self, words: &[&str]) -> Ran {
        let path = format!("{}:{}", self.directory.path().display(), std::env::var("PATH").unwrap());
        let mut command = bounded();
        command.current_dir(self.directory.path()).env("PATH", path).env("HOME", self.directory.path()).args(words);
        command.output().unwrap().into()
    }

    /// Runs a command line in simulation; returns its command and how it ended, or none for commands about installations.
    fn obey(&self, line: &str) -> Option<(String, Ran)> {
        let words = words(line);
        let command = if words[1] == "lab" { words[1..3].join(" ") } else { words[1].clone() };
        if OF_INSTALLATIONS.contains(&command.as_str()) || words.iter().any(|word| word == "mpirun") {
            return None;
        }
        let mut given: Vec<String> = Vec::new();
        let mut rest = words.into_iter().skip(1);
        while let Some(word) = rest.next() {
            match word.as_str() {
                // A simulation has no mpirun, and a test no browser.
                "--mpirun" => drop(rest.next()),
                "--open" => {}
                "--out" => {
                    let out = rest.next().unwrap().replace("$PWD/", "");
                    // Readers would choose another name.
                    let _ = fs::remove_dir_all(self.path(&out));
                    given.extend([word, out]);
                }
                "/etc/openmpi/rules.conf" => {
                    self.supply("rules.conf");
                    given.push("rules.conf".to_owned());
                }
                path if path.starts_with("examples/") || path.starts_with("tests/data/") => {
                    given.push(root().join(path).display().to_string());
                }
                _ => {
                    self.supply(&word);
                    given.push(word);
                }
            }
        }
        given.extend(simulated(&command, &given));
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        Some((command, self.run(&given)))
    }
}

/// Options with which a command that measures is simulated, and with few sizes if none are named.
fn simulated(command: &str, given: &[String]) -> Vec<String> {
    let has = |option: &str| given.iter().any(|word| word.split('=').next() == Some(option));
    let value = |option: &str| given.iter().skip_while(|word| *word != option).nth(1);
    let measures = match command {
        "tune" | "plan" | "validate" => true,
        // Without a run that was measured before, and not the catalogue.
        _ => command.starts_with("lab ") && (has("--out") || has("--np")) && command != "lab import" && !has("--run"),
    };
    let mut more = Vec::new();
    if measures && !has("--simulate") && !given.iter().any(|word| word == "predict") {
        more.push("--simulate".to_owned());
        let largest = value("--np").and_then(|np| np.rsplit([',', ':']).next());
        more.extend(largest.iter().flat_map(|largest| ["--simulated-slots".to_owned(), (*largest).to_owned()]));
        if has("--also-layout") {
            more.extend(["--simulated-ppn", "16"].map(str::to_owned));
        }
    }
    if matches!(command, "tune" | "plan") && !has("--sizes") && !has("--profile") {
        more.extend(["--sizes", "1K,64K"].map(str::to_owned));
    }
    more
}

/// Every command of a document does what the document is about, in the order in which readers type them.
#[test]
#[ignore = "part of `make test-all`"]
fn commands_in_documents_work() {
    let obey = |document: &PathBuf| {
        let reader = Reader::new();
        let mut count = 0;
        for line in commands(&fs::read_to_string(document).unwrap()) {
            if line.starts_with("printf ") {
                let wrote = Command::new("sh").args(["-c", &line]).current_dir(reader.directory.path()).status();
                assert!(wrote.unwrap().success(), "{line}");
                continue;
            }
            let Some((command, ran)) = reader.obey(line.split(" > ").next().unwrap()) else { continue };
            let codes = documented_codes(&command);
            let as_stated = ran.code.is_some_and(|code| codes.contains(&code));
            assert!(as_stated, "{}: {line}\n{:?}\n{}{}", document.display(), ran.code, ran.stdout, ran.stderr);
            count += 1;
        }
        count
    };
    let documents = documents();
    // Pages of one study name the same command.
    let documents: Vec<&PathBuf> =
        documents.iter().filter(|path| !path.display().to_string().contains("/nodes-")).collect();
    let count: usize = std::thread::scope(|scope| {
        let running: Vec<_> = documents.into_iter().map(|document| scope.spawn(move || obey(document))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).sum()
    });
    assert!(count > 50, "{count} commands were run");
}
