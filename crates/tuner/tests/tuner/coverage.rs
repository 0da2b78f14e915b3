//! Intervals of 95 % against truths that a simulation knows.

use collrules_record::Candidate;
use collrules_rules::Collective;

use crate::campaign::{Campaign, cell, plain};

/// The share of intervals of the gain that hold the true one, and their number.
fn coverage(change: impl Fn(&mut Campaign)) -> (f64, f64) {
    let (mut held, mut all) = (0.0, 0.0);
    for seed in 0..60 {
        let mut campaign = Campaign::new(seed, 0.05);
        campaign.launches = 3;
        campaign.visits = 24;
        change(&mut campaign);
        for power in 0..8 {
            let times: Vec<_> =
                (0..5).map(|id| if id == 0 { (Candidate::Builtin, 11.0) } else { (plain(id), 10.0) }).collect();
            campaign.time(cell(Collective::Bcast, 8, 1 << power), &times);
        }
        for gain in campaign.analyze().cells.iter().flat_map(|cell| &cell.points).filter_map(|point| point.gain) {
            let (low, high) = (gain.low.unwrap(), gain.high.unwrap());
            held += f64::from(low <= 1.1 && 1.1 <= high);
            all += 1.0;
        }
    }
    (held / all, all)
}

/// Intervals of one cell share the builtin's launch and visits, so that 1920 of them weigh like a third or so.
fn assert_covers(what: &str, (share, count): (f64, f64)) {
    let error = (0.95 * 0.05 / (count / 3.0)).sqrt();
    assert!(share > 0.95 - 3.0 * error, "{what}: {share} of {count}");
}

#[test]
#[ignore = "part of `make test-all`"]
fn intervals_cover() {
    assert_covers("independent visits", coverage(|campaign| campaign.visit_noise = 0.03));
    assert_covers(
        "launch effects",
        coverage(|campaign| {
            campaign.visit_noise = 0.03;
            campaign.launch_noise = 0.04;
        }),
    );
    assert_covers("skew", coverage(|campaign| campaign.skew = 0.2));
    assert_covers("outliers", coverage(|campaign| campaign.outliers = 0.05));
    assert_covers(
        "all of it",
        coverage(|campaign| {
            campaign.visit_noise = 0.03;
            campaign.launch_noise = 0.04;
            campaign.skew = 0.2;
            campaign.outliers = 0.05;
        }),
    );
}
