//! Rules, verdicts and numbers of seeded runs and recorded tables, held by snapshots, so that a change of the program's
//! shape shows that it changes no result. A snapshot changes only together with a defect that the change names.
//!
//! Simulated runs have no budget: nothing in them depends on a clock. Numbers have three digits.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_lab::guidelines::found::{self as guidelines, Checked, CheckedCell, Cure};
use collrules_lab::study::results::Study;
use collrules_model::model::{self, Model};
use collrules_model::stalls::{self, Irregular};
use collrules_record::findings::{Findings, Verdict};
use collrules_record::validation::Outcome;
use collrules_record::{Estimate, Validation, rundir};
use serde::de::DeserializeOwned;

use crate::support::{bounded, collrules, data};

/// Runs commands, each into a directory of its own, and describes what they leave there.
struct Results {
    scratch: tempfile::TempDir,
    text: String,
}

impl Results {
    fn new() -> Self {
        Self { scratch: tempfile::tempdir().unwrap(), text: String::new() }
    }

    /// Runs a command that takes `--out`, and `--budget` where it measures.
    fn add(&mut self, arguments: &str) {
        let out = self.scratch.path().join(format!("out-{}", self.text.len()));
        let here = |argument: &str| match argument.strip_prefix("DATA/") {
            Some(name) => data(name).into_os_string(),
            None => argument.into(),
        };
        let measures = !arguments.starts_with("analyze") && !arguments.contains("DATA/");
        let mut command = bounded();
        command.args(arguments.split_whitespace().map(here)).arg("--out").arg(&out);
        let ran = command.args(["--budget", "none"].iter().filter(|_| measures)).output().unwrap();
        writeln!(self.text, "$ {arguments}  [{}]", ran.status.code().unwrap()).unwrap();
        self.describe(&out);
    }

    fn describe(&mut self, directory: &Path) {
        for file in [rundir::RULES, rundir::HAN] {
            self.describe_rules(&directory.join(file));
        }
        if let Some(findings) = read::<Findings>(directory, rundir::FINDINGS) {
            self.describe_findings(&findings);
        }
        if let Some(validation) = read::<Validation>(directory, rundir::VALIDATION) {
            self.describe_validation(&validation);
        }
        if let Some(checked) = read::<Checked>(directory, guidelines::FILE) {
            self.describe_guidelines("", &checked.cells);
            let under = checked.under_rules.map(|under| under.cells);
            self.describe_guidelines("under the file ", &under.unwrap_or_default());
        }
        if let Some(study) = read::<Study>(directory, "study.json") {
            self.describe_study(&study);
        }
        if let Some(model) = read::<Model>(directory, model::FILE) {
            self.describe_model(&model);
        }
        if let Some(found) = read::<Irregular>(directory, stalls::FILE) {
            self.describe_stalls(&found);
        }
        self.text.push('\n');
    }

    /// A line for each line of a rules file, without comments and blanks.
    fn describe_rules(&mut self, file: &Path) {
        let Ok(text) = fs::read_to_string(file) else { return };
        let name = file.file_name().unwrap().display().to_string();
        let words = |line: &str| {
            let code = line.split('#').next().unwrap_or_default();
            code.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let lines: Vec<String> = text.lines().map(words).filter(|line| !line.is_empty()).collect();
        writeln!(self.text, "{name}: {}", lines.join(" | ")).unwrap();
    }

    fn describe_findings(&mut self, findings: &Findings) {
        for found in &findings.cells {
            let builtin = found.points.first().map(|point| number(point.time.point)).unwrap_or_default();
            let verdict = match &found.verdict {
                Verdict::Replace { candidate, gain } => format!("{candidate} gains {}", interval(gain)),
                Verdict::Keep { .. } => "keep".to_owned(),
            };
            writeln!(self.text, "  {}: {builtin} s, {verdict}, in use {}", found.cell, found.in_use).unwrap();
        }
        for crossover in &findings.crossovers {
            let (below, above) = crossover.sides();
            let place = format!("{} {}", crossover.collective, crossover.ranks);
            writeln!(self.text, "  {place}: {below} to {above} at {}", crossover.at).unwrap();
        }
        let parameters: Vec<String> =
            findings.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !parameters.is_empty() {
            writeln!(self.text, "  settings: {}", parameters.join(" ")).unwrap();
        }
    }

    fn describe_validation(&mut self, validation: &Validation) {
        let round = &validation.round;
        let count = |outcome| round.count(outcome);
        let counts = [Outcome::Faster, Outcome::Same, Outcome::Slower].map(count);
        writeln!(self.text, "  comparison: {} pairs, faster, same, slower: {counts:?}", round.pairs).unwrap();
        for cell in &round.cells {
            let dropped = if round.repaired.contains(&cell.cell) { ", dropped" } else { "" };
            let verdict = match cell.verdict {
                Outcome::Faster => "faster",
                Outcome::Same => "same",
                Outcome::Slower => "slower",
                Outcome::Undecided => "undecided",
            };
            writeln!(self.text, "    {}: {verdict} {}{dropped}", cell.cell, interval(&cell.speedup)).unwrap();
        }
    }

    fn describe_guidelines(&mut self, place: &str, cells: &[CheckedCell]) {
        for found in cells {
            let severity = found.severity.as_ref().map(interval).unwrap_or_default();
            let verdict = found.violation.as_ref().map_or("no violation".to_owned(), |violation| {
                let cure = match &violation.cure {
                    Cure::Rule { choice, .. } => format!("rule {choice}"),
                    Cure::Han { algorithm, .. } => format!("HAN's {algorithm}"),
                    Cure::Barred { choice, .. } => format!("barred {choice}"),
                    Cure::Component { component, .. } => format!("component {component}"),
                    Cure::Unproven { candidate, .. } => format!("perhaps {candidate}"),
                    Cure::Nothing => "none".to_owned(),
                    Cure::Unmeasured => "not measured".to_owned(),
                };
                format!("violated by {}, cure {cure}", violation.best)
            });
            writeln!(self.text, "  {place}{}: {verdict} {severity}", found.cell).unwrap();
        }
    }

    fn describe_study(&mut self, study: &Study) {
        for found in &study.cells {
            let points = found.points.iter().map(|point| format!("{} {}", point.candidate, number(point.time.point)));
            writeln!(self.text, "  {}: {}", found.cell, points.collect::<Vec<_>>().join(", ")).unwrap();
        }
        for best in &study.classes {
            let names: Vec<String> = best.best.iter().map(ToString::to_string).collect();
            let (from, to) = best.sizes;
            writeln!(self.text, "  {} {} {from} to {to}: {}", best.collective, best.ranks, names.join(" or ")).unwrap();
        }
    }

    fn describe_model(&mut self, model: &Model) {
        for way in &model.ways {
            writeln!(self.text, "  {:?}: {}", way.place, rounded(&serde_json::to_value(way).unwrap())).unwrap();
        }
        for fitted in &model.algorithms {
            let of = |estimate: &Option<Estimate>| estimate.as_ref().map(interval).unwrap_or_default();
            let (alpha, beta) = (of(&fitted.alpha), of(&fitted.beta));
            writeln!(self.text, "  {} {}: alpha {alpha}, beta {beta}", fitted.collective, fitted.choice).unwrap();
        }
    }

    fn describe_stalls(&mut self, found: &Irregular) {
        for calls in &found.points {
            let (median, longest) = (number(calls.median.0), number(calls.longest.0));
            writeln!(self.text, "  {} {}: {median}, at most {longest}", calls.cell, calls.candidate).unwrap();
        }
        for stalls in &found.stalls {
            let cures: Vec<String> = stalls.cures.iter().map(|cure| cure.candidate.to_string()).collect();
            let (first, last) = (stalls.first, stalls.last);
            writeln!(self.text, "  {} stalls from {first} to {last}: {}", stalls.candidate, cures.join(", ")).unwrap();
        }
    }
}

fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> Option<T> {
    let text = fs::read_to_string(directory.join(name)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Three digits.
fn number(value: f64) -> String {
    format!("{value:.2e}")
}

fn interval(estimate: &Estimate) -> String {
    let end = |end: Option<f64>| end.map(number).unwrap_or_default();
    format!("{} ({}, {})", number(estimate.point), end(estimate.low), end(estimate.high))
}

/// Numbers of a JSON value by their path, rounded.
fn rounded(value: &serde_json::Value) -> String {
    fn walk(path: &str, value: &serde_json::Value, all: &mut BTreeMap<String, String>) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| walk(&format!("{path}.{name}"), value, all));
            }
            serde_json::Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, value)| walk(&format!("{path}.{at}"), value, all));
            }
            other => {
                let text = other.as_f64().map_or_else(|| other.to_string(), number);
                all.insert(path.trim_start_matches('.').to_owned(), text);
            }
        }
    }
    let mut all = BTreeMap::new();
    walk("", value, &mut all);
    all.into_iter().map(|(path, value)| format!("{path} {value}")).collect::<Vec<_>>().join(", ")
}

macro_rules! assert_same {
    ($($arguments:expr),+ $(,)?) => {{
        let mut results = Results::new();
        $(results.add($arguments);)+
        insta::assert_snapshot!(results.text);
    }};
}

#[test]
fn simulated_tunings_give_the_same_rules() {
    assert_same!(
        "tune --simulate --np 2,4,8 --ops bcast,scatter,barrier --sizes 4,1K,16K,128K,1M",
        "tune --simulate --simulated-release 4.1 --np 4,8 --ops allreduce,alltoall,reduce_scatter --sizes 4,1K,64K",
        "tune --simulate=fastest --np 4 --ops bcast,reduce --sizes 4,64K --refine 0",
        "tune --simulate=noise --np 4,8 --ops bcast,allgather --sizes 4,1K,64K --refine 0",
        "tune --simulate=deceptive --np 8 --ops bcast --sizes 1K,16K,256K,1M",
        "tune --simulate=planted --np 4 --ops bcast,allreduce --sizes 4,1K,256K --refine 0",
    );
}

#[test]
fn tunings_with_launches_apart_give_the_same_rules() {
    assert_same!(
        "tune --simulate=han --simulated-ppn 2 --np 4,8 --ops bcast,reduce,allreduce --sizes 4,1K,64K,1M --refine 0",
        "tune --simulate --np 4 --ops bcast --sizes 1K,64K --refine 0 --launch-per-candidate --only bcast:binomial,bcast:6",
        "tune --simulate=arranged --simulated-ppn 2 --also-layout one-per-node --np 4 --ops bcast --sizes 1K,32K,256K --refine 0",
        "tune --simulate --np 8 --ops allreduce --sizes 1K,64K --refine 0 --reference --keep-slow",
    );
}

#[test]
fn recorded_tables_give_the_same_rules() {
    assert_same!(
        "analyze DATA/epyc-two-nodes-osu.csv --release 4.1",
        "analyze DATA/epyc-two-nodes-osu.csv --release 5.0",
        "analyze DATA/thin-barrier-approx.csv --release 5.0",
    );
}

#[test]
fn guidelines_give_the_same_violations() {
    assert_same!(
        "lab guidelines --simulate=planted --ops bcast,allreduce,scatter,barrier --np 4 --sizes 4,1K,256K",
        "lab guidelines --simulate --ops all --np 8 --sizes 4,64K --no-remedies",
    );
}

#[test]
fn instruments_give_the_same_numbers() {
    assert_same!(
        "lab model --simulate --simulated-slots 5 --sizes 1K,32K,256K",
        "lab irregular --simulate --simulated-slots 5 --ops gather --sizes 4K:64K --launches 2 --calls 20",
    );
}

#[test]
fn studies_give_the_same_times() {
    let mut results = Results::new();
    let definition: PathBuf = results.scratch.path().join("study.toml");
    let text = "title = 'T'\nquestion = 'Q'\nnp = [4, 8]\nsizes = '1K,8K,64K'\nlaunches = 4\n[algorithms]\n\
                bcast = ['binomial', 'pipeline', 'chan:short', 'chan:long']\n";
    fs::write(&definition, text).unwrap();
    let out = results.scratch.path().join("study");
    let line = format!("lab study {} --simulate --budget none --out", definition.display());
    collrules(&line, &out).exits(0);
    results.describe(&out);
    insta::assert_snapshot!(results.text);
}
