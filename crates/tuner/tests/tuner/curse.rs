//! Tests of expected gains against the truth of a simulation, which fresh data would show.

use collrules_record::Candidate;
use collrules_record::findings::Verdict;
use collrules_rules::Collective;

use crate::campaign::{Campaign, cell, finding, plain};

/// Candidates whose true log gains are normal with a deviation of 8 % about 0, and do not change with the message size;
/// 12 cells, so that some of 6 candidates always seems good.
fn promised_and_true(seed: u64, launch_noise: f64) -> Vec<(f64, f64, f64)> {
    let mut campaign = Campaign::new(seed, 0.10);
    campaign.visits = 12;
    campaign.visit_noise = 0.10;
    campaign.launch_noise = launch_noise;
    let mut truths = Vec::new();
    for ranks in [4, 8, 16] {
        for power in 0..4 {
            let gains: Vec<f64> = (0..6).map(|_| (0.08 * campaign.normal()).exp()).collect();
            let mut times = vec![(Candidate::Builtin, 10.0)];
            times.extend((1..).zip(&gains).map(|(id, gain)| (plain(id), 10.0 / gain)));
            let at = cell(Collective::Bcast, ranks, 1024 << power);
            campaign.time(at, &times);
            truths.push((at, times));
        }
    }
    let findings = campaign.analyze();
    let replaced = truths.into_iter().filter_map(|(at, times)| {
        let finding = finding(&findings, at);
        let Verdict::Replace { candidate, gain } = &finding.verdict else { return None };
        let (_, micros) = times.iter().find(|(other, _)| other == candidate)?;
        let expected = finding.point(*candidate)?.expected?;
        Some((gain.point.ln(), expected.ln(), (10.0 / micros).ln()))
    });
    replaced.collect()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares = values.map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// The gain to expect takes away what a choice for being large adds, and rather more than that: 1.7 % too little is promised
/// without noise of launches, where the measured gain is 4.2 % too good.
#[test]
#[ignore = "part of `make test-all`"]
fn the_expected_gain_comes_true() {
    for launch_noise in [0.0, 0.05] {
        let replaced: Vec<_> = (0..150).flat_map(|seed| promised_and_true(seed, launch_noise)).collect();
        assert!(replaced.len() > 100, "{} replacements", replaced.len());
        let (curse, _) = mean(replaced.iter().map(|(measured, _, truth)| measured - truth));
        let (excess, error) = mean(replaced.iter().map(|(_, expected, truth)| expected - truth));
        assert!(curse > 4.0 * error, "without a curse there is nothing to correct: {curse}");
        assert!(excess < 3.0 * error + 0.1 * curse, "{launch_noise}: promised {excess} too much");
        assert!(excess > -0.5 * curse, "{launch_noise}: promised {excess} too little of a curse of {curse}");
    }
}
