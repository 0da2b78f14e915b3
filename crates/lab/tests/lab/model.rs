//! Communication models, from tables and from the simulated cluster.

use std::fmt::Write;

use collrules_lab::irregular::Irregularity;
use collrules_lab::model::{CallQuestion, Modelling, ask};
use collrules_model::Probe;
use collrules_model::model::{Model, Slowdown};
use collrules_model::place::Where;
use collrules_model::unknown::Unknown;
use collrules_program::{Platform, play as played};
use collrules_record::options::TuneOptions;
use collrules_record::pattern::Shape;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::{Collective, Release};
use collrules_workflow::campaign::Begin;
use collrules_workflow::{WorkflowError, tune};

use crate::stage::{LabFixture, noting, play, read};

/// Probes of a played machine as a table: links of these rates, three launches that differ by a per cent.
fn table(rates: &[f64]) -> String {
    let ranks = rates.len();
    let mut platform = Platform::shared_links(ranks, 0.0);
    platform.link = rates.to_vec();
    platform.fixed = vec![5e-6; ranks];
    platform.latency = vec![vec![20e-6; ranks]; ranks];
    let mut text = "pattern,ranks,bytes,launch,seconds\n".to_owned();
    let mut add = |shape: Shape, parts: &[u32], bytes: u64| {
        let programs = Probe { shape, ranks: parts.to_vec(), bytes }.programs(ranks).unwrap();
        let time = played(programs.as_slice(), &platform).unwrap()[parts[0] as usize];
        let names: Vec<String> = parts.iter().map(u32::to_string).collect();
        for (launch, factor) in [0.99, 1.0, 1.01].into_iter().enumerate() {
            writeln!(text, "{shape},{},{bytes},{launch},{}", names.join("+"), time * factor).unwrap();
        }
    };
    let ranks = ranks as u32;
    for i in 0..ranks {
        for j in (0..ranks).filter(|j| *j != i) {
            for size in [0, 1024, 32768, 65536, 262_144] {
                add(Shape::PingPong, &[i, j], size);
                add(Shape::Ping, &[i, j], size);
            }
            for size in [0, 1024, 32768] {
                add(Shape::Train, &[i, j], size);
            }
            for k in (0..ranks).filter(|k| *k != i && *k != j) {
                for size in [0, 32768] {
                    add(Shape::OneToTwo, &[i, j, k], size);
                }
            }
        }
    }
    text
}

/// The model of a table, whose files are in `out`.
fn fitted(stage: &LabFixture, rates: &[f64], out: &str) -> Model {
    let probes = stage.write("probes.csv", &table(rates));
    let words = format!("--probes {}", probes.display());
    stage.analyse::<Modelling>(&words, "probes.csv", Some(out)).unwrap()
}

/// The predicted time of a call, in seconds.
fn predicted(model: &Model, call: &str) -> Result<f64, WorkflowError> {
    let question: CallQuestion = read(&format!("--op {call}")).unwrap();
    play(|session| ask(model, &question, session)).map(|(_, time, _)| time.point)
}

#[test]
fn a_table_names_the_slow_host_and_answers_questions() {
    let mut stage = LabFixture::new();
    let model = fitted(&stage, &[25e6, 25e6, 25e6, 12.5e6], "model");
    assert!(model.names_slow());
    let [slow] = &model.slow.nodes[..] else { panic!("{:?}", model.slow) };
    assert!(slow.rank == 3 && (slow.factor.point / 2.0 - 1.0).abs() < 0.02, "{slow:?}");
    assert!(model.unknown.contains(&Unknown::Send(Where::Between)), "{:?}", model.unknown);
    let lmo = model.nodes.as_ref().unwrap();
    assert!(lmo.shared_links);
    let rates: Vec<f64> = lmo.nodes.iter().map(|node| node.link.unwrap().point).collect();
    for (found, planted) in rates.iter().zip([25e6, 25e6, 25e6, 12.5e6]) {
        assert!((found / planted - 1.0).abs() < 0.1, "{rates:?}");
    }
    assert!(stage.path("model/model.html").is_file() && stage.path("model/model.md").is_file());
    assert_eq!(Model::read(&stage.path("model")).unwrap(), model);

    // The root sends 3 MiB at 25 MB/s, and the slow host takes its one in 84 ms.
    let time = predicted(&model, "bcast --algorithm basic_linear --np 4 --size 1M").unwrap();
    assert!((time / 0.1258 - 1.0).abs() < 0.01, "{time}");
    assert_eq!(predicted(&model, "bcast --algorithm 1 --np 1 --size 1K").unwrap(), 0.0);
    // Questions and models that make no sense.
    let mut refuse = |model: &Model, call: &str| stage.refuse(call, predicted(model, call));
    for call in [
        "bcast --algorithm nonesuch --np 4 --size 1M",
        "allreduce --algorithm 1 --np 4 --size 1M",
        "bcast --algorithm basic_linear --np 9 --size 1M",
        "alltoall --algorithm two_proc --np 4 --size 1K",
        "bcast --algorithm 3/0/1/0 --np 4 --size 2147483647",
    ] {
        refuse(&model, call);
    }
    // A rate below nothing, as no fit gives it.
    let mut odd = model.clone();
    for pair in &mut odd.nodes.as_mut().unwrap().pairs {
        pair.rate = pair.rate.map(|rate| rate.map(|_| -1.0));
    }
    for node in &mut odd.nodes.as_mut().unwrap().nodes {
        node.link = node.link.map(|link| link.map(|_| -1.0));
    }
    refuse(&odd, "bcast --algorithm 1 --np 4 --size 1K");
    stage.refuse_options::<CallQuestion>("--op bcast --algorithm 1 --np 4 --size 3G");
    stage.write("model/model.json", &serde_json::to_string(&odd).unwrap());
    for (machine, more) in [("model/model.json", "--ops bcast --np 4"), ("nosuch", "--ops bcast")] {
        let words = format!("--simulate --simulated-model {} {more}", stage.path(machine).display());
        let tuned = tuned(&stage, &words, "run");
        stage.refuse(&format!("tune on {machine} {more}"), tuned);
    }
    insta::assert_snapshot!(stage.refused());
}

/// Calls with more messages than are played are not missing in silence.
#[test]
#[ignore = "part of `make test-all`"]
fn predictions_that_are_too_much_to_play_are_said() {
    let stage = LabFixture::new();
    let words = "--simulate --simulated-slots 66 --ops alltoall --sizes 1K --partners 2 --launches 2";
    let model = stage.measure::<Modelling>(words, "run").unwrap();
    let is_alltoall = |cell: &Cell| (cell.collective, cell.ranks) == (Collective::Alltoall, Ranks(66));
    let left = |it: &Unknown| matches!(it, Unknown::Predictions { calls: 2, cell, .. } if is_alltoall(cell));
    assert!(model.unknown.iter().any(left), "{:?}", model.unknown);
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let mut stage = LabFixture::new();
    let head = "pattern,ranks,bytes,launch,seconds\n";
    let fit = |stage: &LabFixture, name: &str| {
        let words = format!("--probes {}", stage.path(name).display());
        stage.analyse::<Modelling>(&words, name, None)
    };
    for (name, text) in [
        ("other-columns.csv", "a,b\n1,2\n".to_owned()),
        ("negative.csv", format!("{head}pingpong,0+1,0,0,-1\n")),
        ("no-trips.csv", format!("{head}one-to-two,0+1+2,0,0,1e-6\n")),
    ] {
        stage.write(name, &text);
        let fitted = fit(&stage, name);
        stage.refuse(name, fitted);
    }
    let missing = fit(&stage, "missing.csv");
    stage.refuse("missing.csv", missing);
    stage.write("model.json", "{\"format\":{\"major\":9,\"minor\":0}}");
    let other = stage.analyse::<Modelling>("", "model.json", None);
    stage.refuse("model.json", other);
    insta::assert_snapshot!(stage.refused());
    stage.write("two-ranks.csv", &format!("{head}pingpong,0+1,0,0,1e-5\npingpong,0+1,1024,0,2e-5\n"));
    let two = fit(&stage, "two-ranks.csv").unwrap();
    assert!(two.ways.len() == 1 && two.nodes.is_none(), "{two:?}");
}

/// The simulated cluster has 10 µs for a message and 1 ns for a byte.
#[test]
fn the_simulated_cluster_is_measured_and_fitted() {
    let stage = LabFixture::new();
    let words = "--simulate --simulated-slots 5 --sizes 1K,32K,256K,1M";
    let model = stage.measure::<Modelling>(words, "run").unwrap();
    assert!(model.simulated && !model.quality.is_empty() && !model.names_slow());
    let line = &model.ways[0].regimes[0];
    assert!((line.alpha.point / 10e-6 - 1.0).abs() < 0.05, "{line:?}");
    assert!((line.beta.point / 1e-9 - 1.0).abs() < 0.05, "{line:?}");
    // Fitted again, it says the same.
    assert_eq!(stage.analyse::<Modelling>("", "run", None).unwrap(), model);
}

/// Calls are played on a machine that a model describes, and probes of them give the model back: its links, what passes idle
/// ones, and what is planted into calls.
#[test]
fn a_model_is_simulated_and_comes_back() {
    let stage = LabFixture::new();
    let rates = [25e6, 25e6, 12.5e6, 25e6, 25e6];
    let mut known = fitted(&stage, &rates, "known");
    known.release = Some(Release::V4_1);
    let rate = known.ways[0].regimes[0].beta;
    known.ways[0].burst = Some(rate.map(|_| 16e3));
    // Short messages pass at once.
    known.ways[0].regimes[0].beta = rate.map(|_| 1e-10);
    let from = Bytes(32 << 10);
    let planted =
        Slowdown { collective: Collective::Gather, algorithm: Some(1), from, to: from, more: 0.2, probability: 0.3 };
    known.planted.push(planted);
    let file = stage.write("known/model.json", &serde_json::to_string(&known).unwrap());

    let simulated = format!("--simulate --simulated-model {}", file.display());
    let again = stage.measure::<Modelling>(&format!("{simulated} --ops scatter --launches 3"), "again").unwrap();
    assert!(again.simulated && matches!(&again.slow.nodes[..], [node] if node.rank == 2), "{:?}", again.slow);
    let links: Vec<f64> = again.nodes.unwrap().nodes.iter().map(|node| node.link.unwrap().point).collect();
    for (found, planted) in links.iter().zip(rates) {
        assert!((found / planted - 1.0).abs() < 0.1, "{links:?}");
    }
    let burst = again.ways[0].burst.unwrap().point;
    assert!((burst / 16e3 - 1.0).abs() < 0.15, "{burst}");

    let words = format!("{simulated} --ops gather --sizes 4K:128K --launches 2");
    let found = stage.measure::<Irregularity>(&words, "stalls").unwrap();
    let stall = found.stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap();
    assert_eq!((stall.quiet_below, stall.first, stall.last), (Some(Bytes(16 << 10)), from, from));
    let stalling = found.points.iter().find(|calls| (calls.cell.bytes, calls.candidate) == (from, Candidate::Builtin));
    assert!(stalling.unwrap().levels.iter().all(|level| level.is_timeout), "{stalling:?}");

    let published = tuned(&stage, &format!("{simulated} --ops bcast --sizes 512K"), "tuned").unwrap();
    assert!(!published.findings.table.is_empty());
    let unknown = tuned(&stage, &format!("{simulated} --ops allreduce"), "unknown");
    assert!(unknown.is_err(), "its messages are not known");
}

/// Tunes on a simulated machine.
fn tuned(stage: &LabFixture, words: &str, out: &str) -> Result<collrules_workflow::publish::Published, WorkflowError> {
    let begin = Begin::tuning(read::<TuneOptions>(words).unwrap(), stage.path(out));
    play(|session| tune::tune(&begin, session))
}

/// The scenario has violations of guidelines, and was taken for slow nodes that the model had missed.
#[test]
fn a_scenario_that_plants_nothing_for_models_says_so() {
    let stage = LabFixture::new();
    let options: Modelling = read("--simulate=planted --np 4 --calls 3").unwrap();
    let place = collrules_workflow::campaign::RunPlace::New(stage.path("model"));
    let (measured, notes) = noting(|session| collrules_lab::instrument::run(&options, &place, session));
    assert!(!measured.unwrap().1.names_slow());
    assert!(notes.iter().any(|note| note.starts_with("--simulate=planted")), "{notes:?}");
}
