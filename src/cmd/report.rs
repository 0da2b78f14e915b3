//! `collrules report`: the findings of a run in every format, and what changed since another run.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Manifest, Validation};
use collrules_report::{Context, changes, markdown, page, plain, summary, tables, terminal};
use collrules_tuner::Observations;
use collrules_tuner::compare::{Run, compare};

use super::served;
use crate::args::{Report, ReportFormat};
use crate::deliver::{self, Pins, Proof};
use crate::failure::Failure;
use crate::screen::{self, wrapped};

/// What a report is made of.
struct Source {
    findings: Findings,
    /// The directory that the findings lie in.
    directory: RunDir,
    /// Where the numbers come from, if we measured them.
    manifest: Option<Manifest>,
    validation: Option<Validation>,
    proof: Vec<String>,
}

pub(crate) fn run(args: &Report) -> Result<(), Failure> {
    let wanted = args.wanted().ok_or_else(|| {
        let out = args.out.as_deref().unwrap_or(Path::new("")).display();
        Failure::Usage(format!(
            "{out} does not end in .html, .md, .csv, .json or .txt: say with --format what to write"
        ))
    })?;
    let source = Source::read(&args.input)?;
    let text = match &args.compare {
        None => source.write(wanted)?,
        Some(earlier) => compared(&Source::read(earlier)?, &source, wanted)?,
    };
    if !args.open {
        return put(args.out.as_deref(), &text);
    }
    let page = match (&args.out, &args.compare) {
        (Some(out), _) => out.clone(),
        (None, None) => source.directory.file(rundir::PAGE),
        (None, Some(_)) => {
            let what = "a comparison has no file of its own to open: name one with --out FILE.html";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    put(Some(&page), &text)?;
    open(&page)
}

/// Programs that open a page in the user's browser, as desktops have them.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Opens a page in a browser. Where there is none, as on a cluster, the page is there nevertheless.
fn open(page: &Path) -> Result<(), Failure> {
    let told = std::env::var("BROWSER").ok().filter(|program| !program.is_empty());
    let programs = told.as_deref().map_or(OPENERS.to_vec(), |program| vec![program]);
    for program in programs {
        if Command::new(program).arg(page).stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
    }
    Err(Failure::Input(format!(
        "no browser could be started; the page is {}: open it, or copy it to where a browser is",
        std::path::absolute(page).unwrap_or_else(|_| page.to_owned()).display(),
    )))
}

/// Makes the report of a run anew, with what has been found out since.
pub(super) fn refresh(run: &RunDir) -> Result<(), Failure> {
    let source = Source::read(run.path())?;
    deliver::report(run, &source.findings, &source.context())
}

/// What changed since the earlier run.
fn compared(before: &Source, after: &Source, format: ReportFormat) -> Result<String, Failure> {
    let (then, now) = (before.observations()?, after.observations()?);
    let failed = |cause| Failure::Analysis { source_name: after.findings.source.clone(), cause };
    let mut comparison = compare(before.run(then.as_ref()), after.run(now.as_ref())).map_err(failed)?;
    comparison.note_harness(&before.directory.clock()?, &after.directory.clock()?);
    Ok(match format {
        ReportFormat::Text => changes::text(&comparison, screen::width()),
        ReportFormat::Html => changes::page(&comparison, deliver::TOOL),
        ReportFormat::Md => changes::markdown(&comparison),
        ReportFormat::Csv => changes::csv(&comparison).map_err(Failure::Stdout)?,
        ReportFormat::Json => serde_json::to_string_pretty(&comparison)? + "\n",
    })
}

/// Writes to the file that is asked for, or to standard output.
fn put(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    match out {
        Some(path) => fs::write(path, text).map_err(|cause| Failure::Write { path: path.to_owned(), cause }),
        None => std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Stdout),
    }
}

impl Source {
    fn read(input: &Path) -> Result<Self, Failure> {
        let path = if input.is_dir() { input.join(rundir::FINDINGS) } else { input.to_owned() };
        let text = fs::read_to_string(&path).map_err(|cause| Failure::Open { path: path.clone(), cause })?;
        let findings =
            serde_json::from_str(&text).map_err(|cause| Failure::BadFindings { path: path.clone(), cause })?;
        // The directory of a table's findings has no manifest, and that of an import has another one.
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let run = RunDir::open(directory).ok();
        let imported = run.as_ref().map(RunDir::imported).transpose()?.flatten().is_some();
        let manifest = run.as_ref().filter(|_| !imported).map(RunDir::manifest).transpose()?;
        let directory = RunDir::derived(directory)?;
        let validation = optional(&directory.file(rundir::VALIDATION))?;
        let proof = optional::<Proof>(&directory.file(rundir::PROOF))?.map_or_else(Vec::new, |proof| proof.shown);
        Ok(Self { findings, directory, manifest, validation, proof })
    }

    /// The timings; none where the findings lie in no run.
    fn observations(&self) -> Result<Option<Observations>, Failure> {
        if !self.directory.file(rundir::SAMPLES).is_file() {
            return Ok(None);
        }
        let samples = self.directory.samples()?;
        let failed = |cause| Failure::Analysis { source_name: self.findings.source.clone(), cause };
        Observations::from_samples_of(&samples.text, self.findings.statistic).map(Some).map_err(failed)
    }

    fn run<'a>(&'a self, observations: Option<&'a Observations>) -> Run<'a> {
        Run { findings: &self.findings, observations, manifest: self.manifest.as_ref() }
    }

    fn context(&self) -> Context<'_> {
        let pins = match &self.manifest {
            Some(manifest) => served::pins(&manifest.pins, &self.findings),
            None => Pins::new(),
        };
        // Only where the rules lie beside the findings.
        let rules = self.directory.file(rundir::RULES).is_file();
        let switch_on = if rules { deliver::switch_on(&self.directory, &self.findings, &pins) } else { Vec::new() };
        Context {
            manifest: self.manifest.as_ref(),
            switch_on,
            proof: self.proof.clone(),
            validation: self.validation.as_ref(),
            tool: deliver::TOOL.to_owned(),
        }
    }

    fn write(&self, format: ReportFormat) -> Result<String, Failure> {
        let context = self.context();
        Ok(match format {
            ReportFormat::Text => self.text(),
            ReportFormat::Html => page::page(&self.findings, &context),
            ReportFormat::Md => markdown::report(&self.findings, &context),
            ReportFormat::Csv => tables::csv(&self.findings).map_err(Failure::Stdout)?,
            ReportFormat::Json => tables::json(&self.findings, &context)?,
        })
    }

    fn text(&self) -> String {
        let findings = &self.findings;
        let mut lines = vec![
            terminal::verdicts(findings, screen::width()),
            String::new(),
            "Expected gain over the builtin:".to_owned(),
        ];
        let sentences = summary::sentences(findings);
        lines.extend(sentences.iter().flat_map(|sentence| wrapped(sentence, "  ", "    ")));
        if !findings.remarks.is_empty() {
            lines.extend([String::new(), "To know:".to_owned()]);
            lines.extend(findings.remarks.iter().flat_map(|remark| wrapped(&plain::line(remark), "  - ", "    ")));
        }
        lines.join("\n") + "\n"
    }
}

/// What a file holds, if there is one.
fn optional<T: serde::de::DeserializeOwned>(path: &PathBuf) -> Result<Option<T>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let bad = |cause| Failure::BadFindings { path: path.clone(), cause };
            serde_json::from_str(&text).map(Some).map_err(bad)
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Failure::Open { path: path.clone(), cause }),
    }
}
