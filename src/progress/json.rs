//! Events for programs: one JSON object per line on standard output. Names and meaning are documented in FORMATS.md.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_record::validation::Outcome;
use collrules_record::{Candidate, Cast, Cell, Pattern, Plan, Subject, Validation};
use collrules_runner::RunnerError;
use collrules_runner::campaign::{CampaignLaunch, Notice, Tally};
use collrules_runner::proof::Proof;
use collrules_runner::wire::WorkerEvent;
use collrules_workflow::Event;
use serde_json::{Value, json};

use super::estimate::RemainingTime;

/// Writes an event that is not about a launch.
pub(super) fn event(event: &Event<'_>) {
    emit(&match event {
        Event::Measuring { run, plan, resumed } => started(run, plan, *resumed),
        Event::Comparing { run, plan } => validating(run, plan),
        Event::Measured(tally, error) => measured(tally, *error),
        Event::Concluded { run, findings, proof } => concluded(run, findings, proof),
        Event::Compared { home, validation } => validated(home, validation),
        Event::Note(_) | Event::Planned { .. } | Event::Launch(..) => return,
    });
}

/// Error that prevented the writing of an event, if there is one.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Returns the error that prevented the writing of an event, if there is one. Called once, at the end.
pub(crate) fn lost() -> Option<io::Error> {
    LOST.lock().ok()?.take()
}

/// Writes a line. A closed pipe is no reason to stop measuring; other errors are reported at the end.
fn emit(value: &Value) {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{value}").and_then(|()| out.flush());
    if let Err(cause) = written
        && cause.kind() != io::ErrorKind::BrokenPipe
        && let Ok(mut lost) = LOST.lock()
    {
        lost.get_or_insert(cause);
    }
}

fn started(run: &Path, plan: &Plan, resumed: bool) -> Value {
    json!({
        "event": "started",
        "run": run.to_string_lossy(),
        "resumed": resumed,
        "cells": plan.cells.len(),
        "points": plan.points(),
        "patterns": plan.patterns.len(),
        "launches": collrules_runner::separate::starts(plan).len(),
        "budget_s": plan.budget().map(|budget| budget.0),
    })
}

fn validating(run: &Path, plan: &Plan) -> Value {
    json!({
        "event": "validating",
        "run": run.to_string_lossy(),
        "cells": plan.cells.len(),
        "pairs": plan.launches,
        "budget_s": plan.budget().map(|budget| budget.0),
    })
}

fn validated(home: &RunDir, validation: &Validation) -> Value {
    let last = validation.last().cloned().unwrap_or_default();
    json!({
        "event": "validated",
        "validation": home.file(rundir::VALIDATION).to_string_lossy(),
        "comparisons": validation.rounds.len(),
        "cells": last.cells.len(),
        "faster": last.count(Outcome::Faster),
        "same": last.count(Outcome::Same),
        "slower": last.count(Outcome::Slower),
        "undecided": last.count(Outcome::Undecided),
        "confirmed": validation.is_confirmed(),
        "rules": validation.fates(),
        "failed": last.failed.len(),
        "speedup": last.geometric_mean(),
        "repaired": validation.rounds.iter().map(|round| round.repaired.len()).sum::<usize>(),
        "not_again": validation.not_again.as_ref().map(|left| left.cells),
    })
}

fn measured(tally: &Tally, error: Option<&RunnerError>) -> Value {
    json!({
        "event": "measured",
        "complete": error.is_none(),
        "why": error.map(ToString::to_string),
        "samples": tally.samples,
        "cells": tally.cells,
    })
}

fn concluded(run: &RunDir, findings: &Findings, proof: &Proof) -> Value {
    let file = |name| run.file(name).to_string_lossy().into_owned();
    json!({
        "event": "concluded",
        "rules": file(rundir::RULES),
        "settings": file(rundir::MCA_PARAMS),
        "findings": file(rundir::FINDINGS),
        "report": file(rundir::REPORT),
        "rule_lines": findings.table.rules(),
        "proven_cells": proof.cells,
    })
}

/// Writes an event of a launch, unless programs have no use for it.
pub(super) fn notice(launch: &CampaignLaunch<'_>, notice: &Notice<'_>, estimate: &RemainingTime) {
    let with_subject = |line: Value, index: usize| match launch.plan.subject(index) {
        Subject::Cell(cell) => with_cell(line, cell),
        Subject::Pattern(pattern) => with_pattern(line, pattern),
    };
    let with_turn = |line: Value, index: usize, turn: usize| match launch.plan.cells.get(index) {
        Some(planned) => with_point(line, planned.cell, planned.candidates[turn]),
        None => with_cast(line, launch.plan.pattern(index).pattern, &launch.plan.pattern(index).casts[turn]),
    };
    let mut line = match notice {
        Notice::Launching => json!({ "event": "launch", "planned": launch.planned, "cells": launch.plan.cells.len() }),
        Notice::Failed(error) => json!({ "event": "failed", "why": error.to_string() }),
        Notice::Trying(cell) => with_cell(json!({ "event": "trying" }), *cell),
        Notice::Acquitted(cell) => with_cell(json!({ "event": "acquitted" }), *cell),
        Notice::EndedCast(ended) => {
            let line = json!({ "event": "quarantined", "ended": ended.ended.to_string() });
            with_cast(line, ended.pattern, &ended.cast)
        }
        Notice::Quarantined(point) => {
            let line = json!({ "event": "quarantined", "ended": point.ended.to_string() });
            with_point(line, point.cell, point.candidate)
        }
        Notice::Event(event) => match event {
            WorkerEvent::Checking { cell, candidate } => with_turn(json!({ "event": "checking" }), *cell, *candidate),
            WorkerEvent::Visiting { cell } => with_subject(json!({ "event": "visiting" }), *cell),
            WorkerEvent::Visited { cell, visit, candidates, rounds, .. } => {
                let line = json!({
                    "event": "visited",
                    "visit": visit,
                    "candidates": candidates.len(),
                    "rounds": rounds.len(),
                    "done": estimate.done(),
                    "left_s": estimate.left().as_secs_f64(),
                });
                with_subject(line, *cell)
            }
            WorkerEvent::Disqualified { cell, candidate, why } | WorkerEvent::Dropped { cell, candidate, why } => {
                let name = if matches!(event, WorkerEvent::Dropped { .. }) { "dropped" } else { "disqualified" };
                let line = json!({ "event": name, "why": why });
                with_turn(line, *cell, *candidate)
            }
            WorkerEvent::Finished { cell } => with_subject(json!({ "event": "finished" }), *cell),
            WorkerEvent::Measured { why } => json!({ "event": "launch_ended", "why": why }),
            _ => return,
        },
    };
    line["launch"] = launch.number.into();
    emit(&line);
}

/// The columns of the samples have these names too.
fn with_cell(mut line: Value, cell: Cell) -> Value {
    line["collective"] = cell.collective.name().into();
    line["comm_size"] = cell.ranks.0.into();
    line["message_bytes"] = cell.bytes.0.into();
    line
}

fn with_pattern(mut line: Value, pattern: Pattern) -> Value {
    line["pattern"] = pattern.shape.name().into();
    line["comm_size"] = pattern.ranks.0.into();
    line["message_bytes"] = pattern.bytes.0.into();
    line
}

fn with_cast(line: Value, pattern: Pattern, cast: &Cast) -> Value {
    let mut line = with_pattern(line, pattern);
    line["cast"] = cast.to_string().into();
    line
}

fn with_point(line: Value, cell: Cell, candidate: Candidate) -> Value {
    let mut line = with_cell(line, cell);
    line["candidate"] = candidate.to_string().into();
    line
}
