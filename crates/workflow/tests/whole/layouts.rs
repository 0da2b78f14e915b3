//! Rules for communicators of one size that lie in several ways.

use collrules_record::{Candidate, rundir};
use collrules_rules::lint::{self, Severity};
use collrules_rules::{Behaviour, Collective, Distribution, load};

use crate::stage::TuningFixture;

/// Four nodes of two slots. On four ranks bcast by the binary tree takes 0.6 of the builtin's time at 1 KiB on full nodes and 1.5 with
/// one rank per node, by the binomial one the other way round; by the chain 0.6 and 1.01 at 64 KiB, and by the pipeline two thirds in
/// both at 1 MiB.
const CLUSTER: &str = "--simulate=arranged --simulated-slots 8 --simulated-ppn 2 --np 4 --sizes 1K,64K,1M --refine 0 \
                       --also-layout one-per-node";

#[test]
fn one_campaign_measures_layouts_and_rules_serve_both() {
    let (mut stage, published) = TuningFixture::tuned(CLUSTER);
    let in_use = |stage: &TuningFixture| {
        stage.run().findings().unwrap().cells.iter().map(|cell| cell.in_use.algorithm).collect::<Vec<_>>()
    };
    assert_eq!(in_use(&stage), [0, 2, 3]);
    // At 1 KiB each layout would gain with rules of its own: binary_tree, and binomial.
    let wanted = published.findings.layouts.iter().map(|layout| match layout.cells[0].wanted {
        Candidate::Tuned(choice) => choice.algorithm,
        _ => 0,
    });
    assert_eq!(wanted.collect::<Vec<_>>(), [5, 6]);
    assert!(stage.path().join("layout-one-per-node").join(rundir::VALIDATION).exists());
    stage.resume().unwrap();
    assert_eq!(in_use(&stage), [0, 2, 3]);
}

/// 6.0 tells them apart, and uses rules of its own for each, as our reader reads the file.
#[test]
fn a_file_for_6_0_has_rules_for_each_layout() {
    let (stage, _) = TuningFixture::tuned(&format!("{CLUSTER} --simulated-release 6.0"));
    let version = Behaviour::from_version("6.0.0".parse().unwrap()).unwrap();
    let text = stage.read(rundir::RULES);
    let file = load(text.as_bytes(), &version).expect("6.0 reads it");
    let algorithm = |distribution, bytes| file.to_table_for(distribution).lookup(Collective::Bcast, 4, bytes).algorithm;
    for (distribution, expected) in [(Distribution::Any, [5, 2, 3]), (Distribution::OnePerNode, [6, 0, 3])] {
        let found = [1 << 10, 64 << 10, 1 << 20].map(|bytes| algorithm(distribution, bytes));
        assert_eq!(found, expected, "{distribution}");
    }
    assert!(lint::check(text.as_bytes(), &[version]).worst() < Some(Severity::Error));
}
