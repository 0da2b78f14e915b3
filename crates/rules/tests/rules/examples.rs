//! The example files mean the same to every version that reads them, and are safe.

use std::fs;
use std::path::Path;

use collrules_rules::emit::TargetFormat;
use collrules_rules::{Behaviour, Choice, Collective, RuleTable, han, hazard, load};

/// Reads the meaning of an example, which must be equal in every version that reads its format; the others must reject
/// it.
fn meaning(name: &str, format: TargetFormat) -> RuleTable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rules").join(name);
    let bytes = fs::read(path).expect("the example is there");
    let mut tables = Vec::new();
    for version in Behaviour::distinct() {
        match load(&bytes, &version) {
            Ok(loaded) if format.is_read_by(&version) => tables.push(loaded.to_table()),
            Err(fault) if !fault.kind.crashes() && !format.is_read_by(&version) => {}
            other => panic!("{name}, {version}: {other:?}"),
        }
    }
    assert!(tables.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    let table = tables.pop().expect("somebody reads it");
    assert_eq!(hazard::check(&table), [], "{name}");
    table
}

#[test]
fn examples_mean_the_same_to_every_version_that_reads_them() {
    let classic = meaning("classic.conf", TargetFormat::Classic);
    let version_2 = meaning("version-2.conf", TargetFormat::V2);
    let json = meaning("tuned.json", TargetFormat::Json);
    let pipeline = Choice::plain(3).with_segsize(8192);
    for table in [&classic, &json] {
        assert_eq!(table.lookup(Collective::Bcast, 7, 32768), Choice::BUILTIN);
        assert_eq!(table.lookup(Collective::Bcast, 8, 32767), Choice::plain(6));
        assert_eq!(table.lookup(Collective::Bcast, 99, 32768), pipeline);
        assert_eq!(table.lookup(Collective::Allgather, 5, 0), Choice::plain(2).with_faninout(2));
    }
    let linear_sync = Choice { max_requests: 8, ..Choice::plain(4) };
    for table in [&version_2, &json] {
        assert_eq!(table.lookup(Collective::Alltoall, 16, 16384), linear_sync);
        assert_eq!(table.lookup(Collective::Alltoall, 15, 16384), Choice::BUILTIN);
    }
}

#[test]
fn the_example_for_han_is_what_we_write() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rules/han.conf");
    let text = fs::read_to_string(path).expect("the example is there");
    let about = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a first line");
    for version in ["4.1", "5.0", "6.0"].map(|version| version.parse().expect("known")) {
        let Ok(loaded) = han::load(text.as_bytes(), &version) else { panic!("{version}") };
        let table = loaded.to_table();
        assert_eq!(han::write(&table, &[about.to_owned()]).expect("it can be said"), text);
        let in_use = |ranks, bytes| table.lookup((Collective::Bcast, han::Level::GlobalCommunicator), ranks, bytes);
        let [han, tuned] = [han::HanComponent::Han, han::HanComponent::Tuned]
            .map(|one| Some(han::ComponentChoice::from_component(one)));
        assert_eq!([in_use(8, 2047), in_use(8, 2048), in_use(9, 2048)], [han, tuned, han]);
    }
}
