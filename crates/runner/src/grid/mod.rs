//! Planning: from a survey and the user's options to a plan.
//!
//! | module | job |
//! |---|---|
//! | `sizes` | message and communicator sizes, and reasons why some cannot be measured |
//! | `candidates` | the choices to try for an algorithm |
//! | `equivalent` | candidates that cannot differ |
//! | `mockups` | the mock-ups of a cell, and why others are left out |
//! | `patterns` | messages timed to know the machine |
//! | `probes` | messages timed to know its nodes and pairs |

mod candidates;
mod equivalent;
mod mockups;
mod patterns;
mod probes;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};

use collrules_program::Reference;
use collrules_record::candidate::WITH_REFERENCE;
use collrules_record::grid::{Alternatives, Grid};
use collrules_record::obstacle::{CellObstacle, ProgramObstacle};
use collrules_record::plan::{CellPlan, Schedule, Separate, Skipped};
use collrules_record::profile::weight::{COVERED, Weight};
use collrules_record::{Candidate, CandidateName, Cell, Layout, Placement, Plan, Seconds, Survey};
use collrules_rules::bits::{default_choices, is_known};
use collrules_rules::{Behaviour, Bytes, Choice, Collective, Release, registry};

use crate::error::RunnerError;
pub use equivalent::reasons;
pub use mockups::{needed_memory, select};
pub use sizes::{DEFAULT_MEMORY, communicator_sizes, full_nodes, obstacle};

/// The collectives whose algorithm `MPI_T` cannot set in any known release: the scope of their parameters is "constant"
/// (`ompi/mca/coll/tuned/coll_tuned_allgatherv_decision.c`). A survey of a real library determines them itself.
pub const NOT_SWITCHABLE: [Collective; 1] = [Collective::Allgatherv];

/// Series of launches for collectives that cannot be switched. Each gives one value per point, and fewer could hardly
/// be significant among all comparisons.
pub const SERIES: u32 = 8;

/// Inputs of planning: the user's request, and the system.
#[derive(Clone, Copy, Debug)]
pub struct Planner<'a> {
    /// The cells, and the candidates in them.
    pub grid: &'a Grid,
    /// Order in which communicators take their ranks from those of the job.
    pub layout: Layout,
    /// True if more ranks than slots are intended.
    pub oversubscribe: bool,
    /// The system.
    pub survey: &'a Survey,
}

/// The release of the surveyed library, if its version and every algorithm table that it lists are known.
pub fn known_release(survey: &Survey) -> Result<Release, RunnerError> {
    let release = Release::from_version(survey.version).map_err(RunnerError::UnknownRelease)?;
    for (collective, listed) in &survey.algorithms {
        registry::compare(release, *collective, listed).map_err(RunnerError::UnknownTable)?;
    }
    Ok(release)
}

/// The candidates for algorithms named by people, each once and in order, without the builtin, which is always
/// measured. Fails if an algorithm does not exist, or if only the builtin is named.
pub fn named_candidates(
    release: Release,
    collective: Collective,
    named: &[CandidateName],
) -> Result<Vec<Candidate>, String> {
    let mut candidates = Vec::new();
    for algorithm in named {
        match algorithm.candidate(release, collective)? {
            Candidate::Builtin => {}
            other @ (Candidate::Component(_) | Candidate::Han(_) | Candidate::Rules | Candidate::Mockup(_)) => {
                return Err(format!("{other} is not an algorithm of {collective}"));
            }
            known @ (Candidate::Tuned(_) | Candidate::Reference(_)) if !candidates.contains(&known) => {
                candidates.push(known);
            }
            Candidate::Tuned(_) | Candidate::Reference(_) => {}
        }
    }
    if candidates.is_empty() {
        return Err(format!(
            "no algorithm of {collective} is named in addition to the default, which is always measured"
        ));
    }
    Ok(candidates)
}

impl Planner<'_> {
    /// The plan: every cell of the grid with the builtin and every candidate that the running library offers for it.
    pub fn plan(&self, launches: u32, schedule: Schedule, seed: u64) -> Result<Plan, RunnerError> {
        if self.grid.weights.is_empty() {
            return self.plan_cells(launches, schedule, seed, None);
        }
        let (cells, skipped) = self.of_programs();
        if cells.is_empty() {
            let why = skipped.first().map_or("the programs make no calls that rules act on".to_owned(), |skipped| {
                format!("{}: {}", skipped.cell, skipped.why)
            });
            return Err(RunnerError::EmptyGrid(why));
        }
        fn all<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
            values.collect::<BTreeSet<T>>().into_iter().collect()
        }
        let narrowed = Grid {
            collectives: all(cells.iter().map(|cell| cell.collective)),
            ranks: all(cells.iter().map(|cell| cell.ranks)).into(),
            sizes: all(cells.iter().map(|cell| cell.bytes)),
            ..self.grid.clone()
        };
        let mut plan = Planner { grid: &narrowed, ..*self }.plan_cells(launches, schedule, seed, Some(&cells))?;
        plan.skipped.extend(skipped);
        for planned in &mut plan.cells {
            let of_cell = |weight: &&Weight| weight.cell == planned.cell && self.lies(self.layout, weight);
            planned.weight = Some(Seconds(self.grid.weights.iter().filter(of_cell).map(|weight| weight.time.0).sum()));
        }
        Ok(plan)
    }

    /// The layout in which programs spend the most time, of those that are possible here.
    pub fn layout_of_programs(&self) -> Layout {
        let time = |layout: Layout| -> f64 {
            self.grid.weights.iter().filter(|weight| self.lies(layout, weight)).map(|weight| weight.time.0).sum()
        };
        let better = |best: Layout, other: Layout| if time(other) > time(best) { other } else { best };
        Layout::ALL.into_iter().fold(self.layout, better)
    }

    /// Returns true if communicators of this layout are placed like those of the programs, as far as known.
    fn lies(&self, layout: Layout, weight: &Weight) -> bool {
        let (hosts, ranks) = (&self.survey.hosts, weight.cell.ranks);
        ranks <= layout.most(hosts) && (weight.nodes.0.is_empty() || layout.nodes(hosts, ranks) == weight.nodes)
    }

    /// Returns the reason why the calls of programs cannot be measured in the current layout.
    fn why_not(&self, weight: &Weight) -> ProgramObstacle {
        let (slots, ranks) = (self.layout.most(&self.survey.hosts), weight.cell.ranks);
        if ranks > slots {
            ProgramObstacle::Slots(slots)
        } else {
            let here = self.layout.nodes(&self.survey.hosts, ranks);
            ProgramObstacle::Nodes { programs: weight.nodes.clone(), here }
        }
    }

    /// The cells in which programs spend their time, the most time first, until enough is covered; and those that
    /// cannot be measured here, with the share of the time that is left out for each reason.
    fn of_programs(&self) -> (BTreeSet<Cell>, Vec<Skipped>) {
        let weights = &self.grid.weights;
        let all: f64 = weights.iter().map(|weight| weight.time.0).sum();
        let (mut fitting, others): (Vec<&Weight>, Vec<&Weight>) =
            weights.iter().partition(|weight| self.lies(self.layout, weight));
        let reason = |weight: &Weight| (weight.cell.collective, self.why_not(weight));
        let mut shares: BTreeMap<(Collective, ProgramObstacle), f64> = BTreeMap::new();
        for weight in &others {
            *shares.entry(reason(weight)).or_default() += weight.time.0 / all;
        }
        let skipped = others.into_iter().map(|weight| {
            let share = shares.get(&reason(weight)).copied().unwrap_or_default();
            let layout = Layout::ALL.into_iter().find(|layout| self.lies(*layout, weight));
            let why = CellObstacle::Programs { calls: self.why_not(weight), share, layout };
            Skipped { cell: weight.cell, why }
        });
        let skipped = skipped.collect();
        fitting.sort_by(|a, b| b.time.0.total_cmp(&a.time.0));
        let enough = COVERED * fitting.iter().map(|weight| weight.time.0).sum::<f64>();
        let mut covered = 0.0;
        let needed = fitting.into_iter().take_while(|weight| {
            let before = covered;
            covered += weight.time.0;
            before < enough
        });
        (needed.map(|weight| weight.cell).collect(), skipped)
    }

    /// The plan of these cells, or of all.
    fn plan_cells(
        &self,
        launches: u32,
        schedule: Schedule,
        seed: u64,
        only_these: Option<&BTreeSet<Cell>>,
    ) -> Result<Plan, RunnerError> {
        let release = known_release(self.survey)?;
        let with_requests =
            Behaviour::from_version(self.survey.version).map_err(RunnerError::UnknownRelease)?.reads_header;
        let most = self.layout.most(&self.survey.hosts);
        let fits = most.0 >= 2 && self.grid.ranks.sizes.iter().all(|ranks| *ranks <= most);
        if self.layout == Layout::OnePerNode && !fits {
            return Err(RunnerError::EmptyGrid(format!(
                "a communicator with one rank per node has at most {most} here, the number of hosts; lower --np, give \
                 mpirun more hosts, or choose another --layout"
            )));
        }
        let oversubscribe = self.oversubscribe && self.layout != Layout::OnePerNode;
        let mut ranks = communicator_sizes(&self.grid.ranks.sizes, most, oversubscribe)?;
        let full = full_nodes(self.layout, &self.survey.hosts).into_iter();
        ranks.extend(full.filter(|ranks| self.grid.ranks.want_full_nodes(*ranks)));
        ranks.sort_unstable();
        ranks.dedup();
        let mut cells = Vec::new();
        let mut skipped = Vec::new();
        for collective in &self.grid.collectives {
            let listed = self.survey.algorithms.get(collective).map_or(&[][..], Vec::as_slice);
            let algorithms: Vec<&registry::Algorithm> = registry::algorithms(release, *collective)
                .filter(|algorithm| listed.iter().any(|(id, _)| *id == algorithm.id))
                .collect();
            if algorithms.is_empty() {
                return Err(RunnerError::NoAlgorithms(*collective));
            }
            let only = self.only(release, *collective)?;
            for ranks in &ranks {
                for bytes in Cell::sizes(*collective, *ranks, &self.grid.sizes, self.grid.vectors) {
                    let cell = Cell { collective: *collective, ranks: *ranks, bytes };
                    if only_these.is_some_and(|these| !these.contains(&cell)) {
                        continue;
                    }
                    let with_reference = self.references(cell, only.as_deref()).next().is_some();
                    match sizes::obstacle_with(cell, with_reference, self.grid.arguments.data, self.grid.max_memory) {
                        Some(why) => skipped.push(Skipped { cell, why }),
                        None => cells.push(self.cell_plan(release, cell, &algorithms, only.as_deref(), with_requests)),
                    }
                }
            }
            // Ranks may be too many or too few for all that is named.
            let mut own = cells.iter().filter(|planned: &&CellPlan| planned.cell.collective == *collective).peekable();
            if only.is_some() && own.peek().is_some() && own.all(|planned| planned.candidates.len() < 2) {
                return Err(RunnerError::EmptyGrid(format!(
                    "none of the algorithms named for {collective} works on communicators of these sizes"
                )));
            }
        }
        if cells.is_empty() {
            let why = skipped.first().map(|skipped| format!("{}: {}", skipped.cell, skipped.why));
            let why = why.unwrap_or_else(|| "no collective or no message size was given".to_owned());
            return Err(RunnerError::EmptyGrid(why));
        }
        let has_any = |collective: &Collective| {
            Reference::ALL.iter().any(|reference| reference.primitives(*collective).is_some())
        };
        if self.grid.reference && !self.grid.collectives.iter().any(has_any) {
            return Err(RunnerError::EmptyGrid(format!(
                "--reference asks for reference algorithms, which none of these collectives has; {WITH_REFERENCE} have"
            )));
        }
        mark_jumps(&mut cells, release, &self.survey.eager);
        let largest = ranks.last().copied().unwrap_or_default();
        let placement = Placement::new(self.layout, &self.survey.hosts, ranks.iter().copied());
        let separate = self.separate(&cells, launches);
        let mut patterns = self.patterns(&ranks);
        patterns.extend(
            self.grid
                .probes
                .map(|partners| probes::plans(largest.0, &self.grid.sizes, self.grid.max_memory, partners))
                .unwrap_or_default(),
        );
        let arguments = self.grid.arguments;
        let plan = Plan::new(cells, launches, schedule, seed);
        let mut plan = Plan { patterns, ranks: largest, separate, skipped, placement, arguments, ..plan };
        if let Alternatives::Mockups(wanted) = &self.grid.alternatives {
            mockups::add(&mut plan, wanted, &self.grid.sizes, |ranks| self.layout.even(&self.survey.hosts, ranks));
            if plan.cells.is_empty() {
                let why = plan.skipped.first().map(|skipped| format!("{}: {}", skipped.cell, skipped.why));
                return Err(RunnerError::EmptyGrid(why.unwrap_or_default()));
            }
        }
        Ok(plan)
    }

    /// The candidates that a collective is restricted to, if any.
    fn only(&self, release: Release, collective: Collective) -> Result<Option<Vec<Candidate>>, RunnerError> {
        let named = self.grid.only.iter().filter(|(of, _)| *of == collective).map(|(_, name)| name.clone());
        let named: Vec<CandidateName> = named.collect();
        if named.is_empty() {
            return Ok(None);
        }
        named_candidates(release, collective, &named).map(Some).map_err(RunnerError::EmptyGrid)
    }

    /// The requested reference algorithms for a cell.
    fn references(&self, cell: Cell, only: Option<&[Candidate]>) -> impl Iterator<Item = Reference> {
        let named = |reference: Reference| {
            only.map_or(self.grid.reference, |only| only.contains(&Candidate::Reference(reference)))
        };
        let wanted = Reference::ALL.map(|reference| named(reference).then_some(reference));
        wanted.into_iter().flatten().filter(move |reference| reference.primitives(cell.collective).is_some())
    }

    fn cell_plan(
        &self,
        release: Release,
        cell: Cell,
        algorithms: &[&registry::Algorithm],
        only: Option<&[Candidate]>,
        with_requests: bool,
    ) -> CellPlan {
        let admitted = algorithms.iter().filter(|algorithm| algorithm.admits(cell.ranks));
        let choices: Vec<Choice> = match only {
            None => admitted.flat_map(|algorithm| self.choices(cell, algorithm, with_requests)).collect(),
            Some(only) => {
                let admitted: Vec<u32> = admitted.map(|algorithm| algorithm.id).collect();
                let tuned = only.iter().filter_map(|candidate| match candidate {
                    Candidate::Tuned(choice) => Some(*choice),
                    _ => None,
                });
                tuned.filter(|choice| admitted.contains(&choice.algorithm)).collect()
            }
        };
        // An algorithm of its own needs a launch of its own where it cannot be switched: no round would have both.
        let switchable = !self.survey.not_switchable.contains(&cell.collective);
        let alternatives = &self.grid.alternatives;
        let is_tried = alternatives.are_rules() || alternatives.have_rules() && switchable;
        let (tuned, mut shared) = if is_tried {
            equivalent::share(release, cell, &choices, self.grid.arguments)
        } else {
            (Vec::new(), Vec::new())
        };
        let references: Vec<Reference> = self.references(cell, only).collect();
        let (references, same) = equivalent::share_references(cell, &references, self.grid.arguments);
        shared.extend(same);
        let candidates = std::iter::once(Candidate::Builtin).chain(tuned).chain(references).collect();
        CellPlan { shared, ..CellPlan::new(cell, candidates) }
    }

    fn separate(&self, cells: &[CellPlan], launches: u32) -> Separate {
        if !self.grid.alternatives.are_rules() {
            return Separate::default();
        }
        let all: BTreeSet<Collective> = cells.iter().map(|planned| planned.cell.collective).collect();
        if self.grid.launch_per_candidate {
            return Separate { collectives: all, series: launches };
        }
        let collectives: BTreeSet<Collective> =
            all.into_iter().filter(|collective| self.survey.not_switchable.contains(collective)).collect();
        let series = if collectives.is_empty() { 0 } else { launches.max(SERIES) };
        Separate { collectives, series }
    }
}

/// Marks the cells between which and the next smaller size times are likely to jump.
fn mark_jumps(cells: &mut [CellPlan], release: Release, eager: &BTreeMap<String, Bytes>) {
    let default = |cell: Cell| {
        let bytes = cell.bytes.0;
        let choices = default_choices(release, cell.collective, cell.ranks, &(bytes..=bytes))?;
        choices.first().filter(|_| is_known(release)).map(|(choice, _)| *choice)
    };
    let line = |planned: &CellPlan| (planned.cell.collective, planned.cell.ranks);
    for line in cells.chunk_by_mut(|one, other| line(one) == line(other)) {
        for at in 1..line.len() {
            let (below, above) = (line[at - 1].cell, line[at].cell);
            let exceeds = |limit: &Bytes| below.bytes <= *limit && *limit < above.bytes;
            line[at].is_jump = default(below) != default(above) || eager.values().any(exceeds);
        }
    }
}

#[cfg(test)]
mod tests;
