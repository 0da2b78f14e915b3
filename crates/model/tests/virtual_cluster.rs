//! Predictions of a model for bcast and scatter on 8 virtual hosts, compared with times measured there:
//! `tests/data/virtual-8-*.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use collrules_model::model::{Model, Predicted};
use collrules_model::{Limit, fit, quality, table};
use collrules_record::criteria::Criteria;
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Cell, Ranks, Seconds};
use collrules_rules::{Choice, Collective, Release};

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    fs::read_to_string(&path).expect("tests/data has it")
}

fn model() -> Model {
    let (probes, faults) = table::read(&data("virtual-8-probes.csv")).expect("a table of probes");
    assert_eq!(faults, Vec::<String>::new());
    let terms = Criteria { min_gain: 0.2, error_rate: 0.05, level: 0.95, ..Criteria::default() };
    let model = fit(&probes, &Limit::from_reported(&BTreeMap::new(), None), terms).expect("a model");
    Model { release: Some(Release::V4_1), ..model }
}

fn samples() -> Vec<Sample> {
    let text = data("virtual-8-cells.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let columns: Vec<&str> = row.split(',').collect();
        let [collective, ranks, bytes, candidate, launch, seconds] = columns[..] else { panic!("{row}") };
        let seconds = Seconds(seconds.parse().expect("a time"));
        Sample {
            launch: launch.parse().expect("a launch"),
            visit: 0,
            round: 0,
            cell: Cell {
                collective: collective.parse().expect("a collective"),
                ranks: Ranks(ranks.parse().expect("ranks")),
                bytes: Bytes(bytes.parse().expect("bytes")),
            },
            candidate: candidate.parse().expect("a candidate"),
            max: seconds,
            min: seconds,
            mean: seconds,
        }
    })
    .collect()
}

/// The shares by which predictions are off, in ascending order.
fn errors<'a>(cells: impl IntoIterator<Item = &'a Predicted>, of: impl Fn(&Predicted) -> Option<f64>) -> Vec<f64> {
    let mut all: Vec<f64> =
        cells.into_iter().filter_map(|cell| Some((of(cell)? / cell.measured - 1.0).abs())).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn middle(errors: &[f64]) -> f64 {
    errors[errors.len() / 2]
}

/// Measured were 15 choices at 4 sizes from 64 KiB on. The model knows probes of two and three ranks alone.
#[test]
fn long_messages_take_what_the_model_says() {
    let all = quality(&model(), Release::V4_1, &samples());
    let long: Vec<&Predicted> = all.iter().filter(|cell| cell.cell.bytes.0 >= 64 << 10).collect();
    assert_eq!(long.len(), 4 * 15);
    let alone = errors(long.iter().copied(), |cell| Some(cell.model));
    let corrected = errors(long.iter().copied(), |cell| cell.corrected);
    let line = errors(long.iter().copied(), |cell| cell.line);
    let neighbour = errors(long.iter().copied(), |cell| cell.neighbour);
    let all = [&alone, &corrected, &line, &neighbour].map(|errors| middle(errors));
    assert!(all[0] < 0.05 && all[1] < 0.03 && all[2] < 0.03 && all[3] > 0.4, "{all:?}");
    assert!(alone[alone.len() - 1] < 0.35, "{alone:?}");
}

/// 7, 5, 7 and 11 times what the message takes on a link.
#[test]
fn messages_that_share_links_take_the_known_number_of_link_times() {
    let all = quality(&model(), Release::V4_1, &samples());
    for (collective, algorithm, times) in [
        (Collective::Bcast, 1, 7.0),
        (Collective::Bcast, 5, 5.0),
        (Collective::Bcast, 7, 7.0),
        (Collective::Scatter, 2, 11.0),
    ] {
        let wanted = |cell: &&Predicted| {
            (cell.cell.collective, cell.choice) == (collective, Choice::plain(algorithm))
                && cell.cell.bytes.0 == 512 << 10
        };
        let cell = all.iter().find(wanted).expect("was measured");
        let link = 42e-9 * cell.cell.bytes.0 as f64;
        for time in [cell.measured, cell.model] {
            assert!((time / link / times - 1.0).abs() < 0.12, "{}: {} link times", cell.name, time / link);
        }
    }
}

/// The bucket of 16 kB with which the virtual links let messages begin, less what the first packets take of it.
#[test]
fn what_links_let_pass_is_found() {
    let model = model();
    let burst = model.ways[0].burst.expect("a burst");
    assert!((12e3..16.4e3).contains(&burst.point), "{burst:?}");
    let rate = model.nodes.expect("nodes").nodes[0].link.expect("a rate").point;
    assert!((rate / 25e6 - 1.0).abs() < 0.06, "{rate}");
}
