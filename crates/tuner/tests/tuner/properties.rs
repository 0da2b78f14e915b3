//! Whatever the samples, there is an answer, and it is safe.

use collrules_record::criteria::Criteria;
use collrules_record::{Candidate, Cell};
use collrules_rules::metric::lookup_bytes;
use collrules_rules::{Choice, Collective, Release, hazard};
use proptest::prelude::*;

use crate::campaign::{Campaign, cell};

/// A message that takes five hours and more at [`RATE`], a thousandth of all bytes that can be counted.
const LONGEST: u64 = u64::MAX / 1024;

/// Bytes per microsecond: a tenth of the rate from which on times are refused as impossible.
const RATE: f64 = 1e6;

fn a_cell() -> impl Strategy<Value = Cell> {
    let sizes = prop_oneof![0u64..64, Just(1 << 20), Just(1 << 40), Just(LONGEST)];
    (prop::sample::select(Collective::ALL.to_vec()), 0u32..6, sizes)
        .prop_map(|(collective, ranks, bytes)| cell(collective, ranks, bytes))
}

fn a_candidate() -> impl Strategy<Value = Candidate> {
    (0u32..10, 0u32..4, 0u64..2, 0u32..2).prop_map(|(algorithm, faninout, segsize, max_requests)| {
        let choice = Choice { algorithm, faninout, segsize: segsize * 1024, max_requests };
        if algorithm == 0 { Candidate::Builtin } else { Candidate::Tuned(choice) }
    })
}

/// A cell, candidates with their true times in microseconds, and perhaps one that fails.
type Points = (Cell, Vec<(Candidate, f64)>, Option<Candidate>);

fn points() -> impl Strategy<Value = Vec<Points>> {
    let times = prop::collection::vec((a_candidate(), 1.0f64..4.0), 0..6);
    prop::collection::vec((a_cell(), times, prop::option::of(a_candidate())), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_set_of_samples_has_a_safe_answer(
        points in points(),
        rounds in 1u32..9,
        noise in 0.0f64..0.1,
        release in prop::sample::select(Release::ALL.to_vec()),
        level in 0.01f64..0.99,
    ) {
        let mut campaign = Campaign::new(0, noise);
        campaign.visits = 2;
        campaign.rounds_per_visit = rounds;
        for (cell, times, failed) in points {
            // No call is faster than memory.
            let scale = (cell.bytes.0 as f64 / RATE).max(1.0);
            let times: Vec<(Candidate, f64)> = times.into_iter().map(|(it, time)| (it, scale * time)).collect();
            // With the builtin at the top of the range, rules are common.
            campaign.time(cell, &[(Candidate::Builtin, 4.0 * scale)]);
            campaign.time(cell, &times);
            if let Some(failed) = failed {
                campaign.end(cell, failed, "disqualified: for the test");
            }
        }
        let findings = campaign.analyze_with(release, Criteria { level, ..Criteria::default() });
        prop_assert_eq!(hazard::check(&findings.table), vec![]);
        prop_assert!(findings.cells.is_sorted_by(|a, b| a.cell < b.cell));
        for finding in &findings.cells {
            let Cell { collective, ranks, bytes } = finding.cell;
            let lookup = lookup_bytes(release, collective, ranks, bytes, 1);
            prop_assert_eq!(finding.in_use, findings.table.lookup(collective, ranks.0.into(), lookup));
            let in_use = Candidate::from_choice(finding.in_use);
            let failed = finding.disqualified.iter().any(|(candidate, _)| *candidate == in_use);
            prop_assert!(!failed || in_use == Candidate::Builtin);
            prop_assert!(finding.points.is_sorted_by(|a, b| a.candidate < b.candidate));
        }
        for crossover in &findings.crossovers {
            prop_assert!(crossover.at > crossover.bracket.0 && crossover.at <= crossover.bracket.1);
        }
    }
}
