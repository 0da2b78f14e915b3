//! What an analysis leaves in a directory: written here and nowhere else, and read back here.

use std::path::Path;

use collrules_record::findings::{self, Findings};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Manifest, Validation};
use collrules_report::notes::notes;
use collrules_report::{Context, markdown, page, tree};
use collrules_rules::deploy::{self, Tuning};
use collrules_rules::{emit, han};
use collrules_tuner::Observations;

use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::Pins;
use crate::{TOOL, served};

/// Columns of the tree's text file.
const TREE_WIDTH: usize = 100;

/// What a directory holds that was analysed.
pub struct Published {
    /// The directory.
    pub run: RunDir,
    /// The findings.
    pub findings: Findings,
    /// Where the numbers come from, if we measured them.
    pub manifest: Option<Manifest>,
    /// What fresh launches showed, if somebody looked.
    pub validation: Option<Validation>,
    /// What was shown about the rules, in whole sentences.
    pub proof: Vec<String>,
}

impl Published {
    /// Opens a directory that holds findings, or a findings file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, WorkflowError> {
        let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        if path.is_dir() {
            let run = RunDir::derived(path)?;
            let findings = run.findings()?;
            return Self::around(run, findings);
        }
        let findings = rundir::read_json_file(path, findings::FORMAT)?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::around(RunDir::derived(directory)?, findings)
    }

    fn around(run: RunDir, findings: Findings) -> Result<Self, WorkflowError> {
        // The directory of a table's findings has no manifest, and that of an import has another one.
        let measured = run.file(rundir::MANIFEST).exists() && !run.is_imported()?;
        let manifest = measured.then(|| run.manifest()).transpose()?;
        let validation = run.validation()?;
        let proof = run.proof()?.map(|proof| proof.shown).unwrap_or_default();
        Ok(Self { run, findings, manifest, validation, proof })
    }

    /// The timings; none where the findings lie in no run.
    pub fn observations(&self) -> Result<Option<Observations>, WorkflowError> {
        if !self.run.file(rundir::SAMPLES).is_file() {
            return Ok(None);
        }
        let read = Observations::from_samples_of(&self.run.samples()?.text, self.findings.statistic);
        read.map(Some).map_err(WorkflowError::analysis(&self.findings.source))
    }

    /// All that makes programs fast: the files in the directory, the settings of the run and those that its rules need.
    pub fn tuning(&self) -> Tuning {
        let of_run = self.manifest.as_ref().map(|manifest| manifest.pins.clone()).unwrap_or_default();
        tuning(&self.run, &self.findings, served::pins(&of_run, &self.findings))
    }

    /// What reports show beside the findings.
    pub fn context(&self) -> Context<'_> {
        // Only where the rules lie beside the findings.
        let rules = self.run.file(rundir::RULES).is_file();
        Context {
            manifest: self.manifest.as_ref(),
            switch_on: if rules { switch_on(&self.run, &self.findings, &self.tuning()) } else { Vec::new() },
            proof: self.proof.clone(),
            validation: self.validation.as_ref(),
            tool: TOOL.to_owned(),
        }
    }

    /// Writes findings and report, with all that is known by now.
    pub fn write(&self) -> Result<(), WorkflowError> {
        let Self { run, findings, .. } = self;
        let context = self.context();
        run.write_findings(findings)?;
        run.write_proof(&self.proof)?;
        run.write(rundir::REPORT, &markdown::report(findings, &context))?;
        run.write(rundir::PAGE, &page::page(findings, &context))?;
        run.write(rundir::TREE_TEXT, &tree::text(findings, TREE_WIDTH))?;
        run.write(rundir::TREE_JSON, &tree_json(findings)?)?;
        run.write(rundir::TREE_SVG, &(tree::svg(findings) + "\n"))?;
        Ok(())
    }
}

/// Writes the rules file of these findings under a name.
pub(crate) fn rules(run: &RunDir, findings: &Findings, name: &str) -> Result<(), WorkflowError> {
    run.write(name, &rules_text(findings)?)?;
    Ok(())
}

/// The rules file of these findings.
pub(crate) fn rules_text(findings: &Findings) -> Result<String, WorkflowError> {
    let accepted = |hazard: &_| findings.tree.policy.assumptions.accept(hazard);
    if !findings.apart.is_empty() {
        return Ok(emit::json_apart(&findings.table, &findings.apart, &notes(findings, TOOL), accepted)?);
    }
    Ok(emit::classic(&findings.table, &notes(findings, TOOL), accepted)?)
}

/// HAN's rules file of these findings; none where HAN hands nothing over.
pub(crate) fn han_text(findings: &Findings) -> Result<Option<String>, WorkflowError> {
    if findings.handover.is_empty() {
        return Ok(None);
    }
    let header = vec![
        format!("{TOOL}: calls that coll/tuned serves faster than HAN, measured on Open MPI {}", findings.release),
        format!("{} beside it says how coll/tuned serves them.", rundir::RULES),
    ];
    let text = han::write(&findings.handover.to_han(), &header);
    text.map(Some).map_err(|error| WorkflowError::Input(format!("HAN's rules file cannot be written: {error}")))
}

/// The tuning that these findings come to in a directory.
pub(crate) fn tuning(run: &RunDir, findings: &Findings, pins: Pins) -> Tuning {
    let path = |name: &str| run.absolute().join(name).to_string_lossy().into_owned();
    let han = !findings.handover.is_empty();
    // A file without rules switches nothing on that would be worth a setting.
    let rules = !findings.table.is_empty() || !findings.apart.is_empty() || !han && findings.pins.is_empty();
    Tuning { rules: rules.then(|| path(rundir::RULES)), han: han.then(|| path(rundir::HAN)), pins }
}

/// The decision tree for programs.
pub fn tree_json(findings: &Findings) -> Result<String, WorkflowError> {
    let shown = serde_json::json!({
        "format": findings.format,
        "source": findings.source,
        "release": findings.release,
        "tree": findings.tree,
    });
    Ok(serde_json::to_string_pretty(&shown)? + "\n")
}

/// Writes the files that switch the tuning on.
pub(crate) fn settings(run: &RunDir, tuning: &Tuning, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    run.write(rundir::MCA_PARAMS, &tuning.mca_params()?)?;
    run.write(rundir::ENVIRONMENT, &tuning.environment())?;
    // Of the three this one alone cannot hold a path with blanks in it; the others serve then.
    match tuning.tune_file() {
        Ok(text) => drop(run.write(rundir::TUNE, &text)?),
        Err(inexpressible) => session.say(&format!("{} is left out: {inexpressible}", rundir::TUNE)),
    }
    Ok(())
}

/// Refuses a directory whose rules file could not be named by the settings that switch it on.
pub fn refuse_unnameable(directory: &Path) -> Result<(), WorkflowError> {
    let rules = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()).join(rundir::RULES);
    let Some(rules) = rules.to_str() else {
        let shown = directory.display();
        return Err(WorkflowError::Usage(format!(
            "{shown} is not UTF-8, so that no setting can name a rules file in it"
        )));
    };
    Tuning { rules: Some(rules.to_owned()), ..Tuning::default() }.mca_params()?;
    Ok(())
}

/// What a user types to switch the rules on: for one mpirun, and for a shell.
fn switch_on(run: &RunDir, findings: &Findings, tuning: &Tuning) -> Vec<String> {
    if findings.changes_nothing() {
        return Vec::new();
    }
    vec![
        format!("mpirun {} PROGRAM", tuning.mpirun_line().trim_start_matches("mpirun ")),
        format!(". {}", deploy::quoted(&run.absolute().join(rundir::ENVIRONMENT).to_string_lossy())),
    ]
}

/// Writes what an analysis without launches leaves behind: rules, settings, findings and report.
pub fn unproven(
    run: RunDir,
    findings: Findings,
    manifest: Option<Manifest>,
    session: &mut Session<'_>,
) -> Result<Published, WorkflowError> {
    let proof =
        vec!["Nothing was run: `collrules verify` shows whether the Open MPI in use obeys the file.".to_owned()];
    let validation = None;
    let published = Published { run, findings, manifest, validation, proof };
    let Published { run, findings, .. } = &published;
    rules(run, findings, rundir::RULES)?;
    match han_text(findings)? {
        Some(text) => drop(run.write(rundir::HAN, &text)?),
        None => drop(std::fs::remove_file(run.file(rundir::HAN))),
    }
    settings(run, &published.tuning(), session)?;
    published.write()?;
    Ok(published)
}
