//! One decision for several layouts, with gains that are known on paper.

use collrules_record::findings::{CellInLayout, Findings};

use collrules_record::criteria::Criteria;
use collrules_record::{Arrangement, Candidate, Estimate, Nodes, Placement, Policy, Ranks};
use collrules_rules::{Collective, Release};
use collrules_tuner::{Laid, Observations, analyze_among};

use crate::campaign::{Campaign, cell, finding, plain, remarked, why_kept};

/// Gains of algorithms 1 and 6 at 8 B, 64 B, 512 B and 4 KiB on 4 ranks.
type Gains = [(f64, f64); 4];

/// Two nodes with two ranks each, and four with one each: opposed wishes, one that does no harm to the other, two that are good for
/// both, and one that loses a tenth.
const FULL: Gains = [(1.5, 0.6), (1.5, 0.6), (1.5, 1.1), (1.5, 0.6)];
const ONE_EACH: Gains = [(0.6, 1.5), (0.98, 0.6), (1.05, 1.6), (0.9, 0.6)];

struct Measured {
    observations: Observations,
    placement: Placement,
}

impl Measured {
    fn laid(&self) -> Laid<'_> {
        Laid { observations: &self.observations, placement: &self.placement, run: "a synthetic campaign" }
    }
}

fn measured(gains: Gains, counts: &[u32]) -> Measured {
    let mut campaign = Campaign::new(counts.len() as u64, 0.0);
    for (place, (one, six)) in gains.into_iter().enumerate() {
        let times = [(Candidate::Builtin, 10.0), (plain(1), 10.0 / one), (plain(6), 10.0 / six)];
        campaign.time(cell(Collective::Bcast, 4, 8 << (3 * place)), &times);
    }
    let placement = Placement { nodes: [(Ranks(4), Nodes(counts.to_vec()))].into(), ..Placement::default() };
    Measured { observations: Observations::from_samples(campaign.text()).unwrap(), placement }
}

fn analyze(own: &Measured, other: &Measured) -> Findings {
    let (criteria, policy) = (Criteria::default(), Policy::default());
    analyze_among(own.laid(), &[other.laid()], Release::V5_0, criteria, policy, &[]).unwrap().0
}

fn in_use(findings: &Findings) -> Vec<u32> {
    findings.cells.iter().map(|cell| cell.in_use.algorithm).collect()
}

/// At 512 B algorithm 1 gains 1.5 and 1.05, algorithm 6 gains 1.1 and 1.6: its mean is higher. At 4 KiB algorithm 1 loses a tenth
/// with one rank per node, which forbids it.
#[test]
fn what_does_no_harm_and_gains_most_is_chosen() {
    let (full, one_each) = (measured(FULL, &[2, 2]), measured(ONE_EACH, &[1; 4]));
    for findings in [analyze(&full, &one_each), analyze(&one_each, &full)] {
        assert_eq!(in_use(&findings), [0, 1, 6, 0]);
    }
}

/// The gain is the geometric mean: that of 1.1 and 1.6 is 1.327.
#[test]
fn gains_are_means_and_each_layout_is_described() {
    let (full, one_each) = (measured(FULL, &[2, 2]), measured(ONE_EACH, &[1; 4]));
    let findings = analyze(&full, &one_each);
    let gain = finding(&findings, cell(Collective::Bcast, 4, 512)).point(plain(6)).unwrap().gain.unwrap();
    assert!((gain.point / (1.1f64 * 1.6).sqrt() - 1.0).abs() < 1e-6, "{gain:?}");

    let [own, other] = &findings.layouts[..] else { panic!("two layouts: {:?}", findings.layouts) };
    let of = |cells: &[CellInLayout]| -> Vec<_> {
        let gain = |gain: Option<Estimate>| gain.map(|gain| (100.0 * gain.point).round());
        cells.iter().map(|cell| (cell.arrangement, gain(cell.wanted_gain), gain(cell.gain_in_use))).collect()
    };
    let full = |wanted, in_use| (Arrangement::Full, wanted, in_use);
    let one = |wanted, in_use| (Arrangement::OnePerNode, wanted, in_use);
    let (best, none) = (Some(150.0), None);
    assert_eq!(of(&own.cells), [full(best, none), full(best, best), full(best, Some(110.0)), full(best, none)]);
    let expected = [one(best, none), one(none, Some(98.0)), one(Some(160.0), Some(160.0)), one(none, none)];
    assert_eq!(of(&other.cells), expected);
    assert_eq!(
        why_kept(&findings, findings.cells[3].cell),
        "the faster algorithm must not be chosen: it is slower on one-per-node"
    );
}

/// A second layout that says the same as the first changes nothing, and a cell that one of them lacks is not decided on.
#[test]
fn what_layouts_agree_on_holds_and_what_one_lacks_does_not() {
    let full = measured(FULL, &[2, 2]);
    let (criteria, policy) = (Criteria::default(), Policy::default());
    let alone = analyze_among(full.laid(), &[], Release::V5_0, criteria, policy, &[]).unwrap().0;
    let twice = analyze(&full, &measured(FULL, &[1; 4]));
    assert_eq!((&twice.table, in_use(&twice)), (&alone.table, vec![1, 1, 1, 1]));
    assert!(alone.layouts.is_empty());

    let mut fewer = Campaign::new(9, 0.0);
    fewer.time(cell(Collective::Bcast, 4, 8), &[(Candidate::Builtin, 10.0), (plain(1), 5.0)]);
    let placement = Placement { nodes: [(Ranks(4), Nodes(vec![1; 4]))].into(), ..Placement::default() };
    let fewer = Measured { observations: Observations::from_samples(fewer.text()).unwrap(), placement };
    let findings = analyze(&full, &fewer);
    assert_eq!(findings.cells.iter().map(|cell| cell.cell.bytes.0).collect::<Vec<_>>(), [8]);
    assert!(
        remarked(&findings, "Sizes left out, since they were not measured in every layout that has them: 3."),
        "{:?}",
        findings.remarks
    );
}
