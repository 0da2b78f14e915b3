//! Tests that create, refuse, extend and interrupt run directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collrules_rules::{Choice, Collective, Version};
use tempfile::TempDir;

use super::grown::LineFile;
use super::lines::line_of;
use super::*;
use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::manifest::Survey;
use crate::pattern::{Pattern, Shape};
use crate::plan::{Plan, Schedule};
use crate::sample::{EndReason, EndedCast, EndedPoint, PatternSample, Row, Sample};
use crate::units::{Bytes, Ranks, Seconds};

fn manifest() -> Manifest {
    Manifest {
        merged: Vec::new(),
        format: crate::manifest::FORMAT,
        collrules: "0.1.0".to_owned(),
        started: "2024-05-01T12:00:00Z".to_owned(),
        backend: "simulation".to_owned(),
        command: vec!["collrules".to_owned(), "tune".to_owned()],
        request: crate::options::Request::Lab("study".to_owned()),
        experiment: crate::options::TuneOptions::default().experiment(Vec::new()),
        launcher: Vec::new(),
        environment: BTreeMap::from([("OMPI_MCA_btl".to_owned(), "self,sm".to_owned())]),
        host: BTreeMap::new(),
        allocations: Vec::new(),
        pins: BTreeMap::new(),
        survey: Survey {
            library: "Open MPI v5.0.11".to_owned(),
            version: "5.0.11".parse::<Version>().expect("a version"),
            hosts: vec!["n1".to_owned(); 4],
            algorithms: BTreeMap::from([(Collective::Bcast, vec![(1, "basic_linear".to_owned())])]),
            not_switchable: Default::default(),
            preset: BTreeMap::new(),
            components: BTreeMap::new(),
            places: Vec::new(),
            transport: None,
            eager: BTreeMap::new(),
            clock_step: Seconds(1e-9),
        },
        plan: Plan { ranks: Ranks(2), ..Plan::new(Vec::new(), 1, Schedule::default(), 7) },
    }
}

const CELL: Cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(8192) };

fn sample(round: u32) -> Row {
    Row::Sample(Sample {
        launch: 0,
        visit: 2,
        round,
        cell: CELL,
        candidate: Candidate::Tuned(Choice::plain(3).with_segsize(8192)),
        max: Seconds(1.25e-5),
        min: Seconds(0.1 + 0.2),
        mean: Seconds(1.0),
    })
}

fn ended(why: &str) -> Row {
    let ended = EndReason::Disqualified(why.to_owned());
    Row::Ended(EndedPoint { launch: 1, cell: CELL, candidate: Candidate::Builtin, ended })
}

fn new_run() -> (TempDir, RunDir) {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let run = RunDir::create(scratch.path().join("made/on the way/run"), &manifest()).expect("creates");
    (scratch, run)
}

fn appender(run: &RunDir) -> Result<LineFile, RunDirError> {
    samples::open(run.file(SAMPLES), |_| Ok(())).map(|(file, _)| file)
}

fn lines(rows: &[Row]) -> String {
    rows.iter().map(line_of).collect()
}

const HEAD: &str = "# collrules samples 1.0\n\
                    launch,visit,round,collective,comm_size,message_bytes,candidate,max_s,min_s,mean_s,ended\n";
const SAMPLE: &str = "0,2,5,bcast,4,8192,tuned:3/0/8192/0,0.0000125,0.30000000000000004,1,\n";

#[test]
fn a_new_run_reads_back() {
    let (_scratch, run) = new_run();
    let again = RunDir::open(run.path()).expect("opens");
    assert_eq!(again, run);
    assert_eq!(again.manifest().expect("reads"), manifest());
    assert_eq!(again.samples().expect("reads"), SamplesText { text: HEAD.to_owned(), torn: false });
    let mut names: Vec<_> =
        fs::read_dir(run.path()).expect("lists").map(|entry| entry.expect("entry").file_name()).collect();
    names.sort();
    assert_eq!(names, [MANIFEST, SAMPLES], "no temporary file stays behind");
}

fn pattern_rows() -> [Row; 2] {
    let pattern = Pattern { shape: Shape::PingPong, ranks: Ranks(2), bytes: Bytes(64) };
    let cast = |text: &str| text.parse().expect("names ranks");
    let (max, min, mean) = (Seconds(2e-6), Seconds(2e-6), Seconds(2e-6));
    let timed = PatternSample { launch: 0, visit: 1, round: 2, pattern, cast: cast("0+4"), max, min, mean };
    let ended = EndReason::Disqualified("wrong, or so".to_owned());
    [Row::Pattern(timed), Row::EndedCast(EndedCast { launch: 0, pattern, cast: cast("0+1"), ended })]
}

#[test]
fn patterns_stand_among_the_samples() {
    let (_scratch, run) = new_run();
    let mut log = run.log().expect("opens");
    let rows = pattern_rows();
    log.note(&JournalEntry::Begun { launch: 0, planned: 0, at: String::new() }).expect("notes");
    log.append(&[sample(1), rows[0].clone(), rows[1].clone()]).expect("appends");
    drop(log);
    let text = SamplesText::read(&run.file(SAMPLES)).expect("reads");
    let lines: Vec<&str> = text.text.lines().skip(3).collect();
    assert_eq!(
        lines,
        [
            "0,1,2,pattern:pingpong,2,64,ranks:0+4,0.000002,0.000002,0.000002,",
            "0,,,pattern:pingpong,2,64,ranks:0+1,,,,\"disqualified: wrong, or so\"",
        ]
    );
    let (_, past) = run.log().expect("opens").past().expect("reads");
    assert_eq!(past[1..], rows);
    let Row::Pattern(timed) = &rows[0] else { panic!("a timing") };
    assert_eq!(text.patterns(run.path()).expect("reads"), std::slice::from_ref(timed));
}

#[test]
fn files_are_as_readable_as_any_other() {
    let (_scratch, run) = new_run();
    let written = run.write(RULES, "0\n").expect("writes");
    let plain = run.file("plain");
    fs::write(&plain, "").expect("writes");
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode();
    assert_eq!(mode(&written), mode(&plain));
    assert_eq!(mode(&run.file(MANIFEST)), mode(&plain));
}

#[test]
fn rows_are_appended_as_they_come() {
    let (_scratch, run) = new_run();
    let mut writer = appender(&run).expect("opens");
    writer.append(&lines(&[sample(5)]), false).expect("appends");
    assert_eq!(SamplesText::read(&run.file(SAMPLES)).expect("reads").text, format!("{HEAD}{SAMPLE}"));
    writer.append(&lines(&[]), false).expect("appends nothing");
    writer.append(&lines(&[ended("rank 2 said \"no\", then\r\nleft\n")]), false).expect("appends");
    drop(writer);
    appender(&run).expect("opens again").append(&lines(&[sample(5)]), false).expect("appends");
    let ended = "1,,,bcast,4,8192,builtin,,,,\"disqualified: rank 2 said \"\"no\"\", then left \"\n";
    let expected = SamplesText { text: format!("{HEAD}{SAMPLE}{ended}{SAMPLE}"), torn: false };
    assert_eq!(SamplesText::read(&run.file(SAMPLES)).expect("reads"), expected);
}

#[test]
fn a_torn_last_line_is_cut_off() {
    let (_scratch, run) = new_run();
    appender(&run).expect("opens").append(&lines(&[sample(5), sample(6)]), false).expect("appends");
    let whole = fs::read(run.file(SAMPLES)).expect("reads");
    fs::write(run.file(SAMPLES), &whole[..whole.len() - 1]).expect("writes");
    let expected = SamplesText { text: format!("{HEAD}{SAMPLE}"), torn: true };
    assert_eq!(SamplesText::read(&run.file(SAMPLES)).expect("reads"), expected);
    // Half of a character is no reason to give up the lines before it.
    fs::write(run.file(SAMPLES), [HEAD.as_bytes(), SAMPLE.as_bytes(), b"0,\xc3"].concat()).expect("writes");
    assert_eq!(SamplesText::read(&run.file(SAMPLES)).expect("reads"), expected);
    // What is appended later begins on a line of its own.
    appender(&run).expect("opens").append(&lines(&[sample(5)]), false).expect("appends");
    assert_eq!(
        SamplesText::read(&run.file(SAMPLES)).expect("reads"),
        SamplesText { text: format!("{HEAD}{SAMPLE}{SAMPLE}"), torn: false }
    );
    // Interrupted before the first line was whole.
    fs::write(run.file(SAMPLES), &HEAD[..12]).expect("writes");
    appender(&run).expect("opens").append(&lines(&[sample(5)]), false).expect("appends");
    assert_eq!(
        SamplesText::read(&run.file(SAMPLES)).expect("reads"),
        SamplesText { text: format!("{HEAD}{SAMPLE}"), torn: false }
    );
}

#[test]
fn new_directories_of_one_second_have_names_of_their_own() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let first = unused(scratch.path(), "run");
    fs::create_dir(&first).expect("creates");
    assert_eq!(first, scratch.path().join("run"));
    assert_eq!(unused(scratch.path(), "run"), scratch.path().join("run-2"));
}

#[test]
fn what_is_there_is_never_overwritten() {
    let (_scratch, run) = new_run();
    let before = fs::read(run.file(MANIFEST)).expect("reads");
    let error = RunDir::create(run.path(), &manifest()).expect_err("is a run already");
    assert_eq!(error, RunDirError::Occupied { path: run.path().to_owned(), found: vec![MANIFEST, SAMPLES] });
    assert!(matches!(RunDir::prepare_derived(run.path()), Err(RunDirError::Occupied { .. })));
    assert_eq!(fs::read(run.file(MANIFEST)).expect("reads"), before);

    let scratch = tempfile::tempdir().expect("a temporary directory");
    fs::write(scratch.path().join("notes.txt"), "mine").expect("writes");
    let derived = RunDir::prepare_derived(scratch.path()).expect("files of others do not matter");
    derived.write(RULES, "0\n").expect("writes");
    assert!(matches!(RunDir::create(scratch.path(), &manifest()), Err(RunDirError::Occupied { .. })));
}

#[test]
fn derived_files_are_replaced_whole() {
    let (_scratch, run) = new_run();
    run.write(REPORT, "a long first version\n").expect("writes");
    let path = run.write(REPORT, "short\n").expect("writes");
    assert_eq!(path, run.file(REPORT));
    assert_eq!(fs::read_to_string(path).expect("reads"), "short\n");
}

#[test]
fn places_where_nothing_can_be_written_are_named() {
    // Permissions do not stop root, but below a regular file not even root makes a directory.
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let file = scratch.path().join("file");
    fs::write(&file, "").expect("writes");
    let error = RunDir::create(&file, &manifest()).expect_err("is a file");
    assert_eq!(error, RunDirError::NotADirectory { path: file.clone() });
    let error = RunDir::create(file.join("run"), &manifest()).expect_err("is below a file").to_string();
    assert!(error.starts_with("cannot write results to ") && error.contains("file/run: Not a directory"), "{error}");
    assert!(RunDir::create("", &manifest()).is_err());
    // No file can be made there, and the name of a temporary one would not help.
    #[cfg(target_os = "linux")]
    {
        let error = RunDir::prepare_derived("/proc").expect_err("takes no files").to_string();
        assert_eq!(error, "cannot write results to /proc: No such file or directory (os error 2)");
    }

    let (_scratch, run) = new_run();
    fs::create_dir(run.file(RULES)).expect("creates");
    let error = run.write(RULES, "0\n").expect_err("a directory has that name").to_string();
    assert!(error.starts_with("cannot write ") && error.contains("rules.conf: "), "{error}");
}

#[test]
fn samples_before_a_failed_write_are_safe() {
    let (_scratch, run) = new_run();
    appender(&run).expect("opens").append(&lines(&[sample(5)]), false).expect("appends");
    // Writing to a file that was opened for reading fails as a full disk does.
    let file = File::open(run.file(SAMPLES)).expect("opens");
    let mut writer = LineFile::new(file, run.file(SAMPLES), format!("{HEAD}{SAMPLE}").as_bytes()).expect("whole lines");
    let error = writer.append(&lines(&[sample(6)]), false).expect_err("fails").to_string();
    assert!(error.contains("samples.csv: ") && error.ends_with("; the samples written before are safe"), "{error}");
    assert_eq!(
        SamplesText::read(&run.file(SAMPLES)).expect("reads"),
        SamplesText { text: format!("{HEAD}{SAMPLE}"), torn: false }
    );
}

#[test]
fn directories_without_a_run_are_refused() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let found = |path: &Path| match RunDir::open(path) {
        Err(RunDirError::NotARun { found, .. }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(found(scratch.path()), FoundPath::Other);
    assert_eq!(found(&scratch.path().join("none")), FoundPath::Nothing);
    let (_scratch, run) = new_run();
    assert_eq!(found(&run.file(SAMPLES)), FoundPath::FileOf(run.path().to_owned()));
    for (name, is_rules) in [(SAMPLES, false), (MANIFEST, false), (HAN, true), ("rules-of-yesterday.conf", true)] {
        assert_eq!(rules_within(&run.file(name)).is_ok(), is_rules, "{name}");
    }
    assert!(rules_within(Path::new(MANIFEST)).is_ok(), "of no run");
    let around = run.path().parent().expect("has one");
    assert_eq!(found(around), FoundPath::Around(run.path().to_owned()));
}

#[test]
fn newer_minors_are_read_and_newer_majors_refused() {
    let (_scratch, run) = new_run();
    let text = fs::read_to_string(run.file(MANIFEST)).expect("reads");
    let ours =
        format!("\"major\": {},\n    \"minor\": {}", crate::manifest::FORMAT.major, crate::manifest::FORMAT.minor);
    let with = |format: &str| text.replacen(&ours, format, 1);
    let newer = with("\"major\": 2, \"minor\": 9").replacen('{', "{ \"added\": 1,", 1);
    fs::write(run.file(MANIFEST), newer).expect("writes");
    assert_eq!(run.manifest().expect("reads").format, crate::FormatVersion { major: 2, minor: 9 });
    // The format is looked at before the rest, which may be anything.
    fs::write(run.file(MANIFEST), "{ \"format\": { \"major\": 3, \"minor\": 0 }, \"who\": 3 }").expect("writes");
    let error = run.manifest().expect_err("is newer").to_string();
    assert!(error.contains("manifest.json has format 3.0, and this collrules reads 2.x"), "{error}");

    fs::write(run.file(SAMPLES), HEAD.replace("1.0", "1.7").replace(",ended", ",ended,added")).expect("writes");
    assert!(SamplesText::read(&run.file(SAMPLES)).is_ok());
    assert!(matches!(appender(&run), Err(RunDirError::Append { .. })), "rows would lack a column");
    fs::write(run.file(SAMPLES), HEAD.replace("1.0", "2.0")).expect("writes");
    assert!(matches!(SamplesText::read(&run.file(SAMPLES)), Err(RunDirError::Format { known: 1, .. })));
    assert!(matches!(appender(&run), Err(RunDirError::Format { known: 1, .. })));
}

#[test]
fn damaged_files_are_named_with_the_cause() {
    let (_scratch, run) = new_run();
    fs::write(run.file(MANIFEST), "{ \"format\": { \"major\": 2, \"minor\": 0 }, \"backend\": \"mpi\" }")
        .expect("writes");
    let error = run.manifest().expect_err("lacks nearly everything").to_string();
    assert!(error.contains("manifest.json is damaged") && error.contains("missing field `collrules`"), "{error}");
    for bad in ["", "# collrules samples 1.0", "launch,visit\n", "# collrules samples 1.0\nlaunch,visit\n"] {
        fs::write(run.file(SAMPLES), bad).expect("writes");
        assert!(matches!(SamplesText::read(&run.file(SAMPLES)), Err(RunDirError::Damaged { .. })), "{bad}");
    }
    fs::remove_file(run.file(SAMPLES)).expect("removes");
    assert!(matches!(SamplesText::read(&run.file(SAMPLES)), Err(RunDirError::Read { .. })));
    assert!(matches!(appender(&run), Err(RunDirError::Append { .. })));
}

#[test]
fn the_absolute_path_starts_at_the_root() {
    let (_scratch, run) = new_run();
    assert_eq!(run.absolute(), run.path());
    let here = std::env::current_dir().expect("there is one");
    let relative = RunDir::at(PathBuf::from("./out")).expect("needs not exist");
    assert_eq!((relative.path(), relative.absolute()), (Path::new("./out"), here.join("out").as_path()));
}

#[test]
fn a_run_is_held_without_a_trace() {
    let (_scratch, run) = new_run();
    let held = run.hold().expect("nobody has it");
    assert!(matches!(run.hold(), Err(RunDirError::Busy { .. })));
    assert!(matches!(run.log(), Err(RunDirError::Busy { .. })), "it is the lock of those who measure");
    drop(held);
    let log = run.log().expect("is free again");
    assert!(matches!(run.hold(), Err(RunDirError::Busy { .. })));
    drop(log);
    for name in [SAMPLES, LAUNCHES] {
        fs::remove_file(run.file(name)).expect("removes");
    }
    let _held = run.hold().expect("the manifest is there");
    assert!(matches!(run.hold(), Err(RunDirError::Busy { .. })));
    assert!(!run.file(SAMPLES).exists() && !run.file(LAUNCHES).exists());
}

#[test]
fn what_is_replaced_stays_where_and_as_open_as_it_was() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let (file, link) = (scratch.path().join("file"), scratch.path().join("link"));
    fs::write(&file, "before").expect("writes");
    fs::set_permissions(&file, Permissions::from_mode(0o604)).expect("sets");
    std::os::unix::fs::symlink("file", &link).expect("links");
    replace(&link, "after").expect("replaces");
    assert_eq!(fs::read_to_string(&file).expect("reads"), "after");
    assert!(link.is_symlink());
    assert_eq!(fs::metadata(&file).expect("is there").mode() & 0o7777, 0o604);
    assert_eq!(fs::read_dir(scratch.path()).expect("lists").count(), 2);
}

#[test]
fn programs_are_written_whole_and_not_through_links() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let (file, link) = (scratch.path().join("file"), scratch.path().join("worker"));
    fs::write(&file, "of another user").expect("writes");
    std::os::unix::fs::symlink("file", &link).expect("links");
    put_program(&link, b"program").expect("writes");
    assert_eq!(fs::read_to_string(&file).expect("reads"), "of another user");
    assert!(link.symlink_metadata().expect("is there").is_file());
    let mode = fs::metadata(&link).expect("is there").mode();
    assert_eq!(mode & 0o111, (mode & 0o444) >> 2, "who reads it may start it");
    assert_eq!(fs::read_dir(scratch.path()).expect("lists").count(), 2);
}

#[test]
fn a_lock_beside_a_file_has_one_holder_at_a_time_and_leaves_nothing() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let file = scratch.path().join("file");
    fs::write(&file, "0").expect("writes");
    let add = || {
        for _ in 0..20 {
            let _lock = LockBeside::take(&file).expect("takes");
            let number: u32 = fs::read_to_string(&file).expect("reads").parse().expect("a number");
            fs::write(&file, (number + 1).to_string()).expect("writes");
        }
    };
    std::thread::scope(|scope| (0..4).map(|_| scope.spawn(add)).for_each(drop));
    assert_eq!(fs::read_to_string(&file).expect("reads"), "80");
    assert_eq!(fs::read_dir(scratch.path()).expect("lists").count(), 1);
}
