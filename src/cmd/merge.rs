//! Merge of runs from one system, such as those of an array of jobs over numbers of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use collrules_record::manifest::{self, IMPORTED, SourceRun};
use collrules_record::plan::CellPlan;
use collrules_record::rundir::{self, CLOCK, RunDir, SAMPLES};
use collrules_record::{Candidate, Cell, Manifest, Placement, Plan, digest};
use collrules_report::changes::property;
use collrules_rules::Collective;
use collrules_rules::words::counted;
use collrules_tuner::results::comparison::{RunProperty, differences};
use collrules_workflow::WorkflowError;

use crate::progress::say;
use crate::{screen, session};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Merge {
    /// The runs: of one Open MPI on one kind of node, with the same layout and settings
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    runs: Vec<PathBuf>,
    /// Directory for the merged run, which must not hold one yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Properties in which the parts of a run may differ: jobs of an array have different nodes, and several layouts share
/// one tuning.
const MAY_DIFFER: [RunProperty; 4] =
    [RunProperty::Slots, RunProperty::Hosts, RunProperty::Collrules, RunProperty::Layout];

/// Lines of a samples file before its rows.
const HEAD: usize = 2;

/// The column of a row that names the collective.
const COLLECTIVE: usize = 3;

pub(crate) fn run(args: &Merge) -> Result<(), WorkflowError> {
    let (mut parts, mut notes) = (Vec::new(), Vec::new());
    for path in &args.runs {
        let run = RunDir::open(path)?;
        let manifest = run.manifest()?;
        if let Some(known) = parts.iter().find(|other: &&MergeInput| rundir::is_same_file(other.run.path(), path)) {
            return Err(WorkflowError::Usage(format!("{} is named twice", known.run.path().display())));
        }
        let reverted = run.validation()?.map_or(0, |validation| validation.reverted.len());
        let shown = path.display();
        if run.settings()?.is_some_and(|found| found.chosen.is_some()) {
            notes.push(format!("the settings that {shown} found are not part of the merged run"));
        }
        if reverted > 0 {
            notes.push(format!(
                "rules that fresh launches did not confirm in {shown} ({}) may come back: `collrules validate` compares \
                 them again",
                counted(reverted, "range")
            ));
        }
        parts.push(MergeInput::read(run, manifest)?);
    }
    for pair in parts.windows(2) {
        refuse_other_system(&pair[0], &pair[1])?;
    }
    refuse_copies(&parts)?;
    RunDir::prepare_derived(&args.out)?;
    notes.iter().for_each(|note| say(note));
    let (mut samples, mut cells, mut others) = (0, 0, Vec::new());
    for (place, parts) in by_layout(parts).into_iter().enumerate() {
        let layout = parts[0].manifest.plan.placement.layout;
        // The first layout is that of the run, which contains the others.
        let out = match place {
            0 => args.out.clone(),
            _ => rundir::unused(&args.out, &format!("{}{layout}", rundir::LAYOUT)),
        };
        let (more_samples, more_cells) = joined(&parts, &out)?;
        (samples, cells) = (samples + more_samples, cells + more_cells);
        others.extend((place > 0).then(|| out.display().to_string()));
    }
    let shown = args.out.display();
    let what = format!("{shown} has {samples} samples of {cells} sizes from {} runs.", args.runs.len());
    let mut lines = screen::wrapped(&what, "", "");
    if !others.is_empty() {
        let what = format!(
            "Communicators of the same size have several layouts: {} holds another one. They share one rule.",
            others.join(" and ")
        );
        lines.extend(screen::wrapped(&what, "", ""));
    }
    lines.push(format!("Next: collrules analyze {shown}"));
    screen::print(&lines.join("\n"))
}

/// A run with its manifest and its samples.
pub(super) struct MergeInput {
    run: RunDir,
    manifest: Manifest,
    samples: String,
}

impl MergeInput {
    /// Reads the samples of a run.
    pub(super) fn read(run: RunDir, manifest: Manifest) -> Result<Self, WorkflowError> {
        let samples = run.samples()?;
        if samples.torn {
            say(&format!("the last line of {} is incomplete and left out", run.file(SAMPLES).display()));
        }
        Ok(Self { run, manifest, samples: samples.text })
    }
}

/// Runs grouped so that communicators of each size have one arrangement, the group of the first run first.
fn by_layout(parts: Vec<MergeInput>) -> Vec<Vec<MergeInput>> {
    let mut layouts: Vec<Vec<MergeInput>> = Vec::new();
    for part in parts {
        let here = &part.manifest.plan.placement;
        let alike = |other: &MergeInput| {
            let there = &other.manifest.plan.placement;
            let same = there.nodes.iter().all(|(ranks, nodes)| here.nodes.get(ranks).is_none_or(|it| it == nodes));
            same && there.layout == here.layout
        };
        match layouts.iter_mut().find(|layout| layout.iter().all(alike)) {
            Some(layout) => layout.push(part),
            None => layouts.push(vec![part]),
        }
    }
    layouts
}

/// Merges several runs with one layout; returns the numbers of samples and of sizes.
fn joined(parts: &[MergeInput], out: &Path) -> Result<(usize, usize), WorkflowError> {
    // Properties of the merged run are those of the largest job.
    let largest = parts.iter().map(|part| &part.manifest).max_by_key(|manifest| manifest.plan.ranks);
    let Some(largest) = largest else { return Err(WorkflowError::Usage("no run is named".to_owned())) };
    write_joined(parts, largest.clone(), out)
}

/// Makes one run of the collectives of an earlier run that a later one, under another patch level, did not measure again,
/// and of the later run, whose system, request and experiment it has but for these.
pub(super) fn join_upgraded(
    mut earlier: MergeInput,
    later: MergeInput,
    whole: Manifest,
    out: &Path,
) -> Result<(), WorkflowError> {
    let (old, new) = (&mut earlier.manifest.plan, &later.manifest.plan);
    let again: BTreeSet<Collective> = new.cells.iter().map(|planned| planned.cell.collective).collect();
    old.cells.retain(|planned| !again.contains(&planned.cell.collective));
    old.placement.running.retain(|running| !again.contains(&running.collective));
    old.separate.collectives.retain(|collective| !again.contains(collective));
    old.skipped.retain(|skipped| !again.contains(&skipped.cell.collective));
    let plan = Plan { ranks: old.ranks.max(new.ranks), ..new.clone() };
    write_joined(&[earlier, later], Manifest { plan, ..whole }, out).map(drop)
}

/// Writes one run of several; `whole` has what is not taken from each. Returns the numbers of samples and of sizes.
fn write_joined(parts: &[MergeInput], whole: Manifest, out: &Path) -> Result<(usize, usize), WorkflowError> {
    let repeats = shares_cells(parts);
    let plan = plan(parts, &whole.plan, repeats)?;
    let merged = parts.iter().map(|MergeInput { run, manifest, .. }| SourceRun {
        run: run.absolute().to_owned(),
        started: manifest.started.clone(),
        ranks: manifest.plan.ranks,
    });
    let manifest = Manifest {
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: parts.iter().map(|part| part.manifest.started.clone()).min().unwrap_or_default(),
        command: session::command_line(),
        merged: merged.collect(),
        plan,
        ..whole
    };
    let (mut clock, mut rows, mut first) = (String::new(), String::new(), 0);
    let mut samples = 0;
    for MergeInput { run, manifest: part, samples: text } in parts {
        let planned: BTreeSet<&str> = part.plan.cells.iter().map(|planned| planned.cell.collective.name()).collect();
        let left_out = |row: &str| {
            let name = row.split(',').nth(COLLECTIVE).unwrap_or_default();
            name.parse::<Collective>().is_ok() && !planned.contains(name)
        };
        for row in text.lines().skip(HEAD).filter(|row| !left_out(row)) {
            rows += &renumbered(row, first).ok_or_else(|| damaged(run, row))?;
            rows.push('\n');
            samples += 1;
        }
        for mut line in run.clock()? {
            line.launch = line.launch.saturating_add(first);
            // Writing to a string cannot fail.
            let _ = writeln!(clock, "{}", serde_json::to_string(&line)?);
        }
        if repeats {
            first = first.saturating_add(launches(text, part));
        }
    }
    let run = RunDir::create(out, &manifest)?;
    let head = run.samples()?.text;
    run.write(SAMPLES, head + &rows)?;
    if !clock.is_empty() {
        run.write(CLOCK, clock)?;
    }
    run.seal()?;
    Ok((samples, manifest.plan.cells.len()))
}

fn damaged(run: &RunDir, row: &str) -> WorkflowError {
    WorkflowError::Input(format!("{}: this row has no launch: {row}", run.file(SAMPLES).display()))
}

/// A row of samples with its launch numbered from `first` on.
fn renumbered(row: &str, first: u32) -> Option<String> {
    let (launch, rest) = row.split_once(',')?;
    let launch: u32 = launch.parse().ok()?;
    Some(format!("{},{rest}", launch.checked_add(first)?))
}

/// The number of launches of a run: planned ones, or more if its rows have more.
fn launches(samples: &str, manifest: &Manifest) -> u32 {
    let rows = samples.lines().skip(HEAD).filter_map(|row| row.split_once(',')?.0.parse::<u32>().ok());
    rows.max().map_or(0, |last| last.saturating_add(1)).max(manifest.plan.launches)
}

/// Refuses runs with common measurements: they would count as separate launches.
fn refuse_copies(parts: &[MergeInput]) -> Result<(), WorkflowError> {
    let mut launches: BTreeMap<String, &Path> = BTreeMap::new();
    let mut begun: BTreeMap<(String, String, u64, String), &Path> = BTreeMap::new();
    let refuse = |one: &Path, other: &Path, what: &str| {
        Err(WorkflowError::Input(format!(
            "{} and {} {what}: one is a copy of the other, and copies add no launches",
            one.display(),
            other.display()
        )))
    };
    for MergeInput { run, manifest, samples } in parts {
        let path = run.path();
        let mut rows: BTreeMap<&str, String> = BTreeMap::new();
        for (launch, row) in samples.lines().skip(HEAD).filter_map(|row| row.split_once(',')) {
            let all = rows.entry(launch).or_default();
            all.push_str(row);
            all.push('\n');
        }
        for rows in rows.into_values().filter(|rows| rows.lines().nth(1).is_some()) {
            if let Some(other) = launches.insert(digest(rows.as_bytes()), path) {
                return refuse(other, path, "hold the same samples of a launch");
            }
        }
        let cells: BTreeSet<Cell> = manifest.plan.cells.iter().map(|planned| planned.cell).collect();
        let host = manifest.host.get("Host").cloned().unwrap_or_default();
        for cell in cells {
            let key = (manifest.started.clone(), host.clone(), manifest.plan.seed, cell.to_string());
            // Imports of several tables may begin in the same second.
            let other = begun.insert(key, path).filter(|other| *other != path && manifest.backend != IMPORTED);
            if let Some(other) = other {
                return refuse(other, path, "were begun at the same time, on the same host, with the same seed");
            }
        }
    }
    Ok(())
}

/// Names the difference that prevents comparing the times of two runs.
fn refuse_other_system(one: &MergeInput, other: &MergeInput) -> Result<(), WorkflowError> {
    let (before, after) = (&one.manifest, &other.manifest);
    let mut found: Vec<String> = differences(before, after)
        .into_iter()
        .filter(|it| !MAY_DIFFER.contains(&it.what))
        .map(|it| format!("{}: {} and {}", property(it.what), it.before, it.after))
        .collect();
    if before.survey.algorithms != after.survey.algorithms {
        found.push("the libraries list other algorithms".to_owned());
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(WorkflowError::Input(format!(
        "{} and {} cannot be merged, since their times are not comparable:\n  {}",
        one.run.path().display(),
        other.run.path().display(),
        found.join("\n  ")
    )))
}

/// Returns true if several runs measured a collective on one number of ranks, so that their launches need different
/// numbers.
fn shares_cells(parts: &[MergeInput]) -> bool {
    let mut known = BTreeSet::new();
    parts.iter().any(|part| {
        let cells = part.manifest.plan.cells.iter().map(|planned| planned.cell);
        let here: BTreeSet<_> = cells.map(|cell| (cell.collective, cell.ranks)).collect();
        let again = here.iter().any(|pair| known.contains(pair));
        known.extend(here);
        again
    })
}

/// The plan that would have measured all parts.
fn plan(parts: &[MergeInput], largest: &Plan, repeats: bool) -> Result<Plan, WorkflowError> {
    let mut cells: BTreeMap<Cell, CellPlan> = BTreeMap::new();
    let mut plan = Plan { skipped: Vec::new(), patterns: Vec::new(), ..largest.clone() };
    let mut placement = Placement { layout: largest.placement.layout, ..Placement::default() };
    for MergeInput { run, manifest: Manifest { plan: part, .. }, .. } in parts {
        for planned in &part.cells {
            let known =
                cells.entry(planned.cell).or_insert_with(|| CellPlan { candidates: Vec::new(), ..planned.clone() });
            let new = planned.candidates.iter().filter(|candidate| !known.candidates.contains(candidate));
            let new: Vec<Candidate> = new.copied().collect();
            known.candidates.extend(new);
        }
        placement.nodes.extend(part.placement.nodes.clone());
        placement.other_roots.extend(part.placement.other_roots.clone());
        for running in &part.placement.running {
            let here = (running.collective, running.ranks);
            match placement.running.iter().find(|known| (known.collective, known.ranks) == here) {
                None => placement.running.push(running.clone()),
                Some(known) if known == running => {}
                Some(known) => {
                    return Err(WorkflowError::Input(format!(
                        "{} on {} ranks uses the component {} in {} and {} in another run",
                        running.collective,
                        running.ranks,
                        running.by,
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
    let counts = parts.iter().map(|part| part.manifest.plan.launches);
    plan.launches = if repeats { counts.fold(0, u32::saturating_add) } else { counts.max().unwrap_or_default() };
    plan.cells = cells.into_values().collect();
    plan.placement = placement;
    plan.sort_groups();
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
