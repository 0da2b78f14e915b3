//! Events for programs: one JSON object per line on standard output. Names and meaning are documented in FORMATS.md.

use std::io::{self, Write};
use std::sync::Mutex;

use collrules_record::Subject;
use collrules_record::rundir;
use collrules_record::sample::Row;
use collrules_record::validation::Outcome;
use collrules_report::gains::Gains;
use collrules_runner::campaign::{CampaignLaunch, Notice};
use collrules_runner::launch::LaunchPlan;
use collrules_runner::separate;
use collrules_runner::wire::WorkerEvent;
use collrules_workflow::Event;
use serde_json::{Value, json};

use super::estimate::RemainingTime;

/// Writes an event that is not about a launch.
pub(super) fn event(event: &Event<'_>) {
    emit(&match event {
        Event::Measuring { run, plan, resumed } => json!({
            "event": "started",
            "run": run.to_string_lossy(),
            "resumed": resumed,
            "cells": plan.cells.len(),
            "points": plan.points(),
            "patterns": plan.patterns.len(),
            "launches": separate::starts(plan).len(),
            "budget_s": plan.budget().map(|budget| budget.0),
        }),
        Event::Comparing { home, cells, pairs, limit } => json!({
            "event": "validating",
            "log": home.file(rundir::COMPARISON).to_string_lossy(),
            "cells": cells,
            "pairs": pairs,
            "budget_s": limit.map(|limit| limit.0),
        }),
        Event::ArmBlock { stage, block, jobs, subjects } => json!({
            "event": "arm_block",
            "stage": stage,
            "block": block,
            "jobs": jobs,
            "subjects": subjects,
        }),
        Event::Measured(tally, error) => json!({
            "event": "measured",
            "complete": error.is_none(),
            "why": error.map(ToString::to_string),
            "samples": tally.samples,
            "cells": tally.cells,
        }),
        Event::Concluded { run, findings, proof } => {
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
        Event::Compared { home, validation } => {
            let last = validation.round.clone();
            json!({
                "event": "validated",
                "validation": home.file(rundir::VALIDATION).to_string_lossy(),
                "cells": last.cells.len(),
                "faster": last.count(Outcome::Faster),
                "same": last.count(Outcome::Same),
                "slower": last.count(Outcome::Slower),
                "undecided": last.count(Outcome::Undecided),
                "confirmed": validation.is_confirmed(),
                "rules": Gains::of_comparison(validation).fates(),
                "failed": last.failed.len(),
                "speedup": last.geometric_mean(),
                "repaired": last.repaired.len(),
            })
        }
        Event::ComparedWhole { home, settings } => {
            let last = settings.validation.as_ref().and_then(|validation| validation.compared.as_ref());
            json!({
                "event": "validated_whole",
                "settings": home.file(rundir::SETTINGS).to_string_lossy(),
                "pairs": last.map(|last| last.pairs),
                "speedup": last.map(|last| last.speedup.point),
                "verdict": last.map(|last| last.standing),
                "loses": settings.loses(),
            })
        }
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

/// Writes an event of a launch, unless programs have no use for it.
pub(super) fn notice(launch: &CampaignLaunch<'_>, notice: &Notice<'_>, estimate: &RemainingTime) {
    let plan = launch.plan;
    let mut line = match notice {
        Notice::Launching => json!({ "event": "launch", "planned": launch.planned, "cells": plan.cells.len() }),
        Notice::Failed(error) => json!({ "event": "failed", "why": error.to_string() }),
        Notice::Trying(cell) => with_subject(json!({ "event": "trying" }), Subject::Cell(*cell)),
        Notice::Acquitted(cell) => with_subject(json!({ "event": "acquitted" }), Subject::Cell(*cell)),
        Notice::TooManyFailures(collective) => {
            json!({ "event": "too_many_failures", "collective": collective.name() })
        }
        Notice::LeftOut(row) => {
            let (ended, kind, name) = match row {
                Row::Ended(point) => (&point.ended, "candidate", point.candidate.to_string()),
                Row::EndedCast(ended) => (&ended.ended, "cast", ended.cast.to_string()),
                Row::Sample(_) | Row::Pattern(_) => return,
            };
            let line = json!({ "event": "quarantined", "ended": ended.to_string() });
            let mut line = with_subject(line, row.subject());
            line[kind] = name.into();
            line
        }
        Notice::Event(event) => match event {
            WorkerEvent::Checking { cell, candidate } => {
                with_turn(json!({ "event": "checking" }), plan, *cell, *candidate)
            }
            WorkerEvent::Visiting { cell } => with_subject(json!({ "event": "visiting" }), plan.subject(*cell)),
            WorkerEvent::Visited { cell, visit, candidates, rounds, .. } => {
                let line = json!({
                    "event": "visited",
                    "visit": visit,
                    "candidates": candidates.len(),
                    "rounds": rounds.len(),
                    "done": estimate.done(),
                    "left_s": estimate.left().as_secs_f64(),
                });
                with_subject(line, plan.subject(*cell))
            }
            WorkerEvent::Disqualified { cell, candidate, why } => {
                with_turn(json!({ "event": "disqualified", "why": why }), plan, *cell, *candidate)
            }
            WorkerEvent::Dropped { cell, candidate, why } => {
                with_turn(json!({ "event": "dropped", "why": why }), plan, *cell, *candidate)
            }
            WorkerEvent::Finished { cell } => with_subject(json!({ "event": "finished" }), plan.subject(*cell)),
            WorkerEvent::Measured { why } => json!({ "event": "launch_ended", "why": why }),
            _ => return,
        },
    };
    line["launch"] = launch.number.into();
    emit(&line);
}

/// The columns of the samples have these names too.
fn with_subject(mut line: Value, subject: Subject) -> Value {
    let (kind, name, ranks, bytes) = match subject {
        Subject::Cell(cell) => ("collective", cell.collective.name(), cell.ranks, cell.bytes),
        Subject::Pattern(pattern) => ("pattern", pattern.shape.name(), pattern.ranks, pattern.bytes),
    };
    line[kind] = name.into();
    line["comm_size"] = ranks.0.into();
    line["message_bytes"] = bytes.0.into();
    line
}

fn with_turn(line: Value, plan: &LaunchPlan, index: usize, turn: usize) -> Value {
    let mut line = with_subject(line, plan.subject(index));
    match plan.cells.get(index) {
        Some(planned) => line["candidate"] = planned.candidates[turn].to_string().into(),
        None => line["cast"] = plan.pattern(index).casts[turn].to_string().into(),
    }
    line
}
