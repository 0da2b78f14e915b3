//! Rules for communicators of one size that lie in several ways.

use std::path::Path;

use collrules_record::Candidate;
use collrules_rules::{Behaviour, Collective, Distribution, load};

use crate::support::{Ran, bounded, findings};

fn run(directory: &Path, arguments: &str) -> Ran {
    bounded().current_dir(directory).args(arguments.split_whitespace()).output().unwrap().into()
}

/// Four nodes of two slots. On four ranks bcast by the binary tree takes 0.6 of the builtin's time at 1 KiB on full nodes and 1.5 with
/// one rank per node, by the binomial one the other way round; by the chain 0.6 and 1.01 at 64 KiB, and by the pipeline two thirds in
/// both at 1 MiB.
const CLUSTER: &str = "--simulate=arranged --simulated-slots 8 --simulated-ppn 2 --ops bcast --np 4 --sizes 1K,64K,1M";

fn served(run: &Path) -> Vec<u32> {
    findings(run).cells.iter().map(|cell| cell.served.algorithm).collect()
}

#[test]
fn one_campaign_measures_layouts_and_rules_serve_both() {
    let scratch = tempfile::tempdir().unwrap();
    let site = scratch.path().join("site");
    let tune = format!("tune {CLUSTER} --also-layout one-per-node --verbose --out site");
    run(scratch.path(), &tune).exits(0);
    assert_eq!(served(&site), [0, 2, 3]);
    // At 1 KiB each layout would gain with rules of its own: binary_tree, and binomial.
    let wanted = findings(&site).layouts.into_iter().map(|layout| match layout.cells[0].wanted {
        Candidate::Tuned(choice) => choice.algorithm,
        _ => 0,
    });
    assert_eq!(wanted.collect::<Vec<_>>(), [5, 6]);
    assert!(site.join("layout-one-per-node/validation.json").exists());

    run(scratch.path(), "tune --resume site").exits(0);
    assert_eq!(served(&site), [0, 2, 3]);
}

#[test]
fn runs_of_several_layouts_become_one() {
    let scratch = tempfile::tempdir().unwrap();
    run(scratch.path(), &format!("measure {CLUSTER} --out full -q")).exits(0);
    run(scratch.path(), &format!("measure {CLUSTER} --layout one-per-node --seed 5 --out each -q")).exits(0);
    run(scratch.path(), "merge full each --out site").exits(0);
    assert!(scratch.path().join("site/layout-one-per-node/samples.csv").is_file());
    run(scratch.path(), "analyze site").exits(0);
    let site = scratch.path().join("site");
    assert_eq!(served(&site), [0, 2, 3]);
    assert_eq!(findings(&site).layouts.len(), 2);
    let lies_alike = "measure --simulate --simulated-slots 8 --simulated-ppn 2 --ops bcast --np 2 --sizes 8 --out same \
                      --layout one-per-node --also-layout spread";
    run(scratch.path(), lies_alike).exits(0).complains("it places all communicators as one-per-node does");
}

/// 6.0 tells them apart, and uses rules of its own for each, as our reader reads the file.
#[test]
fn a_file_for_6_0_has_rules_for_each_layout() {
    let scratch = tempfile::tempdir().unwrap();
    let tune = format!("tune {CLUSTER} --simulated-release 6.0 --also-layout one-per-node --verbose --out site");
    run(scratch.path(), &tune).exits(0);
    let text = std::fs::read(scratch.path().join("site/rules.conf")).unwrap();
    let version = Behaviour::from_version("6.0.0".parse().unwrap()).unwrap();
    let file = load(&text, &version).into_accepted().expect("6.0 reads it");
    let algorithm = |distribution, bytes| file.to_table_for(distribution).lookup(Collective::Bcast, 4, bytes).algorithm;
    for (distribution, expected) in [(Distribution::Any, [5, 2, 3]), (Distribution::OnePerNode, [6, 0, 3])] {
        assert_eq!(
            [1 << 10, 64 << 10, 1 << 20].map(|bytes| algorithm(distribution, bytes)),
            expected,
            "{distribution}"
        );
    }
    run(scratch.path(), "check site/rules.conf --release 6.0").exits(0);
}
