//! `collrules analyze`: verdicts and rules of a run directory or a timing table, without MPI.

use std::path::Path;

use collrules_record::findings::{Criteria, Findings};
use collrules_record::import::{Format, ImportManifest, ImportReport, Importer};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Seconds;
use collrules_record::validation::GivenBack;
use collrules_record::{Manifest, Policy, import};
use collrules_report::Context;
use collrules_rules::Release;
use collrules_runner::grid::known_release;
use collrules_tuner::Observations;

use super::{clock, conclude, remarks, replay, served};
use crate::args::{Analyze, CriteriaArgs, TABLE_RELEASE};
use crate::deliver::{self, Pins};
use crate::failure::Failure;
use crate::progress::say;

pub(crate) fn run(args: &Analyze) -> Result<(), Failure> {
    if args.input.is_dir() { analyze_run(args) } else { analyze_table(args) }
}

fn analyze_run(args: &Analyze) -> Result<(), Failure> {
    if args.release.is_some() {
        return Err(Failure::Usage("a run knows its own release; --release is for tables".to_owned()));
    }
    let run = RunDir::open(&args.input)?;
    if let Some((manifest, report)) = run.imported()? {
        return analyze_import(args, run, &manifest, &report);
    }
    let manifest = run.manifest()?;
    refuse_comparison(&run, &manifest)?;
    let release = known_release(&manifest.survey)?;
    if !args.train_launches.is_empty() {
        let observations = observations_of_run(&run, manifest.plan.launches)?;
        return replay::run(args, &observations, release, manifest.survey.clock_step);
    }
    let findings = findings_of_run(&run, &manifest, release, &args.criteria, args.policy.policy())?;
    let target = target(args, run)?;
    let context = Context { manifest: Some(&manifest), ..Context::default() };
    finish(&target, &findings, &served::pins(&manifest.pins, &findings), context, args.quiet)
}

/// Refuses launches of a validation: they have no candidates to choose from.
pub(super) fn refuse_comparison(run: &RunDir, manifest: &Manifest) -> Result<(), Failure> {
    if manifest.plan.deployment.is_none() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{} holds launches without a rules file and with it, made by `collrules validate`; {} says what they showed",
        run.path().display(),
        run.file(rundir::VALIDATION).display(),
    )))
}

/// Where the findings of a run go. What was concluded before, and perhaps proven and installed, is not overwritten.
fn target(args: &Analyze, run: RunDir) -> Result<RunDir, Failure> {
    match &args.out {
        Some(out) => Ok(RunDir::prepare_derived(out)?),
        None if run.file(rundir::FINDINGS).exists() => Err(Failure::Occupied(format!(
            "{} holds findings already; name another directory for new ones with --out",
            args.input.display(),
        ))),
        None => Ok(run),
    }
}

/// A run that was imported: its numbers come without a survey and a plan.
fn analyze_import(
    args: &Analyze,
    run: RunDir,
    manifest: &ImportManifest,
    report: &ImportReport,
) -> Result<(), Failure> {
    let source_name = run.path().display().to_string();
    let failed = |cause| Failure::Analysis { source_name: source_name.clone(), cause };
    let observations = Observations::from_samples_of(&run.samples()?.text, manifest.statistic).map_err(failed)?;
    let criteria = args.criteria.criteria(Seconds(0.0));
    let mut findings =
        collrules_tuner::analyze_under(&observations, manifest.release, criteria, args.policy.policy(), &source_name)
            .map_err(failed)?;
    findings.remarks.extend(import::remarks(&report.findings));
    findings.remarks.extend(remarks::of_rules(&findings));
    let target = target(args, run)?;
    finish(&target, &findings, &Pins::new(), Context::default(), args.quiet)
}

/// Decides on what a run directory holds. What a validation of the run gave back to the builtin stays there.
pub(super) fn findings_of_run(
    run: &RunDir,
    manifest: &Manifest,
    release: Release,
    criteria: &CriteriaArgs,
    policy: Policy,
) -> Result<Findings, Failure> {
    let given_back = run.validation()?.map(|validation| validation.given_back).unwrap_or_default();
    findings_under(run, manifest, release, criteria.criteria(manifest.survey.clock_step), policy, &given_back)
}

/// The same under these criteria, with this left to the builtin.
pub(super) fn findings_under(
    run: &RunDir,
    manifest: &Manifest,
    release: Release,
    criteria: Criteria,
    policy: Policy,
    given_back: &[GivenBack],
) -> Result<Findings, Failure> {
    let source_name = run.path().display().to_string();
    let failed = |cause| Failure::Analysis { source_name: source_name.clone(), cause };
    let observations = observations_of_run(run, manifest.plan.launches)?;
    let placement = &manifest.plan.placement;
    let (mut findings, freed) =
        collrules_tuner::analyze_among(&observations, placement, release, criteria, policy, given_back, &source_name)
            .map_err(failed)?;
    findings.pins = served::needed(&findings, &freed);
    findings.simulated = manifest.backend == "simulation";
    let missing = manifest.plan.cells.iter().filter(|planned| !findings.cells.iter().any(|c| c.cell == planned.cell));
    let missing = missing.count();
    if missing > 0 {
        findings.remarks.push(format!(
            "Measuring ended before its time: {missing} of {} planned cells have no timings, and keep the builtin.",
            manifest.plan.cells.len(),
        ));
    }
    findings.remarks.extend(remarks::of_validation(given_back));
    findings.remarks.extend(remarks::of_rules(&findings));
    findings.remarks.extend(remarks::of_run(manifest));
    findings.remarks.extend(clock::under_resolution(&findings));
    findings.remarks.extend(clock::of_clock(&run.clock()?));
    Ok(findings)
}

fn observations_of_run(run: &RunDir, launches: u32) -> Result<Observations, Failure> {
    let samples = run.samples()?;
    if samples.torn {
        say("the last line of the samples is incomplete and left out");
    }
    let failed = |cause| Failure::Analysis { source_name: run.path().display().to_string(), cause };
    Ok(Observations::from_samples(&samples.text).map_err(failed)?.expecting(launches))
}

fn analyze_table(args: &Analyze) -> Result<(), Failure> {
    if args.out.is_none() && args.train_launches.is_empty() {
        return Err(Failure::Usage("a table needs a directory for what is made of it: --out DIR".to_owned()));
    }
    let release = args.release.unwrap_or(TABLE_RELEASE);
    let bytes = std::fs::read(&args.input).map_err(|cause| Failure::Open { path: args.input.clone(), cause })?;
    if let Some(format @ (Format::Osu | Format::Imb | Format::Reprompi | Format::Detail | Format::Best)) =
        Importer::format(&bytes)
    {
        return Err(Failure::Input(format!(
            "{} is {format}, not a table: `collrules import` makes a run directory of it to analyze",
            args.input.display(),
        )));
    }
    let table =
        import::timing_table(&*bytes, release).map_err(|cause| Failure::Import { path: args.input.clone(), cause })?;
    for problem in &table.problems {
        say(&format!("{}: {problem}; left out", args.input.display()));
    }
    let source_name = source_name(&args.input);
    let failed = |cause| Failure::Analysis { source_name: source_name.clone(), cause };
    let observations = Observations::from_timings(&table.timings).map_err(failed)?;
    let criteria = args.criteria.criteria(Seconds(0.0));
    let Some(out) = &args.out else { return replay::run(args, &observations, release, Seconds(0.0)) };
    let mut findings =
        collrules_tuner::analyze_under(&observations, release, criteria, args.policy.policy(), &source_name)
            .map_err(failed)?;
    if !table.problems.is_empty() {
        findings.remarks.push(format!("{} rows of the table were left out.", table.problems.len()));
    }
    findings.remarks.extend(import::suspicions(&source_name, &bytes, release));
    findings.remarks.extend(remarks::of_rules(&findings));
    let run = RunDir::prepare_derived(out)?;
    finish(&run, &findings, &Pins::new(), Context::default(), args.quiet)
}

fn source_name(input: &Path) -> String {
    input.file_name().map_or_else(|| input.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn finish(
    run: &RunDir,
    findings: &Findings,
    pins: &Pins,
    mut context: Context<'_>,
    quiet: bool,
) -> Result<(), Failure> {
    deliver::rules(run, findings, rundir::RULES)?;
    deliver::settings(run, pins)?;
    context.switch_on = deliver::switch_on(run, findings, pins);
    context.proof =
        vec!["Nothing was run: `collrules verify` shows whether the Open MPI in use obeys the file.".to_owned()];
    context.tool = deliver::TOOL.to_owned();
    deliver::report(run, findings, &context)?;
    if quiet {
        return Ok(());
    }
    conclude::print(run, findings, &context)
}
