//! Promises of tunings against the findings of an independent judge: nothing of noise, nothing of a planted bias, and
//! no rule that is slower than the default.

use std::path::Path;

use collrules_record::Validation;
use collrules_record::rundir::RunDir;
use collrules_report::gains::Gains;
use collrules_rules::Collective;

use crate::agreement::contradictions;
use crate::support::{collrules, findings};

fn validation(run: &Path) -> Option<Validation> {
    RunDir::open(run).unwrap().validation().unwrap()
}

/// Tunes a simulated machine on which nothing differs but noise, and says whether anything was switched on.
fn noise_wins(seed: u64) -> bool {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    let arguments = format!(
        "tune --simulate=noise --np 2,4 --ops bcast,reduce --sizes 1K:64K --budget 4s --launches 3 --refine 0 --seed {seed} --out"
    );
    let ran = collrules(&arguments, &run);
    assert!(matches!(ran.code, Some(0 | 12 | 13)), "{} {}", ran.stdout, ran.stderr);
    !findings(&run).changes_nothing() && ran.code == Some(0)
}

#[test]
#[ignore = "part of `make test-all`"]
fn noise_alone_switches_on_nothing() {
    let wins: Vec<u64> = (0..6).filter(|seed| noise_wins(*seed)).collect();
    assert!(wins.is_empty(), "{wins:?}");
}

#[test]
#[ignore = "long: see CONTRIBUTING"]
fn long_noise_alone_switches_on_nothing_in_200_tunings() {
    let wins: Vec<u64> = (0..200).filter(|seed| noise_wins(*seed)).collect();
    assert!(wins.is_empty(), "{wins:?}");
}

/// The deceptive machine shows gains while calls are measured that turn into losses under the file from 256 KiB on.
#[test]
fn a_planted_bias_never_ends_as_a_rule() {
    for seed in 0..4 {
        let scratch = tempfile::tempdir().unwrap();
        let run = scratch.path().join("run");
        let arguments = format!("tune --simulate=deceptive --np 2,8 --ops bcast --sizes 64K:1M --seed {seed} --out");
        let ran = collrules(&arguments, &run).exits(0);
        let table = findings(&run).table;
        for bytes in [256 << 10, 300_000, 512 << 10, 700_000, 1 << 20] {
            assert!(table.lookup(Collective::Bcast, 8, bytes).is_builtin(), "seed {seed}, {bytes} B: {}", ran.stdout);
        }
        let validation = validation(&run).expect("it was compared");
        let fates = Gains::of_comparison(&validation).fates();
        assert!(validation.is_confirmed(), "{fates:?}");
        assert!(fates.dropped > 0);
        assert_eq!(contradictions(&run), [""; 0], "seed {seed}");
    }
}

#[cfg(feature = "mpi")]
mod judged {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use collrules_record::Candidate;
    use collrules_record::findings::Findings;
    use collrules_rules::{Choice, Collective};

    use crate::support::{
        OpenMpi, Ran, alone_under_each_release, alone_under_one_release, findings, prepare, say, skip,
    };
    use crate::virtual_cluster::{is_possible, name_cluster, virtual_cluster};

    /// Microseconds of each launch, by collective and bytes.
    type Times = BTreeMap<(String, u64), Vec<f64>>;

    /// The judge of `judge.c`, compiled with the mpicc next to an mpirun.
    fn compile(mpi: &OpenMpi, scratch: &Path) -> Option<PathBuf> {
        let mpicc = match mpi.mpirun.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(directory) => directory.join("mpicc"),
            None => PathBuf::from("mpicc"),
        };
        let program = scratch.join("judge");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/judge.c");
        let compiled = Command::new(mpicc).args(["-Wall", "-Wextra", "-O2", "-o"]).arg(&program).arg(source).output();
        compiled.is_ok_and(|output| output.status.success()).then_some(program)
    }

    /// A program on two ranks of this host, or on the first of several virtual hosts.
    fn program(path: &Path, hosts: Option<u32>) -> Command {
        let Some(hosts) = hosts else { return Command::new(path) };
        let mut command = virtual_cluster(&name_cluster(), &format!("--hosts {hosts} --"));
        command.arg(path);
        command
    }

    /// One launch of the judge: 2 ranks on this host, or one on each virtual host.
    fn launch(
        mpi: &OpenMpi,
        judge: &Path,
        hosts: Option<u32>,
        rules: Option<&Path>,
        calls: (&str, &str),
        times: &mut Times,
    ) {
        let mut command = program(&mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone()), hosts);
        prepare(&mut command);
        command.args(["-np", &hosts.unwrap_or(2).to_string(), "--oversubscribe"]);
        if let Some(rules) = rules {
            command.args(["--mca", "coll_tuned_use_dynamic_rules", "1"]);
            command.args(["--mca", "coll_tuned_dynamic_rules_filename"]).arg(rules);
        }
        command.arg(judge).args([calls.0, calls.1]);
        // Calls between hosts take milliseconds and vary little.
        if hosts.is_some() {
            command.arg("10");
        }
        let ran = Ran::from(command.output().unwrap()).exits(0);
        for line in ran.stdout.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [name, bytes, .., median] = fields[..] else { continue };
            let (Ok(bytes), Ok(median)) = (bytes.parse(), median.parse()) else { continue };
            times.entry((name.to_owned(), bytes)).or_default().push(median);
        }
    }

    /// The mean of the logarithms of speedups and half the width of its interval: 4 standard errors, for many comparisons of few
    /// launches.
    fn log_speedup(without: &[f64], with: &[f64]) -> (f64, f64) {
        let logs: Vec<f64> = without.iter().zip(with).map(|(without, with)| (without / with).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (mean, 4.0 * (squares / (logs.len() as f64 - 1.0) / logs.len() as f64).sqrt())
    }

    struct Load(Vec<Child>);

    impl Load {
        fn of(count: u64) -> Self {
            let burn = || Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap();
            Self((0..count).map(|_| burn()).collect())
        }
    }

    impl Drop for Load {
        fn drop(&mut self) {
            for child in &mut self.0 {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    /// `COLLRULES_TUNINGS` tunings (50 without it) with budgets of 10 to 120 s under a load of 0 to 4: no confirmed rule may be
    /// shown to be slower by more than 5 % by the judge, in ten launches each without load.
    #[test]
    #[ignore = "long: see CONTRIBUTING"]
    fn long_confirmed_rules_hold_before_an_independent_judge() {
        let wanted = std::env::var("COLLRULES_TUNINGS").ok().and_then(|count| count.parse().ok()).unwrap_or(50);
        let most = std::env::var("COLLRULES_BUDGET").ok().and_then(|most| most.parse().ok()).unwrap_or(120);
        alone_under_one_release(|mpi| {
            let scratch = tempfile::tempdir().unwrap();
            let Some(judge) = compile(mpi, scratch.path()) else { return skip("no mpicc next to mpirun") };
            let (mut confirmed, mut rules, mut sizes, mut slower, mut control) = (0, 0, 0, Vec::new(), 0);
            for tuning in 0..wanted {
                let run = scratch.path().join(format!("run-{tuning}"));
                let budget = 10 + tuning * 37 % (most - 9);
                let arguments = format!(
                    "tune --ops bcast,reduce,allreduce --np 2 --sizes 256:64K --budget {budget}s --seed {tuning} --out"
                );
                let ran = {
                    let _load = Load::of(tuning % 5);
                    Ran::from(mpi.collrules(&arguments, &run).output().unwrap())
                };
                let code = ran.code;
                assert!(matches!(code, Some(0 | 12 | 13)), "tuning {tuning}: {code:?}\n{}", ran.stderr);
                let found = findings(&run);
                confirmed += u64::from(code == Some(0));
                if code == Some(12) || found.changes_nothing() {
                    continue;
                }
                rules += 1;
                let names = "bcast,reduce,allreduce";
                let at: Vec<String> = (8..=16).map(|power| (1u64 << power).to_string()).collect();
                let (mut without, mut with, mut again) = (Times::new(), Times::new(), Times::new());
                for _ in 0..10 {
                    let file = run.join("rules.conf");
                    let calls = (names, &at.join(",")[..]);
                    launch(mpi, &judge, None, None, calls, &mut without);
                    launch(mpi, &judge, None, Some(&file), calls, &mut with);
                    launch(mpi, &judge, None, None, calls, &mut again);
                }
                for ((name, bytes), times) in &without {
                    let collective: Collective = name.parse().unwrap();
                    if found.table.lookup(collective, 2, *bytes).is_builtin() {
                        continue;
                    }
                    sizes += 1;
                    let key = (name.clone(), *bytes);
                    let (mean, width) = log_speedup(times, &with[&key]);
                    say(&format!("tuning {tuning}: {name} of {bytes} B: {:.2}x", mean.exp()));
                    if mean + width < -(1.05f64.ln()) {
                        slower.push(format!("tuning {tuning}: {name} of {bytes} B: {:.2}x", mean.exp()));
                    }
                    let (mean, width) = log_speedup(times, &again[&key]);
                    control += u64::from(mean + width < -(1.05f64.ln()));
                }
            }
            say(&format!(
                "{wanted} tunings: {confirmed} decided, {rules} of them with rules, {sizes} sizes judged, {} slower, {control} in \
                 the control",
                slower.len()
            ));
            assert!(slower.is_empty(), "{slower:?}");
        });
    }

    /// The fastest eligible algorithm in each cell, and the natural logarithm of its gain with both ends of its interval.
    fn fastest(findings: &Findings) -> BTreeMap<(String, u64), (Choice, [f64; 3])> {
        let fastest = findings.cells.iter().filter_map(|cell| {
            let gains = cell.points.iter().filter_map(|point| {
                let (choice, gain) = (point.candidate.choice()?, point.gain?);
                let is_eligible = point.candidate == Candidate::from_choice(choice)
                    && !cell.disqualified.iter().any(|(candidate, _)| *candidate == point.candidate);
                is_eligible.then_some((choice, [gain.point.ln(), gain.low?.ln(), gain.high?.ln()]))
            });
            let best = gains.max_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]))?;
            Some(((cell.cell.collective.name().to_owned(), cell.cell.bytes.0), best))
        });
        fastest.collect()
    }

    /// A rules file that uses the given choice at each size.
    fn rules_file(choices: &BTreeMap<(String, u64), (Choice, [f64; 3])>, ranks: u32) -> String {
        let mut collectives: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for ((name, bytes), (choice, _)) in choices {
            let number = name.parse::<Collective>().unwrap().id();
            let Choice { algorithm, faninout, segsize, .. } = choice;
            let first = if collectives.contains_key(&number) { *bytes } else { 0 };
            let line = format!("{first} {algorithm} {faninout} {segsize}");
            collectives.entry(number).or_default().push(line);
        }
        let count = collectives.len();
        let rules = collectives
            .iter()
            .map(|(number, lines)| format!("{number}\n1\n{ranks} {}\n{}\n", lines.len(), lines.join("\n")));
        format!("{count}\n{}", rules.collect::<String>())
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// How many sizes have an in-launch gain within 5 % of that of six fresh launches, and the same for the default against
    /// itself, as a table. In-launch gains whose interval excludes 1 must have the sign of fresh gains whose interval does.
    fn compare_gains(mpi: &OpenMpi, hosts: Option<u32>, sizes: &str, budget: u32) {
        let scratch = tempfile::tempdir().unwrap();
        let Some(judge) = compile(mpi, scratch.path()) else { return skip("no mpicc next to mpirun") };
        let (run, file) = (scratch.path().join("run"), scratch.path().join("rules.conf"));
        let (names, ranks) = ("bcast,reduce,allreduce", hosts.unwrap_or(2));
        let arguments = format!(
            "tune --ops {names} --np {ranks} --sizes {sizes} --budget {budget}s --refine 0 --no-validate --no-settings \
             --buffers reuse"
        );
        let mut tuning = program(Path::new(env!("CARGO_BIN_EXE_collrules")), hosts);
        prepare(&mut tuning);
        tuning.args(arguments.split_whitespace()).arg("--out").arg(&run);
        tuning.arg("--mpirun").arg(mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone()));
        let ran = Ran::from(tuning.output().unwrap());
        assert!(matches!(ran.code, Some(0 | 12 | 13)), "{}{}", ran.stdout, ran.stderr);
        let fastest = fastest(&findings(&run));
        std::fs::write(&file, rules_file(&fastest, ranks)).unwrap();
        let bytes: std::collections::BTreeSet<u64> = fastest.keys().map(|(_, bytes)| *bytes).collect();
        let bytes: Vec<String> = bytes.iter().map(u64::to_string).collect();
        let (mut without, mut with, mut again) = (Times::new(), Times::new(), Times::new());
        for _ in 0..6 {
            let calls = (names, &bytes.join(",")[..]);
            launch(mpi, &judge, hosts, None, calls, &mut without);
            launch(mpi, &judge, hosts, Some(&file), calls, &mut with);
            launch(mpi, &judge, hosts, None, calls, &mut again);
        }
        let mut opposite = Vec::new();
        for (range, is_in) in
            [("below 1 KiB", (|bytes| bytes < 1024) as fn(u64) -> bool), ("from 1 KiB on", |bytes| bytes >= 1024)]
        {
            let (mut ratios, mut controls, mut both, mut same) = (Vec::new(), Vec::new(), 0, 0);
            for (key, (choice, [gain, low, high])) in fastest.iter().filter(|((_, bytes), _)| is_in(*bytes)) {
                let (fresh, width) = log_speedup(&without[key], &with[key]);
                let (control, _) = log_speedup(&without[key], &again[key]);
                ratios.push((fresh - gain).exp());
                controls.push(control.exp());
                say(&format!(
                    "{} of {} B, {choice}: in-launch {:.2}x ({:.2} to {:.2}), fresh {:.2}x ({:.2} to {:.2}), control {:.2}x",
                    key.0,
                    key.1,
                    gain.exp(),
                    low.exp(),
                    high.exp(),
                    fresh.exp(),
                    (fresh - width).exp(),
                    (fresh + width).exp(),
                    control.exp(),
                ));
                let sign = |low: f64, high: f64| (low > 0.0).then_some(true).or((high < 0.0).then_some(false));
                if let (Some(in_launch), Some(fresh)) = (sign(*low, *high), sign(fresh - width, fresh + width)) {
                    both += 1;
                    same += u32::from(in_launch == fresh);
                    if in_launch != fresh {
                        opposite.push(format!("{} of {} B", key.0, key.1));
                    }
                }
            }
            if ratios.is_empty() {
                continue;
            }
            let close = |ratios: &[f64]| ratios.iter().filter(|ratio| ratio.ln().abs() <= 1.05f64.ln()).count();
            say(&format!(
                "Open MPI {}, {range}: {} of {} within 5 % (control {}); median ratio {:.2} (control {:.2}); both intervals \
                 exclude 1 in {both}, with the same sign in {same}",
                mpi.version,
                close(&ratios),
                ratios.len(),
                close(&controls),
                median(ratios),
                median(controls),
            ));
        }
        assert!(opposite.is_empty(), "{opposite:?}");
    }

    #[test]
    #[ignore = "long: see CONTRIBUTING"]
    fn long_gains_agree_with_an_independent_judge() {
        alone_under_each_release(|mpi| compare_gains(mpi, None, "1:1M", 150));
    }

    #[test]
    #[ignore = "long: see CONTRIBUTING"]
    fn long_gains_agree_with_an_independent_judge_on_several_hosts() {
        if is_possible() {
            alone_under_one_release(|mpi| compare_gains(mpi, Some(4), "4K:256K", 120));
        }
    }
}
