//! Studies on the simulated cluster, whose times are known on paper, and those that come with the sources.

use std::fs;
use std::path::{Path, PathBuf};

use collrules_lab::study::results::{ClassVerdict, CurveAxis, Study, StudyCell, StudyVerdict};
use collrules_record::pattern::Shape;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell};
use collrules_rules::{Choice, Collective};

use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, collrules, data, findings};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studies").join(name)
}

fn study(definition: &Path, options: &str, out: &Path) -> Ran {
    let mut command = bounded();
    command.arg("study").arg(definition).args(options.split_whitespace()).arg("--out").arg(out);
    command.output().unwrap().into()
}

fn found(out: &Path) -> Study {
    serde_json::from_str(&fs::read_to_string(out.join("study.json")).unwrap()).unwrap()
}

/// With latency a = 10 µs and byte time b = 1 ns the stale builtin of scatter is linear, 2(p - 1)a / 2 + (p - 1)bm, and
/// binomial takes log2(p) a + (p - 1)bm: on 8 ranks 70 µs and 30 µs for small messages.
#[test]
fn the_cost_model_is_found_again() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("study");
    study(&example("bcast-scatter.toml"), "--simulate", &out).exits(0);

    let study = found(&out);
    assert_eq!((study.launches, study.simulated), (6, true));
    // The definition asks for up to 256 ranks, and there are 8 slots.
    assert_eq!(study.cells.iter().map(|cell| cell.cell.ranks).max(), Some(Ranks(8)));
    let cell = Cell { collective: Collective::Scatter, ranks: Ranks(8), bytes: Bytes(1) };
    let points = &study.cells.iter().find(|found| found.cell == cell).unwrap().points;
    let point = |algorithm| {
        let candidate = if algorithm == 0 { Candidate::Builtin } else { Candidate::Tuned(Choice::plain(algorithm)) };
        points.iter().find(|point| point.candidate == candidate).unwrap()
    };
    let gain = point(2).gain.unwrap();
    assert!((gain.point / (7.0 / 3.0) - 1.0).abs() < 0.02, "{gain:?}");
    let outcomes = [0, 1, 2].map(|algorithm| point(algorithm).outcome);
    assert_eq!(outcomes, [StudyVerdict::Reference, StudyVerdict::Alike, StudyVerdict::Faster]);
    // Binomial grows as the logarithm of ranks, 1, 2 and 3 times: the power of the line through these is 0.80.
    let curve = study.curves.iter().find(|curve| {
        let of = (curve.collective, curve.along, curve.candidate);
        of == (Collective::Scatter, CurveAxis::Ranks(Bytes(4)), Candidate::Tuned(Choice::plain(2)))
    });
    let exponent = curve.unwrap().powers[0].value;
    assert!((exponent.point - 3f64.ln() / 4f64.ln()).abs() < 0.03, "{exponent:?}");
    let text = fs::read_to_string(out.join("README.md")).unwrap();
    for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
        let file = rest.split(')').next().unwrap();
        let drawing = fs::read_to_string(out.join(file)).unwrap();
        assert!(drawing.starts_with("<svg") && drawing.contains("binomial") | drawing.contains("ranks"), "{file}");
    }
    assert!(text.contains("over-sizes-8.svg"), "{text}");
    let rows = fs::read_to_string(out.join("times.csv")).unwrap().lines().count();
    assert_eq!(rows, 1 + study.cells.iter().map(|cell| cell.points.len()).sum::<usize>());
}

/// A run can be shown as a study again without measuring, and resumed.
#[test]
fn a_study_is_made_of_a_run() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    let barrier = example("bcast-barrier.toml");
    study(&barrier, "--simulate=noise --np 2,4 --launches 2", &first).exits(0);
    let outcomes = |study: &Study| -> Vec<StudyVerdict> {
        study.cells.iter().flat_map(|cell| &cell.points).map(|point| point.outcome).collect()
    };
    let noise = found(&first);
    assert!(outcomes(&noise).iter().all(|it| matches!(it, StudyVerdict::Reference | StudyVerdict::Alike)));
    study(&barrier, "--simulate", &first).exits(6);
    fs::remove_file(first.join("README.md")).unwrap();
    study(&barrier, "--simulate", &first).exits(6);
    let (run, less) = (format!("--run {}", first.display()), scratch.path().join("less"));
    study(&barrier, &run, &less).exits(0);
    assert_eq!(found(&less).cells.len(), noise.cells.len(), "what the run lacks is left out");
    study(&barrier, &format!("{run} --np 2,4 --launches 3"), &second).exits(2);
    assert!(!second.exists());
    study(&barrier, &format!("{run} --np 2,4"), &second).exits(0);
    assert_eq!(found(&first), found(&second));
    let mut resumed = bounded();
    let resumed = resumed.arg("study").arg(&barrier).args(["--np", "2,4", "--resume"]).arg(&first).output().unwrap();
    Ran::from(resumed).exits(0);
    assert_eq!(outcomes(&found(&first)), outcomes(&noise));
}

/// A run that holds more than a definition asks for shows no more than that, and what one lacks is said.
#[test]
fn a_study_of_a_run_is_about_its_definition() {
    let scratch = tempfile::tempdir().unwrap();
    let (run, definition) = (scratch.path().join("run"), scratch.path().join("study.toml"));
    collrules("measure --simulate --np 2,4,8 --sizes 1K:64K --ops bcast,barrier --budget 60s --out", &run).exits(0);
    let of_run = |np: &str, algorithms: &str, out: &str, code: i32| {
        let text = format!("title = 'T'\nquestion = 'Q'\nnp = {np}\nsizes = '1K,8K'\n[algorithms]\n{algorithms}\n");
        fs::write(&definition, text).unwrap();
        study(&definition, &format!("--run {}", run.display()), &scratch.path().join(out)).exits(code)
    };
    of_run("[2, 4]", "bcast = ['binomial', 'pipeline', '6']", "some", 0);
    let some = found(&scratch.path().join("some"));
    let cells: Vec<(u32, u64)> = some.cells.iter().map(|found| (found.cell.ranks.0, found.cell.bytes.0)).collect();
    assert_eq!(cells, [(2, 1 << 10), (2, 8 << 10), (4, 1 << 10), (4, 8 << 10)]);
    let wanted = [3, 6].map(|algorithm| Candidate::Tuned(Choice::plain(algorithm)));
    for cell in &some.cells {
        let shown: Vec<Candidate> = cell.points.iter().map(|point| point.candidate).collect();
        assert_eq!(shown, [Candidate::Builtin, wanted[0], wanted[1]], "{:?}", cell.cell);
        // On 2 ranks basic_linear was timed for both, which is not asked for.
        let by = if cell.cell.ranks == Ranks(2) { wanted[0] } else { wanted[1] };
        assert_eq!(cell.points[2].measured_as, by);
        assert!(cell.points[1].q_value.is_some() && cell.points[2].q_value.is_some(), "{cell:?}");
    }
    of_run("[4, 6]", "bcast = ['6']\nscatter = ['binomial']", "less", 0);
    let less = found(&scratch.path().join("less")).cells;
    assert!(less.len() == 2 && less.iter().all(|found| found.cell.ranks == Ranks(4)), "{less:?}");
    of_run("[4]", "bcast = ['tuned:3/0/512/0']", "other", 0);
    let other = found(&scratch.path().join("other")).cells;
    assert!(other.iter().all(|found| found.points.len() == 1), "only the default was measured: {other:?}");
    of_run("[4]", "bcast = ['oak']", "none", 3);
}

/// An algorithm that is named twice is one, and text from elsewhere ends no line.
#[test]
fn what_is_named_twice_counts_once_and_titles_are_harmless() {
    let scratch = tempfile::tempdir().unwrap();
    let (definition, out) = (scratch.path().join("study.toml"), scratch.path().join("out"));
    let text = "title = \"A\\n# B\"\nquestion = \"<b>Q\\u001b[2J\\u0000\"\nnp = [4]\nsizes = '1K:4K'\n[algorithms]\n\
                bcast = ['chain', 'chain', '3']\n[figures]\nover_ranks = ['1K']\n";
    fs::write(&definition, text).unwrap();
    study(&definition, "--simulate", &out).exits(0);
    assert_eq!(found(&out).overall.len(), 2);
    assert!(!out.join("bcast-over-ranks-1KiB.svg").exists(), "a line needs two points");
    assert!(found(&out).cells.iter().all(|cell| cell.points.len() == 3));
    let text = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(text.starts_with("# A # B\n") && text.contains("\n\n&lt;b>Q [2J\n\n"), "{text}");
    let run = scratch.path().join("run");
    collrules("tune --simulate --np 4 --sizes 1K --ops bcast --only bcast:binomial,bcast:6 --out", &run).exits(0);
    assert_eq!(findings(&run).cells[0].points.len(), 2);
}

#[test]
fn definitions_that_make_no_sense_are_refused() {
    let session = Session::new();
    let small = "title = 'T'\nquestion = 'Q'\nnp = [2]\n[algorithms]\nbarrier = ['tree']\n";
    let wide = small.replace("[2]", "[64]");
    let two = small.replace("[2]", "[4]").replace("tree", "two_proc");
    for (text, options, code) in [
        ("x", "", 3),
        ("title = '\u{1b}[2J'\n", "", 3),
        (&wide, "", 4),
        (small, "--np 2,64", 4),
        (small, "--launches 4294967295", 2),
        (&small.replace("tree", "three"), "", 3),
        (&small.replace("tree", "builtin"), "", 3),
        (&two, "", 2),
    ] {
        session.write("study.toml", text);
        let ran = session.run(&format!("study study.toml --simulate {options} --out out")).exits(code);
        assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    }
    assert!(!session.path("out").exists());
    assert_said!(session);
    session.write("study.toml", small);
    session.run("study study.toml --simulate --out out").exits(0);
    let is_figure = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().path().extension() == Some("svg".as_ref());
    assert!(!fs::read_dir(session.path("out")).unwrap().any(is_figure), "one number of ranks makes no line");
}

/// A grid of which `--only` leaves nothing is refused before anything is measured.
#[test]
fn the_builtin_alone_is_nothing_to_measure() {
    let session = Session::new();
    for named in ["--only bcast:builtin", "--only bcast:0", "--only bcast:builtin,bcast:0", "--launches 4294967295"] {
        session.run(&format!("tune --simulate --np 4 {named} --out run")).exits(2);
    }
    assert!(!session.path("run").exists());
    assert_said!(session);
}

/// The studies that are checked in show figures that are there, and no path of the machine that made them.
#[test]
fn studies_in_the_sources_are_whole() {
    let names = ["bcast-barrier", "bcast-scatter", "building-blocks"];
    let placements = ["nodes-2", "nodes-4", "nodes-8"].map(|place| format!("building-blocks/{place}"));
    for name in names.map(str::to_owned).into_iter().chain(placements) {
        let name = name.as_str();
        let directory = example(name);
        let text = fs::read_to_string(directory.join("README.md")).unwrap();
        let files: Vec<&str> = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
        assert!(!files.is_empty(), "{name} shows nothing");
        assert!(files.iter().all(|file| directory.join(file).is_file()), "{name}: {files:?}");
        assert!(text.contains("--out target/studies/") && !text.contains("/tmp/"), "{name}");
    }
}

/// On paper, for 8 ranks in units of a / b = 10 000 B (methods of Chan et al.): bcast crosses at 5.6, reduce at 3.93, allgather
/// at 0.33, reduce-scatter at 0.28 and allreduce at 1.67, in bytes of the whole vector; scatter and gather never do.
#[test]
fn crossovers_of_reference_algorithms_are_those_on_paper() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("study");
    // At more sizes than the study itself, so that crossings lie between near ones.
    let text = fs::read_to_string(example("building-blocks.toml")).unwrap();
    let definition = scratch.path().join("definition.toml");
    fs::write(&definition, text.replace("64,256,1K,4K,16K,64K,256K,1M", "64:1M")).unwrap();
    study(&definition, "--simulate --simulated-slots 8", &out).exits(0);
    // These hosts have a slot each, so that there is one placement.
    let placements = ["nodes-2", "nodes-4", "nodes-8"].map(|name| out.join(name).exists());
    assert_eq!(placements, [false, false, true]);
    // Made again from what was measured, it is the same but for its command, and with files as OSU's programs write them.
    let again = scratch.path().join("again");
    let runs = format!("--osu-files --run {}", out.display());
    study(&definition, &runs, &again).exits(0);
    let pages = [&out, &again].map(|out| fs::read_to_string(out.join("nodes-8/study.json")).unwrap());
    assert_eq!(pages[0], pages[1]);
    let out = out.join("nodes-8");
    let study = found(&out);
    let files = again.join("nodes-8");
    let own = fs::read_to_string(files.join("osu-bcast-np8-binomial.txt")).unwrap();
    assert!(own.starts_with("\n# collrules MPI Bcast Latency Test v") && own.contains("\n# Size"), "{own}");
    let mut import = bounded();
    import.args(["import", "--release", "4.1", "--name-pattern", "osu-{collective}-np{np}-{algorithm}.txt"]);
    import.arg(files.join("osu-bcast-np8-binomial.txt")).arg("--out").arg(scratch.path().join("imported"));
    Ran::from(import.output().unwrap()).exits(0);
    let imported = fs::read_to_string(scratch.path().join("imported/samples.csv")).unwrap();
    assert_eq!(imported.lines().filter(|line| line.contains(",bcast,8,")).count(), 15);
    // OSU's "Avg Latency" is a mean over ranks: the slowest rank's median stood there.
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    let cell = Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(1024) };
    let points = &study.cells.iter().find(|found| found.cell == cell).unwrap().points;
    let binomial = Candidate::Tuned(Choice::plain(6));
    let by = points.iter().find(|point| point.candidate == binomial).unwrap().measured_as;
    let timed = format!(",bcast,8,1024,{by},");
    let means = samples.lines().filter(|line| line.contains(&timed));
    let means: Vec<f64> = means.map(|line| line.split(',').nth(9).unwrap().parse().unwrap()).collect();
    let average = own.lines().find(|line| line.starts_with("1024 ")).unwrap();
    let average: f64 = average.split_whitespace().nth(1).unwrap().parse().unwrap();
    let expected = 1e6 * means.iter().sum::<f64>() / means.len() as f64;
    assert!((average / expected - 1.0).abs() < 1e-4, "{average} {expected}");
    let regimes = |shape| &study.patterns.iter().find(|fit| fit.shape == shape).unwrap().regimes;
    let ([message], [operation]) = (&regimes(Shape::PingPong)[..], &regimes(Shape::ReduceLocal)[..]) else {
        panic!("{:?}", study.patterns);
    };
    for (found, expected) in [(message.start, 10e-6), (message.per_byte, 1e-9), (operation.per_byte, 0.25e-9)] {
        assert!((found.point / expected - 1.0).abs() < 0.02, "{found:?}");
    }
    let [short, long] = ["chan:short", "chan:long"].map(|name| name.parse::<Candidate>().unwrap());
    let paper = [
        (Collective::Bcast, Some(56_000.0)),
        (Collective::Reduce, Some(39_300.0)),
        (Collective::Allgather, Some(10_000.0 / 3.0 / 8.0)),
        (Collective::ReduceScatter, Some(2_832.0)),
        (Collective::Allreduce, Some(16_732.0)),
        (Collective::Scatter, None),
        (Collective::Gather, None),
    ];
    for (collective, expected) in paper {
        let of = study
            .rivalries
            .iter()
            .find(|rivalry| (rivalry.collective, rivalry.one, rivalry.other) == (collective, short, long));
        let rivalry = of.unwrap();
        let crossings: Vec<f64> = rivalry.crossings.iter().map(|crossing| crossing.at.0 as f64).collect();
        match expected {
            None => assert_eq!((crossings, rivalry.first), (Vec::new(), Some(short)), "{rivalry:?}"),
            Some(expected) => {
                assert!(matches!(crossings[..], [at] if (at / expected - 1.0).abs() < 0.1), "{expected}: {rivalry:?}");
                let predicted = rivalry.predicted.unwrap().0 as f64;
                assert!((predicted / expected - 1.0).abs() < 0.01, "{expected}: {rivalry:?}");
            }
        }
    }
    // No candidate undercuts the bound by more than noise, which is 5 % and the same for all of a round.
    for cell in &study.cells {
        let bound = cell.bound.unwrap().point;
        assert!(cell.points.iter().all(|point| point.time.point > 0.9 * bound), "{cell:?}");
    }
    let allreduce = study.classes.iter().filter(|verdict| verdict.collective == Collective::Allreduce);
    let whole = allreduce.max_by_key(|verdict| verdict.sizes.1.0 - verdict.sizes.0.0).unwrap();
    assert_eq!((whole.sizes, &whole.best[..]), ((Bytes(64), Bytes(1 << 20)), &[short][..]));
    // On this machine a rotation takes no more than one message.
    let [rotation] = &regimes(Shape::Rotation)[..] else { panic!("{:?}", study.patterns) };
    for (found, message) in [(rotation.start, message.start), (rotation.per_byte, message.per_byte)] {
        assert!((found.point / message.point - 1.0).abs() < 0.05, "{found:?}");
    }
}

/// The times of a collective by default on 2 nodes over those on 8, of a study of placements.
fn cost(page: &str, collective: &str) -> Vec<f64> {
    let row = page.lines().find(|line| line.starts_with(&format!("| {collective} | 8 | default |"))).unwrap();
    let last = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
    last.split(['(', ')', ' ']).filter_map(|word| word.parse().ok()).collect()
}

/// Campaigns that take turns, on simulated nodes where HAN handles calls as soon as ranks share one: a known difference
/// is found with an interval that holds it, and none where there is none.
#[test]
fn the_cost_of_a_placement_has_an_interval() {
    let scratch = tempfile::tempdir().unwrap();
    let definition = scratch.path().join("placements.toml");
    let text = "title = 'Placements'\nquestion = 'What do nodes cost?'\nnp = [8]\nnodes = [8, 2]\nsizes = '1K,64K'\n\
                budget = 'none'\n[algorithms]\nbcast = ['binomial']\nallreduce = ['ring']\n";
    fs::write(&definition, text).unwrap();
    let cluster = "--simulated-slots 32 --simulated-ppn 4";
    let (han, stale) = (scratch.path().join("han"), scratch.path().join("stale"));
    study(&definition, &format!("--simulate=han {cluster}"), &han).exits(0);
    let page = fs::read_to_string(han.join("README.md")).unwrap();
    let without_noise = |directory: &str, cell: Cell| {
        let study = found(&han.join(directory));
        let found = study.cells.into_iter().find(|found| found.cell == cell).unwrap();
        found.points[0].time.point
    };
    for collective in [Collective::Allreduce, Collective::Bcast] {
        let log = [1024, 65536].map(|bytes| {
            let cell = Cell { collective, ranks: Ranks(8), bytes: Bytes(bytes) };
            (without_noise("nodes-2", cell) / without_noise("nodes-8", cell)).ln()
        });
        let expected = (log.iter().sum::<f64>() / 2.0).exp();
        let found = cost(&page, collective.name());
        assert!(matches!(found[..], [_, low, high] if low - 0.01 < expected && expected < high + 0.01), "{found:?}");
        assert!(found[2] < 0.9, "HAN is faster: {found:?}");
    }
    study(&definition, &format!("--simulate {cluster}"), &stale).exits(0);
    let page = fs::read_to_string(stale.join("README.md")).unwrap();
    for collective in ["allreduce", "bcast"] {
        let found = cost(&page, collective);
        assert!(matches!(found[..], [_, low, high] if low < 1.0 && 1.0 < high && high < 1.1), "{found:?}");
    }
    // What was measured is compared again, and ranks are mapped as mpirun does.
    let (again, costs) =
        (scratch.path().join("again"), cost(&fs::read_to_string(han.join("README.md")).unwrap(), "bcast"));
    study(&definition, &format!("--run {}", han.display()), &again).exits(0);
    assert_eq!(cost(&fs::read_to_string(again.join("README.md")).unwrap(), "bcast"), costs);
    fs::write(&definition, text.replace("nodes = [8, 2]", "map-by = ['core', 'node']")).unwrap();
    let mapped = scratch.path().join("mapped");
    study(&definition, &format!("--simulate=han {cluster}"), &mapped).exits(0);
    let slowest = |name: &str| {
        let cells = found(&mapped.join(name)).cells;
        cells.iter().map(|cell| cell.points[0].time.point).fold(0.0, f64::max)
    };
    assert!((slowest("map-by-node") / slowest("map-by-core") - 1.0).abs() > 0.1, "HAN handles one of them");
}

/// The pages in examples/studies are of this build: `scripts/make-studies` makes them.
#[test]
fn pages_of_examples_are_of_this_build() {
    let (root, scratch) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
    for (name, options) in [
        ("bcast-scatter", "--run tests/data/epyc-two-nodes-osu.csv --release 4.1"),
        ("bcast-barrier", "--simulate --budget none"),
        ("building-blocks", "--simulate --budget none --simulated-slots 32 --simulated-ppn 4"),
    ] {
        let (definition, out) = (format!("examples/studies/{name}.toml"), scratch.path().join(name));
        let mut command = bounded();
        command
            .current_dir(root)
            .args(["lab", "study", &definition])
            .args(options.split_whitespace())
            .arg("--out")
            .arg(&out);
        Ran::from(command.output().unwrap()).exits(0);
        // The command names its directory.
        let page = |directory: &Path| {
            let text = fs::read_to_string(directory.join("README.md")).unwrap();
            text.lines().filter(|line| !line.starts_with("collrules lab study")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(page(&out), page(&root.join("examples/studies").join(name)), "run scripts/make-studies");
    }
}

/// Roots other than 0, and floating-point data: simulated, the calls of each variant are alike.
#[test]
fn roots_and_datatypes_are_compared() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, variants) in
        [("roots.toml", ["root-0", "root-4", "root-7"]), ("datatypes.toml", ["data-int", "data-float", "data-double"])]
    {
        let out = scratch.path().join(name);
        study(&example(name), "--simulate --budget none", &out).exits(0);
        for variant in variants {
            assert!(out.join(variant).join("samples.csv").exists(), "{name}: {variant}");
        }
    }
    let planned = |run: &str| -> serde_json::Value {
        let manifest = fs::read_to_string(scratch.path().join(run).join("manifest.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&manifest).unwrap()["plan"].take()
    };
    assert_eq!(planned("roots.toml/root-7")["arguments"]["root"], 7);
    let doubles = planned("datatypes.toml/data-double");
    assert_eq!(doubles["arguments"]["data"], "double");
    assert!(doubles["skipped"].to_string().contains("part_of_element"), "4 B are half of a double");
}

/// Real calls with every rank as the root, and with each datatype: their data are right, and they have times.
#[cfg(feature = "mpi")]
#[test]
fn real_calls_with_other_roots_and_datatypes_are_right() {
    use std::time::Duration;

    use collrules_record::plan::Schedule;
    use collrules_record::{Arguments, DataType, Layout, Seconds};
    use collrules_runner::Backend;
    use collrules_runner::launch::{LaunchCell, LaunchPlan};
    use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
    use collrules_runner::wire::WorkerEvent;

    use crate::support::{no_networks, under_each_release};

    let rooted = [Collective::Bcast, Collective::Scatter, Collective::Gather, Collective::Reduce];
    let reduced = [Collective::Allreduce, Collective::Reduce, Collective::ReduceScatter];
    let usual = Arguments::default();
    let mut plans: Vec<(&[Collective], Arguments)> = Vec::new();
    plans.extend([1, 2].map(|root| (&rooted[..], Arguments { root, ..usual })));
    plans.extend([DataType::Float, DataType::Double].map(|data| (&reduced[..], Arguments { data, ..usual })));
    under_each_release(|mpi| {
        let wishes = LauncherOptions {
            mpirun: Some(mpi.mpirun.clone()),
            worker: Some(mpi.worker()),
            arguments: no_networks(),
            oversubscribe: true,
            patience: Duration::from_secs(60),
            ..LauncherOptions::default()
        };
        let mut backend = MpiBackend::new(Launcher::find(&wishes).unwrap(), Layout::Block);
        for (collectives, arguments) in &plans {
            let references = ["chan:short", "chan:long"].map(|name| name.parse::<Candidate>().unwrap());
            let cells = collectives.iter().flat_map(|collective| {
                let tuned = (1..=3).map(|id| Candidate::Tuned(Choice::plain(id)));
                let candidates: Vec<Candidate> =
                    std::iter::once(Candidate::Builtin).chain(tuned).chain(references).collect();
                [24, 2048].map(|bytes| {
                    let cell = Cell { collective: *collective, ranks: Ranks(3), bytes: Bytes(bytes) };
                    LaunchCell::new(cell, candidates.clone())
                })
            });
            let cells: Vec<LaunchCell> = cells.collect();
            let schedule = Schedule { max_rounds: 1, min_rounds: 1, budget: Some(Seconds(0.0)), ..Schedule::default() };
            let plan = LaunchPlan { arguments: *arguments, ..LaunchPlan::new(cells, schedule, 1) };
            let mut timed = 0;
            let mut see = |event| {
                match event {
                    WorkerEvent::Disqualified { cell, candidate, why } => {
                        panic!("{arguments:?}: {} in {}: {why}", plan.turn(cell, candidate), plan.subject(cell))
                    }
                    WorkerEvent::Visited { candidates, .. } => timed += candidates.len(),
                    _ => {}
                }
                Ok(())
            };
            backend.measure(&plan, &mut see).unwrap();
            assert_eq!(timed, 2 * 6 * collectives.len(), "{arguments:?}");
        }
    });
}

/// Impossible placements are refused before anything is measured.
#[test]
fn placements_that_cannot_be_are_refused() {
    let session = Session::new();
    let text = fs::read_to_string(example("building-blocks.toml")).unwrap();
    for variants in [
        "nodes = [3]",
        "nodes = [2, 2]",
        "nodes = [0]",
        "map-by = [\"rack\"]",
        "nodes = [2]\nmap-by = [\"core\"]",
        "roots = [0, 3]",
        "data = [\"int\", \"double\"]",
        "roots = [0]\ndata = [\"int\"]",
        "nodes = [2, 4]",
    ] {
        session.write("definition.toml", text.replace("nodes = [2, 4, 8]", variants));
        session.run("study definition.toml --simulate --simulated-slots 8 --out study").exits(3);
        assert!(!session.path("study").exists(), "{variants}");
    }
    assert_said!(session);
}

/// The default's time over that of the fastest alternative, the default among them.
fn best_gain(cell: &StudyCell) -> f64 {
    let times = cell.points.iter().map(|point| point.time.point);
    cell.points[0].time.point / times.fold(f64::INFINITY, f64::min)
}

/// The numbers of the student study that asked first, as it left them: what they bear, and what not.
#[test]
fn a_table_that_others_measured_is_studied_as_it_stands() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    let table = data("epyc-two-nodes-osu.csv");
    study(&table, "--release 4.1", &out).exits(0);
    let whole = found(&out);
    // The report had the builtin as the best.
    let overall = |algorithm| {
        let of = (Collective::Bcast, Candidate::Tuned(Choice::plain(algorithm)));
        whole.overall.iter().find(|overall| (overall.collective, overall.candidate) == of).unwrap()
    };
    let bcast = || whole.overall.iter().filter(|overall| overall.collective == Collective::Bcast);
    let gains: Vec<f64> =
        whole.cells.iter().filter(|cell| cell.cell.collective == Collective::Bcast).map(best_gain).collect();
    assert_eq!((gains.iter().filter(|gain| **gain == 1.0).count(), gains.len()), (72, 168));
    let mean = (gains.iter().map(|gain| gain.ln()).sum::<f64>() / gains.len() as f64).exp();
    assert!((mean - 1.14).abs() < 0.005, "{mean}");
    let [knomial, binary_tree] = [7, 5].map(|algorithm| overall(algorithm).distance.point);
    assert!((knomial - 1.24).abs() < 0.005 && (binary_tree - 1.61).abs() < 0.005, "{knomial} {binary_tree}");
    assert!(bcast().all(|overall| overall.distance.point >= knomial));
    let falls = whole.curves.iter().find(|curve| {
        let of = (curve.collective, curve.along, curve.candidate);
        of == (Collective::Bcast, CurveAxis::Ranks(Bytes(1024)), Candidate::Builtin)
    });
    let peak = falls.unwrap().peak;
    assert!(peak.at == 128 && (peak.end.point - 0.65).abs() < 0.005, "{peak:?}");
    let files = ["bcast-over-ranks-1KiB.svg", "scatter-over-sizes-256.svg", "bcast-builtin.svg", "times.csv"];
    assert!(files.iter().all(|file| out.join(file).is_file()));
    assert!(whole.cells.iter().all(|cell| cell.points.iter().all(|point| point.q_value.is_none())));
    // Its own definition asks less of the same table, others ask more.
    let defined = scratch.path().join("defined");
    study(&example("bcast-scatter.toml"), &format!("--release 4.1 --run {}", table.display()), &defined).exits(0);
    assert!(defined.join("bcast-over-ranks-64KiB.svg").is_file());
    let less = scratch.path().join("less");
    study(&example("bcast-barrier.toml"), &format!("--run {}", table.display()), &less).exits(0);
    assert!(found(&less).cells.iter().all(|cell| cell.cell.collective == Collective::Bcast), "no barrier was measured");
    // Imported first, it is the same.
    let (run, imported) = (scratch.path().join("run"), scratch.path().join("imported"));
    let mut import = bounded();
    import.args(["import", "--release", "4.1", "--out"]).arg(&run).arg(&table);
    Ran::from(import.output().unwrap()).exits(0);
    study(&example("bcast-scatter.toml"), &format!("--run {}", run.display()), &imported).exits(0);
    assert_eq!(found(&defined).cells, found(&imported).cells);
}

#[test]
fn what_cannot_be_studied_is_said_in_a_sentence() {
    let session = Session::new();
    session.copy(&data("epyc-two-nodes-osu.csv"), "table.csv");
    session.write("words.txt", "these are no timings\n");
    let small = "title = 'T'\nquestion = 'Q'\nnp = [4]\nsizes = '1K'\n[algorithms]\n";
    session.write("plain.toml", format!("{small}bcast = ['chain']\n"));
    session.write("reference.toml", format!("{small}bcast = ['chan:short']\n"));
    session.write("none.toml", format!("{small}barrier = ['chan:short']\n"));
    session.write("oak.toml", format!("{small}bcast = ['chan:oak']\n"));
    session.write("huge.toml", format!("{}bcast = ['chan:long']\n", small.replace("1K", "8G")));
    for (command, code) in [
        ("study table.csv --launches 3 --out out", 2),
        ("study table.csv --refine 1 --out out", 2),
        ("study words.txt --out out", 3),
        ("study nowhere.csv --out out", 3),
        ("study plain.toml --release 4.1 --simulate --out out", 2),
        ("study none.toml --simulate --out out", 3),
        ("study oak.toml --simulate --out out", 3),
        ("study huge.toml --simulate --out out", 3),
        ("tune --simulate --np 4 --only barrier:chan:short --ops barrier --out out", 2),
        ("tune --simulate --ops bcast,scatter,barrier --np 4 --only bcast:chan:oak --out out", 2),
    ] {
        session.run(command).exits(code);
    }
    assert!(!session.path("out").exists());
    // A run without patterns has no bounds.
    session
        .run("measure --simulate --np 4 --sizes 1K --ops bcast --only bcast:chan:short --budget 20s --out run")
        .exits(0);
    session.run("study reference.toml --run run --out bare").exits(0);
    assert!(found(&session.path("bare")).cells.iter().all(|cell| cell.bound.is_none()));
    assert_said!(session);
}

/// Sizes between those of a definition are measured where long becomes faster than short, and the crossing is known
/// better.
#[test]
fn crossings_of_classes_are_refined() {
    let scratch = tempfile::tempdir().unwrap();
    let (definition, coarse, fine) =
        (scratch.path().join("study.toml"), scratch.path().join("coarse"), scratch.path().join("fine"));
    let text = "title = 'T'\nquestion = 'Q'\nnp = [8]\nvectors = '1K,16K,256K'\n[algorithms]\n\
                bcast = ['chan:short', 'chan:long']\nscatter = ['chan:short', 'chan:long']\n";
    fs::write(&definition, text).unwrap();
    let machine = "--simulate --simulated-slots 8";
    study(&definition, machine, &coarse).exits(0);
    study(&definition, &format!("{machine} --refine 3"), &fine).exits(0);
    let sizes = |out: &Path, collective: Collective| -> Vec<u64> {
        let cells = found(out).cells.into_iter().filter(|cell| cell.cell.collective == collective);
        cells.map(|cell| cell.cell.bytes.0).collect()
    };
    assert_eq!(sizes(&coarse, Collective::Bcast), [1 << 10, 1 << 14, 1 << 18]);
    // 56 000 bytes on paper: between 16 and 256 KiB, then 64 KiB and 32 KiB, ever nearer.
    let refined = sizes(&fine, Collective::Bcast);
    assert!(refined.len() == 6 && refined.contains(&(1 << 15)) && refined.contains(&(1 << 16)), "{refined:?}");
    assert_eq!(sizes(&fine, Collective::Scatter), sizes(&coarse, Collective::Scatter), "they never cross");
    for cell in found(&fine).cells {
        assert!(cell.points.len() == 3, "{cell:?}");
    }
    let short_to_long = |out: &Path| {
        let [short, long] = ["chan:short", "chan:long"].map(|name| name.parse::<Candidate>().unwrap());
        let rivalry = found(out)
            .rivalries
            .into_iter()
            .find(|rivalry| (rivalry.collective, rivalry.one, rivalry.other) == (Collective::Bcast, short, long));
        rivalry.unwrap().crossings[0]
    };
    let width = |out: &Path| {
        let (low, high) = short_to_long(out).interval;
        high.0 as f64 / low.0 as f64
    };
    assert!(width(&fine) < width(&coarse), "{:?} {:?}", short_to_long(&fine), short_to_long(&coarse));
    assert!((short_to_long(&fine).at.0 as f64 / 56_000.0 - 1.0).abs() < 0.1, "{:?}", short_to_long(&fine));
    // Sizes between others have launches of their own, in which no other size is: "cannot tell" was all that was left of the
    // best class, and no line over sizes and no gain over all cells.
    for out in [&coarse, &fine] {
        let whole = |verdict: &&ClassVerdict| verdict.collective == Collective::Bcast && verdict.sizes.0.0 == 1 << 10;
        let study = found(out);
        let verdict = study.classes.iter().filter(whole).max_by_key(|verdict| verdict.sizes.1).unwrap();
        let long: Candidate = "chan:long".parse().unwrap();
        assert!(verdict.sizes.1.0 == 1 << 18 && !verdict.best.contains(&long), "{verdict:?}");
        assert_eq!(study.overall.len(), 4, "{:?}", study.overall);
    }
    // Taken again from the run, the sizes between are there.
    let again = scratch.path().join("again");
    study(&definition, &format!("--run {}", fine.display()), &again).exits(0);
    assert_eq!(found(&again), found(&fine));
}

/// Means are over the sizes of the definition, with sizes added between them or not: 1.62 times the bound once became 1.75.
#[test]
fn means_are_over_the_sizes_that_were_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    study(&example("building-blocks.toml"), "--simulate --refine 1", &out).exits(0);
    let study = found(&out.join("nodes-8"));
    let bcast = || study.cells.iter().filter(|cell| cell.cell.collective == Collective::Bcast);
    assert!(bcast().any(|cell| cell.added) && bcast().any(|cell| !cell.added));
    let mean = |candidate: Candidate| {
        let over = |cell: &StudyCell| {
            let point = cell.points.iter().find(|point| point.candidate == candidate).unwrap();
            (point.time.point / cell.bound.unwrap().point).ln()
        };
        let logs: Vec<f64> = bcast().filter(|cell| !cell.added).map(over).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    };
    let candidates = bcast().next().unwrap().points.iter().map(|point| point.candidate);
    let least = candidates.map(mean).fold(f64::INFINITY, f64::min);
    let text = fs::read_to_string(out.join("README.md")).unwrap();
    let nearest = text.split_once("## Nearest to the bound").unwrap().1;
    let row = nearest.lines().find(|line| line.starts_with("| bcast | 8 |")).unwrap();
    assert!(row.contains(&format!(" {least:.2} |")), "{row} {least}");
    let grid: Vec<Bytes> = bcast().filter(|cell| !cell.added).map(|cell| cell.cell.bytes).collect();
    let verdicts = study.classes.iter().filter(|verdict| verdict.collective == Collective::Bcast);
    assert!(verdicts.flat_map(|verdict| [verdict.sizes.0, verdict.sizes.1]).all(|end| grid.contains(&end)));
}
