//! Profile of a program's calls: runs a user's job with the profiling library, and merges its records.
//!
//! | module | job |
//! |---|---|
//! | here | the workflow |
//! | `merge` | the profile of the job, from the records of its ranks |

mod merge;

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use collrules_record::condition::{ArrivalPattern, list_patterns};
use collrules_record::options::TuneOptions;
use collrules_record::profile::rank::{self, DIRECTORY, ENDING, FOREIGN, IMBALANCE, RankRecord, SESSION};
use collrules_record::profile::weight::{COVERED, Weight, kept_to, weights as weights_of};
use collrules_record::profile::{self, Profile};
use collrules_record::rundir::{self, RunDir, RunDirError};
use collrules_record::{Policy, manifest};
use collrules_report::profile::remarks;
use collrules_report::words::whole;
use collrules_rules::Collective;
use collrules_runner::RunnerError;
use collrules_runner::mpi::program::{PRELOAD, UserJob, run as run_job};
use collrules_tuner::prospects::prospects;
use collrules_workflow::{TOOL, WorkflowError};

use crate::exit::Exit;
use crate::options::named_or_new;
use crate::progress::say;
use crate::{interrupt, screen};

#[derive(Clone, Debug, clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    after_help = "Exit code: that of the program. Standard output and standard error are the program's; what collrules \
                  itself says comes last, on standard error."
)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    show: Option<ProfileCommand>,
    /// Time a barrier before every N-th call of a communicator (10 without a number), to separate waiting for late
    /// ranks from the collective itself. This changes how the program runs
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = clap::value_parser!(u32).range(1..))]
    imbalance: Option<u32>,
    #[command(flatten)]
    program: ProgramArgs,
    /// Directory for profile.json, which must not hold one yet; on a file system that all nodes share [default:
    /// collrules-profile-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A program, and the library that looks at its calls.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// The library to preload for the profiler [default: libcollrules_profile.so next to collrules, or in the lib directory
    /// next to it]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The command that starts the program: mpirun or srun with all its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

impl ProgramArgs {
    /// The library: the named one, or the one next to the program or in the library directory next to it.
    pub(super) fn library(&self) -> Result<PathBuf, WorkflowError> {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        if let Some(named) = &self.library {
            return match fs::metadata(named) {
                Ok(found) if found.is_file() => Ok(absolute(named.to_owned())),
                Ok(_) => {
                    Err(WorkflowError::Input(format!("{} is not a file: give the path of {LIBRARY}", named.display())))
                }
                Err(cause) => Err(WorkflowError::open(named, cause)),
            };
        }
        let program = env::current_exe().unwrap_or_default();
        let beside = program.parent().unwrap_or(Path::new("."));
        let above = beside.parent().unwrap_or(beside);
        // The places of a build by cargo and of `make install`.
        let places = [
            beside.to_owned(),
            beside.join("deps"),
            above.join("lib"),
            above.join("lib/collrules"),
            above.join("lib64"),
            above.join("lib64/collrules"),
        ];
        let found = places.iter().map(|place| place.join(LIBRARY)).find(|file| file.is_file());
        found.map(absolute).ok_or_else(|| {
            let places = places.map(|place| place.display().to_string());
            WorkflowError::Environment(format!(
                "there is no {LIBRARY} in any of {}: build it (cargo build --release), copy it into one of these, or name it with \
                 --library",
                places.join(", ")
            ))
        })
    }
}

#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ProfileCommand {
    /// Say where the time of a program goes, and what rules could save
    Show(Show),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Show {
    /// A profile, or its directory
    #[arg(value_name = "FILE")]
    profile: PathBuf,
    /// The directory of a run of tune on the same system: says what its rules are expected to save
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
    /// File for the page [default: profile.html beside the profile]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The name of the library.
const LIBRARY: &str = "libcollrules_profile.so";

/// Directory for the records of ranks, in that of the profile.
const RANKS: &str = "ranks";

pub(crate) fn run(args: &ProfileArgs) -> Result<Exit, WorkflowError> {
    match &args.show {
        Some(ProfileCommand::Show(show)) => self::show(show).map(|()| Exit::DONE),
        None => watch(args),
    }
}

/// Runs the program, and exits with its code.
fn watch(args: &ProfileArgs) -> Result<Exit, WorkflowError> {
    let out = named_or_new(args.out.as_deref(), "profile");
    let program = UserJob::new(&args.program.command)?;
    let library = args.program.library()?;
    let directory = RunDir::prepare_derived(out)?;
    let file = directory.file(profile::FILE);
    if file.exists() {
        return Err(WorkflowError::Occupied(format!("{} is there already; choose another --out", file.display())));
    }
    let watched =
        Watched { program: &program, library: &library, imbalance: args.imbalance, environment: BTreeMap::new() };
    let (profile, code) = watched.run(&directory, |_| Ok(()))?;
    remarks(&profile).iter().for_each(|remark| say(remark));
    directory.write_json(profile::FILE, &profile)?;
    // The program uses standard output.
    say(&format!("the profile is in {0}; `collrules profile show {0}` summarizes it", file.display()));
    // Launchers use codes up to 255.
    Ok(Exit(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn show(args: &Show) -> Result<(), WorkflowError> {
    let profile = open(&args.profile)?;
    // The findings of a run, for an estimate of the gain.
    let findings = args.run.as_deref().map(|run| RunDir::derived(run)?.findings()).transpose()?;
    let prospects = prospects(&profile, findings.as_ref());
    let page = args.page.clone().unwrap_or_else(|| page_beside(&args.profile));
    let text = collrules_report::profile::document(&profile, &prospects).page(TOOL);
    rundir::put(&page, &text).map_err(|cause| WorkflowError::write(&page, cause))?;
    if args.json {
        return screen::raw(collrules_report::profile::json(&profile, &prospects)?.as_bytes());
    }
    let text = collrules_report::profile::document(&profile, &prospects).text(screen::width());
    screen::print(&format!("{text}\nPage with maps: {}", page.display()))
}

/// Returns the path of the page next to the profile.
fn page_beside(file: &Path) -> PathBuf {
    if file.is_dir() { file.join(profile::PAGE) } else { file.with_file_name(profile::PAGE) }
}

/// A job to run with the library.
pub(super) struct Watched<'a> {
    pub(super) program: &'a UserJob,
    pub(super) library: &'a Path,
    pub(super) imbalance: Option<u32>,
    /// Changes to the environment of the launcher.
    pub(super) environment: BTreeMap<String, Option<String>>,
}

/// The environment of profiled ranks, which write their records to a directory.
pub(super) fn preloaded(library: &Path, ranks: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    BTreeMap::from([(PRELOAD.to_owned(), text(library)), (DIRECTORY.to_owned(), text(ranks))])
}

impl Watched<'_> {
    /// Runs the job, and returns its profile and its exit code. Ranks write their records below the directory, which are
    /// removed after reading.
    pub(super) fn run(
        &self,
        directory: &RunDir,
        prepare: impl FnOnce(&mut Command) -> io::Result<()>,
    ) -> Result<(Profile, i32), WorkflowError> {
        let ranks = directory.absolute().join(RANKS);
        // Other users could write records of ranks there.
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&ranks);
        made.map_err(|cause| WorkflowError::write(&ranks, cause))?;
        let mut variables = preloaded(self.library, &ranks);
        if let Some(every) = self.imbalance {
            variables.insert(IMBALANCE.to_owned(), every.to_string());
        }
        let started = manifest::now();
        let mut command = self.program.command(&variables, &self.environment);
        prepare(&mut command).map_err(|cause| WorkflowError::write(directory.path(), cause))?;
        // A request to end stops the job too: its calls until then are still useful.
        let code = match run_job(&mut command, &interrupt::flag(), None) {
            Ok(ended) => ended.map_or(0, |ended| ended.code()),
            Err(RunnerError::Interrupted) => 130,
            Err(error) => return Err(error.into()),
        };
        let records = records(&ranks)?;
        if records.is_empty() {
            let why = self.why_nothing(&ranks, code);
            let _ = fs::remove_dir_all(&ranks);
            return Err(WorkflowError::Environment(format!("there is no profile: {why}")));
        }
        let profile = merge::merged(&records, self.program.words(), started, code);
        // The profile has their contents.
        let _ = fs::remove_dir_all(&ranks);
        Ok((profile, code))
    }

    /// Explains why no rank wrote a record.
    fn why_nothing(&self, ranks: &Path, code: i32) -> String {
        let foreign = files(ranks, FOREIGN).into_iter().next().and_then(|file| fs::read_to_string(file).ok());
        if let Some(library) = foreign {
            let library = library.lines().next().unwrap_or_default().to_owned();
            return format!(
                "the program uses another MPI ({library}); collrules supports only Open MPI: build the program with it"
            );
        }
        if !files(ranks, SESSION).is_empty() {
            return "the program uses MPI sessions (MPI_Session_init) without MPI_Init, and their calls are not \
                    counted"
                .to_owned();
        }
        if let Some(file) = self.program.static_program() {
            return format!(
                "{} is linked statically, so the profiler cannot be preloaded: link it with Open MPI's shared \
                 libraries",
                file.display()
            );
        }
        let failed = if code == 0 { String::new() } else { format!(" The job ended with exit code {code}.") };
        format!(
            "no rank called MPI_Init with the library loaded.{failed} Make sure that the program is an MPI program, \
             that {} is at the same place on every node, and that every node can write to {}",
            self.library.display(),
            ranks.display(),
        )
    }
}

fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))).collect()
}

/// Reads the records of ranks; reports and omits unreadable ones.
fn records(ranks: &Path) -> Result<Vec<RankRecord>, WorkflowError> {
    let (mut all, mut totals) = (Vec::new(), [0; 3]);
    let owner = |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).ok();
    for file in files(ranks, &format!(".{ENDING}")) {
        if owner(&file) != owner(ranks) {
            say(&format!("a rank's record is left out: {} belongs to another user", file.display()));
            continue;
        }
        let read = rundir::read_json_file::<RankRecord>(&file, rank::FORMAT);
        let damaged = |cause| RunDirError::Damaged { path: file.clone(), cause };
        match read.and_then(|record| Ok((record.add_to(totals).map_err(damaged)?, record))) {
            Ok((sum, record)) => {
                totals = sum;
                all.push(record);
            }
            Err(error) => say(&format!("a rank's record is left out: {error}")),
        }
    }
    Ok(all)
}

/// Reads a profile: the file, or the directory that holds it.
pub(super) fn open(path: &Path) -> Result<Profile, WorkflowError> {
    let file = rundir::within(path, profile::FILE);
    let profile: Profile = rundir::read_json_file(&file, profile::FORMAT).map_err(|error| match error {
        RunDirError::Format { .. } | RunDirError::Damaged { .. } if is_other_json(&file) => {
            WorkflowError::Input(format!("{} is no profile: `collrules profile` makes one", file.display()))
        }
        error => error.into(),
    })?;
    if !profile.is_consistent() {
        return Err(WorkflowError::Input(format!(
            "{} is damaged: it names communicators that it does not list, or impossible times; make a new profile",
            file.display()
        )));
    }
    Ok(profile)
}

/// Returns true for JSON that is no profile in any format: it lists no calls.
fn is_other_json(file: &Path) -> bool {
    let read = fs::read(file).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    read.is_some_and(|value| value.get("calls").is_none())
}

/// Reads the arrivals of ranks in a profile for `--arrival`.
pub(super) fn read_arrivals(path: &Path) -> Result<Vec<ArrivalPattern>, WorkflowError> {
    let arrivals = list_patterns([&open(path)?]);
    if arrivals.is_empty() {
        return Err(WorkflowError::Input(format!(
            "{} does not say how late ranks were: profile the program with `collrules profile --imbalance=1`",
            path.display()
        )));
    }
    Ok(arrivals)
}

/// A profile with a factor, as in `profile.json:2.5`: number of runs, or weight.
pub(super) fn weighted(text: &str) -> Result<(PathBuf, f64), String> {
    let Some((file, factor)) = text.rsplit_once(':').filter(|_| !Path::new(text).exists()) else {
        return Ok((PathBuf::from(text), 1.0));
    };
    match factor.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok((PathBuf::from(file), factor)),
        _ => Err(format!("there is no such file, and the weight `{factor}` is no number above 0")),
    }
}

/// Computes the time that programs spend in each cell, for a tuning with these options, and the arrivals of their ranks. Reports
/// other findings of the profiles.
pub(super) fn weigh(
    profiles: &[(PathBuf, f64)],
    options: &TuneOptions,
    say: &mut dyn FnMut(&str),
) -> Result<(Vec<Weight>, Vec<ArrivalPattern>), WorkflowError> {
    let read = profiles.iter().map(|(path, factor)| Ok((open(path)?, *factor)));
    let read: Vec<(Profile, f64)> = read.collect::<Result<_, WorkflowError>>()?;
    for ((path, _), (profile, _)) in profiles.iter().zip(&read) {
        remarks(profile).iter().for_each(|remark| say(&format!("{}: {remark}", path.display())));
    }
    let weights = weights_of(&read);
    if weights.is_empty() {
        return Err(WorkflowError::Usage(
            "these programs make no calls that rules act on; `collrules profile show` shows where their time goes"
                .to_owned(),
        ));
    }
    let is_called = |named: &Collective| weights.iter().any(|weight| weight.cell.collective == *named);
    if let Some((collective, _)) = options.grid.only.iter().find(|(named, _)| !is_called(named)) {
        return Err(WorkflowError::Usage(format!(
            "--only names an algorithm of {collective}, in which these programs spend no time: leave it out"
        )));
    }
    let Policy { assumptions, .. } = options.policy;
    for assumption in kept_to(&read).into_iter().filter(|assumption| !assumptions.makes(*assumption)) {
        say(&format!(
            "these programs keep to {assumption}: `--assume {assumption}` permits more algorithms; the rules are then \
             safe only for programs that keep to it"
        ));
    }
    say(&format!(
        "the measurements cover {} of the time in collectives that rules can act on and that can be measured here",
        whole(COVERED)
    ));
    let arrivals = list_patterns(read.iter().map(|(profile, _)| profile));
    if arrivals.is_empty() && options.validate {
        say("the profile does not say how late ranks were (`collrules profile --imbalance=1` records it): rules are \
             compared with one random rank late instead");
    }
    Ok((weights, arrivals))
}
