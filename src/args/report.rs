//! `collrules report`, as options.

use std::path::PathBuf;

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
