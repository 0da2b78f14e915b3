//! A study as people read it: a conclusion drawn from the numbers, figures, and tables.
//!
//! | module | job |
//! |---|---|
//! | `conclusion` | what the numbers come to, in whole sentences |
//! | `figures` | times over communicator and message sizes, as SVG |
//! | `tables` | all times, for people and as CSV |

mod conclusion;
mod figures;
mod tables;

use std::fmt::Write;

use collrules_record::study::Study;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Estimate, Manifest};
use collrules_rules::{Collective, Release, registry};

use crate::plain;

pub use conclusion::conclusion;
pub use figures::{Figure, figures, undrawn};
pub use tables::csv;

/// What a study is about, and what of it is drawn.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The heading.
    pub title: String,
    /// What is asked, in a paragraph.
    pub question: String,
    /// Where the numbers come from.
    pub manifest: &'a Manifest,
    /// What else to know about the measurements, such as what was left out, in whole sentences.
    pub remarks: Vec<String>,
    /// How to make it again.
    pub command: String,
    /// Message sizes for which times are drawn over communicator sizes.
    pub over_ranks: Vec<Bytes>,
    /// Communicator sizes for which times are drawn over message sizes.
    pub over_sizes: Vec<Ranks>,
    /// Draw the builtin's times over message sizes, a line per communicator size.
    pub builtin: bool,
}

impl About<'_> {
    /// Communicator sizes above this had more ranks than slots.
    fn slots(&self) -> Ranks {
        self.manifest.survey.slots()
    }
}

/// The study as Markdown; figures are looked for beside it.
pub fn markdown(study: &Study, about: &About<'_>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "# {}\n\n{}\n\n## Conclusion\n\n",
        plain::markdown(about.title.trim()),
        folded(&plain::markdown(about.question.trim()))
    );
    for paragraph in conclusion(study, about) {
        let _ = write!(text, "{}\n\n", folded(&paragraph));
    }
    let _ = write!(text, "## How it was measured\n\n{}\n\n", folded(&measured(study, about)));
    for sentence in &about.remarks {
        let _ = write!(text, "{}\n\n", folded(&plain::markdown(sentence)));
    }
    let _ = write!(text, "```sh\n{}\n```\n\n", plain::line(&about.command));
    let drawn = figures(study, about);
    if !drawn.is_empty() {
        let explained = "Points are medians over launches, bars their intervals; both axes are logarithmic. The builtin is drawn \
                         in the colour of the text.";
        let _ = write!(text, "## Figures\n\n{}\n\n", folded(explained));
    }
    for sentence in undrawn(study, about) {
        let _ = write!(text, "{}\n\n", folded(&sentence));
    }
    for figure in drawn {
        let _ = write!(text, "![{}]({})\n\n", figure.caption, figure.file);
    }
    text += &tables::markdown(study, about);
    text
}

/// A paragraph in lines of the width that documents here have.
fn folded(paragraph: &str) -> String {
    textwrap::fill(paragraph, textwrap::Options::new(120).break_words(false))
}

fn measured(study: &Study, about: &About<'_>) -> String {
    let survey = &about.manifest.survey;
    let mut hosts = survey.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let (slots, hosts) = (counted(about.slots().0 as usize, "slot"), counted(hosts.len(), "host"));
    let who = match about.manifest.backend.as_str() {
        "simulation" => format!("The times are computed from a cost model with noise, of {slots}"),
        _ => format!("Measured under Open MPI {} on {hosts} with {slots} in all", survey.version),
    };
    let started = about.manifest.started.split(['T', ' ']).next().unwrap_or_default();
    let started = plain::markdown(started);
    format!(
        "{who}, in {} (begun {started}). A time is that of the slowest rank; a launch gives the median of its calls, and the \
         table the median of those, with an interval that covers it with at least {:.0} %. All candidates of a cell take \
         turns side by side, and each one's result is checked on real data before its time counts. Two are told apart \
         where a two-sided signed-rank test says so after correction for all {} comparisons (false discovery rate {:.0} %), \
         every launch agrees, and the interval of the ratio excludes 1.",
        counted(study.launches, "launch"),
        100.0 * study.level,
        study.cells.iter().flat_map(|cell| &cell.points).filter(|point| point.q_value.is_some()).count(),
        100.0 * study.error_rate,
    )
}

fn counted(count: usize, what: &str) -> String {
    match (count, what.ends_with("ch")) {
        (1, _) => format!("1 {what}"),
        (_, true) => format!("{count} {what}es"),
        (_, false) => format!("{count} {what}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn name(release: Release, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Component(component) => component.to_string(),
        _ => registry::describe(release, collective, candidate.choice()),
    }
}

/// The collectives of a study, in the order of its cells.
fn collectives(study: &Study) -> Vec<Collective> {
    let mut all: Vec<Collective> = study.cells.iter().map(|cell| cell.cell.collective).collect();
    all.dedup();
    all
}

/// The candidates of a collective, the builtin first.
fn candidates(study: &Study, collective: Collective) -> Vec<Candidate> {
    let cells = study.cells.iter().filter(|cell| cell.cell.collective == collective);
    let mut all: Vec<Candidate> = cells.flat_map(|cell| &cell.points).map(|point| point.candidate).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// `1.25 (1.21 to 1.30)`.
fn interval(estimate: Estimate, digits: usize) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{:.digits$} ({low:.digits$} to {high:.digits$})", estimate.point)
        }
        _ => format!("{:.digits$}", estimate.point),
    }
}
