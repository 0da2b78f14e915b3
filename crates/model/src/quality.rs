//! Accuracy of a model's predictions of measured collectives, compared with two simple interpolations.

use std::collections::BTreeMap;

use collrules_record::estimate;
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Cell};
use collrules_rules::{Release, registry};

use crate::algorithm::medians;
use crate::model::{Model, Predicted};
use crate::predict::{corrected, played};

/// Predictions of all cells whose messages are known, next to the measured times: medians over launches of their
/// medians.
pub fn quality(model: &Model, release: Release, samples: &[Sample]) -> Vec<Predicted> {
    let mut found = Vec::new();
    for ((collective, choice, ranks), launches) in medians(samples) {
        let mut sizes: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
        for (bytes, time) in launches.values().flatten() {
            sizes.entry(*bytes).or_default().push(*time);
        }
        let times: BTreeMap<Bytes, f64> = estimate::medians(sizes).collect();
        let predicted = |(bytes, measured): (&Bytes, &f64)| {
            let cell = Cell { collective, ranks, bytes: *bytes };
            let said = played(model, release, cell, choice).ok()?;
            let algorithm = registry::algorithm(release, collective, choice.algorithm).ok()?;
            let below = times.range(..bytes).next_back().map(|(less, time)| (less.0 as f64, *time));
            let above = times.range(Bytes(bytes.0 + 1)..).next().map(|(more, time)| (more.0 as f64, *time));
            let size = bytes.0 as f64;
            Some(Predicted {
                cell,
                algorithm: choice.algorithm,
                choice,
                corrected: None,
                name: match choice.segsize {
                    0 => algorithm.name.to_owned(),
                    segment => format!("{} in segments of {}", algorithm.name, Bytes(segment)),
                },
                measured: *measured,
                model: said.point,
                neighbour: below.or(above).map(|(_, time)| time),
                line: below.zip(above).map(|(a, b)| a.1 + (b.1 - a.1) * (size - a.0) / (b.0 - a.0)),
            })
        };
        found.extend(times.iter().filter_map(predicted));
    }
    found.sort_by_key(|it: &Predicted| (it.cell, it.choice));
    let others = |cell: Cell| found.iter().filter(move |other| other.cell.bytes != cell.bytes);
    let corrections: Vec<Option<f64>> =
        found.iter().map(|it| corrected(others(it.cell), it.cell, it.choice, it.model)).collect();
    found.iter_mut().zip(corrections).for_each(|(it, corrected)| it.corrected = corrected);
    found
}
