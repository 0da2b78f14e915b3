//! A study as a document.

use collrules_lab::study::results::Study;
use collrules_record::findings::Statistic;
use collrules_rules::words::counted;

use super::about::{About, MeasuredBy};
use super::conclusion::{conclusion, numbers};
use super::figures::{figures, undrawn};
use super::{curves, references, tables};
use crate::document::{Block, Document};

/// The study; figures are in files of the same directory.
pub fn document(study: &Study, about: &About<'_>) -> Document {
    let prose = |texts: Vec<String>| texts.into_iter().map(Block::Prose);
    let mut measured = vec![Block::Prose(measured(study, about))];
    measured.extend(prose(about.remarks.clone()));
    measured.push(Block::Commands(vec![about.command.clone()]));
    let drawn = figures(study, about);
    let explained = "Points are medians over launches, bars their intervals; both axes are logarithmic. The default is \
                     drawn in the colour of the text.";
    let explained = if drawn.is_empty() { "" } else { explained };
    let mut figures = vec![Block::prose(explained)];
    figures.extend(prose(undrawn(study, about)));
    figures.extend(drawn.into_iter().map(|figure| Block::Prose(format!("![{}]({})", figure.caption, figure.file))));
    let mut blocks = vec![
        Block::prose(about.question.trim()),
        Block::part("", "Conclusion", prose(conclusion(study, about)).collect()),
        numbers(study),
        Block::part("", "How it was measured", measured),
        Block::part("", "Figures", figures),
        curves::part(study, about),
    ];
    blocks.extend(references::parts(study, about));
    blocks.push(tables::part(study, about));
    let subject = about.title.trim().to_owned();
    Document { subject, simulated: about.is_simulated(), blocks, ..Document::default() }
}

/// Says who measured, and what can be told from it; docs/guide/studies.md says how.
fn measured(study: &Study, about: &About<'_>) -> String {
    let launches = counted(study.launches, "launch");
    let who = match &about.origin {
        MeasuredBy::Measured(manifest) => {
            let survey = &manifest.survey;
            let mut hosts = survey.hosts.clone();
            hosts.sort_unstable();
            hosts.dedup();
            let (slots, hosts) = (counted(about.slots().0 as usize, "slot"), counted(hosts.len(), "host"));
            let started = manifest.started.split(['T', ' ']).next().unwrap_or_default();
            match about.is_simulated() {
                true => format!("A cost model with noise gave the times, for {slots} in {launches}."),
                false => format!(
                    "Open MPI {} was measured on {hosts} with {slots} in all, in {launches} (begun {started}).",
                    survey.version
                ),
            }
        }
        MeasuredBy::Others { name, statistic } => {
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
    let level = 100.0 * study.level;
    let intervals = match study.launches {
        1 => "One launch gives no intervals and no verdicts.".to_owned(),
        _ => format!("Times are medians of launches, with intervals of at least {level:.0} %."),
    };
    let tests = study.cells.iter().flat_map(|cell| &cell.points).filter(|point| point.q_value.is_some()).count();
    let told = match tests {
        0 => "There are too few timings for a test.".to_owned(),
        _ => format!(
            "Differences are tested in {}, with a false discovery rate of {:.0} %.",
            counted(tests, "comparison"),
            100.0 * study.error_rate,
        ),
    };
    format!("{who} {intervals} {told}")
}
