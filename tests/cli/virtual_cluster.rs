//! The whole tool where the network decides: hosts as network namespaces, 200 Mbit/s between them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use collrules_lab::guidelines::found::Checked;
use collrules_model::model::Model;
use collrules_record::Validation;
use collrules_record::validation::Outcome;
use collrules_rules::Collective;

use crate::support::{
    OpenMpi, Ran, alone, alone_under_each_release, alone_under_each_release_that, alone_under_one_release, findings,
    has_hosts, prepare, under_each_release,
};

const STATE: &str = "/run/collrules-virtual-cluster";

/// Number of clusters so far.
static CLUSTERS: AtomicU32 = AtomicU32::new(0);

/// A name for a cluster next to those of other tests, and not one that people choose.
pub(crate) fn name_cluster() -> String {
    let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
    let letter = |index: u32| char::from(b'a' + u8::try_from(index % 26).unwrap());
    format!("test{}{}", letter(number / 26), letter(number))
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/virtual-cluster")
}

/// Runs a command, which the caller adds, on the first host of a cluster of its own, bounded in time.
pub(crate) fn virtual_cluster(name: &str, options: &str) -> Command {
    let mut bounded = Command::new("timeout");
    bounded.args(["--kill-after=10", "240"]).arg(script()).args(["run", "--name", name]);
    bounded.args(options.split_whitespace());
    prepare(&mut bounded);
    bounded
}

/// Returns true if hosts can be had here. Says aloud if not, and why.
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: LazyLock<bool> = LazyLock::new(try_hosts);
    *POSSIBLE
}

fn try_hosts() -> bool {
    let name = name_cluster();
    let ran = alone(|| Ran::from(virtual_cluster(&name, "--hosts 2 -- hostname").output().unwrap()));
    let has = has_hosts(&ran);
    if has {
        assert_eq!(ran.exits(0).stdout, format!("{name}1\n"));
    }
    has
}

/// `collrules` on the first of several hosts.
pub(crate) fn on_hosts(mpi: &OpenMpi, hosts: &str, arguments: &str, out: &Path) -> Ran {
    let mut command = virtual_cluster(&name_cluster(), hosts);
    if !hosts.contains(" -- ") {
        command.arg("--");
    }
    command.arg(env!("CARGO_BIN_EXE_collrules")).args(arguments.split_whitespace()).arg(out);
    Ran::from(command.arg("--mpirun").arg(mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone())).output().unwrap())
}

/// Other work on the machine leaves a verdict open, and more time closes it: as its users would, a test tries again with
/// twice the budget (s), up to three times. `attempt` says what is missing.
fn given_time(seconds: u32, attempt: impl Fn(u32) -> Result<(), String>) {
    let mut missing = Vec::new();
    for budget in [seconds, 2 * seconds, 4 * seconds] {
        match attempt(budget) {
            Ok(()) => return,
            Err(what) => missing.push(format!("within {budget} s: {what}")),
        }
    }
    panic!("{}", missing.join("\n"));
}

/// The builtin never segments a broadcast of 64 KiB or more on so few ranks, and a pipeline keeps all links busy at once.
/// Measured gains are factors of 2 to 6, so that a good deal of noise leaves the verdict alone; with four ranks two processors are
/// no narrower than the links.
#[test]
#[ignore = "part of `make test-all`"]
fn tuning_pays_where_the_network_is_slow() {
    if !is_possible() {
        return;
    }
    alone_under_one_release(|mpi| {
        given_time(40, |budget| {
            let scratch = tempfile::tempdir().unwrap();
            let out = scratch.path().join("run");
            // Few candidates, so that a visit is short and there are enough of them for a test.
            let han = if mpi.is_before(5) { "" } else { "--disable-han" };
            let arguments = format!(
                "tune --verbose --ops bcast,scatter,barrier --np 4 --sizes 256K --segments 8K --fanouts 2 --budget \
                 {budget}s --launches 2 --no-settings {han} --out"
            );
            let ran = on_hosts(mpi, "--hosts 4", &arguments, &out);
            // Barriers are noisy: a rule for them may be left undecided.
            assert!(matches!(ran.code, Some(0 | 12 | 13)), "{}{}", ran.stdout, ran.stderr);
            let findings = findings(&out);
            let gains: Vec<f64> = findings
                .cells
                .iter()
                .filter(|cell| cell.cell.collective == Collective::Bcast && !cell.in_use.is_builtin())
                .filter_map(|cell| Some(cell.gain_in_use()?.point))
                .collect();
            if !gains.iter().any(|gain| *gain >= 1.3) {
                return Err(format!("no rule for bcast with a gain: {gains:?}\n{}", ran.stdout));
            }
            ran.says(&format!("Open MPI {} accepts the rules file", mpi.version));
            assert!(fs::read_to_string(out.join("rules.conf")).unwrap().contains("\n7 "), "{}", mpi.version);
            Ok(())
        });
    });
}

/// A pipeline is two to six times as fast here, and launches with the file confirm it: its settings reach ranks on other
/// hosts from mpirun's environment, under both releases.
#[test]
#[ignore = "part of `make test-all`"]
fn validation_confirms_gains_on_several_hosts() {
    if !is_possible() {
        return;
    }
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = scratch.path().join("rules.conf");
        fs::write(
            &rules,
            "1\n7\n4\n4 1\n0 0 0 0\n4 2\n0 0 0 0\n32768 3 0 8192\n5 2\n0 0 0 0\n32768 3 0 8192\n5 1\n0 0 0 0\n",
        )
        .unwrap();
        given_time(40, |budget| {
            let out = scratch.path().join(format!("out-{budget}"));
            let arguments = format!("validate {} --np 4 --sizes 512K --budget {budget}s --out", rules.display());
            let ran = on_hosts(mpi, "--hosts 4", &arguments, &out);
            let ran = ran.exits(0);
            let validation: Validation =
                serde_json::from_str(&fs::read_to_string(out.join("validation.json")).unwrap()).unwrap();
            let cell = &validation.round.cells[0];
            if cell.verdict != Outcome::Faster {
                return Err(format!("undecided\n{}", ran.stdout));
            }
            assert!(cell.speedup.point > 1.3, "{}: {:?}", mpi.version, cell.speedup);
            Ok(())
        });
    });
}

/// Mock-ups that make calls on nodes and between them are right on real ones, and others are left out elsewhere.
#[test]
#[ignore = "part of `make test-all`"]
fn mockups_of_nodes_are_timed_on_several_hosts() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("check");
        let arguments = "lab guidelines --np 3,4 --sizes 20,8200 --only lane,hier --no-remedies --launches 1 --budget none --calls 3 --out";
        let ran = on_hosts(mpi, "--hosts 2 --slots 2", arguments, &out);
        assert!(matches!(ran.code, Some(0 | 9)), "{}", ran.stderr);
        let found: Checked = serde_json::from_str(&fs::read_to_string(out.join("guidelines.json")).unwrap()).unwrap();
        // 8 collectives at 2 sizes, and barrier; on 3 ranks a node has one more than the other.
        assert_eq!(found.cells.len(), 2 * 8 + 1);
        for cell in &found.cells {
            assert_eq!((cell.cell.ranks.0, &cell.failed[..]), (4, &[][..]), "{}", cell.cell);
            let both = if cell.cell.collective == Collective::Barrier { 1 } else { 2 };
            assert_eq!(cell.mockups.len(), both, "{}", cell.cell);
        }
        assert!(found.skipped.iter().any(|skipped| skipped.why.to_string().contains("1 to 2 ranks, not equally many")));
    });
}

/// If ranks share one of several hosts, `han` takes the calls from 5.0 on, and in 4.1 if it is told to. It is found,
/// called the default, and measured against; if each host has one rank, it leaves the calls to `tuned`.
#[test]
#[ignore = "part of `make test-all`"]
fn han_is_found_where_it_runs() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let hosts = if mpi.is_before(5) {
            "--hosts 2 --slots 2 -- env OMPI_MCA_coll_han_priority=40"
        } else {
            "--hosts 2 --slots 2 -- env"
        };
        let out = scratch.path().join("block");
        let few = "--budget none --calls 3 --launches 1 --refine 0 --no-validate --no-settings --out";
        let arguments = format!("tune --verbose --ops bcast,barrier --np 2,4 --sizes 1K,64K {few}");
        let ran = on_hosts(mpi, hosts, &arguments, &out);
        // What is found says nothing of gains, which so few calls may not decide.
        assert!(matches!(ran.code, Some(0 | 12 | 13)), "{}{}", ran.stdout, ran.stderr);
        ran.complains("bcast on 4 ranks (2 nodes x 2 ranks) uses the component han");
        ran.says("Open MPI's component han runs");
        assert_eq!(
            in_use(&out),
            ["barrier 2 tuned", "barrier 4 han", "bcast 2 tuned", "bcast 4 han"].map(str::to_owned),
            "{}",
            mpi.version
        );
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        for cell in ["bcast,4,1024", "bcast,4,65536", "barrier,4,0"] {
            assert!(samples.contains(&format!("{cell},component:tuned,")), "{cell}");
        }
        assert!(!samples.contains("bcast,2,1024,component"), "tuned is the default on one host");

        let out = scratch.path().join("spread");
        let arguments = format!("tune --verbose --ops bcast --np 2 --sizes 1K --layout one-per-node {few}");
        let ran = on_hosts(mpi, hosts, &arguments, &out);
        assert!(matches!(ran.code, Some(0 | 12 | 13)), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(in_use(&out), ["bcast 2 tuned".to_owned()], "{}", mpi.version);
        assert!(fs::read_to_string(out.join("report.md")).unwrap().contains("| 2 | 2 nodes x 1 rank | tuned: bcast |"));
        let ran =
            on_hosts(mpi, hosts, &arguments.replace("--np 2", "--np 4"), &scratch.path().join("refused")).exits(2);
        ran.complains("has at most 2 here");
    });
}

/// From 5.0 on HAN handles calls on four hosts of two slots. A pipeline keeps all links busy where HAN does not segment
/// at all, and a message of a few bytes is no matter of segments: what is handed over is proven, verified, and named
/// when it is missing.
#[test]
#[ignore = "part of `make test-all`"]
fn what_han_hands_over_is_proven_and_verified() {
    if !is_possible() {
        return;
    }
    alone_under_each_release_that(
        |mpi| !mpi.is_before(5),
        |mpi| {
            let hosts = "--hosts 4 --slots 2 --bandwidth 40mbit";
            given_time(40, |budget| {
                let scratch = tempfile::tempdir().unwrap();
                let out = scratch.path().join("run");
                let arguments = format!(
                    "tune --verbose --ops bcast --np 8 --sizes 256K --segments 8K --fanouts 2 --launches 2 --budget {budget}s \
                     --no-validate --no-settings --out"
                );
                let ran = on_hosts(mpi, hosts, &arguments, &out).exits(0);
                if !ran.stdout.contains("HAN's rules file moves") {
                    return Err(format!("no rule that HAN hands over\n{}", ran.stdout));
                }
                ran.says("accepts HAN's rules file");
                let text = fs::read_to_string(out.join("han.conf")).unwrap();
                assert!(text.contains("tuned") && text.contains("1 1  # fewer than 8 ranks\n  0 han"), "{text}");
                let settings = fs::read_to_string(out.join("mca-params.conf")).unwrap();
                assert!(settings.contains("coll_han_dynamic_rules_filename = "), "{settings}");
                let ran = on_hosts(mpi, hosts, "verify --np 8", &out).exits(0);
                ran.says("calls in the component that HAN's rules file names");
                fs::remove_file(out.join("han.conf")).unwrap();
                on_hosts(mpi, hosts, "verify --np 8", &out).exits(3).complains("han.conf");
                Ok(())
            });
        },
    );
}

/// The setting that hands a collective to `tuned` where `han` would handle it: with it a rules file is obeyed, without
/// it is not, and that is noticed.
#[test]
#[ignore = "part of `make test-all`"]
fn a_setting_hands_one_collective_to_tuned() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let rules = scratch.path().join("rules.conf");
        // Pipeline for bcast on 4 ranks.
        fs::write(&rules, "1\n7\n4\n4 1\n0 0 0 0\n4 1\n0 3 0 8192\n5 1\n0 3 0 8192\n5 1\n0 0 0 0\n").unwrap();
        let scratch = scratch.path().display();
        let hosts = "--hosts 2 --slots 2 -- env OMPI_MCA_coll_han_priority=40";
        let arguments = format!("verify --np 4 --sizes 1K,64K --scratch {scratch}");
        let ran = on_hosts(mpi, hosts, &arguments, &rules).exits(7);
        ran.complains("is NOT obeyed");
        ran.complains("bcast on 4 ranks runs in han");
        ran.complains("--mca coll_han_bcast_dynamic_global_communicator_module 3");
        let setting = format!("{hosts} OMPI_MCA_coll_han_bcast_dynamic_global_communicator_module=3");
        on_hosts(mpi, &setting, &arguments, &rules).exits(0);
    });
}

/// A node that cannot be reached any more: what was measured is kept, which is said, and once it is back the run is gone on
/// with.
#[test]
#[ignore = "part of `make test-all`"]
fn a_vanished_node_costs_nothing_that_was_measured() {
    if !is_possible() {
        return;
    }
    alone_under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let mpirun = mpi.mpirun.canonicalize().unwrap_or(mpi.mpirun.clone());
        let name = name_cluster();
        let collrules = |arguments: &str| {
            let mut command = virtual_cluster(&name, "--hosts 3 --");
            command.arg(env!("CARGO_BIN_EXE_collrules")).args(arguments.split_whitespace()).arg(&out);
            command
        };
        let arguments = "measure --ops bcast --np 2,3 --sizes 1K,64K --budget none --calls 8 --launches 2 --hang-timeout 6s \
                         --disable-han --mpirun";
        let arguments = format!("{arguments} {} --out", mpirun.display());
        let mut running = collrules(&arguments);
        let running = running.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let samples = out.join("samples.csv");
        let deadline = Instant::now() + Duration::from_secs(60);
        while fs::read_to_string(&samples).unwrap_or_default().lines().count() < 40 {
            assert!(Instant::now() < deadline, "no samples");
            thread::sleep(Duration::from_millis(50));
        }
        let members = fs::read_to_string(Path::new(STATE).join(&name).join("members")).unwrap();
        let switch = members.lines().find_map(|line| line.strip_prefix("switch ")?.split(' ').next()).unwrap();
        let unplugged = ["--target", switch, "--net", "ip", "link", "set", "port2", "down"];
        assert!(Command::new("nsenter").args(unplugged).status().unwrap().success());

        let ran = Ran::from(running.wait_with_output().unwrap()).exits(5);
        ran.complains("are safe in");
        ran.complains("measure --resume");
        assert!(!fs::read_to_string(&samples).unwrap().contains("disqualified"), "no candidate is to blame");
        let before = fs::read_to_string(&samples).unwrap();
        Ran::from(collrules("measure --resume").output().unwrap()).exits(0);
        let after = fs::read_to_string(&samples).unwrap();
        assert!(after.starts_with(&before[..before.rfind('\n').unwrap() + 1]) && after.len() > before.len());
    });
}

/// Collective, communicator size and component of a run's manifest.
fn in_use(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let running = manifest["plan"]["placement"]["running"].as_array().unwrap().iter();
    let line = |one: &serde_json::Value| {
        format!("{} {} {}", one["collective"].as_str().unwrap(), one["ranks"], one["by"].as_str().unwrap())
    };
    let mut lines: Vec<String> = running.map(line).collect();
    lines.sort();
    lines
}

/// Each host has its rate, and the ports of the switch hold as much as they are told to.
#[test]
#[ignore = "part of `make test-all`"]
fn hosts_get_their_rates_and_ports_their_queues() {
    if !is_possible() {
        return;
    }
    let said = |options: &str| {
        let mut command = Command::new(script());
        Ran::from(command.args(["up", "--name", "rates"]).args(options.split_whitespace()).output().unwrap())
    };
    let ran = said("--hosts 3 --bandwidth 200mbit,100mbit,50mbit --queue 32kb").exits(0);
    let switch = Command::new(script()).args(["status", "--name", "rates"]).output().unwrap();
    Ran::from(switch).exits(0).says("have dropped 0 packets");
    Ran::from(Command::new(script()).args(["down", "--name", "rates"]).output().unwrap()).exits(0);
    for (host, rate) in [("rates1", "200Mbit"), ("rates2", "100Mbit"), ("rates3", "50Mbit")] {
        let line = ran.stdout.lines().find(|line| line.starts_with(host) && line.contains("tbf")).unwrap_or_default();
        assert!(line.contains(&format!("rate {rate} ")), "{}", ran.stdout);
    }
    said("--hosts 3 --bandwidth 200mbit,100mbit").exits(2).complains("names 2 rates for 3 hosts");
    said("--hosts 2 --bandwidth 10,20").exits(2).complains("is a rate such as 200mbit");
    said("--hosts 2 --bandwidth none --queue 32kb").exits(2).complains("needs a rate for each link");
}

/// Rates differ as they were asked for, and the slow host is named, and no other.
#[test]
#[ignore = "part of `make test-all`"]
fn a_slow_host_is_named_with_its_rate() {
    if !is_possible() {
        return;
    }
    alone_under_one_release(|mpi| {
        given_time(60, |budget| {
            let scratch = tempfile::tempdir().unwrap();
            let out = scratch.path().join("model");
            let hosts = "--hosts 4 --bandwidth 200mbit,200mbit,200mbit,100mbit";
            let han = if mpi.is_before(5) { "" } else { "--disable-han" };
            let arguments = format!("lab model --sizes 4K,32K,128K,512K --budget {budget}s --launches 3 {han} --out");
            let ran = on_hosts(mpi, hosts, &arguments, &out);
            let model: Model = serde_json::from_str(&fs::read_to_string(out.join("model.json")).unwrap()).unwrap();
            let slow: Vec<u32> =
                model.slow.nodes.iter().filter(|node| node.bytes.0 > 0).map(|node| node.rank).collect();
            if ran.code != Some(10) || slow != [3] {
                return Err(format!("{:?}: {:?}\n{}", ran.code, model.slow, ran.stderr));
            }
            for pair in &model.nodes.unwrap().pairs {
                let asked = if pair.ranks.1 == 3 { 100e6 } else { 200e6 };
                let found = 8.0 * pair.rate.unwrap().point;
                if (found / asked - 1.0).abs() >= 0.1 {
                    return Err(format!("{pair:?}"));
                }
            }
            Ok(())
        });
    });
}

/// Whatever ends a command, its hosts and all that runs on them are gone soon after.
#[test]
#[ignore = "part of `make test-all`"]
fn nothing_is_left_behind_by_a_killed_run() {
    if !is_possible() {
        return;
    }
    for (signal, wait) in [("KILL", 300), ("TERM", 300), ("KILL", 3000), ("TERM", 3000)] {
        // Directly, without `timeout` between: the signal is for the script.
        let options = ["run", "--name", "killed", "--hosts", "3", "--", "sleep", "1000"];
        let mut running = Command::new(script()).args(options).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        end(&mut running, signal);
        let deadline = Instant::now() + Duration::from_secs(20);
        while members("killed") > 0 || Path::new(STATE).join("killed").exists() {
            assert!(Instant::now() < deadline, "{signal} after {wait} ms leaves {} hosts", members("killed"));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn end(child: &mut Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
}

/// The number of processes that belong to the cluster of this name.
fn members(name: &str) -> usize {
    let marked = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let wanted = format!("COLLRULES_VIRTUAL_CLUSTER={name}");
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    processes.filter(|process| marked(process)).count()
}
