//! Every point with its estimates and the decision, for programs: `report.csv` and `report.json`.

use std::io;

use collrules_record::findings::{CellFinding, Findings, PointFinding};
use collrules_record::{Cell, FormatVersion};
use serde::Serialize;
use serde_json::json;

use crate::facts::{self, candidate_name};
use crate::reasons::{verdict, winner};
use crate::remarks::remarks;
use crate::summary::{Expectation, Gain, expectations};
use crate::{Context, plain};

/// The version of both formats that this version writes.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// One point. Times are in seconds; gains are builtin time over candidate time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct PointRecord {
    /// The collective.
    collective: String,
    /// The communicator size.
    comm_size: u32,
    /// The message bytes that the caller passes.
    message_bytes: u64,
    /// The size that Open MPI's rule lookup sees.
    lookup_bytes: u64,
    /// The candidate as other files name it.
    candidate: String,
    /// The candidate in words.
    name: String,
    /// The median time.
    time_s: f64,
    /// Lower end of its interval.
    time_low_s: Option<f64>,
    /// Upper end of its interval.
    time_high_s: Option<f64>,
    /// Number of timings.
    samples: usize,
    /// The gain over the builtin; missing for the builtin.
    gain: Option<f64>,
    /// Lower end of its interval.
    gain_low: Option<f64>,
    /// Upper end of its interval.
    gain_high: Option<f64>,
    /// The expected gain, corrected for selection.
    expected_gain: Option<f64>,
    /// The q value of the test.
    q_value: Option<f64>,
    /// True if the verdict on the cell is for this candidate.
    winner: bool,
    /// True if rules and settings select this candidate.
    served: bool,
    /// The verdict on the cell, in words.
    verdict: String,
    /// True if its time is implausible.
    doubted: bool,
}

/// All points, in the order of the findings.
fn rows(findings: &Findings) -> Vec<PointRecord> {
    findings.cells.iter().flat_map(|cell| cell.points.iter().map(move |point| row(findings, cell, point))).collect()
}

fn row(findings: &Findings, cell: &CellFinding, point: &PointFinding) -> PointRecord {
    let PointFinding { candidate, time, gain, expected, q_value, .. } = *point;
    PointRecord {
        collective: cell.cell.collective.to_string(),
        comm_size: cell.cell.ranks.0,
        message_bytes: cell.cell.bytes.0,
        lookup_bytes: cell.cell.lookup_bytes(findings.release),
        candidate: candidate.to_string(),
        name: candidate_name(findings, cell.cell.collective, candidate),
        time_s: time.point,
        time_low_s: time.low,
        time_high_s: time.high,
        samples: time.samples,
        gain: gain.map(|gain| gain.point),
        gain_low: gain.and_then(|gain| gain.low),
        gain_high: gain.and_then(|gain| gain.high),
        expected_gain: expected,
        q_value,
        winner: winner(cell) == candidate,
        served: cell.served_candidate() == candidate,
        verdict: plain::spreadsheet(&verdict(findings, cell)),
        doubted: findings.doubted.contains(&(cell.cell, candidate)),
    }
}

/// All points as CSV, with a head.
pub fn csv(findings: &Findings) -> io::Result<String> {
    of_rows("", rows(findings))
}

/// Rows as CSV, under these columns; under the names of their fields if none are given.
pub fn of_rows(columns: &str, rows: impl IntoIterator<Item = impl Serialize>) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if !columns.is_empty() {
        writer.write_record(columns.split(','))?;
    }
    for row in rows {
        writer.serialize(row).map_err(io::Error::other)?;
    }
    let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The report as JSON, indented.
pub fn json(findings: &Findings, context: &Context<'_>) -> serde_json::Result<String> {
    let disqualified = findings.cells.iter().flat_map(|cell| {
        let Cell { collective, ranks, bytes } = cell.cell;
        cell.disqualified.iter().map(move |(candidate, why)| {
            json!({
                "collective": collective, "comm_size": ranks, "message_bytes": bytes, "candidate": candidate, "why": why,
            })
        })
    });
    let expectation = |one: &Expectation| {
        let Gain { mean, cautious, least, most } = one.overall;
        json!({
            "collective": one.collective, "cells": one.cells, "served": one.cells - one.kept, "improved": one.improved,
            "doubted": one.doubted, "gain": mean, "gain_at_lower_ends": cautious, "least": least, "most": most,
        })
    };
    let facts = context.manifest.map(facts::provenance).unwrap_or_default();
    let fact = |(what, value): &(String, String)| json!({ "what": what, "value": value });
    let report = json!({
        "format": FORMAT,
        "tool": context.tool,
        "source": findings.source,
        "release": findings.release,
        "statistic": findings.statistic,
        "criteria": findings.criteria,
        "rules": findings.table.rules(),
        "gain": findings.tree.gain,
        "expectations": expectations(findings).iter().map(expectation).collect::<Vec<_>>(),
        "switch_on": context.switch_on,
        "shown": context.proof,
        "remarks": remarks(findings),
        "assumptions": facts::assumptions(findings),
        "points": rows(findings),
        "crossovers": findings.crossovers,
        "disqualified": disqualified.collect::<Vec<_>>(),
        "validation": context.validation,
        "provenance": facts.iter().map(fact).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
