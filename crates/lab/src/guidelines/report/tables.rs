//! Every comparison for programs.

use std::io;

use collrules_record::Estimate;
use collrules_report::tables::of_rows;

use crate::guidelines::found::Checked;

const COLUMNS: &str = "collective,comm_size,message_bytes,run_by,builtin_s,candidate,time_s,gain,gain_low,gain_high,p_value,\
                       q_value,violated,severity,severity_low,severity_high,under_rules";

/// Every comparison as CSV. The severity is in the row of its mock-up.
pub fn csv(checked: &Checked) -> io::Result<String> {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let under = checked.under_rules.iter().flat_map(|under| &under.cells);
    let cells = checked.cells.iter().map(|cell| (cell, false)).chain(under.map(|cell| (cell, true)));
    let rows = cells.flat_map(|(cell, under_rules)| {
        cell.mockups.iter().map(move |found| {
            let own = cell.severity.filter(|_| cell.compared == Some(found.mockup));
            let severity = |end: fn(Estimate) -> Option<f64>| number(own.and_then(end));
            let gain = |end: fn(Estimate) -> Option<f64>| number(found.gain.and_then(end));
            [
                cell.cell.collective.name().to_owned(),
                cell.cell.ranks.to_string(),
                cell.cell.bytes.0.to_string(),
                cell.run_by.map_or(String::new(), |component| component.to_string()),
                number(cell.builtin.map(|builtin| builtin.point)),
                found.mockup.to_string(),
                found.time.point.to_string(),
                gain(|it| Some(it.point)),
                gain(|it| it.low),
                gain(|it| it.high),
                number(found.p_value),
                number(found.q_value),
                found.violated.to_string(),
                severity(|it| Some(it.point)),
                severity(|it| it.low),
                severity(|it| it.high),
                under_rules.to_string(),
            ]
        })
    });
    of_rows(COLUMNS, rows)
}
