//! Calls that stall, or do not.

use std::fs;

use collrules_import::Facts;
use collrules_lab::irregular::Irregularity;
use collrules_lab::model::{CallQuestion, Modelling, ask, ask_many_to_one};
use collrules_model::stalls::{CallTimes, Irregular, Jump, StallLevel, Stalls};
use collrules_program::mockup::MockupPattern;
use collrules_record::{Bytes, Candidate, CandidateName, Mockup};
use collrules_rules::Collective;
use collrules_workflow::WorkflowError;

use crate::reseal::reseal;
use crate::stage::{LabFixture, data, play, read};

/// A machine of 8 hosts on which gathers of 16 and 32 KiB by the default stall for 200 ms, and scatters leap above 16 KiB.
fn stalling_machine() -> String {
    format!("--simulate --simulated-model {}", data("stalling-machine.json").display())
}

fn of_default(found: &Irregular) -> &Stalls {
    found.stalls.iter().find(|range| range.candidate == Candidate::Builtin).unwrap()
}

/// Pieces are timed in a second round, as many as M1 and S ask for; `hmpi.h` has the sizes at which they were shown to help. A
/// header of before is taken away if no pieces were timed.
#[test]
fn planted_stalls_are_found_and_cured() {
    let stage = LabFixture::new();
    let words = "--ops gather,scatter --sizes 4K:128K --launches 2 --calls 60 --budget none";
    let found = stage.measure::<Irregularity>(&format!("{} {words}", stalling_machine()), "run").unwrap();
    let range = of_default(&found);
    assert_eq!((range.first, range.last, range.pieces), (Bytes(16 << 10), Bytes(32 << 10), Some(4)));
    assert_eq!(range.quiet_below, Some(Bytes(8 << 10)));
    let stalling = |calls: &&CallTimes| calls.candidate == Candidate::Builtin && calls.cell.bytes == range.first;
    let gather =
        found.points.iter().filter(stalling).find(|calls| calls.cell.collective == Collective::Gather).unwrap();
    assert!(gather.levels.iter().any(|level| level.is_timeout), "{gather:?}");
    let cure = range.cures.iter().find(|cure| cure.longest == Some(Bytes(8 << 10))).unwrap();
    assert!(cure.mean.1 < cure.mean.0 && cure.p99.1 < cure.p99.0, "{cure:?}");
    let is_leap = |step: &&Jump| (step.collective, step.candidate) == (Collective::Scatter, Candidate::Builtin);
    let leaps: Vec<&Jump> = found.steps.iter().filter(is_leap).collect();
    assert!(leaps.iter().any(|step| step.below == Bytes(16 << 10) && step.cured.is_some()), "{leaps:?}");
    assert!(stage.path("run/irregular.md").is_file() && stage.path("run/irregular.html").is_file());
    let header = stage.text("run/hmpi.h");
    assert!(header.contains("#define HMPI_M1 8192\n#define HMPI_M2 32768\n#define HMPI_S 16384\n"), "{header}");

    let samples = stage.text("run/samples.csv");
    let kept: String = samples.split_inclusive('\n').filter(|line| !line.contains(",split:")).collect();
    assert!(kept.len() < samples.len(), "pieces were timed");
    stage.write("run/samples.csv", &kept);
    reseal(&stage.path("run"));
    of_default(&stage.analyse::<Irregularity>("", "run", None).unwrap());
    assert!(!stage.path("run/hmpi.h").exists(), "its pieces were not timed");
}

/// Hosts with one slot, and gathers of 8 to 64 KiB that stall for 200 ms always, for 50 ms, or for 200 and 600 ms; with other sizes, and
/// with these alone. A scatter of 128 KiB and more takes 10 ms longer.
#[test]
fn stalls_of_any_length_and_probability_are_found() {
    let stage = LabFixture::new();
    let measure = |machine: &str, grid: &str| -> Irregular {
        let file = data(&format!("irregular-{machine}.json"));
        let words = format!("--simulate --simulated-model {} {grid} --calls 60 --budget none", file.display());
        stage.measure::<Irregularity>(&words, &format!("{machine}{}", grid.len())).unwrap()
    };
    let kib = |size: u64| Bytes(size << 10);
    for (machine, levels) in
        [("always", &[(0.2, 1.0)][..]), ("50ms", &[(0.05, 0.3)]), ("600ms", &[(0.2, 0.25), (0.6, 0.1)])]
    {
        for grid in ["--ops gather", "--ops gather --sizes 8K:64K"] {
            let found = measure(machine, grid);
            let range = of_default(&found);
            let ends = (range.quiet_below, range.first, range.last);
            assert_eq!(ends, (Some(kib(4)), kib(8), kib(64)), "{machine} {grid}");
            assert!(range.cures.iter().any(|cure| cure.longest == Some(kib(4))), "{machine} {grid}");
            let is_point = |calls: &&CallTimes| (calls.cell.bytes, calls.candidate) == (kib(16), Candidate::Builtin);
            let point = found.points.iter().find(is_point).unwrap();
            for (more, probability) in levels {
                let of_length = |level: &&StallLevel| (level.more.0 / more - 1.0).abs() < 0.05;
                let share = point.levels.iter().find(of_length).unwrap().probability;
                let reach = 0.1;
                assert!(share.low.unwrap() - reach < *probability && *probability < share.high.unwrap() + reach);
            }
        }
    }
    for grid in ["--ops scatter", "--ops scatter --sizes 4K:128K"] {
        let found = measure("leap", grid);
        let of_default = |step: &&Jump| step.candidate == Candidate::Builtin;
        let leaps: Vec<&Jump> = found.steps.iter().filter(of_default).collect();
        let [leap] = leaps[..] else { panic!("{leaps:?}") };
        assert_eq!((leap.below, leap.above), (kib(64), kib(128)), "{grid}");
        assert!((leap.height.0 / 0.01 - 1.0).abs() < 0.05 && leap.cured.is_some(), "{leap:?}");
    }
}

/// The machine of `irregular-leap.json` with other delays: collective, algorithm, first and last size, seconds, probability.
fn machine(stage: &LabFixture, hosts: usize, planted: &[(&str, u32, u64, u64, f64, f64)]) -> String {
    let text = fs::read_to_string(data("irregular-leap.json")).unwrap();
    let mut machine: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = |(collective, algorithm, from, to, more, probability): &(&str, u32, u64, u64, f64, f64)| {
        serde_json::json!({
            "collective": collective, "algorithm": algorithm, "from": from, "to": to, "more": more,
            "probability": probability,
        })
    };
    machine["planted"] = planted.iter().map(entry).collect();
    for (rank, host) in machine["ranks"].as_object_mut().unwrap() {
        *host = format!("simulated{}", rank.parse::<usize>().unwrap() * hosts / 8).into();
    }
    let place = if hosts == 1 { "inside" } else { "between" };
    machine["ways"][0]["place"] = place.into();
    let pairs = machine["nodes"]["pairs"].as_array_mut().unwrap();
    pairs.iter_mut().for_each(|pair| pair["place"] = place.into());
    let file = stage.write("machine.json", &machine.to_string());
    format!("--simulate --simulated-model {} --calls 60 --budget none", file.display())
}

/// Leaps at the first of the default sizes, and two of them one or two sizes apart; scatters and gathers in pieces below the
/// lowest, for programs.
#[test]
fn leaps_at_the_first_sizes_and_close_to_each_other_are_found() {
    let stage = LabFixture::new();
    const ALL: u64 = 1 << 30;
    for (collective, leaps) in [
        ("scatter", &[(4, 1e-2)][..]),
        ("scatter", &[(2, 1e-2)]),
        ("scatter", &[(8, 5e-4), (32, 2e-2)]),
        ("scatter", &[(8, 5e-4), (16, 2e-2)]),
        ("gather", &[(16, 2e-3), (64, 7e-3)]),
    ] {
        let planted: Vec<_> = leaps.iter().map(|(kib, more)| (collective, 1, kib << 10, ALL, *more, 1.0)).collect();
        let words = format!("{} --ops {collective}", machine(&stage, 8, &planted));
        let out = format!("{collective}{leaps:?}");
        let found = stage.measure::<Irregularity>(&words, &out).unwrap();
        let own: Vec<&Jump> = found.steps.iter().filter(|step| step.candidate == Candidate::Builtin).collect();
        let places: Vec<u64> = own.iter().map(|step| step.above.0 >> 10).collect();
        assert_eq!(places, leaps.iter().map(|(kib, _)| *kib).collect::<Vec<_>>(), "{out}: {own:?}");
        for (step, (_, more)) in own.iter().zip(leaps) {
            assert!((step.height.0 / more - 1.0).abs() < 0.1, "{out}: {step:?}");
        }
        let lowest = own[0].below.0;
        let macro_of = if collective == "scatter" { "HMPI_S" } else { "HMPI_M1" };
        let header = stage.text(&format!("{out}/hmpi.h"));
        assert!(header.contains(&format!("#define {macro_of} {lowest}\n")), "{out}: {header}");
    }
}

/// On one host there is no network, and no control inside: 200 and 400 ms that only gathers of medium size show are still
/// theirs.
#[test]
fn stalls_on_one_host_have_a_range_and_a_cure() {
    let stage = LabFixture::new();
    for (first, last, levels) in [(8, 32, [(0.2001, 0.17), (0.4002, 0.12)]), (4, 16, [(0.1, 0.2), (0.31, 0.15)])] {
        let planted = levels.map(|(more, share)| ("gather", 1, first << 10, last << 10, more, share));
        let words = format!("{} --ops gather", machine(&stage, 1, &planted));
        let out = format!("one{first}");
        let found = stage.measure::<Irregularity>(&words, &out).unwrap();
        assert!(found.one_host);
        let range = of_default(&found);
        let ends = (range.quiet_below, range.first, range.last);
        assert_eq!(ends, (Some(Bytes(first << 9)), Bytes(first << 10), Bytes(last << 10)));
        assert!(!range.cures.is_empty());
        let header = stage.text(&format!("{out}/hmpi.h"));
        assert!(header.contains(&format!("HMPI_M1 {}\n#define HMPI_M2 {}\n", first << 9, last << 10)), "{header}");
        assert!(stage.text(&format!("{out}/irregular.md")).contains("All ranks are on one host"));
    }
}

/// Alltoalls alone once had nothing to measure. With a model of the machine, stalls of all calls of all sizes are found, and a
/// run is resumed by the command that began it.
#[test]
fn all_calls_of_an_alltoall_stall() {
    let stage = LabFixture::new();
    let mut machine: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(data("irregular-always.json")).unwrap()).unwrap();
    let planted = &mut machine["planted"][0];
    (planted["collective"], planted["algorithm"]) = ("alltoall".into(), serde_json::Value::Null);
    (planted["from"], planted["to"], planted["more"]) = (0.into(), (8 << 20).into(), 0.05.into());
    let file = stage.write("machine.json", &machine.to_string());
    let simulated = format!("--simulate --simulated-model {} --budget none", file.display());
    stage.measure::<Modelling>(&format!("{simulated} --calls 20"), "model").unwrap();
    let words = format!("--ops alltoall --sizes 2K,4K --calls 40 {simulated}");
    assert_eq!(stage.measure::<Irregularity>(&words, "without").unwrap().stalls, []);
    let with = format!("--model {}", stage.path("model").display());
    let found = stage.measure::<Irregularity>(&format!("{words} {with}"), "with").unwrap();
    let range = of_default(&found);
    assert_eq!((range.collective, range.quiet_below), (Collective::Alltoall, None));
    let alltoallv = Candidate::Mockup(Mockup::Pattern(MockupPattern::Alltoallv));
    assert!(found.stalls.iter().any(|range| range.candidate == alltoallv));
    assert_eq!(stage.resume::<Irregularity>(&with, "with").unwrap().stalls, found.stalls);
    assert!(matches!(stage.resume::<Modelling>("", "with"), Err(WorkflowError::Usage(_))));
}

/// Gathers that stall are in the model, with what they take at small, medium and large sizes, and predictions have their mean.
#[test]
fn the_many_to_one_model_is_fitted_and_asked() {
    let stage = LabFixture::new();
    let words = "--np 8 --ops gather --sizes 2K:256K --calls 40 --budget none";
    let model = stage.measure::<Modelling>(&format!("{} {words}", stalling_machine()), "model").unwrap();
    let linear = model.many_to_one.iter().find(|gather| gather.name == "basic_linear").unwrap();
    assert_eq!((linear.quiet_below, linear.last), (Bytes(8 << 10), Bytes(32 << 10)));
    assert!(linear.kappa1.is_some(), "{linear:?}");
    let stalling = |size: &str| {
        let words = format!("--op gather --algorithm basic_linear --np 8 --size {size}");
        let question: CallQuestion = read(&words).unwrap();
        let (choice, ..) = play(|session| ask(&model, &question, session)).unwrap();
        ask_many_to_one(&model, &question, choice).unwrap()
    };
    let (small, large) = (stalling("4K"), stalling("32K"));
    assert_eq!(small.stalling, 0.0);
    assert!(large.stalling > 0.0 && !large.quantiles.is_empty(), "{large:?}");
}

/// Every way is called as often as asked for in each launch, gatherv and scatterv among them, and first calls are apart. A way of
/// which the budget left no second call is named.
#[test]
fn all_calls_that_were_asked_for_are_kept() {
    let stage = LabFixture::new();
    let found = stage.measure::<Irregularity>("--simulate --sizes 4K,8K --launches 3 --calls 7", "run").unwrap();
    let first = |calls: &CallTimes| calls.first.map(|first| first.calls);
    assert!(found.points.iter().all(|calls| calls.calls == 18 && first(calls) == Some(3)), "{:?}", found.points);
    assert_eq!(found.only_first, []);
    let gatherv = Candidate::Mockup(Mockup::Pattern(MockupPattern::Gatherv));
    let scatterv = Candidate::Mockup(Mockup::Pattern(MockupPattern::Scatterv));
    for (collective, vector) in [(Collective::Gather, gatherv), (Collective::Scatter, scatterv)] {
        let of = |calls: &&CallTimes| calls.cell.collective == collective && calls.candidate == vector;
        assert_eq!(found.points.iter().filter(of).count(), 2, "{vector:?}");
    }
    let samples = stage.text("run/samples.csv");
    let is_first = |line: &str| line.split(',').skip(1).take(2).eq(["0", "0"]);
    let keep = |line: &&str| !line.contains(",gather,8,4096,mockup:gatherv,") || is_first(line);
    let kept: String = samples.split_inclusive('\n').filter(keep).collect();
    assert!(kept.len() < samples.len(), "{samples}");
    stage.write("run/samples.csv", &kept);
    reseal(&stage.path("run"));
    let found = stage.analyse::<Irregularity>("", "run", None).unwrap();
    let [(cell, candidate)] = found.only_first[..] else { panic!("{:?}", found.only_first) };
    assert_eq!((cell.bytes, candidate), (Bytes(4 << 10), gatherv));
}

/// Single calls that ReproMPI timed, of which every third one of 8 to 64 KiB waits for 200 ms; its summaries tell nothing, and
/// neither does a directory without a run.
#[test]
fn imported_calls_are_examined() {
    let mut stage = LabFixture::new();
    let import = |name: &str, rows: &str| {
        let facts = Facts { algorithm: Some(CandidateName::read("builtin")), ..Facts::default() };
        stage.import(name, &format!("#@datatype_size_bytes=1\n#@nprocs=8\n#@clocktype=local\n{rows}"), facts);
    };
    let mut calls = "test nrep count runtime_sec\n".to_owned();
    for power in 10..=18_u32 {
        for call in 0..150_u32 {
            let stalls = (13..=16).contains(&power) && call % 3 == 0;
            let usual = 20e-6 + 8e-9 * f64::from(1_u32 << power) * (1.0 + 0.002 * f64::from(call % 50));
            let time = usual + if stalls { 0.2 + 1e-5 * f64::from(call) } else { 0.0 };
            calls += &format!("MPI_Gather {call} {} {time:.9}\n", 1_u32 << power);
        }
    }
    import("calls", &calls);
    let summary = "test count total_nrep valid_nrep mean_sec median_sec min_sec max_sec\nMPI_Gather 8 10 10 1e-5 1e-5 1e-5 1e-5\n";
    import("summaries", summary);
    let found = stage.analyse::<Irregularity>("", "calls", None).unwrap();
    let [range] = &found.stalls[..] else { panic!("{:?}", found.stalls) };
    let ends = (range.quiet_below, range.first, range.last);
    assert_eq!(ends, (Some(Bytes(4 << 10)), Bytes(8 << 10), Bytes(64 << 10)));
    for input in ["summaries", "."] {
        let examined = stage.analyse::<Irregularity>("", input, None);
        stage.refuse(input, examined);
    }
    insta::assert_snapshot!(stage.refused());
}
