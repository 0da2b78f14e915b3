//! The dynamic programmes against trying everything.

use proptest::prelude::*;

use super::solve::{BUILTIN, BlockSpan, Offer, Site, TableProblem, fewest_rules, weight};

/// Computes the cost of rules: ranges that count, and the sum of log regrets; none if they choose a candidate that a
/// site does not offer.
fn cost(problem: &TableProblem, spans: &[BlockSpan]) -> Option<(u32, f64)> {
    let (mut rules, mut sum) = (0, 0.0);
    for range in spans {
        let mut before = None;
        for (_, choice) in &range.choices {
            if before != Some(*choice) {
                rules += weight(*choice);
            }
            before = Some(*choice);
        }
        for site in problem.blocks[range.first..range.end].iter().flatten() {
            let (_, choice) = range.choices.iter().find(|(at, _)| *at == site.at)?;
            let offer = site.offers.iter().find(|offer| offer.choice == *choice)?;
            if !offer.within {
                return None;
            }
            sum += offer.cost;
        }
    }
    Some((rules, sum))
}

/// Every way to cut a row of this length into ranges.
fn cuts(length: usize) -> Vec<Vec<(usize, usize)>> {
    if length == 0 {
        return vec![Vec::new()];
    }
    let shorter = |first: usize| {
        cuts(first).into_iter().map(move |mut cut| {
            cut.push((first, length));
            cut
        })
    };
    (0..length).flat_map(shorter).collect()
}

/// Every row of this length made of choices of one class.
fn rows(class: &[usize], length: usize) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new()];
    for _ in 0..length {
        rows =
            rows.iter().flat_map(|row| class.iter().map(move |choice| [row.as_slice(), &[*choice]].concat())).collect();
    }
    rows
}

/// The values of all rules there are for a problem.
fn everything(problem: &TableProblem) -> Vec<(u32, f64)> {
    let mut values = Vec::new();
    for cut in cuts(problem.blocks.len()) {
        if !problem.merge && cut.iter().any(|(first, end)| end - first > 1) {
            continue;
        }
        let mut whole = vec![(0, 0.0)];
        for (first, end) in cut {
            let mut positions: Vec<u64> = problem.blocks[first..end].iter().flatten().map(|site| site.at).collect();
            positions.sort_unstable();
            positions.dedup();
            let mut own = Vec::new();
            for row in problem.classes.iter().flat_map(|class| rows(class, positions.len())) {
                let choices = positions.iter().copied().zip(row).collect();
                own.extend(cost(problem, &[BlockSpan { first, end, choices }]));
            }
            whole = whole.iter().flat_map(|(a, b)| own.iter().map(move |(c, d)| (a + c, b + d))).collect();
        }
        values.extend(whole);
    }
    values
}

fn offer(choices: usize) -> impl Strategy<Value = Vec<Offer>> {
    let own = move |choice: usize| {
        (prop::bool::weighted(0.8), 0u32..6, 0u32..2, prop::bool::weighted(0.7)).prop_map(
            move |(there, cost, unproven, within)| {
                let cost = f64::from(cost) / 8.0;
                // The builtin is always there, and what costs nothing is within any bound.
                let within = within || cost == 0.0;
                (there || choice == BUILTIN).then_some(Offer { choice, cost, unproven, within })
            },
        )
    };
    (0..choices).map(own).collect::<Vec<_>>().prop_map(|offers| offers.into_iter().flatten().collect())
}

fn block(choices: usize) -> impl Strategy<Value = Vec<Site>> {
    prop::collection::btree_map(0u64..5, offer(choices), 0..4)
        .prop_map(|sites| sites.into_iter().map(|(at, offers)| Site { at, weight: 1.0, cells: 1, offers }).collect())
}

fn problem() -> impl Strategy<Value = TableProblem> {
    let classes =
        prop_oneof![Just(vec![vec![0, 1, 2]]), Just(vec![vec![0], vec![1, 2]]), Just(vec![vec![0], vec![1], vec![2]]),];
    (prop::collection::vec(block(3), 0..4), classes, any::<bool>()).prop_map(|(blocks, classes, merge)| TableProblem {
        choices: 3,
        classes,
        blocks,
        merge,
    })
}

proptest! {
    #[test]
    fn the_fewest_rules_are_those_found_by_trying_everything(problem in problem()) {
        let best = everything(&problem).into_iter().min_by(|a, b| a.partial_cmp(b).expect("numbers"));
        let found = fewest_rules(&problem);
        match (best, found) {
            (None, found) => prop_assert_eq!(found, None),
            (Some((rules, sum)), found) => {
                let (own_rules, own_sum) = cost(&problem, &found.expect("there is one")).expect("allowed");
                prop_assert_eq!(own_rules, rules);
                prop_assert!((own_sum - sum).abs() < 1e-9, "{} instead of {}", own_sum, sum);
            }
        }
    }
}

/// Two sizes for which one choice is best, between them one that it costs 0.1: within 0.1 it is one rule.
#[test]
fn a_loss_within_the_bound_saves_rules() {
    let site = |at: u64, costs: [f64; 3], bound: f64| Site {
        at,
        weight: 1.0,
        cells: 1,
        offers: (0..3)
            .map(|choice| Offer { choice, cost: costs[choice], unproven: 0, within: costs[choice] <= bound })
            .collect(),
    };
    let problem = |bound: f64| TableProblem {
        choices: 3,
        classes: vec![vec![0, 1, 2]],
        blocks: vec![vec![
            site(1, [1.0, 0.0, 1.0], bound),
            site(2, [1.0, 0.1, 0.0], bound),
            site(4, [1.0, 0.0, 1.0], bound),
        ]],
        merge: false,
    };
    let choices = |bound: f64| fewest_rules(&problem(bound)).expect("a solution")[0].choices.clone();
    assert_eq!(choices(0.05), [(1, 1), (2, 2), (4, 1)]);
    assert_eq!(choices(0.1), [(1, 1), (2, 1), (4, 1)]);
}
