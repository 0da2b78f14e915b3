//! All collectives, from the plan to rules that are obeyed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use collrules_rules::{Collective, Release};

use crate::support::{Ran, bounded, collrules, findings};
#[cfg(feature = "mpi")]
use crate::support::{skip, under_each_release};

/// Every simulated release has rules for something that it is slow at, which its own lookup obeys.
#[test]
#[ignore = "part of `make test-all`"]
fn all_collectives_of_all_releases_are_simulated() {
    let scratch = tempfile::tempdir().unwrap();
    for release in Release::ALL {
        let out = scratch.path().join(release.name());
        let arguments = format!(
            "tune --simulate --simulated-release {release} --ops all --np 2,3,8 --sizes 4,256,8K,64K --budget none \
             --calls 12 --verbose --out"
        );
        collrules(&arguments, &out).exits(0);
        let findings = findings(&out);
        let seen: BTreeSet<Collective> = findings.cells.iter().map(|cell| cell.cell.collective).collect();
        assert_eq!(seen, BTreeSet::from(Collective::ALL), "{release}");
        let ruled: Vec<Collective> = findings.table.collectives().map(|(collective, _)| collective).collect();
        // On 8 ranks the linear algorithms take 14a and 7a, others 3a.
        for collective in [Collective::Allgatherv, Collective::Allreduce, Collective::Scan] {
            assert!(ruled.contains(&collective), "{release}: {collective} is not among {ruled:?}");
        }
        assert!(read_facts(&out).contains(&"rules".to_owned()), "{release}");
    }
}

/// Codes of the facts that were shown of a run's rules.
fn read_facts(run: &Path) -> Vec<String> {
    let proof: serde_json::Value = serde_json::from_slice(&fs::read(run.join("proof.json")).unwrap()).unwrap();
    let facts = proof["shown"].as_array().unwrap().iter();
    facts.map(|fact| fact["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_shared_or_left_out_is_listed() {
    let words = "plan --simulate --ops bcast,allreduce,allgatherv,alltoall --np 2,64 --sizes 1,4,16M --json \
                 --simulated-slots 64";
    let ran = Ran::from(bounded().args(words.split_whitespace()).output().unwrap()).exits(0);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let shares = |collective: &str, ranks: u64, bytes: u64, candidate: &str| {
        let cell = serde_json::json!({ "collective": collective, "ranks": ranks, "bytes": bytes });
        let planned = plan["cells"].as_array().unwrap().iter().find(|planned| planned["cell"] == cell).unwrap();
        let shared = planned["shared"].as_array().unwrap().iter();
        shared.filter(|it| it["candidate"] == candidate).map(|it| it["measured_as"].clone()).collect::<Vec<_>>()
    };
    // On 2 ranks the root sends one message; scatter_allgather needs an element for every rank.
    assert_eq!(shares("bcast", 2, 4, "tuned:6/0/0/0"), ["tuned:1/0/0/0"]);
    assert_eq!(shares("bcast", 64, 1, "tuned:8/0/0/0"), ["tuned:1/0/0/0"]);
    let skipped = plan["skipped"].as_array().unwrap();
    let is_left_out = |collective: &str, ranks: u64, bytes: u64| {
        let cell = serde_json::json!({ "collective": collective, "ranks": ranks, "bytes": bytes });
        skipped.iter().any(|it| it["cell"] == cell)
    };
    // No multiple of the element's 4 B, and buffers of 2 GiB on a rank.
    assert!(is_left_out("allreduce", 2, 1) && is_left_out("alltoall", 64, 16 << 20), "{skipped:?}");
    assert_eq!(plan["separate"]["collectives"], serde_json::json!(["allgatherv"]));
    assert_eq!(plan["separate"]["series"], 8);
}

/// Launches with one candidate are one visit each, of the launch that their series stands for.
#[test]
fn launches_with_one_candidate_are_compared_by_series() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    collrules("tune --simulate --ops bcast --np 8 --sizes 64K:512K --launches 10 --launch-per-candidate --out", &out)
        .exits(0);
    let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
    let mut rounds: BTreeMap<(String, String, String), BTreeSet<u32>> = BTreeMap::new();
    let mut launches = BTreeSet::new();
    for line in samples.lines().skip(2) {
        let fields: Vec<&str> = line.split(',').collect();
        let [launch, visit, round, _, _, bytes, candidate, ..] = fields[..] else { panic!("{line}") };
        assert_eq!(visit, "0", "{line}");
        let point = (launch.to_owned(), bytes.to_owned(), candidate.to_owned());
        assert!(rounds.entry(point).or_default().insert(round.parse().unwrap()), "{line}: this round came before");
        launches.insert(launch.to_owned());
    }
    assert_eq!(launches.len(), 10);
    assert!(rounds.values().all(|rounds| rounds.len() > 3), "visits of a launch are one: {rounds:?}");
    // 256 KiB: binomial takes 3a + 3bm, scatter_allgather 6a + 1.75bm: 1.57 times as fast.
    let table = findings(&out).table;
    assert!(!table.lookup(Collective::Bcast, 8, 256 << 10).is_builtin(), "{table:?}");
}

/// All collectives on real releases: nothing fails its check, the rules are obeyed, and allgatherv, which cannot be
/// switched, has been measured for each candidate.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "part of `make test-all`"]
fn all_collectives_are_measured_and_proved() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let arguments = "tune --verbose --ops all --np 2,3 --sizes 4,20000 --launches 1 --calls 3 --budget none \
                         --refine 0 --oversubscribe --no-validate --out";
        Ran::from(mpi.collrules(arguments, &out).output().unwrap()).exits(0);
        let fact = if findings(&out).table.is_empty() { "no_rule" } else { "rules" };
        assert!(read_facts(&out).contains(&fact.to_owned()), "{fact}");
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        // An algorithm may be wrong in place: see conditions.rs.
        let wrong = samples.lines().find(|line| line.contains("disqualified") && !line.ends_with("in place"));
        assert_eq!(wrong, None);
        let mut allgatherv = BTreeSet::new();
        let mut collectives = BTreeSet::new();
        for line in samples.lines().skip(2) {
            let fields: Vec<&str> = line.split(',').collect();
            collectives.insert(fields[3].to_owned());
            if fields[3] == "allgatherv" && fields[4] == "3" {
                allgatherv.insert(fields[6].to_owned());
            }
        }
        assert_eq!(collectives.len(), Collective::ALL.len(), "{collectives:?}");
        // Neighbour exchange is ring on 3 ranks, and two_proc is an error there.
        let mut expected = vec!["builtin", "tuned:1/0/0/0", "tuned:2/0/0/0", "tuned:3/0/0/0"];
        if !mpi.is_before(5) {
            expected.push("tuned:6/0/0/0");
        }
        assert_eq!(allgatherv.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        let left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".collrules-")), "{left:?}");
    });
}

/// A library that gets a sum wrong on one rank is found out before anything is timed.
#[cfg(feature = "mpi")]
#[test]
fn wrong_results_are_noticed() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let shim = scratch.path().join("wrong.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/wrong.c");
        let compiled = std::process::Command::new(mpi.compiler("mpicc"))
            .args(["-shared", "-fPIC", "-o"])
            .arg(&shim)
            .arg(source)
            .status();
        if !compiled.is_ok_and(|status| status.success()) {
            return skip("no mpicc that makes a library with a fault");
        }
        let mut command = mpi.collrules(
            "tune --ops scan,exscan --np 3 --sizes 64 --budget none --calls 3 --refine 0 --no-validate --oversubscribe \
             --out",
            &out,
        );
        command.args(["--mpirun-args", &format!("-x LD_PRELOAD={}", shim.display())]);
        Ran::from(command.output().unwrap()).exits(0);
        let samples = fs::read_to_string(out.join("samples.csv")).unwrap();
        let wrong = samples.lines().filter(|line| line.ends_with("disqualified: wrong result"));
        let wrong: Vec<&str> = wrong.map(|line| line.split(',').nth(3).unwrap()).collect();
        assert_eq!(wrong, ["scan"; 3], "the default and both algorithms");
        assert!(samples.lines().any(|line| line.contains(",exscan,") && line.ends_with(',')), "exscan is timed");
    });
}

/// A file with rules for every collective, whose boundaries lie where no datatype of 4 bytes has a message, and with a
/// fifth column where the version reads one.
#[cfg(feature = "mpi")]
#[test]
fn rules_for_every_collective_are_verified() {
    use collrules_rules::emit::{self, Notes};
    use collrules_rules::metric::{Metric, metric};
    use collrules_rules::steps::Steps;
    use collrules_rules::table::all_builtin;
    use collrules_rules::{Behaviour, Choice, Ranks, RuleTable};

    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let behaviour: Behaviour = mpi.version.parse().unwrap();
        let mut table = RuleTable::new();
        for collective in Collective::ALL {
            let mut blocks = all_builtin();
            for ranks in [2, 3] {
                let mut sizes = Steps::constant(Choice::plain(1));
                match metric(behaviour.release, collective, Ranks(ranks)) {
                    Metric::Times(factor) => {
                        sizes.set(1301 * factor, None, Choice::BUILTIN);
                        sizes.set(9000 * factor + 1, None, Choice::plain(2).with_faninout(2).with_segsize(1024));
                    }
                    Metric::CountFree => sizes.set(4 * u64::from(ranks), None, Choice::plain(2)),
                    Metric::None => {}
                }
                blocks.set(ranks.into(), Some(u64::from(ranks) + 1), sizes);
            }
            table.set(collective, blocks);
        }
        if behaviour.reads_header {
            let sizes = Steps::constant(Choice { max_requests: 2, ..Choice::plain(4) });
            let mut blocks = all_builtin();
            blocks.set(3, Some(4), sizes);
            table.set(Collective::Alltoall, blocks);
        }
        let rules = scratch.path().join("rules.conf");
        // Hazards for programs that do other things than these calls.
        fs::write(&rules, emit::classic(&table, &Notes::default(), |_| true).unwrap()).unwrap();
        let mut command = mpi.collrules("verify --np 2,3 --sizes 4,1300,1304,20000 --oversubscribe", &rules);
        command.arg("--scratch").arg(scratch.path());
        Ran::from(command.output().unwrap()).exits(0);

        // The same as version 2, which 4.1.4 rejects in silence.
        let text = fs::read_to_string(&rules).unwrap();
        if !behaviour.reads_header {
            fs::write(&rules, format!("rule-file-version-2\n{text}")).unwrap();
            Ran::from(mpi.collrules("verify --np 2 --oversubscribe", &rules).output().unwrap()).exits(3);
        }
    });
}
