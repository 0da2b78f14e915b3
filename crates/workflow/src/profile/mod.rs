//! What a program calls: a user's own job with the profiling library in it, and what comes of it.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow |
//! | `merge` | what ranks left behind, as the profile of the job |

mod merge;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use collrules_record::findings::Findings;
use collrules_record::manifest;
use collrules_record::options::{Profiling, Request, Tuning};
use collrules_record::profile::rank::{self, DIRECTORY, ENDING, FOREIGN, IMBALANCE, RankRecord};
use collrules_record::profile::weight::{COVERED, Weight, kept_to, weights as weights_of};
use collrules_record::profile::{self, Profile};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Manifest, Policy};
use collrules_rules::Collective;
use collrules_rules::words::{counted, plural};
use collrules_runner::RunnerError;
use collrules_runner::mpi::program::{PRELOAD, Program, run};

use crate::error::WorkflowError;
use crate::session::Session;

/// The name of the library.
const LIBRARY: &str = "libcollrules_profile.so";

/// Where ranks leave their records, in the directory of the profile.
const RANKS: &str = "ranks";

/// A job that was profiled.
#[derive(Debug)]
pub struct Profiled {
    /// What it called.
    pub profile: Profile,
    /// Where that is written down.
    pub file: PathBuf,
    /// The code that the job ended with.
    pub code: i32,
}

/// Runs a job with the library in it, and writes its profile into a new directory.
pub fn profile(options: &Profiling, out: &Path, session: &mut Session<'_>) -> Result<Profiled, WorkflowError> {
    let program = Program::new(&options.command)?;
    let library = library(options.library.as_deref())?;
    let directory = RunDir::prepare_derived(out)?;
    let file = directory.file(profile::FILE);
    if file.exists() {
        return Err(WorkflowError::Occupied(format!("{} is there already; choose another --out", file.display())));
    }
    let watched = Watched { program: &program, library: &library, imbalance: options.imbalance };
    let seen = watched.run(&directory, Ok, session)?;
    for remark in remarks(&seen.profile) {
        session.say(&remark);
    }
    directory.write_json(profile::FILE, &seen.profile)?;
    Ok(Profiled { profile: seen.profile, file, code: seen.code })
}

/// A job to be run with the library in it.
pub(crate) struct Watched<'a> {
    pub(crate) program: &'a Program,
    pub(crate) library: &'a Path,
    pub(crate) imbalance: Option<u32>,
}

/// The variables of ranks with the library in them, which leave their records in a directory.
pub(crate) fn preloaded(library: &Path, ranks: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    BTreeMap::from([(PRELOAD.to_owned(), text(library)), (DIRECTORY.to_owned(), text(ranks))])
}

/// What was seen of a job.
pub(crate) struct Seen {
    pub(crate) profile: Profile,
    pub(crate) code: i32,
}

impl Watched<'_> {
    /// Runs the job. Ranks leave their records below the directory, and they are removed when they are read.
    pub(crate) fn run(
        &self,
        directory: &RunDir,
        prepare: impl FnOnce(std::process::Command) -> Result<std::process::Command, WorkflowError>,
        session: &mut Session<'_>,
    ) -> Result<Seen, WorkflowError> {
        let ranks = directory.absolute().join(RANKS);
        fs::create_dir_all(&ranks).map_err(|cause| WorkflowError::write(&ranks, cause))?;
        let mut variables = preloaded(self.library, &ranks);
        if let Some(every) = self.imbalance {
            variables.insert(IMBALANCE.to_owned(), every.to_string());
        }
        let started = manifest::now();
        let mut command = prepare(self.program.command(&variables, &BTreeMap::new()))?;
        // Who asks for the end asks the job as well: what it did until then is worth something.
        let code = match run(&mut command, &session.stop, None) {
            Ok(ended) => ended.map_or(0, |ended| ended.code()),
            Err(RunnerError::Interrupted) => 130,
            Err(error) => return Err(error.into()),
        };
        let records = records(&ranks, session)?;
        if records.is_empty() {
            let why = self.why_nothing(&ranks, code);
            let _ = fs::remove_dir_all(&ranks);
            return Err(WorkflowError::NoProfile { why, code });
        }
        let profile = merge::merged(&records, self.program.words(), started, code);
        // What they hold is in the profile.
        let _ = fs::remove_dir_all(&ranks);
        Ok(Seen { profile, code })
    }

    /// Why no rank left anything.
    fn why_nothing(&self, ranks: &Path, code: i32) -> String {
        let foreign = files(ranks, FOREIGN).into_iter().next().and_then(|file| fs::read_to_string(file).ok());
        if let Some(library) = foreign {
            let library = library.lines().next().unwrap_or_default().to_owned();
            return format!(
                "the program uses another MPI ({library}); collrules knows the calls of Open MPI alone: build the \
                 program with Open MPI"
            );
        }
        if let Some(file) = self.program.static_program() {
            return format!(
                "{} is linked statically, and nothing can be preloaded into it: link it with Open MPI's shared \
                 libraries",
                file.display()
            );
        }
        let failed = if code == 0 { String::new() } else { format!(" The job ended with exit code {code}.") };
        format!(
            "no rank called MPI_Init with the library in it.{failed} Make sure that the program is an MPI program, that \
             {} is at the same place on every node, and that every node can write to {}",
            self.library.display(),
            ranks.display(),
        )
    }
}

/// The library: the one that is named, or the one beside the program or in the library directory beside it.
pub(crate) fn library(named: Option<&Path>) -> Result<PathBuf, WorkflowError> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    if let Some(named) = named {
        return match fs::metadata(named) {
            Ok(found) if found.is_file() => Ok(absolute(named.to_owned())),
            Ok(_) => Err(WorkflowError::Input(format!("{} is no file: name {LIBRARY}", named.display()))),
            Err(cause) => Err(WorkflowError::open(named, cause)),
        };
    }
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let above = beside.parent().unwrap_or(beside);
    // As cargo builds it, and as it is installed: see `make install`.
    let places = [
        beside.to_owned(),
        beside.join("deps"),
        above.join("lib"),
        above.join("lib/collrules"),
        above.join("lib64"),
        above.join("lib64/collrules"),
    ];
    let found = places.iter().map(|place| place.join(LIBRARY)).find(|file| file.is_file());
    found.map(absolute).ok_or_else(|| WorkflowError::NoLibrary { library: LIBRARY, places: places.to_vec() })
}

fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))).collect()
}

/// What ranks left behind; what cannot be read is said and left out.
fn records(ranks: &Path, session: &mut Session<'_>) -> Result<Vec<RankRecord>, WorkflowError> {
    let mut all = Vec::new();
    for file in files(ranks, &format!(".{ENDING}")) {
        match rundir::read_json_file::<RankRecord>(&file, rank::FORMAT) {
            Ok(record) => all.push(record),
            Err(error) => session.say(&format!("a rank's record is left out: {error}")),
        }
    }
    Ok(all)
}

/// What the reader of a profile has to know.
pub fn remarks(profile: &Profile) -> Vec<String> {
    let mut remarks = Vec::new();
    let named = |ranks: &[u32]| {
        let first: Vec<String> = ranks.iter().take(5).map(u32::to_string).collect();
        let more = if ranks.len() > first.len() { ", ..." } else { "" };
        let (all, word) = (counted(ranks.len(), "rank"), plural(ranks.len(), "rank"));
        format!("{all} of {} ({word} {}{more})", profile.ranks, first.join(", "))
    };
    if !profile.missing.is_empty() {
        remarks.push(format!(
            "{} left nothing: make sure that the library and the directory of the profile are at the same place on \
             every node",
            named(&profile.missing)
        ));
    }
    if !profile.unfinished.is_empty() {
        remarks.push(format!(
            "{} did not reach MPI_Finalize: calls of the last seconds may be missing",
            named(&profile.unfinished)
        ));
    }
    if profile.calls.is_empty() {
        remarks.push("the program called no collective".to_owned());
    }
    remarks
}

/// Reads a profile: the file, or the directory that holds it.
pub fn open(path: &Path) -> Result<Profile, WorkflowError> {
    let file = rundir::within(path, profile::FILE);
    let profile: Profile = rundir::read_json_file(&file, profile::FORMAT)?;
    if !profile.is_consistent() {
        return Err(WorkflowError::Input(format!(
            "{} is damaged: it names communicators that it does not list; make the profile anew",
            file.display()
        )));
    }
    Ok(profile)
}

/// A profile with a factor, as in `profile.json:2.5`: how often the program runs, or how much it counts.
pub fn weighted(text: &str) -> Result<(PathBuf, f64), String> {
    let whole = || (PathBuf::from(text), 1.0);
    let Some((file, factor)) = text.rsplit_once(':').filter(|_| !Path::new(text).exists()) else { return Ok(whole()) };
    match factor.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok((PathBuf::from(file), factor)),
        Ok(_) => Err(format!("a program cannot count {factor} times")),
        Err(_) => Ok(whole()),
    }
}

/// Sets a tuning on what programs call, and says what else they show.
pub fn tune_for(
    profiles: &[(PathBuf, f64)],
    tuning: &mut Tuning,
    session: &mut dyn FnMut(&str),
) -> Result<(), WorkflowError> {
    let read = profiles.iter().map(|(path, factor)| Ok((open(path)?, *factor)));
    let read: Vec<(Profile, f64)> = read.collect::<Result<_, WorkflowError>>()?;
    for ((path, _), (profile, _)) in profiles.iter().zip(&read) {
        for remark in remarks(profile) {
            session(&format!("{}: {remark}", path.display()));
        }
    }
    tuning.grid.weights = weights_of(&read);
    if tuning.grid.weights.is_empty() {
        return Err(WorkflowError::Usage(
            "these programs call nothing that rules act on; `collrules profile show` says where their time goes"
                .to_owned(),
        ));
    }
    let is_called = |named: &Collective| tuning.grid.weights.iter().any(|weight| weight.cell.collective == *named);
    if let Some((collective, _)) = tuning.grid.only.iter().find(|(named, _)| !is_called(named)) {
        return Err(WorkflowError::Usage(format!(
            "--only names an algorithm of {collective}, in which these programs spend no time: leave it out"
        )));
    }
    let Policy { assumptions, .. } = tuning.policy;
    for assumption in kept_to(&read).into_iter().filter(|assumption| !assumptions.makes(*assumption)) {
        session(&format!(
            "these programs keep to {assumption}: `--assume {assumption}` permits more choices, in rules that are then safe \
             for programs that do so, and not for all"
        ));
    }
    session(&format!(
        "what is measured covers {:.0} % of the time in collectives on which rules can act, as far as it can be measured here",
        100.0 * COVERED
    ));
    Ok(())
}

/// What programs spend in the cells of a run that was tuned for them.
pub(crate) fn weights(manifest: &Manifest) -> &[Weight] {
    match &manifest.request {
        Some(Request::Tune(tuning)) => &tuning.grid.weights,
        _ => &[],
    }
}

/// The findings of a run, to see what a program could gain from it.
pub fn findings(run: &Path) -> Result<Findings, WorkflowError> {
    Ok(RunDir::derived(run)?.findings()?)
}
