//! Jobs over other transports than Open MPI's own: UCX and libfabric, on one host and on several.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use collrules_record::clock::ClockFact;
use collrules_record::transport::Transport;
use collrules_record::{RunDir, Validation};
use serde_json::Value;

use crate::support::{OpenMpi, Ran, bounded, collrules, under_each_release, under_one_release};
use crate::virtual_cluster::{is_possible, on_hosts};

/// Variables with which jobs on one host use a transport without a network of its own.
const UCX: [(&str, &str); 5] = [
    ("OMPI_MCA_pml", "ucx"),
    ("OMPI_MCA_btl", "^uct,openib,ofi"),
    ("OMPI_MCA_osc", "^pt2pt"),
    ("OMPI_MCA_opal_common_ucx_tls", "any"),
    ("OMPI_MCA_opal_common_ucx_devices", "any"),
];
const OFI: [(&str, &str); 5] = [
    ("OMPI_MCA_pml", "cm"),
    ("OMPI_MCA_mtl", "ofi"),
    ("OMPI_MCA_btl", "^uct,openib,ofi"),
    ("OMPI_MCA_mtl_ofi_provider_include", "tcp;ofi_rxm"),
    ("OMPI_MCA_opal_common_ofi_provider_include", "tcp;ofi_rxm"),
];

/// Rules that every release reads, for 2 ranks.
const RULES: &str = "1\n7\n2\n2 1\n0 1 0 0\n3 1\n0 0 0 0\n";

fn run(mpi: &OpenMpi, transport: &[(&str, &str)], arguments: &str, last: &Path) -> Ran {
    mpi.collrules(arguments, last).envs(transport.iter().copied()).output().unwrap().into()
}

/// The transport that a run names in its manifest; its rules file and its findings name the same.
fn named(out: &Path) -> Transport {
    let found = RunDir::open(out).unwrap().manifest().unwrap().survey.transport.expect("is known");
    assert_eq!(crate::support::findings(out).transport.as_ref(), Some(&found));
    let rules = fs::read_dir(out)
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rules.conf")));
    let rules = fs::read_to_string(rules.expect("a rules file")).unwrap();
    assert!(rules.contains(&format!("# Messages went over {found}.")), "{rules}");
    found
}

/// A tuning with proof; a file of one rule, verified with counted messages, and validated.
fn tunes(run: impl Fn(&str, &Path) -> Ran) -> Transport {
    let scratch = tempfile::tempdir().unwrap();
    let (out, rules) = (scratch.path().join("run"), scratch.path().join("rules.conf"));
    fs::write(&rules, RULES).unwrap();
    let tuned = run(
        "tune --ops bcast,allgather --np 2 --sizes 1K,64K --segments 8K --fanouts 2 --launches 2 --budget 15s \
         --no-settings --out",
        &out,
    );
    assert!(matches!(tuned.code, Some(0 | 12 | 13)), "{}{}", tuned.stdout, tuned.stderr);
    assert!(out.join("proof.json").exists(), "{}{}", tuned.stdout, tuned.stderr);
    let verified = run("verify --json --np 2 --sizes 1K", &rules).exits(0);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert!(verified["uncounted"].is_null() && !verified["messages"].is_null(), "{verified}");
    let validation = scratch.path().join("validation");
    let arguments = format!("validate {} --np 2 --sizes 1K --budget 10s --out", rules.display());
    let validated = run(&arguments, &validation);
    // Whether the rule is faster is another question.
    let validated: Validation = serde_json::from_str(
        &fs::read_to_string(validation.join("validation.json")).unwrap_or_else(|_| panic!("{}", validated.stderr)),
    )
    .unwrap();
    assert!(!validated.round.cells.is_empty());
    named(&out)
}

#[test]
#[ignore = "part of `make test-all`"]
fn a_tuning_is_whole_over_ucx_and_over_libfabric() {
    under_each_release(|mpi| {
        let over = tunes(|arguments, last| run(mpi, &UCX, arguments, last));
        assert_eq!((over.pml.as_str(), over.mtl.as_deref()), ("ucx", None), "{}", mpi.version);
        let carriers = over.carriers().unwrap();
        assert!(carriers.contains("sysv") || carriers.contains("posix"), "{}: {over}", mpi.version);
        let over = tunes(|arguments, last| run(mpi, &OFI, arguments, last));
        assert_eq!((over.pml.as_str(), over.mtl.as_deref()), ("cm", Some("ofi")), "{}", mpi.version);
        assert!(over.carriers().unwrap().contains("ofi_rxm"), "{}: {over}", mpi.version);
    });
}

#[test]
#[ignore = "part of `make test-all`"]
fn virtual_hosts_are_tuned_over_ucx() {
    if !is_possible() {
        return;
    }
    under_each_release(|mpi| {
        let over = tunes(|arguments, last| on_hosts(mpi, "--hosts 2 --transport ucx", arguments, last));
        assert_eq!(over.pml, "ucx", "{}", mpi.version);
        assert_eq!(over.between, BTreeSet::from(["tcp/eth0".to_owned()]), "{}: {over}", mpi.version);
    });
}

/// libfabric's tags have 12 bits for communicators if completions carry no data (`ofi_tag_1`), so 4,095 of them have a
/// number. A launch makes more, and keeps a part of them at a time, which releases of Open MPI have no part in.
#[test]
#[ignore = "part of `make test-all`"]
fn numbers_of_communicators_are_used_again() {
    under_one_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let segments: Vec<String> = (1..=24).map(|step| (64 * step).to_string()).collect();
        let arguments = format!(
            "measure --ops bcast,reduce --np 3,4 --oversubscribe --sizes 2K,4K --budget none --calls 30 --launches 1 \
             --keep-slow --buffers reuse --segments {} --out",
            segments.join(",")
        );
        let few = OFI.into_iter().chain([("OMPI_MCA_mtl_ofi_tag_mode", "ofi_tag_1")]);
        Ran::from(mpi.collrules(&arguments, &out).envs(few).output().unwrap()).exits(0);
        let lines = RunDir::open(&out).unwrap().clock().unwrap();
        let end = lines.iter().find_map(|line| if let ClockFact::End(end) = &line.fact { Some(end) } else { None });
        let end = end.expect("the launch ended");
        assert!(end.communicators > 4095 && end.most_communicators < 600, "{}: {end:?}", mpi.version);
    });
}

/// A tuning over another transport than that of jobs here: merging refuses it, verifying and validating say so.
#[test]
fn another_transport_than_that_of_the_tuning_is_said() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let tune = |name: &str, transport: &[(&str, &str)]| {
            let out = scratch.path().join(name);
            let arguments = "tune --ops bcast --np 2 --sizes 1K --calls 3 --budget none --launches 2 --no-validate \
                             --no-settings --out";
            let ran = run(mpi, transport, arguments, &out);
            assert!(matches!(ran.code, Some(0 | 12 | 13)), "{}{}", ran.stdout, ran.stderr);
            out
        };
        let (over, own) = (tune("ucx", &UCX), tune("ob1", &[]));
        assert_eq!((named(&over).pml, named(&own).pml), ("ucx".to_owned(), "ob1".to_owned()));
        let merged = scratch.path().join("merged");
        let arguments = format!("merge {} {} --out", over.display(), own.display());
        let refused = collrules(&arguments, &merged);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
        assert!(refused.stderr.contains("transport: ucx") && !merged.exists(), "{}", refused.stderr);
        let doctor = run(mpi, &UCX, "doctor --json --scratch", scratch.path());
        let doctor: Value = serde_json::from_str(&doctor.stdout).unwrap();
        let findings = doctor["findings"].as_array().unwrap();
        assert!(
            findings.iter().any(|it| it["what"].as_str().is_some_and(|it| it.starts_with("ucx (within"))),
            "{doctor}"
        );
    });
}

/// Times are simulated, and said to be measured over this transport.
#[test]
fn a_tuning_for_another_transport_is_installed_by_force_alone() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = scratch.path().join("run");
        let arguments =
            format!("tune --simulate --simulated-release {} --ops bcast --np 4 --sizes 1K,64K --out", mpi.release());
        collrules(&arguments, &run).exits(0);
        let change = |name: &str, change: &dyn Fn(&mut Value)| {
            let mut value = serde_json::from_str(&fs::read_to_string(run.join(name)).unwrap()).unwrap();
            change(&mut value);
            fs::write(run.join(name), value.to_string()).unwrap();
        };
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        change("manifest.json", &|manifest| {
            manifest["backend"] = "mpi".into();
            manifest["survey"]["version"] = mpi.version.clone().into();
            manifest["host"] = serde_json::json!({ "Host": host.trim() });
        });
        crate::relabel(&run, &mpi.version);
        let install = |pml: &str, force: &[&str]| -> Ran {
            change("findings.json", &|findings| {
                findings["simulated"] = false.into();
                findings["transport"] = serde_json::json!({ "pml": pml, "inside": [], "between": [] });
            });
            let mut command = bounded();
            command.env("HOME", scratch.path()).args(["install", "--user", "--dry-run", "--for"]).arg(&mpi.mpirun);
            command.arg(&run).args(force).output().unwrap().into()
        };
        install("ob1", &[]).exits(0);
        install("ucx", &[]).exits(3).complains("ANOTHER TRANSPORT");
        install("ucx", &["--force"]).exits(0).says("ANOTHER TRANSPORT");
    });
}

/// Open MPI alone says that a pml cannot be selected, or nothing but that ranks are unreachable.
#[test]
fn transports_that_cannot_serve_have_a_remedy() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let fails = |transport: &[(&str, &str)], remedy: &str| {
            let ran = run(mpi, transport, "tune --ops bcast --np 2 --sizes 1K --out", &scratch.path().join("run"));
            assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
            assert!(ran.stderr.contains(remedy), "{}: {transport:?}\n{}", mpi.version, ran.stderr);
        };
        fails(&[("OMPI_MCA_pml", "ucx")], "opal_common_ucx_devices=any");
        let unreachable: Vec<_> = UCX.into_iter().chain([("UCX_TLS", "self")]).collect();
        fails(&unreachable, "`ucx_info -d`");
        fails(
            &[("OMPI_MCA_pml", "cm"), ("OMPI_MCA_mtl", "ofi"), ("OMPI_MCA_mtl_ofi_provider_include", "none")],
            "`fi_info -l`",
        );
    });
}
