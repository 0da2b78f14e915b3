//! `collrules import`: timings of other programs as a run directory.

use collrules_import::{Facts, Finding, FindingSeverity, ImportManifest, ImportReport, Importer, Options, TimeWanted};
use collrules_record::findings::Statistic;
use collrules_record::rundir::{self, RunDir};
use collrules_rules::words::counted;

use collrules_workflow::publish;

use crate::args::{ImportArgs, TABLE_RELEASE, Time};
use crate::failure::Failure;
use crate::screen;

pub(crate) fn run(args: &ImportArgs) -> Result<(), Failure> {
    // Settings must be able to name the path of later results.
    publish::refuse_unnameable(&args.out)?;
    let release = args.release.unwrap_or(TABLE_RELEASE);
    let mut importer = Importer::new(Options {
        release,
        facts: Facts {
            collective: args.collective,
            ranks: args.np,
            algorithm: args.algorithm.clone(),
            launch: args.launch,
        },
        pattern: args.name_pattern.clone(),
        per_second: args.unit.map(crate::args::Unit::per_second),
        time: match args.time {
            None => TimeWanted::Best,
            Some(Time::Slowest) => TimeWanted::SlowestRank,
            Some(Time::Average) => TimeWanted::RankAverage,
        },
        leave_out_flagged: args.plausible.leave_out_flagged,
        limits: args.plausible.limits(),
    });
    collrules_import::add_all(&mut importer, &args.inputs).map_err(|error| Failure::open(&error.path, error.cause))?;
    let import = importer.finish().map_err(|cause| Failure::NotImported { cause })?;
    let command = std::env::args().collect();
    let version = env!("CARGO_PKG_VERSION");
    let manifest = ImportManifest::new(&import, release, args.release.is_some(), command, version);
    let run = collrules_import::create(args.out.clone(), &manifest, &import)?;
    let lines = if args.json {
        vec![serde_json::to_string_pretty(&ImportReport::new(&import))?]
    } else {
        summary(&import, &manifest, &run)
    };
    screen::print(&lines.join("\n"))
}

fn summary(import: &collrules_import::Import, manifest: &ImportManifest, run: &RunDir) -> Vec<String> {
    let mut lines: Vec<String> =
        import.findings.iter().flat_map(|finding| screen::wrapped(&finding.to_string(), "", "    ")).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    let mut cells: Vec<_> = import.timings.iter().map(|timing| timing.cell).collect();
    cells.dedup();
    let used = import.sources.iter().filter(|source| source.timings > 0).count();
    lines.push(format!(
        "{} of {} from {}.",
        counted(import.timings.len(), "timing"),
        counted(cells.len(), "size"),
        counted(used, "file"),
    ));
    let mut say = |sentence: &str| lines.extend(screen::wrapped(sentence, "", ""));
    say(match import.statistic {
        Statistic::RankAverage => "They are averages over ranks and calls, which hide the slowest rank and the spread.",
        _ => "They are times of the slowest rank.",
    });
    if !manifest.release_stated {
        say(
            &format!("Algorithm numbers are read as those of Open MPI {}; --release names another.", manifest.release,),
        );
    }
    match severities(&import.findings) {
        None => say("No problems found."),
        Some(counts) => say(&format!("{counts} above, and in {}.", run.file(rundir::IMPORT).display())),
    }
    lines.push(String::new());
    lines.push(format!("Next: collrules analyze {}", run.path().display()));
    lines
}

/// `1 error, 2 warnings`.
fn severities(findings: &[Finding]) -> Option<String> {
    let count = |severity: FindingSeverity| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| counted(count, severity.name()))
    };
    let counts: Vec<String> = [FindingSeverity::Error, FindingSeverity::Warning, FindingSeverity::Note]
        .into_iter()
        .filter_map(count)
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}
