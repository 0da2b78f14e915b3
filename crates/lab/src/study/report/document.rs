//! A study as a document.

use std::collections::BTreeSet;

use collrules_record::findings::Statistic;
use collrules_report::document::{Block, Document};
use collrules_rules::words::{counted, listed};

use super::conclusion::{answers, numbers};
use super::figures::StudyFigure;
use super::page::{About, MeasuredBy};
use super::{curves, references, tables};
use crate::study::results::Study;

/// The study; figures are in files of the same directory.
pub(in crate::study) fn document(
    study: &Study,
    origin: &MeasuredBy<'_>,
    about: &About<'_>,
    figures: &[StudyFigure],
) -> Document {
    let (drawn, missing): (Vec<_>, Vec<_>) = figures.iter().partition(|figure| figure.svg.is_some());
    let missing: Vec<String> = missing.into_iter().map(|figure| figure.subject.clone()).collect();
    let mut answer = answers(study);
    answer.extend(
        (!missing.is_empty())
            .then(|| format!("There is no figure of {}: a line needs times at two points or more.", listed(&missing))),
    );
    let link = |figure: &StudyFigure| Block::Prose(format!("![{}]({})", figure.subject, figure.file));
    let mut blocks = vec![
        numbers(study),
        Block::section("", "Figures", drawn.into_iter().map(link).collect()),
        curves::part(study, about),
    ];
    blocks.extend(references::parts(&[("", study)], &about.definition.claims, |_| true));
    blocks.extend(references::machine(study));
    blocks.push(tables::part(study));
    about.document(study.simulated, answer, Some(measured(study, origin)), blocks)
}

/// Says who measured, and what can be told from it; docs/guide/studies.md says how.
fn measured(study: &Study, origin: &MeasuredBy<'_>) -> String {
    let launches = counted(study.launches, "launch");
    let who = match origin {
        MeasuredBy::Measured(manifest) => {
            let (survey, slots) = (&manifest.survey, manifest.survey.slots());
            let hosts = counted(survey.hosts.iter().collect::<BTreeSet<_>>().len(), "host");
            let started = manifest.started.split(['T', ' ']).next().unwrap_or_default();
            // Pages of simulations are the same every day.
            let begun = if study.simulated { String::new() } else { format!(" (begun {started})") };
            let beyond = study.cells.iter().any(|cell| cell.cell.ranks > slots);
            let beyond = if beyond { "; times of more ranks than slots do not show scaling" } else { "" };
            format!("Open MPI {} on {hosts} with {slots} slots in all, {launches}{begun}{beyond}.", survey.version)
        }
        MeasuredBy::Others(name, statistic) => {
            let what = match statistic {
                Statistic::RankAverage => "averages over ranks and calls, which hide the slowest rank and the spread",
                _ => "those of the slowest rank",
            };
            format!(
                "The times of {name} were measured by others, in {launches}: {what}. Algorithm numbers are read as \
                 those of Open MPI {}.",
                study.release,
            )
        }
    };
    if study.launches == 1 { who + " One launch gives no intervals and no verdicts." } else { who }
}
