//! Timing tables to rules, without MPI.

use std::fs;
use std::io::Write;
use std::path::Path;

use collrules_record::remark::Remark;
use collrules_rules::{Choice, Collective, Release, RuleTable, hazard};

use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, data, findings, means, skip};

fn analyze(table: &Path, out: &Path) -> Ran {
    bounded().arg("analyze").arg(table).arg("--out").arg(out).output().unwrap().into()
}

fn rules(out: &Path) -> RuleTable {
    means(&out.join("rules.conf"), Release::V5_0)
}

/// The table of the two EPYC nodes has one cell without a time, and scatter must not change with the size.
#[test]
fn the_epyc_table_gives_rules() {
    let session = Session::new();
    session.copy(&data("epyc-two-nodes-osu.csv"), "epyc.csv");
    session.run("analyze epyc.csv --quiet --out epyc").exits(0);
    assert_said!(session);
    let out = session.path("epyc");
    let findings = findings(&out);
    assert_eq!(findings.cells.len(), 2 * 8 * 21);
    assert!(findings.table.rules() > 0);
    assert_eq!(hazard::check(&findings.table), []);
    assert_eq!(rules(&out), findings.table);
    let is_untested = |remark: &Remark| matches!(remark, Remark::Untested { .. });
    assert!(findings.remarks.iter().any(is_untested), "{:?}", findings.remarks);
}

/// The race of a run keeps what the run's assumptions let rules choose: an analysis under fewer assumptions would know
/// less.
#[test]
fn an_analysis_takes_over_what_the_run_assumed() {
    let session = Session::new();
    session
        .run(
            "measure --simulate --ops allreduce --np 4 --sizes 64K --budget 2s --assume commutative-ops --out run \
                 --quiet",
        )
        .exits(0);
    let commutes = |session: &Session, out: &str| findings(&session.path(out)).tree.policy.assumptions.commutative_ops;
    session.run("analyze run --out same --quiet").exits(0);
    assert!(commutes(&session, "same"));
    session.run("analyze run --assume consistent-arguments --out other --quiet").exits(0);
    assert!(!commutes(&session, "other"));
    session.run("analyze run --safety standard --out safe --quiet").exits(0);
    assert!(!commutes(&session, "safe"), "who says how safe rules shall be has said what is assumed");
}

/// Tree takes 90 % or so of the builtin's time at one size only, on two-digit values: no reason to change anything.
#[test]
fn the_barrier_table_gives_no_rules() {
    let session = Session::new();
    session.copy(&data("thin-barrier-approx.csv"), "barrier.csv");
    session.run("analyze barrier.csv --out barrier").exits(0);
    assert_said!(session);
    assert!(findings(&session.path("barrier")).table.is_empty());
}

#[test]
fn the_summit_table_gives_safe_rules() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/summit-osu.csv.gz");
    if !table.is_file() {
        return skip("no summit-osu.csv.gz in ../shared/data");
    }
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("summit");
    analyze(&table, &out).exits(0);
    let findings = findings(&out);
    assert_eq!(hazard::check(&findings.table), []);
    assert_eq!(rules(&out), findings.table);
    let collectives = findings.table.collectives().count();
    assert!(collectives >= 8, "{collectives}");
}

/// Timings of a table do not say who carried out the default.
#[test]
fn the_part_of_han_in_imported_rules_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let table = scratch.path().join("table.csv");
    let row = |collective: &str, algorithm: u32, time: f64| format!("{collective},{algorithm},16,1024,{time}\n");
    let rows =
        [("bcast", 6), ("alltoall", 2), ("scan", 1)].map(|(name, best)| row(name, 0, 30.0) + &row(name, best, 15.0));
    let header = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n";
    fs::write(&table, format!("{header}{}", rows.concat())).unwrap();
    for (release, of_han) in
        [("4.1", vec![]), ("5.0", vec![Collective::Bcast]), ("6.0", vec![Collective::Alltoall, Collective::Bcast])]
    {
        let out = scratch.path().join(release);
        let ran: Ran =
            bounded().args(["analyze", "--release", release, "--out"]).arg(&out).arg(&table).output().unwrap().into();
        let ran = ran.exits(0);
        let named = findings(&out).remarks.into_iter().find_map(|remark| match remark {
            Remark::HanUnknown(collectives) => Some(collectives),
            _ => None,
        });
        assert_eq!(named.unwrap_or_default(), of_han, "{release}");
        let files = ["rules.conf", "report.md", "report.html"].map(|file| fs::read_to_string(out.join(file)).unwrap());
        for text in files.iter().chain([&ran.stdout]) {
            for part in ["--mca coll_han_priority 0", "priority 35 against 30", "the communicators that"] {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert_eq!(text.contains(part), !of_han.is_empty(), "{release}: {part}");
            }
        }
    }
}

/// Every kind of bad row, with the number of its line; the good rows still give their rule.
#[test]
fn bad_rows_are_named_and_left_out() {
    let session = Session::new();
    session.write(
        "table.csv",
        "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n\
         bcast,0,4,1024,10\n\
         bcast,6,4,1024,5\n\
         bcast,5,4,1024,\n\
         bcast,5,4,1024,0\n\
         bcast,5,4,1024,-3\n\
         bcast,5,4,1024,fast\n\
         bcast,5,4,1024,inf\n\
         bcast,77,4,1024,1\n\
         brodcast,1,4,1024,1\n\
         bcast,1,4,1024,7\n\
         bcast,1,4,1024,8\n\
         bcast,1,4\n",
    );
    session.run("analyze table.csv --quiet --out out").exits(0);
    assert_said!(session);
    let table = findings(&session.path("out")).table;
    assert_eq!(table.lookup(Collective::Bcast, 4, 1024), Choice::plain(6));
    assert_eq!(table.rules(), 1);
}

#[test]
fn tables_may_be_packed() {
    let scratch = tempfile::tempdir().unwrap();
    let packed = scratch.path().join("table.csv.gz");
    let mut encoder = flate2::write::GzEncoder::new(fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    encoder.write_all(&fs::read(data("epyc-two-nodes-osu.csv")).unwrap()).unwrap();
    encoder.finish().unwrap();
    let (plain, unpacked) = (scratch.path().join("plain"), scratch.path().join("packed"));
    analyze(&data("epyc-two-nodes-osu.csv"), &plain).exits(0);
    analyze(&packed, &unpacked).exits(0);
    assert_eq!(findings(&plain).table, findings(&unpacked).table);
}

/// The settings name the rules file by its absolute path, whatever path the directory was given by.
#[test]
fn settings_name_the_file_by_absolute_path() {
    let scratch = tempfile::tempdir().unwrap();
    let ran: Ran = bounded()
        .current_dir(scratch.path())
        .arg("analyze")
        .arg(data("epyc-two-nodes-osu.csv"))
        .args(["--out", "relative"])
        .output()
        .unwrap()
        .into();
    ran.exits(0);
    // Under a name that no other text will have.
    let directory = scratch.path().join("relative/tunings");
    let path = fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let written = fs::read_to_string(scratch.path().join("relative/rules.conf")).unwrap();
    assert!(written.ends_with(&fs::read_to_string(&path).unwrap()), "but for the comment on confirmation: {written}");
    let line = format!("coll_tuned_dynamic_rules_filename = {}\n", path.display());
    let settings = fs::read_to_string(scratch.path().join("relative/mca-params.conf")).unwrap();
    assert!(settings.contains(&line), "{settings}");
    assert!(settings.contains("coll_tuned_use_dynamic_rules = 1\n"), "{settings}");
    let environment = fs::read_to_string(scratch.path().join("relative/env.sh")).unwrap();
    assert!(environment.contains(&format!("OMPI_MCA_coll_tuned_dynamic_rules_filename={}", path.display())));
    let tune = fs::read_to_string(scratch.path().join("relative/tune.conf")).unwrap();
    assert!(tune.lines().all(|line| line.starts_with("--mca ") || line.starts_with('#') || line.is_empty()));
}
