//! Exact dynamic programmes over the lookup bytes of communicator sizes that share their rules.

use super::problem::{Block, Problem, Scope};

/// Sums over the cells of some sites: what is to be made small, beside the number of rules.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Cost {
    pub(super) log_regret: f64,
    pub(super) unproven: u32,
}

impl Cost {
    pub(super) const NONE: Self = Self { log_regret: 0.0, unproven: 0 };
    pub(super) const IMPOSSIBLE: Self = Self { log_regret: f64::INFINITY, unproven: 0 };

    pub(super) fn plus(self, other: Self) -> Self {
        Self { log_regret: self.log_regret + other.log_regret, unproven: self.unproven + other.unproven }
    }

    pub(super) fn is_possible(self) -> bool {
        self.log_regret.is_finite()
    }
}

/// The sites of blocks that share their rules, joined by lookup bytes, with the cost of each choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    positions: Vec<u64>,
    /// One for each position and choice.
    costs: Vec<Cost>,
    choices: usize,
}

impl Joined {
    pub(super) fn new(choices: usize) -> Self {
        Self { choices, ..Self::default() }
    }

    /// Adds a block. A choice stays possible at a position where every block that measured there offers it.
    pub(super) fn add(&mut self, block: &Block, scope: Scope) {
        let mut joined = Self::new(self.choices);
        let mut old = 0;
        for site in &block.sites {
            while old < self.positions.len() && self.positions[old] < site.at {
                joined.push(self.positions[old], self.at(old));
                old += 1;
            }
            let mut costs = vec![Cost::IMPOSSIBLE; self.choices];
            let shared = self.positions.get(old) == Some(&site.at);
            for offer in site.offers.iter().filter(|offer| offer.within || scope == Scope::Harmless) {
                let own = Cost { log_regret: offer.cost, unproven: offer.unproven };
                costs[offer.choice] = if shared { own.plus(self.at(old)[offer.choice]) } else { own };
            }
            old += usize::from(shared);
            joined.push(site.at, &costs);
        }
        for place in old..self.positions.len() {
            joined.push(self.positions[place], self.at(place));
        }
        *self = joined;
    }

    fn push(&mut self, position: u64, costs: &[Cost]) {
        self.positions.push(position);
        self.costs.extend_from_slice(costs);
    }

    fn at(&self, place: usize) -> &[Cost] {
        &self.costs[place * self.choices..(place + 1) * self.choices]
    }

    fn places(&self) -> usize {
        self.positions.len()
    }

    fn with_positions(&self, choices: Vec<usize>) -> Vec<(u64, usize)> {
        self.positions.iter().copied().zip(choices).collect()
    }
}

/// The value of a solution: fewer rules first, then the smaller cost; none where nothing is possible.
pub(super) type Value = Option<(u32, Cost)>;

/// Whether one value is better than the other.
pub(super) fn better(one: Value, other: Value) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one < other,
        (one, _) => one.is_some(),
    }
}

/// The fewest ranges, and among as few the least cost; all choices of one class.
pub(super) fn fewest(problem: &Problem, joined: &Joined) -> Value {
    problem
        .classes
        .iter()
        .map(|class| sweep(problem, joined, class, None))
        .fold(None, |best, value| if better(value, best) { value } else { best })
}

/// The same with the choice at each position.
pub(super) fn fewest_choices(problem: &Problem, joined: &Joined) -> Option<Vec<(u64, usize)>> {
    let mut best: Value = None;
    let mut choices = None;
    for class in &problem.classes {
        let mut taken = Vec::new();
        let value = sweep(problem, joined, class, Some(&mut taken));
        if better(value, best) {
            best = value;
            choices = Some(joined.with_positions(taken));
        }
    }
    choices
}

/// One pass from small to large: for each choice the best way to serve everything up to here that ends with it.
///
/// Either the range before goes on, or the best of all ways ends and a new range begins. Both are optimal parts of an
/// optimal whole (Bellman), since what follows depends on the last choice alone.
fn sweep(problem: &Problem, joined: &Joined, class: &[usize], taken: Option<&mut Vec<usize>>) -> Value {
    let mut before: Vec<Value> = Vec::new();
    // For each position and choice, the place in the class of the choice before.
    let mut origins: Vec<u32> = Vec::new();
    for place in 0..joined.places() {
        let costs = joined.at(place);
        let cheapest = least(&before);
        let mut now = Vec::with_capacity(class.len());
        for (own, choice) in class.iter().enumerate() {
            let weight = problem.weight(*choice);
            let (mut value, mut origin) = match (cheapest, place) {
                (_, 0) => (Some((weight, Cost::NONE)), own),
                (Some(from), _) => (before[from].map(|(rules, cost)| (rules + weight, cost)), from),
                (None, _) => (None, own),
            };
            let stay = before.get(own).copied().flatten();
            if stay.is_some() && !better(value, stay) {
                (value, origin) = (stay, own);
            }
            let cost = costs[*choice];
            now.push(value.filter(|_| cost.is_possible()).map(|(rules, sum)| (rules, sum.plus(cost))));
            if taken.is_some() {
                origins.push(origin as u32);
            }
        }
        before = now;
    }
    let Some(mut last) = least(&before) else { return if joined.places() == 0 { Some((0, Cost::NONE)) } else { None } };
    let value = before[last];
    if let Some(taken) = taken {
        for place in (0..joined.places()).rev() {
            taken.push(class[last]);
            last = origins[place * class.len() + last] as usize;
        }
        taken.reverse();
    }
    value
}

/// The place of the best value, the first of equals.
fn least(values: &[Value]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for place in 0..values.len() {
        if better(values[place], best.and_then(|best| values[best])) {
            best = Some(place);
        }
    }
    best
}

/// The least cost with at most so many rules, for 0, 1, 2 … rules; ends where more rules would not help.
pub(super) fn curve(problem: &Problem, joined: &Joined, budget: usize) -> Vec<Cost> {
    let mut curve: Vec<Cost> = Vec::new();
    for class in &problem.classes {
        let of_class = Ladder::climb(problem, joined, class, budget, false).curve();
        let ends = (curve.last().copied(), of_class.last().copied());
        let longest = curve.len().max(of_class.len());
        let at = |curve: &[Cost], end: Option<Cost>, rules: usize| {
            curve.get(rules).copied().or(end).unwrap_or(Cost::IMPOSSIBLE)
        };
        curve = (0..longest)
            .map(|rules| {
                let (one, other) = (at(&curve, ends.0, rules), at(&of_class, ends.1, rules));
                if other < one { other } else { one }
            })
            .collect();
    }
    while curve.len() > 1 && curve[curve.len() - 1] == curve[curve.len() - 2] {
        curve.pop();
    }
    curve
}

/// The choices behind a point of the curve.
pub(super) fn curve_choices(problem: &Problem, joined: &Joined, rules: usize) -> Option<Vec<(u64, usize)>> {
    let mut best: Option<(Cost, Vec<usize>)> = None;
    for class in &problem.classes {
        let ladder = Ladder::climb(problem, joined, class, rules, true);
        if let Some((cost, choices)) = ladder.choices(problem, class, rules)
            && best.as_ref().is_none_or(|(least, _)| cost < *least)
        {
            best = Some((cost, choices));
        }
    }
    best.map(|(_, choices)| joined.with_positions(choices))
}

/// The least costs after the last position, by number of rules and choice, and how they came about.
struct Ladder {
    /// One for each number of rules and each choice of the class.
    costs: Vec<Cost>,
    /// For each position, number of rules and choice, the place in the class of the choice before.
    origins: Vec<u32>,
    width: usize,
    places: usize,
}

impl Ladder {
    /// The same recursion as [`sweep`], with the number of rules as a second coordinate.
    fn climb(problem: &Problem, joined: &Joined, class: &[usize], budget: usize, traced: bool) -> Self {
        // More than one range for each position is never needed.
        let rungs = budget.min(joined.places()) + 1;
        let width = class.len();
        let mut before = vec![Cost::IMPOSSIBLE; rungs * width];
        let mut origins = Vec::new();
        let mut cheapest: Vec<Option<usize>> = vec![None; rungs];
        for place in 0..joined.places() {
            let costs = joined.at(place);
            for (rung, cheapest) in cheapest.iter_mut().enumerate() {
                let row = &before[rung * width..(rung + 1) * width];
                let possible = (0..width).filter(|own| row[*own].is_possible());
                *cheapest = possible.reduce(|best, own| if row[own] < row[best] { own } else { best });
            }
            let mut now = vec![Cost::IMPOSSIBLE; rungs * width];
            for rung in 0..rungs {
                for (own, choice) in class.iter().enumerate() {
                    let weight = problem.weight(*choice) as usize;
                    let (mut cost, mut origin) = (before[rung * width + own], own);
                    if let Some(lower) = rung.checked_sub(weight) {
                        if place == 0 {
                            // Fewer rules than allowed are no other solution.
                            cost = if lower == 0 { Cost::NONE } else { Cost::IMPOSSIBLE };
                        } else if let Some(from) = cheapest[lower]
                            && before[lower * width + from] < cost
                        {
                            (cost, origin) = (before[lower * width + from], from);
                        }
                    }
                    now[rung * width + own] = if cost.is_possible() && costs[*choice].is_possible() {
                        cost.plus(costs[*choice])
                    } else {
                        Cost::IMPOSSIBLE
                    };
                    if traced {
                        origins.push(origin as u32);
                    }
                }
            }
            before = now;
        }
        if joined.places() == 0 {
            before.fill(Cost::NONE);
        }
        Self { costs: before, origins, width, places: joined.places() }
    }

    /// The least cost with at most so many rules.
    fn curve(&self) -> Vec<Cost> {
        let mut least = Cost::IMPOSSIBLE;
        let rows = self.costs.chunks(self.width);
        rows.map(|row| {
            least = row.iter().copied().fold(least, |least, cost| if cost < least { cost } else { least });
            least
        })
        .collect()
    }

    /// The cheapest choices with at most so many rules.
    fn choices(&self, problem: &Problem, class: &[usize], rules: usize) -> Option<(Cost, Vec<usize>)> {
        let rungs = self.costs.len() / self.width;
        let mut end: Option<usize> = None;
        for place in 0..self.costs.len().min((rules + 1) * self.width) {
            let possible = self.costs[place].is_possible();
            if possible && end.is_none_or(|end| self.costs[place] < self.costs[end]) {
                end = Some(place);
            }
        }
        let end = end?;
        let (mut rung, mut own) = (end / self.width, end % self.width);
        let mut choices = Vec::with_capacity(self.places);
        for place in (0..self.places).rev() {
            choices.push(class[own]);
            let origin = self.origins[(place * rungs + rung) * self.width + own] as usize;
            if origin != own {
                rung -= problem.weight(class[own]) as usize;
            }
            own = origin;
        }
        choices.reverse();
        Some((self.costs[end], choices))
    }
}
