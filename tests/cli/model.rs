//! Communication models, from tables and from the simulated cluster.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use collrules_model::Probe;
use collrules_model::model::{Model, Slowdown};
use collrules_model::place::Where;
use collrules_model::stalls::Irregular;
use collrules_model::unknown::Unknown;
use collrules_program::{Platform, play};
use collrules_record::pattern::Shape;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::{Collective, Release};

use crate::session::{Session, assert_said};
use crate::support::{Ran, collrules, findings};

fn fitted(directory: &Path) -> Model {
    serde_json::from_str(&fs::read_to_string(directory.join("model.json")).unwrap()).unwrap()
}

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
        let time = play(programs.as_slice(), &platform).unwrap()[parts[0] as usize];
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

#[test]
fn a_table_names_the_slow_host_and_answers_questions() {
    let session = Session::new();
    session.write("probes.csv", table(&[25e6, 25e6, 25e6, 12.5e6]));
    Ran::from(session.command("model --probes probes.csv --out model").output().unwrap()).exits(10);
    let model = fitted(&session.path("model"));
    let [slow] = &model.slow.nodes[..] else { panic!("{:?}", model.slow) };
    assert!(slow.rank == 3 && (slow.factor.point / 2.0 - 1.0).abs() < 0.02, "{slow:?}");
    assert!(model.unknown.contains(&Unknown::Send(Where::Between)), "{:?}", model.unknown);
    let lmo = model.nodes.as_ref().unwrap();
    assert!(lmo.shared_links);
    let rates: Vec<f64> = lmo.nodes.iter().map(|node| node.link.unwrap().point).collect();
    for (found, planted) in rates.iter().zip([25e6, 25e6, 25e6, 12.5e6]) {
        assert!((found / planted - 1.0).abs() < 0.1, "{rates:?}");
    }
    assert!(session.path("model/model.html").is_file() && session.path("model/model.md").is_file());

    // Three links of 25 MB/s and one of 12.5 MB/s: the root sends 3 MiB, and the slow one takes 1 MiB in 84 ms.
    for (call, code) in [
        ("bcast --algorithm basic_linear --np 4 --size 1M", 0),
        ("bcast --algorithm nonesuch --np 4 --size 1M", 2),
        ("allreduce --algorithm 1 --np 4 --size 1M", 2),
        ("bcast --algorithm basic_linear --np 9 --size 1M", 2),
    ] {
        session.run(&format!("model predict model --op {call}")).exits(code);
    }
    assert_said!(session);
}

/// Questions and models that make no sense end in a sentence, and soon.
#[test]
fn what_cannot_be_predicted_is_refused_in_a_sentence() {
    let session = Session::new();
    session.write("probes.csv", table(&[25e6; 4]));
    session.given("model --probes probes.csv --out model");
    let ask = |call: &str, code| session.run(&format!("model predict model --op {call}")).exits(code);
    ask("alltoall --algorithm two_proc --np 4 --size 1K", 2);
    ask("bcast --algorithm 3/0/1/0 --np 4 --size 2147483647", 2);
    ask("bcast --algorithm 1 --np 4 --size 3G", 2);
    ask("bcast --algorithm 1 --np 1 --size 1K", 0);
    // A rate below nothing, as no fit gives it.
    let mut odd = fitted(&session.path("model"));
    for pair in &mut odd.nodes.as_mut().unwrap().pairs {
        pair.rate = pair.rate.map(|rate| rate.map(|_| -1.0));
    }
    for node in &mut odd.nodes.as_mut().unwrap().nodes {
        node.link = node.link.map(|link| link.map(|_| -1.0));
    }
    session.write("model/model.json", serde_json::to_string(&odd).unwrap());
    ask("bcast --algorithm 1 --np 4 --size 1K", 2);
    let tune = "tune --simulate --simulated-model";
    session.run(&format!("{tune} model/model.json --ops bcast --also-layout one-per-node --out laid")).exits(2);
    session.run(&format!("{tune} model/model.json --ops bcast --np 4 --out run")).exits(4);
    session.run(&format!("{tune} nosuch --ops bcast --out run")).exits(3);
    assert_said!(session);
}

/// Calls with more messages than are played are not missing in silence.
#[test]
fn predictions_that_are_too_much_to_play_are_said() {
    let scratch = tempfile::tempdir().unwrap();
    let measured = "model --simulate --simulated-slots 66 --ops alltoall --sizes 1K --partners 2 --launches 2 --out";
    let out = scratch.path().join("run");
    collrules(measured, &out).exits(0);
    let model = fitted(&out);
    let is_alltoall = |cell: &Cell| (cell.collective, cell.ranks) == (Collective::Alltoall, Ranks(66));
    let left = |it: &Unknown| matches!(it, Unknown::Predictions { calls: 2, cell, .. } if is_alltoall(cell));
    assert!(model.unknown.iter().any(left), "{:?}", model.unknown);
}

#[test]
fn what_cannot_be_fitted_is_refused_in_a_sentence() {
    let session = Session::new();
    let head = "pattern,ranks,bytes,launch,seconds\n";
    let (negative, no_trips) = (format!("{head}pingpong,0+1,0,0,-1\n"), format!("{head}one-to-two,0+1+2,0,0,1\n"));
    let two_ranks = format!("{head}pingpong,0+1,0,0,1e-5\npingpong,0+1,1024,0,2e-5\n");
    for (text, code) in [("a,b\n1,2\n", 3), (&negative, 3), (&no_trips, 3), (&two_ranks, 0)] {
        session.write("probes.csv", text);
        session.run("model --probes probes.csv").exits(code);
    }
    session.run("model --probes missing").exits(3);
    session.write("model.json", "{\"format\":{\"major\":9,\"minor\":0}}");
    session.run("model model.json").exits(3);
    assert_said!(session);
}

/// The simulated cluster has 10 µs for a message and 1 ns for a byte.
#[test]
fn the_simulated_cluster_is_measured_and_fitted() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("model --simulate --simulated-slots 5 --sizes 1K,32K,256K,1M --out", &out).exits(0);
    let model = fitted(&out);
    assert!(model.simulated && !model.quality.is_empty());
    let line = &model.ways[0].regimes[0];
    assert!((line.alpha.point / 10e-6 - 1.0).abs() < 0.05, "{line:?}");
    assert!((line.beta.point / 1e-9 - 1.0).abs() < 0.05, "{line:?}");
    // Fitted again, it says the same.
    collrules("model", &out).exits(0);
    assert_eq!(fitted(&out).ways, model.ways);
}

/// Calls are played on a machine that a model describes, and probes of them give the model back: its links, what passes idle
/// ones, and what is planted into calls.
#[test]
fn a_model_is_simulated_and_comes_back() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let rates = [25e6, 25e6, 12.5e6, 25e6, 25e6];
    fs::write(at("probes.csv"), table(&rates)).unwrap();
    collrules(&format!("model --out {} --probes", at("known").display()), &at("probes.csv")).exits(10);
    let file = at("known").join("model.json");
    let mut known = fitted(&at("known"));
    known.release = Some(Release::V4_1);
    let rate = known.ways[0].regimes[0].beta;
    known.ways[0].burst = Some(rate.map(|_| 16e3));
    // Short messages pass at once.
    known.ways[0].regimes[0].beta = rate.map(|_| 1e-10);
    let from = Bytes(32 << 10);
    let planted =
        Slowdown { collective: Collective::Gather, algorithm: Some(1), from, to: from, more: 0.2, probability: 0.3 };
    known.planted.push(planted);
    fs::write(&file, serde_json::to_string(&known).unwrap()).unwrap();

    let simulated = format!("--simulate --simulated-model {}", file.display());
    collrules(&format!("model {simulated} --ops scatter --launches 3 --out"), &at("again")).exits(10);
    let again = fitted(&at("again"));
    assert!(again.simulated && matches!(&again.slow.nodes[..], [node] if node.rank == 2), "{:?}", again.slow);
    let links: Vec<f64> = again.nodes.unwrap().nodes.iter().map(|node| node.link.unwrap().point).collect();
    for (found, planted) in links.iter().zip(rates) {
        assert!((found / planted - 1.0).abs() < 0.1, "{links:?}");
    }
    let burst = again.ways[0].burst.unwrap().point;
    assert!((burst / 16e3 - 1.0).abs() < 0.15, "{burst}");

    let stalls = at("stalls");
    collrules(&format!("irregular {simulated} --ops gather --sizes 4K:128K --launches 2 --out"), &stalls).exits(0);
    let found: Irregular = serde_json::from_str(&fs::read_to_string(stalls.join("irregular.json")).unwrap()).unwrap();
    let stall = found.stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap();
    assert_eq!((stall.quiet_below, stall.first, stall.last), (Some(Bytes(16 << 10)), from, from));
    let stalling = found.points.iter().find(|calls| (calls.cell.bytes, calls.candidate) == (from, Candidate::Builtin));
    assert!(stalling.unwrap().levels.iter().all(|level| level.is_timeout), "{stalling:?}");

    collrules(&format!("tune {simulated} --ops bcast --sizes 512K --out"), &at("tuned")).exits(0);
    assert!(!findings(&at("tuned")).table.is_empty());
    // Its messages are not known.
    collrules(&format!("tune {simulated} --ops allreduce --out"), &at("unknown")).exits(5);
}

/// The scenario has violations of guidelines, and was taken for slow nodes that the model had missed.
#[test]
fn a_scenario_that_plants_nothing_for_models_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let ran = collrules("model --simulate=planted --np 4 --calls 3 --out", &scratch.path().join("model")).exits(0);
    ran.complains("--simulate=planted is for `guidelines`, not for models");
}
