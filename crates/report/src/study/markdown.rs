//! A study as a document.

use std::fmt::Write;

use collrules_record::study::Study;

use super::about::About;
use super::conclusion::conclusion;
use super::figures::{figures, undrawn};
use super::{references, tables};
use crate::facts::SIMULATED;
use crate::plain;
use crate::words::{counted, folded};

/// The study as Markdown; figures are looked for beside it.
pub fn markdown(study: &Study, about: &About<'_>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "# {}\n\n", plain::markdown(about.title.trim()));
    if about.manifest.backend == "simulation" {
        let _ = write!(text, "**{SIMULATED}**\n\n");
    }
    let question = folded(&plain::markdown(about.question.trim()));
    let _ = write!(text, "{question}\n\n## Conclusion\n\n");
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
    text += &references::markdown(study, about);
    text += &tables::markdown(study, about);
    text
}

fn measured(study: &Study, about: &About<'_>) -> String {
    let survey = &about.manifest.survey;
    let mut hosts = survey.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let (slots, hosts) = (counted(about.slots().0 as usize, "slot"), counted(hosts.len(), "host"));
    let who = match about.manifest.backend.as_str() {
        "simulation" => format!("A cost model with noise gave the times, for {slots}"),
        _ => format!("Open MPI {} was measured on {hosts} with {slots} in all", survey.version),
    };
    let started = about.manifest.started.split(['T', ' ']).next().unwrap_or_default();
    let started = plain::markdown(started);
    let tests = study.cells.iter().flat_map(|cell| &cell.points).filter(|point| point.q_value.is_some()).count();
    format!(
        "{who}, in {} (begun {started}). A time is that of the slowest rank. Each launch gives the median of its calls; the \
         tables show the median of the launches, with an interval that covers it with at least {:.0} %. All candidates of \
         a cell take turns side by side. The result of each one is checked on real data before its time counts. Two \
         candidates differ where three things hold: a two-sided signed-rank test says so, after correction for all {} \
         (false discovery rate {:.0} %); every launch agrees; and the interval of the ratio excludes 1.",
        counted(study.launches, "launch"),
        100.0 * study.level,
        counted(tests, "comparison"),
        100.0 * study.error_rate,
    )
}
