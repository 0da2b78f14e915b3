//! `collrules report`: the findings of a run in every format, and changes since another run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collrules_record::rundir;
use collrules_report::{changes, tables, tuning};
use collrules_tuner::Observations;
use collrules_tuner::compare::{Run, compare};
use collrules_workflow::publish::Published;
use collrules_workflow::{TOOL, WorkflowError};

use super::summary;
use crate::screen;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`tune` and `analyze` write report.html and report.md by themselves; this writes them again, or in other \
formats."
)]
pub(crate) struct ReportArgs {
    /// A run directory that holds findings, or a findings file
    #[arg(value_name = "RUN|FINDINGS")]
    pub(crate) input: PathBuf,
    /// An earlier run: say what changed since, and whether its rules still suit
    #[arg(long, value_name = "RUN|FINDINGS")]
    pub(crate) compare: Option<PathBuf>,
    /// Format of the report [default: that of the extension of --out, else text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ReportFormat>,
    /// The file to write, in place of what has that name [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Open the page in a browser; without --out it is DIR/report.html, which is written anew
    #[arg(long, conflicts_with = "format")]
    pub(crate) open: bool,
}

/// Format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal
    Text,
    /// A page with plots, in one file
    Html,
    /// Markdown
    Md,
    /// One row per point
    Csv,
    /// Everything, for programs
    Json,
}

impl ReportArgs {
    /// The format that is asked for; none where the name of the output has an ending that says nothing.
    pub(crate) fn wanted(&self) -> Option<ReportFormat> {
        let ending = self.out.as_ref().and_then(|out| out.extension()?.to_str());
        if self.open {
            return ending.is_none_or(|ending| matches!(ending, "html" | "htm")).then_some(ReportFormat::Html);
        }
        self.format.or(match ending {
            Some("html" | "htm") => Some(ReportFormat::Html),
            Some("md") => Some(ReportFormat::Md),
            Some("csv") => Some(ReportFormat::Csv),
            Some("json") => Some(ReportFormat::Json),
            Some("txt") | None => Some(ReportFormat::Text),
            Some(_) => None,
        })
    }
}

pub(crate) fn run(args: &ReportArgs) -> Result<(), WorkflowError> {
    let wanted = args.wanted().ok_or_else(|| {
        let out = args.out.as_deref().unwrap_or(Path::new("")).display();
        WorkflowError::usage(format!(
            "{out} does not end in .html, .md, .csv, .json or .txt: name the format with --format"
        ))
    })?;
    refuse_to_overwrite_input(args.out.as_deref(), args)?;
    let source = Published::open(&args.input)?;
    let text = match &args.compare {
        None => render_report(&source, wanted)?,
        Some(earlier) => compared(&Published::open(earlier)?, &source, wanted)?,
    };
    if !args.open {
        return put(args.out.as_deref(), &text);
    }
    let page = match (&args.out, &args.compare) {
        (Some(out), _) => out.clone(),
        (None, None) if args.input == Path::new("-") => {
            return Err(WorkflowError::usage(
                "findings from standard input have no page: name one with --out FILE.html",
            ));
        }
        (None, None) => source.run.file(rundir::PAGE),
        (None, Some(_)) => {
            let what = "a comparison has no file of its own to open: name one with --out FILE.html";
            return Err(WorkflowError::usage(what));
        }
    };
    put(Some(&page), &text)?;
    open(&page)
}

/// Programs of desktops that open a page in the user's browser.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Opens a page in a browser. Without one, as on a cluster, the page is still written.
fn open(page: &Path) -> Result<(), WorkflowError> {
    let told = std::env::var("BROWSER").ok().filter(|program| !program.is_empty());
    let programs = told.as_deref().map_or(OPENERS.to_vec(), |program| vec![program]);
    for program in programs {
        if Command::new(program).arg(page).stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
    }
    Err(WorkflowError::Input(format!(
        "no browser could be started; open the page yourself: {}",
        std::path::absolute(page).unwrap_or_else(|_| page.to_owned()).display(),
    )))
}

/// Renders the changes since the earlier run.
fn compared(before: &Published, after: &Published, format: ReportFormat) -> Result<String, WorkflowError> {
    let (then, now) = (before.observations()?, after.observations()?);
    let mut comparison = compare(compared_run(before, then.as_ref()), compared_run(after, now.as_ref()))
        .map_err(WorkflowError::analysis(&after.findings.source))?;
    comparison.note_harness(&before.run.clock()?, &after.run.clock()?);
    Ok(match format {
        ReportFormat::Text => changes::document(&comparison).text(screen::width()),
        ReportFormat::Html => changes::document(&comparison).page(TOOL),
        ReportFormat::Md => changes::document(&comparison).markdown(),
        ReportFormat::Csv => {
            return Err(WorkflowError::usage("a comparison has no rows of points: its numbers are in --format json"));
        }
        ReportFormat::Json => serde_json::to_string_pretty(&comparison)? + "\n",
    })
}

fn compared_run<'a>(published: &'a Published, observations: Option<&'a Observations>) -> Run<'a> {
    Run { findings: &published.findings, observations, manifest: published.manifest.as_ref() }
}

/// Refuses an output that is an input of the report: the data would be lost.
fn refuse_to_overwrite_input(out: Option<&Path>, args: &ReportArgs) -> Result<(), WorkflowError> {
    let Some((out, target)) = out.and_then(|out| Some((out, out.canonicalize().ok()?))) else { return Ok(()) };
    let inputs = std::iter::once(&args.input).chain(&args.compare).filter_map(|input| input.canonicalize().ok());
    let (mut inputs, directory) = (inputs, target.parent().unwrap_or(Path::new("/")));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let is_run = [rundir::MANIFEST, rundir::FINDINGS].iter().any(|file| directory.join(file).exists());
    let is_ours = rundir::FILES.contains(&&*name) || name.starts_with("refinement-");
    let is_report = [rundir::PAGE, rundir::REPORT].contains(&&*name);
    if inputs.any(|input| input == target) || is_run && is_ours && !is_report {
        let why = "it is a file of the run; name another file with --out";
        return Err(WorkflowError::write(out, std::io::Error::other(why)));
    }
    Ok(())
}

/// Writes to the requested file, or to standard output.
fn put(out: Option<&Path>, text: &str) -> Result<(), WorkflowError> {
    match out {
        Some(path) => rundir::put(path, text).map_err(|cause| WorkflowError::write(path, cause)),
        None => screen::raw(text.as_bytes()),
    }
}

fn render_report(published: &Published, format: ReportFormat) -> Result<String, WorkflowError> {
    let (findings, context) = (&published.findings, published.context());
    Ok(match format {
        ReportFormat::Text => summary::describe_findings(findings, str::to_owned).join("\n") + "\n",
        ReportFormat::Html => tuning::document(findings, &context).page(TOOL),
        ReportFormat::Md => tuning::document(findings, &context).markdown(),
        ReportFormat::Csv => tables::csv(findings).map_err(WorkflowError::Stdout)?,
        ReportFormat::Json => tables::json(findings, &context)?,
    })
}
