//! Exact dynamic programmes over the communicator sizes of a collective, and over collectives.

use super::problem::{Layout, Problem, Range, Scope};
use super::segments::{Cost, Joined, Value, better, curve, curve_choices, fewest, fewest_choices};

/// The fewest rules in which every site keeps within the bound, and among as few those of the least cost.
pub(crate) fn fewest_rules(problem: &Problem) -> Option<Layout> {
    let blocks = problem.blocks.len();
    let mut best: Vec<Value> = vec![None; blocks + 1];
    let mut origin = vec![0; blocks + 1];
    best[0] = Some((0, Cost::NONE));
    for first in 0..blocks {
        let Some((rules, cost)) = best[first] else { continue };
        let mut joined = Joined::new(problem.choices);
        for end in first + 1..=last_end(problem, first) {
            joined.add(&problem.blocks[end - 1], Scope::Within);
            // Where these blocks have no common rules, they have none with further blocks either.
            let Some((more, extra)) = fewest(problem, &joined) else { break };
            let value = Some((rules + more, cost.plus(extra)));
            if better(value, best[end]) {
                best[end] = value;
                origin[end] = first;
            }
        }
    }
    best[blocks]?;
    layout(problem, &origin, |_, joined| fewest_choices(problem, joined), Scope::Within)
}

/// How far blocks from this one on may share rules.
fn last_end(problem: &Problem, first: usize) -> usize {
    if problem.merge { problem.blocks.len() } else { first + 1 }
}

/// Follows the origins from the last block to the first.
fn layout(
    problem: &Problem,
    origin: &[usize],
    choices: impl Fn(usize, &Joined) -> Option<Vec<(u64, usize)>>,
    scope: Scope,
) -> Option<Layout> {
    let mut ranges = Vec::new();
    let mut end = problem.blocks.len();
    while end > 0 {
        let first = origin[end];
        ranges.push(Range { first, end, choices: choices(end, &joined(problem, first, end, scope))? });
        end = first;
    }
    ranges.reverse();
    Some(Layout { ranges })
}

fn joined(problem: &Problem, first: usize, end: usize, scope: Scope) -> Joined {
    let mut joined = Joined::new(problem.choices);
    for block in &problem.blocks[first..end] {
        joined.add(block, scope);
    }
    joined
}

/// The least cost of a collective for every number of rules.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// For every block what is reached before it, by number of rules.
    reached: Vec<Vec<Point>>,
}

/// The least cost of some blocks with at most so many rules, and the last range of those that have it.
#[derive(Clone, Copy, Debug)]
struct Point {
    cost: Cost,
    /// Where the last range begins.
    first: usize,
    /// How many rules it has.
    rules: usize,
}

impl Curve {
    /// With at most so many rules.
    pub(crate) fn of(problem: &Problem, budget: usize) -> Self {
        let blocks = problem.blocks.len();
        let mut reached: Vec<Vec<Point>> = vec![Vec::new(); blocks + 1];
        reached[0].push(Point { cost: Cost::NONE, first: 0, rules: 0 });
        for first in 0..blocks {
            let mut joined = Joined::new(problem.choices);
            // Whatever reaches this block is final by now.
            flatten(&mut reached[first]);
            let (before, after) = reached.split_at_mut(first + 1);
            let ends = problem.blocks[first..last_end(problem, first)].iter().zip(after);
            for (block, after) in ends {
                joined.add(block, Scope::Harmless);
                combine(&before[first], &curve(problem, &joined, budget), budget, after, first);
            }
        }
        flatten(&mut reached[blocks]);
        Self { reached }
    }

    /// The least sums of log regrets with at most 0, 1, 2 … rules.
    pub(crate) fn log_regrets(&self) -> impl Iterator<Item = f64> {
        self.reached.last().into_iter().flatten().map(|point| point.cost.log_regret)
    }

    /// The rules behind a point of the curve; with more than it has those of its end.
    pub(crate) fn layout(&self, problem: &Problem, rules: usize) -> Option<Layout> {
        let blocks = problem.blocks.len();
        let (mut origin, mut own) = (vec![0; blocks + 1], vec![0; blocks + 1]);
        let (mut end, mut left) = (blocks, rules);
        while end > 0 {
            let points = &self.reached[end];
            let rules = left.min(points.len().checked_sub(1)?);
            let point = points[rules];
            (origin[end], own[end]) = (point.first, point.rules);
            left = rules.checked_sub(point.rules)?;
            end = point.first;
        }
        layout(problem, &origin, |end, joined| curve_choices(problem, joined, own[end]), Scope::Harmless)
    }
}

/// Adds a range with its curve to what is before it, keeping the cheapest for each number of rules.
fn combine(before: &[Point], own: &[Cost], budget: usize, after: &mut Vec<Point>, first: usize) {
    if before.is_empty() || own.is_empty() {
        return;
    }
    let length = (before.len() + own.len() - 1).min(budget.saturating_add(1));
    if after.len() < length {
        after.resize(length, Point { cost: Cost::IMPOSSIBLE, first, rules: 0 });
    }
    for (fewer, point) in before.iter().enumerate().filter(|(_, point)| point.cost.is_possible()) {
        for (rules, extra) in own.iter().enumerate().take_while(|(rules, _)| fewer + rules < length) {
            let cost = point.cost.plus(*extra);
            if cost < after[fewer + rules].cost {
                after[fewer + rules] = Point { cost, first, rules };
            }
        }
    }
}

/// Makes costs those of "at most so many rules", and drops what more rules do not improve.
///
/// Ranges that begin at different blocks have curves of different lengths, so that a longer one may fill in points that
/// a shorter one beats with fewer rules.
fn flatten(points: &mut Vec<Point>) {
    for rules in 1..points.len() {
        if points[rules].cost >= points[rules - 1].cost {
            points[rules] = points[rules - 1];
        }
    }
    while points.len() > 1 && points[points.len() - 1].cost == points[points.len() - 2].cost {
        points.pop();
    }
}

/// A point of the best way to share rules between collectives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    /// At most so many rules in all.
    pub(crate) rules: usize,
    /// The least sum of log regrets.
    pub(crate) log_regret: f64,
    /// How many rules each collective may have.
    pub(crate) of: Vec<usize>,
}

/// How a budget is best shared, for every number of rules that makes a difference.
pub(crate) fn share(curves: &[Curve], budget: usize) -> Vec<Share> {
    let mut total: Vec<f64> = vec![0.0];
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for curve in curves {
        let own: Vec<f64> = curve.log_regrets().collect();
        let length = (total.len() + own.len()).saturating_sub(1).min(budget.saturating_add(1)).max(1);
        let mut sums = vec![f64::INFINITY; length];
        let mut parent = vec![0; length];
        for (fewer, cost) in total.iter().enumerate() {
            for (rules, extra) in own.iter().enumerate().take_while(|(rules, _)| fewer + rules < length) {
                if cost + extra < sums[fewer + rules] {
                    (sums[fewer + rules], parent[fewer + rules]) = (cost + extra, rules);
                }
            }
        }
        total = sums;
        parents.push(parent);
    }
    let of = |rules: usize| {
        let mut left = rules;
        let shares = parents.iter().rev().map(|parent| {
            left -= parent[left];
            left
        });
        let mut ends: Vec<usize> = std::iter::once(rules).chain(shares).collect();
        ends.reverse();
        ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let points = total.iter().enumerate().filter(|(_, cost)| cost.is_finite());
    points.map(|(rules, cost)| Share { rules, log_regret: *cost, of: of(rules) }).collect()
}
