//! Every point with its estimates and the decision, for programs: `report.csv` and `report.json`.

use std::io;

use collrules_record::findings::{CellFinding, Findings, PointFinding};
use collrules_record::tree::LeafGain;
use collrules_record::{Cell, FormatVersion};
use serde::Serialize;
use serde_json::{Value, json};

use crate::facts::{self, candidate_name};
use crate::reasons::verdict;
use crate::remarks::remarks;
use crate::summary::{Expectation, expectations};
use crate::{Context, plain};

/// The version of both formats that this version writes.
const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// The rows of all points, in the order of the findings, with the names of their fields. Times are in seconds; gains are the
/// default's time over that of the candidate.
fn rows(findings: &Findings) -> Vec<[(&'static str, Value); 19]> {
    findings.cells.iter().flat_map(|cell| cell.points.iter().map(move |point| row(findings, cell, point))).collect()
}

fn row(findings: &Findings, cell: &CellFinding, point: &PointFinding) -> [(&'static str, Value); 19] {
    let PointFinding { candidate, time, gain, expected, q_value, .. } = *point;
    let Cell { collective, ranks, bytes } = cell.cell;
    [
        ("collective", json!(collective)),
        ("comm_size", json!(ranks)),
        ("message_bytes", json!(bytes)),
        ("lookup_bytes", json!(cell.cell.lookup_bytes(findings.release))),
        ("candidate", json!(candidate)),
        ("name", json!(candidate_name(findings, collective, candidate))),
        ("time_s", json!(time.point)),
        ("time_low_s", json!(time.low)),
        ("time_high_s", json!(time.high)),
        ("samples", json!(time.samples)),
        ("gain", json!(gain.map(|gain| gain.point))),
        ("gain_low", json!(gain.and_then(|gain| gain.low))),
        ("gain_high", json!(gain.and_then(|gain| gain.high))),
        // Corrected for selection.
        ("expected_gain", json!(expected)),
        ("q_value", json!(q_value)),
        // The verdict on the cell is for this candidate; rules and settings select it; its time is implausible.
        ("winner", json!(cell.verdict.candidate() == candidate)),
        ("in_use", json!(cell.candidate_in_use() == candidate)),
        ("verdict", json!(plain::spreadsheet(&verdict(findings, cell)))),
        ("doubted", json!(findings.doubted.contains(&(cell.cell, candidate)))),
    ]
}

/// All points as CSV, with a head.
pub fn csv(findings: &Findings) -> io::Result<String> {
    let rows = rows(findings);
    let names = rows.first().map(|row| row.each_ref().map(|(name, _)| *name).join(",")).unwrap_or_default();
    of_rows(&names, rows.iter().map(|row| row.each_ref().map(|(_, value)| value)))
}

/// Rows as CSV, under these columns.
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
        let LeafGain { mean, interval, least, most } = one.gain;
        json!({
            "collective": one.collective, "cells": one.cells, "in_use": one.cells - one.kept, "improved": one.improved,
            "doubted": one.doubted, "gain": mean, "gain_at_lower_ends": interval.map(|(low, _)| low), "least": least, "most": most,
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
        "points": rows(findings).into_iter().map(Value::from_iter).collect::<Vec<_>>(),
        "crossovers": findings.crossovers,
        "disqualified": disqualified.collect::<Vec<_>>(),
        "validation": context.validation,
        "provenance": facts.iter().map(fact).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
