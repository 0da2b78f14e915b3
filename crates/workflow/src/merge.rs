//! One run of several that were measured on the same system, such as an array of jobs over numbers of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use collrules_record::comparison::differences;
use collrules_record::manifest::{self, Part};
use collrules_record::options::Merging;
use collrules_record::plan::CellPlan;
use collrules_record::rundir::{self, CLOCK, RunDir, SAMPLES, check_head};
use collrules_record::{Candidate, Cell, Manifest, Placement, Plan};

use crate::error::WorkflowError;
use crate::resume;
use crate::session::Session;

/// A run that was made of others.
pub struct Merged {
    /// Its directory.
    pub run: RunDir,
    /// Its cells.
    pub cells: usize,
    /// Its rows of samples.
    pub samples: usize,
    /// The runs within it of other layouts, which share its rules.
    pub layouts: Vec<RunDir>,
}

/// What the parts of a run may differ in: an array of jobs has other nodes in each, and several layouts share one tuning.
const MAY_DIFFER: [&str; 4] = ["slots", "hosts", "collrules", "layout"];

/// Lines of a samples file before its rows.
const HEAD: usize = 2;

/// Makes one run of several.
pub fn merge(options: &Merging, session: &mut Session<'_>) -> Result<Merged, WorkflowError> {
    let mut parts = Vec::new();
    for path in &options.runs {
        let run = RunDir::open(path)?;
        let manifest = run.manifest()?;
        resume::refuse_comparison(&run, &manifest)?;
        if let Some(known) = parts.iter().find(|(other, _): &&Measured| same(other.path(), path)) {
            return Err(WorkflowError::Usage(format!("{} is named twice", known.0.path().display())));
        }
        parts.push((run, manifest));
    }
    for pair in parts.windows(2) {
        refuse_other_system(&pair[0], &pair[1])?;
    }
    let mut layouts = by_layout(parts).into_iter();
    let Some(own) = layouts.next() else { return Err(WorkflowError::Usage("no run is named".to_owned())) };
    let others: Vec<(String, Vec<Measured>)> = layouts.map(|parts| (name(&parts), parts)).collect();
    let mut merged = joined(&own, &options.out, session)?;
    for (name, parts) in &others {
        let other = joined(parts, &rundir::unused(&options.out, name), session)?;
        merged.cells += other.cells;
        merged.samples += other.samples;
        merged.layouts.push(other.run);
    }
    Ok(merged)
}

/// A run with its manifest.
type Measured = (RunDir, Manifest);

/// Runs in which communicators of every size lie alike, that of the first run being first.
fn by_layout(parts: Vec<Measured>) -> Vec<Vec<Measured>> {
    let mut layouts: Vec<Vec<Measured>> = Vec::new();
    for part in parts {
        let nodes = |(_, manifest): &Measured| manifest.plan.placement.nodes.clone();
        let here = nodes(&part);
        let alike = |other: &Measured| {
            let same = nodes(other).iter().all(|(ranks, nodes)| here.get(ranks).is_none_or(|it| it == nodes));
            same && other.1.plan.placement.layout == part.1.plan.placement.layout
        };
        match layouts.iter_mut().find(|layout| layout.iter().all(alike)) {
            Some(layout) => layout.push(part),
            None => layouts.push(vec![part]),
        }
    }
    layouts
}

/// What the directory of a layout is called.
fn name(parts: &[Measured]) -> String {
    let layout = parts.first().map(|(_, manifest)| manifest.plan.placement.layout).unwrap_or_default();
    format!("{}{layout}", rundir::LAYOUT)
}

/// Makes one run of several with the same layout.
fn joined(parts: &[Measured], out: &Path, session: &mut Session<'_>) -> Result<Merged, WorkflowError> {
    // What is true of the whole is said of the largest job.
    let largest = parts.iter().max_by_key(|(_, manifest)| manifest.plan.ranks).map(|(_, manifest)| manifest.clone());
    let Some(largest) = largest else { return Err(WorkflowError::Usage("no run is named".to_owned())) };
    let repeats = shares_cells(parts);
    let plan = plan(parts, &largest.plan, repeats)?;
    let merged = parts.iter().map(|(run, manifest)| Part {
        run: run.absolute().to_owned(),
        started: manifest.started.clone(),
        ranks: manifest.plan.ranks,
    });
    let manifest = Manifest {
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: parts.iter().map(|(_, manifest)| manifest.started.clone()).min().unwrap_or_default(),
        command: session.command.clone(),
        merged: merged.collect(),
        plan,
        ..largest
    };
    let (mut clock, mut rows, mut first) = (String::new(), String::new(), 0);
    let mut samples = 0;
    for (run, part) in parts {
        let read = run.samples()?;
        check_head(&run.file(SAMPLES), &read.text)?;
        if read.torn {
            session.say(&format!("the last line of {} is incomplete and left out", run.file(SAMPLES).display()));
        }
        for row in read.text.lines().skip(HEAD) {
            rows += &renumbered(row, first).ok_or_else(|| damaged(run, row))?;
            rows.push('\n');
            samples += 1;
        }
        for mut line in run.clock()? {
            line.launch += first;
            // Writing to a string cannot fail.
            let _ = writeln!(clock, "{}", serde_json::to_string(&line)?);
        }
        if repeats {
            first += launches(&read.text, part);
        }
    }
    let run = RunDir::create(out, &manifest)?;
    let head = run.samples()?.text;
    run.write(SAMPLES, &(head + &rows))?;
    if !clock.is_empty() {
        run.write(CLOCK, &clock)?;
    }
    Ok(Merged { cells: manifest.plan.cells.len(), samples, run, layouts: Vec::new() })
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}

fn damaged(run: &RunDir, row: &str) -> WorkflowError {
    WorkflowError::Input(format!("{}: this row has no launch: {row}", run.file(SAMPLES).display()))
}

/// A row of samples with its launch counted from another one on.
fn renumbered(row: &str, first: u32) -> Option<String> {
    let (launch, rest) = row.split_once(',')?;
    let launch: u32 = launch.parse().ok()?;
    Some(format!("{},{rest}", launch + first))
}

/// The launches of a run: those that were planned, and those that its rows have.
fn launches(samples: &str, manifest: &Manifest) -> u32 {
    let rows = samples.lines().skip(HEAD).filter_map(|row| row.split_once(',')?.0.parse::<u32>().ok());
    rows.max().map_or(0, |last| last + 1).max(manifest.plan.launches)
}

/// Names what hinders comparing the times of two runs.
fn refuse_other_system((one, before): &Measured, (other, after): &Measured) -> Result<(), WorkflowError> {
    let mut found: Vec<String> = differences(before, after)
        .into_iter()
        .filter(|it| !MAY_DIFFER.contains(&it.what.as_str()))
        .map(|it| format!("{}: {} and {}", it.what, it.before, it.after))
        .collect();
    if before.survey.algorithms != after.survey.algorithms {
        found.push("the libraries list other algorithms".to_owned());
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(WorkflowError::Input(format!(
        "{} and {} cannot become one run, since their times could not be compared:\n  {}",
        one.path().display(),
        other.path().display(),
        found.join("\n  ")
    )))
}

/// Whether a cell was measured in several runs, so that their launches have to be told apart.
fn shares_cells(parts: &[Measured]) -> bool {
    let mut known = BTreeSet::new();
    let pairs = |manifest: &Manifest| -> BTreeSet<_> {
        manifest.plan.cells.iter().map(|planned| (planned.cell.collective, planned.cell.ranks)).collect()
    };
    parts.iter().any(|(_, manifest)| {
        let here = pairs(manifest);
        let again = here.iter().any(|pair| known.contains(pair));
        known.extend(here);
        again
    })
}

/// The plan that would have measured all of it.
fn plan(parts: &[Measured], largest: &Plan, repeats: bool) -> Result<Plan, WorkflowError> {
    let mut cells: BTreeMap<Cell, CellPlan> = BTreeMap::new();
    let mut plan = Plan { skipped: Vec::new(), patterns: Vec::new(), ..largest.clone() };
    let mut placement = Placement { layout: largest.placement.layout, ..Placement::default() };
    for (run, Manifest { plan: part, .. }) in parts {
        for planned in &part.cells {
            let known =
                cells.entry(planned.cell).or_insert_with(|| CellPlan { candidates: Vec::new(), ..planned.clone() });
            let new = planned.candidates.iter().filter(|candidate| !known.candidates.contains(candidate));
            let new: Vec<Candidate> = new.copied().collect();
            known.candidates.extend(new);
        }
        placement.nodes.extend(part.placement.nodes.clone());
        for serving in &part.placement.serving {
            let here = (serving.collective, serving.ranks);
            match placement.serving.iter().find(|known| (known.collective, known.ranks) == here) {
                None => placement.serving.push(serving.clone()),
                Some(known) if known == serving => {}
                Some(known) => {
                    return Err(WorkflowError::Input(format!(
                        "{} on {} ranks is served by {} in {} and by {} in another run",
                        serving.collective,
                        serving.ranks,
                        serving.by,
                        run.path().display(),
                        known.by
                    )));
                }
            }
        }
        plan.separate.collectives.extend(part.separate.collectives.iter().copied());
        plan.separate.series = plan.separate.series.max(part.separate.series);
        plan.patterns
            .extend(part.patterns.iter().filter(|it| !plan.patterns.contains(it)).cloned().collect::<Vec<_>>());
        plan.skipped.extend(part.skipped.iter().filter(|it| !plan.skipped.contains(it)).cloned().collect::<Vec<_>>());
    }
    let counts = parts.iter().map(|(_, manifest)| manifest.plan.launches);
    plan.launches = if repeats { counts.sum() } else { counts.max().unwrap_or_default() };
    plan.cells = cells.into_values().collect();
    plan.placement = placement;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_all_but_their_launch() {
        assert_eq!(
            renumbered("2,0,1,bcast,4,8,builtin,1e-6,,,", 3).as_deref(),
            Some("5,0,1,bcast,4,8,builtin,1e-6,,,")
        );
        assert_eq!(renumbered("x,1", 3), None);
        assert_eq!(renumbered("", 3), None);
    }
}
