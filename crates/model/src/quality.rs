//! Accuracy of a model's predictions of measured collectives, compared with two simple interpolations.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::sample::Sample;
use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Release, registry};

use crate::model::{Model, Predicted};
use crate::predict::{PredictedCall, correction, played};

/// Predictions of all cells whose messages are known, next to the measured times: medians over launches of their
/// medians.
pub fn quality(model: &Model, release: Release, samples: &[Sample]) -> Vec<Predicted> {
    let mut launches: BTreeMap<(Cell, Choice), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for sample in samples {
        if let Candidate::Tuned(choice) = sample.candidate {
            let of_point = launches.entry((sample.cell, choice)).or_default();
            of_point.entry(sample.launch).or_default().push(sample.max.0);
        }
    }
    let times: BTreeMap<(Cell, Choice), f64> = launches
        .into_iter()
        .filter_map(|(point, launches)| {
            let mut medians: Vec<f64> = launches.into_values().filter_map(|mut times| median(&mut times)).collect();
            Some((point, median(&mut medians)?))
        })
        .collect();
    let predicted = |((cell, choice), measured): (&(Cell, Choice), &f64)| {
        let call =
            PredictedCall { collective: cell.collective, choice: *choice, ranks: cell.ranks.0, bytes: cell.bytes.0 };
        let said = played(model, release, call).ok()?;
        let algorithm = registry::algorithm(release, cell.collective, choice.algorithm).ok()?;
        let alike = times.iter().filter(|((other, with), _)| {
            with == choice
                && (other.collective, other.ranks) == (cell.collective, cell.ranks)
                && other.bytes != cell.bytes
        });
        let sizes: Vec<(f64, f64)> = alike.map(|((other, _), time)| (other.bytes.0 as f64, *time)).collect();
        let size = cell.bytes.0 as f64;
        let below = sizes.iter().copied().filter(|(other, _)| *other < size).max_by(|a, b| a.0.total_cmp(&b.0));
        let above = sizes.iter().copied().filter(|(other, _)| *other > size).min_by(|a, b| a.0.total_cmp(&b.0));
        Some(Predicted {
            cell: *cell,
            algorithm: choice.algorithm,
            choice: *choice,
            corrected: None,
            name: match choice.segsize {
                0 => algorithm.name.to_owned(),
                segment => format!("{} in segments of {}", algorithm.name, collrules_record::Bytes(segment)),
            },
            measured: *measured,
            model: said.point,
            neighbour: below.or(above).map(|(_, time)| time),
            line: below.zip(above).map(|(a, b)| a.1 + (b.1 - a.1) * (size - a.0) / (b.0 - a.0)),
        })
    };
    let mut found: Vec<Predicted> = times.iter().filter_map(predicted).collect();
    let corrected: Vec<Option<f64>> = found.iter().map(|cell| corrected(&found, cell)).collect();
    for (cell, corrected) in found.iter_mut().zip(corrected) {
        cell.corrected = corrected;
    }
    found
}

/// Corrects the prediction of a cell by the other sizes.
fn corrected(all: &[Predicted], cell: &Predicted) -> Option<f64> {
    let others = all.iter().filter(|other| other.cell.bytes != cell.cell.bytes);
    let call = PredictedCall {
        collective: cell.cell.collective,
        choice: cell.choice,
        ranks: cell.cell.ranks.0,
        bytes: cell.cell.bytes.0,
    };
    correction(others, call, cell.model)
}
