//! Instruments in a directory of their own, with options in the words of the command line.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, Parser};
use collrules_import::{Facts, ImportManifest, Importer, Options};
use collrules_lab::instrument::{self, Instrument};
use collrules_record::options::TuneOptions;
use collrules_rules::Release;
use collrules_workflow::campaign::{self, Begin, RunPlace};
use collrules_workflow::start::start;
use collrules_workflow::{Event, Session, WorkflowError};

/// Options, and the arguments of commands that exclude some of them.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line<O: Args> {
    #[arg(long)]
    input: Option<PathBuf>,
    #[arg(long)]
    run: Option<PathBuf>,
    #[command(flatten)]
    options: O,
}

/// Returns options as the program reads them, or its answer to those that it refuses.
pub(crate) fn read<O: Args>(words: &str) -> Result<O, clap::Error> {
    Line::try_parse_from(words.split_whitespace()).map(|line| line.options)
}

/// Runs a workflow.
pub(crate) fn play<T>(workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
    noting(workflow).0
}

/// Runs a workflow, and returns its remarks as well.
pub(crate) fn noting<T>(workflow: impl FnOnce(&mut Session<'_>) -> T) -> (T, Vec<String>) {
    let mut notes = Vec::new();
    let mut watch = |event: Event<'_>| {
        if let Event::Note(note) = event {
            notes.push(note.to_owned());
        }
    };
    let (stop, command) = (Arc::<AtomicBool>::default(), vec!["collrules".to_owned()]);
    let result = workflow(&mut Session { stop, failures: 20, command, start: &start, watch: &mut watch });
    (result, notes)
}

/// Directory of a test, and the errors that it met.
pub(crate) struct LabFixture {
    directory: tempfile::TempDir,
    refused: String,
}

impl LabFixture {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), refused: String::new() }
    }

    /// Returns the path of a name in this directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the result in a file.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    /// Measures into a new directory.
    pub(crate) fn measure<I: Instrument + Args>(&self, words: &str, out: &str) -> Result<I::Found, WorkflowError> {
        let (options, place) = (read::<I>(words).unwrap(), RunPlace::New(self.path(out)));
        play(|session| instrument::run(&options, &place, session)).map(|(_, found)| found)
    }

    /// Resumes what was begun.
    pub(crate) fn resume<I: Instrument + Args>(&self, words: &str, run: &str) -> Result<I::Found, WorkflowError> {
        let (options, place) = (read::<I>(words).unwrap(), RunPlace::Resumed(self.path(run)));
        play(|session| instrument::run(&options, &place, session)).map(|(_, found)| found)
    }

    /// Analyses earlier measurements; the results go to `out` or, without it, into the run.
    pub(crate) fn analyse<I: Instrument + Args>(
        &self,
        words: &str,
        input: &str,
        out: Option<&str>,
    ) -> Result<I::Found, WorkflowError> {
        let (options, out) = (read::<I>(words).unwrap(), out.map(|out| self.path(out)));
        let analyse =
            |session: &mut Session<'_>| instrument::of_input(&options, &self.path(input), out.as_deref(), session);
        play(analyse).map(|(_, found)| found)
    }

    /// Measures the grid of a tuning.
    pub(crate) fn measure_grid(&self, words: &str, out: &str) {
        let begin = Begin::tuning(read::<TuneOptions>(words).unwrap(), self.path(out));
        drop(play(|session| campaign::measure(&begin, session)).unwrap());
    }

    /// Imports timings of Open MPI 4.1 as a run.
    pub(crate) fn import(&self, out: &str, text: &str, facts: Facts) {
        let mut importer = Importer::new(Options { facts, ..Options::new(Release::V4_1) });
        importer.add(out, &[], text.as_bytes());
        let import = importer.finish().unwrap();
        let manifest = ImportManifest::new(&import, Release::V4_1, true, Vec::new(), "1");
        collrules_import::create(self.path(out), &manifest, &import).unwrap();
    }

    /// Cuts a run short at the beginning of a launch.
    pub(crate) fn cut(&self, run: &str, launch: u32) {
        let is_earlier = |line: &str| {
            let later =
                |later: u32| line.starts_with(&format!("{later},")) || line.contains(&format!("\"launch\":{later},"));
            !(launch..launch + 10).any(later)
        };
        for name in ["samples.csv", "launches.jsonl"] {
            let name = format!("{run}/{name}");
            let text = self.text(&name);
            let kept: String = text.split_inclusive('\n').filter(|line| is_earlier(line)).collect();
            assert!(kept.len() < text.len(), "{name} has launch {launch}");
            self.write(&name, &kept);
        }
    }

    /// Notes the error of what was tried in these words, with its kind, from which its exit code follows.
    #[track_caller]
    pub(crate) fn refuse<T>(&mut self, tried: &str, result: Result<T, WorkflowError>) {
        let error = result.err().unwrap_or_else(|| panic!("{tried} is not refused"));
        let debug = format!("{error:?}");
        let kind = debug.split(|char: char| !char.is_ascii_alphanumeric()).next().unwrap_or_default();
        writeln!(self.refused, "{tried}\n  {kind}: {error}\n").unwrap();
    }

    /// Notes how options that cannot be read are refused.
    #[track_caller]
    pub(crate) fn refuse_options<O: Args>(&mut self, words: &str) {
        let error = read::<O>(words).err().unwrap_or_else(|| panic!("{words} is not refused"));
        let text = error.to_string();
        writeln!(self.refused, "{words}\n  {}\n", text.lines().next().unwrap_or_default()).unwrap();
    }

    /// All errors, without the path of this directory.
    pub(crate) fn refused(&self) -> String {
        self.refused.replace(&self.directory.path().display().to_string(), "DIR")
    }
}

/// A file of the repository's test data.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}
