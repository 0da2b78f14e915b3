//! Puts into a directory what an analysis leaves behind.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::findings::Findings;
use collrules_record::rundir::{self, RunDir};
use collrules_report::notes::notes;
use collrules_report::{Context, markdown, page, tree};
use collrules_rules::{deploy, emit};

use crate::failure::Failure;

/// How the program calls itself in files.
pub(crate) const TOOL: &str = concat!("collrules ", env!("CARGO_PKG_VERSION"));

/// MCA settings by name.
pub(crate) type Pins = BTreeMap<String, String>;

/// Writes the findings, and the rules under this name.
pub(crate) fn rules(run: &RunDir, findings: &Findings, name: &str) -> Result<(), Failure> {
    run.write_findings(findings)?;
    run.write(name, &rules_text(findings)?)?;
    Ok(())
}

/// The rules file of these findings.
pub(crate) fn rules_text(findings: &Findings) -> Result<String, Failure> {
    let accepted = |hazard: &_| findings.tree.policy.assumptions.accept(hazard);
    Ok(emit::classic(&findings.table, &notes(findings, TOOL), accepted)?)
}

/// Columns of the tree's text file.
const TREE_WIDTH: usize = 100;

/// Writes the decision tree as text, for programs, and as a drawing.
fn tree(run: &RunDir, findings: &Findings) -> Result<(), Failure> {
    run.write(rundir::TREE_TEXT, &tree::text(findings, TREE_WIDTH))?;
    run.write(rundir::TREE_JSON, &tree_json(findings)?)?;
    run.write(rundir::TREE_SVG, &(tree::svg(findings) + "\n"))?;
    Ok(())
}

/// The decision tree for programs.
pub(crate) fn tree_json(findings: &Findings) -> Result<String, Failure> {
    let shown = serde_json::json!({
        "format": findings.format,
        "source": findings.source,
        "release": findings.release,
        "tree": findings.tree,
    });
    Ok(serde_json::to_string_pretty(&shown)? + "\n")
}

/// Writes the files that switch the rules file on.
pub(crate) fn settings(run: &RunDir, pins: &Pins) -> Result<(), Failure> {
    let rules = rules_path(run);
    run.write(rundir::MCA_PARAMS, &deploy::mca_params(&rules, pins)?)?;
    run.write(rundir::ENVIRONMENT, &deploy::environment(&rules, pins))?;
    // Of the three this one alone cannot hold a path with blanks in it; the others serve then.
    match deploy::tune_file(&rules, pins) {
        Ok(text) => drop(run.write(rundir::TUNE, &text)?),
        Err(inexpressible) => crate::progress::say(&format!("{} is left out: {inexpressible}", rundir::TUNE)),
    }
    Ok(())
}

/// Refuses a directory whose rules file could not be named by the settings that switch it on.
pub(crate) fn refuse_unnameable(directory: &Path) -> Result<(), Failure> {
    let rules = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()).join(rundir::RULES);
    let Some(rules) = rules.to_str() else {
        let shown = directory.display();
        return Err(Failure::Usage(format!("{shown} is not UTF-8, so that no setting can name a rules file in it")));
    };
    deploy::mca_params(rules, &Pins::new())?;
    Ok(())
}

/// What a user types to switch the rules on: for one mpirun, and for a shell.
pub(crate) fn switch_on(run: &RunDir, findings: &Findings, pins: &Pins) -> Vec<String> {
    if findings.table.is_empty() {
        return Vec::new();
    }
    vec![
        format!("mpirun {} PROGRAM", deploy::mpirun_line(&rules_path(run), pins).trim_start_matches("mpirun ")),
        format!(". {}", deploy::quoted(&run.absolute().join(rundir::ENVIRONMENT).to_string_lossy())),
    ]
}

/// Writes the report and the decision tree.
pub(crate) fn report(run: &RunDir, findings: &Findings, context: &Context<'_>) -> Result<(), Failure> {
    run.write_proof(&context.proof)?;
    run.write(rundir::REPORT, &markdown::report(findings, context))?;
    run.write(rundir::PAGE, &page::page(findings, context))?;
    tree(run, findings)
}

fn rules_path(run: &RunDir) -> String {
    run.absolute().join(rundir::RULES).to_string_lossy().into_owned()
}
