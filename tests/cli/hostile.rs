//! Run directories that were changed, mixed up or made up: what does not belong together is named, and nothing is believed
//! that collrules cannot have written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::made_once::TUNED;
use crate::reseal::reseal;
use crate::session::{Session, assert_said};
use crate::support::{Ran, bounded, collrules, say};

/// A small run of its own seed.
fn measured(scratch: &Path, seed: u32) -> PathBuf {
    let run = scratch.join(format!("seed-{seed}"));
    let options = "measure --simulate=noise --simulated-slots 4 --np 4 --ops bcast,barrier --sizes 64,4K --launches 3";
    let more = format!("--only bcast:6,barrier:3 --segments 8192 --calls 12 --budget none --seed {seed} --out");
    collrules(&format!("{options} {more}"), &run).exits(0);
    run
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Changes the text of a file.
fn change(run: &Path, name: &str, change: impl FnOnce(String) -> String) {
    let path = run.join(name);
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
}

/// `collrules` with 1 GiB of memory, addresses included.
fn confined(words: &[&str]) -> Ran {
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -v 1048576; exec timeout --kill-after=5 60 \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_collrules")).args(words).env("COLUMNS", "100");
    command.output().unwrap().into()
}

/// Fails unless every command that reads timings refuses the run of a session.
fn assert_refused(session: &Session, name: &str, kind: &str) {
    let (run, other) = (session.path(name), session.path("other"));
    let (run, other) = (run.to_str().unwrap(), other.to_str().unwrap());
    for words in [
        &["analyze", run, "--out", other][..],
        &["lab", "irregular", run],
        &["lab", "guidelines", run],
        &["lab", "model", run],
        &["measure", "--resume", run],
    ] {
        let ran = confined(words);
        assert_eq!(ran.code, Some(3), "{kind}: {words:?}: {}{}", ran.stdout, ran.stderr);
    }
    session.run(&format!("analyze {name}")).exits(3);
    assert!(!Path::new(other).exists());
}

#[test]
fn samples_of_another_system_are_not_analyzed() {
    let session = Session::wide();
    let (run, other) = (measured(&session.path(""), 1), measured(&session.path(""), 2));
    let whole = fs::read_to_string(run.join("samples.csv")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let most = lines.len();
    let mut doubled = lines.clone();
    doubled.splice(20..20, lines[20..most.min(40)].iter().copied());
    let digit = whole.replacen("e-", "e-1", 1).replacen("0.0000", "0.0001", 1);
    for (kind, text) in [
        ("of another run", fs::read_to_string(other.join("samples.csv")).unwrap()),
        ("cut at a line", lines[..most / 2].concat()),
        ("rows deleted", [&lines[..20], &lines[30..]].concat().concat()),
        ("rows doubled", doubled.concat()),
        ("a digit changed", digit),
    ] {
        assert_ne!(text, whole, "{kind}");
        fs::write(run.join("samples.csv"), text).unwrap();
        assert_refused(&session, "seed-1", kind);
    }
    fs::write(run.join("samples.csv"), &whole).unwrap();
    collrules("analyze", &run).exits(0);
    collrules("measure --resume", &run).exits(0);
    assert_eq!(fs::read_to_string(run.join("samples.csv")).unwrap(), whole);
    assert_said!(session);
}

#[test]
fn a_changed_manifest_or_journal_is_named() {
    let session = Session::wide();
    let run = measured(&session.path(""), 1);
    let manifest = fs::read_to_string(run.join("manifest.json")).unwrap();
    fs::write(run.join("manifest.json"), manifest.replacen("\"launches\": 3", "\"launches\": 4", 1)).unwrap();
    assert_refused(&session, "seed-1", "manifest");
    session.run("status seed-1").exits(3);
    fs::write(run.join("manifest.json"), manifest).unwrap();
    collrules("status", &run).exits(0);
    change(&run, "launches.jsonl", |journal| journal.replacen("\"seconds\":", "\"seconds\":1", 1));
    assert_refused(&session, "seed-1", "journal");
    assert_said!(session);
}

#[test]
fn times_that_no_call_can_take_are_refused_by_their_line() {
    let scratch = tempfile::tempdir().unwrap();
    let run = measured(scratch.path(), 1);
    let whole = fs::read_to_string(run.join("samples.csv")).unwrap();
    let row = whole.lines().nth(9).unwrap();
    let mut fields: Vec<&str> = row.split(',').collect();
    for time in ["NaN", "inf", "-1e-6", "1e-300", "1e300"] {
        fields[7] = time;
        fs::write(run.join("samples.csv"), whole.replacen(row, &fields.join(","), 1)).unwrap();
        reseal(&run);
        let ran = confined(&["analyze", run.to_str().unwrap()]);
        assert_eq!(ran.code, Some(3), "{time}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.len() < 500, "{}", ran.stderr);
    }
    let table = scratch.path().join("table.csv");
    for time in ["1e-300", "1e300", "0.00001"] {
        let text = format!(
            "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nbcast,0,4,64,{time}\nbcast,1,4,64,12.5\nbcast,0,4,128,13\n"
        );
        fs::write(&table, text).unwrap();
        let ran = confined(&["analyze", table.to_str().unwrap(), "--out", scratch.path().join(time).to_str().unwrap()]);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("e304"), "{}", ran.stdout);
        // The unit is that of all rows.
        assert_eq!(ran.code, Some(3), "{time}: {}", ran.stderr);
    }
}

#[test]
fn counts_that_no_campaign_has_are_refused() {
    let session = Session::wide();
    let run = session.path("run");
    TUNED.at(&run);
    for name in ["refinement-1.json", "manifest.json"] {
        let whole = fs::read_to_string(run.join(name)).unwrap();
        let mut plan: serde_json::Value = serde_json::from_str(&whole).unwrap();
        let plan_of = if name == "manifest.json" { &mut plan["plan"] } else { &mut plan };
        plan_of["launches"] = 4_294_967_295_u32.into();
        fs::write(run.join(name), plan.to_string()).unwrap();
        reseal(&run);
        let commands: &[&str] = if name == "manifest.json" { &["analyze", "status", "report"] } else { &["status"] };
        for command in commands {
            confined(&[*command, run.to_str().unwrap()]).exits(3);
            session.run(&format!("{command} run")).exits(3);
        }
        fs::write(run.join(name), whole).unwrap();
        reseal(&run);
    }
    change(&run, "launches.jsonl", |text| text.replacen("\"planned\":0", "\"planned\":4294967295", 1));
    confined(&["analyze", run.to_str().unwrap()]).exits(3);
    session.run("analyze run").exits(3);
    assert_said!(session);
}

#[test]
fn an_unknown_backend_does_not_make_simulated_times_real() {
    let session = Session::wide();
    let run = session.path("run");
    TUNED.at(&run);
    let whole = fs::read_to_string(run.join("manifest.json")).unwrap();
    session.write("run/manifest.json", whole.replacen("\"backend\": \"simulation\"", "\"backend\": \"x\"", 1));
    for command in ["analyze", "report", "status"] {
        session.run(&format!("{command} run")).exits(3);
    }
    fs::write(run.join("manifest.json"), whole).unwrap();
    change(&run, "findings.json", |text| text.replacen("\"simulated\": true", "\"simulated\": false", 1));
    session.run("report run").exits(3);
    assert_said!(session);
}

#[test]
fn a_status_of_what_does_not_belong_together_is_an_error() {
    let session = Session::wide();
    let run = measured(&session.path(""), 1);
    session.given("status seed-1");
    change(&run, "manifest.json", |text| {
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["plan"]["cells"].as_array_mut().unwrap().truncate(1);
        manifest.to_string()
    });
    reseal(&run);
    session.run("status seed-1").exits(3);
    session.write("seed-1/manifest.json", "{\"format\": {\"major\": 1");
    session.run("status seed-1").exits(3);
    assert_said!(session);
}

#[test]
fn watching_a_tuning_without_a_validation_ends() {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    collrules("tune --simulate --np 2 --sizes 1K --no-validate --out", &run).exits(0);
    collrules("status --follow --every 1s", &run).exits(0);
    let run = measured(scratch.path(), 1);
    collrules("status --follow --every 1s --lag 2s", &run).exits(0);
}

#[test]
fn copies_of_a_run_are_not_merged_as_further_launches() {
    let session = Session::wide();
    let run = measured(&session.path(""), 1);
    measured(&session.path(""), 2);
    let twin = session.path("copy");
    copy(&run, &twin);
    session.run("merge seed-1 copy --out a").exits(3);
    // A run of the same samples under another name and date.
    change(&twin, "manifest.json", |text| text.replacen("\"started\": \"2", "\"started\": \"1", 1));
    reseal(&twin);
    session.run("merge seed-1 copy --out b").exits(3);
    session.given("merge seed-1 seed-2 --out c");
    session.given("analyze c");
    session.run("merge c seed-1 --out d").exits(3);
    // What was merged has digests too.
    change(&session.path("c"), "samples.csv", |text| text.replacen("bcast,4,64", "bcast,4,65", 1));
    session.run("analyze c").exits(3);
    assert_said!(session);
}

#[test]
fn submit_writes_no_lines_of_its_options() {
    let scratch = tempfile::tempdir().unwrap();
    let submit = |words: &[&str]| {
        let fixed = ["submit", "--print", "--system", "slurm", "--nodes", "2", "--ppn", "2", "--time", "10m"];
        let mut command = bounded();
        command.current_dir(scratch.path()).args(fixed).args(words).args(["--", "tune"]);
        Ran::from(command.output().unwrap())
    };
    for option in ["--partition", "--account", "--qos", "--constraint", "--directive", "--module", "--out"] {
        let ran = submit(&[&format!("{option}=main\ntouch X")]).exits(2);
        assert!(!ran.stdout.contains("touch X"), "{option}: {}", ran.stdout);
    }
    let ran = submit(&["--out", "my %j run"]).exits(0);
    assert!(ran.stdout.contains("/my %%j run/job-%j.log\"\n"), "{}", ran.stdout);
}

/// Instruments run in jobs too; those that cannot resume a run have a script without it.
#[test]
fn instruments_are_submitted() {
    let scratch = tempfile::tempdir().unwrap();
    let submit = |more: &str, job: &str| {
        let words = format!("submit --print --system slurm --nodes 2 --ppn 2 --time 10m {more} --out run -- {job}");
        let mut command = bounded();
        Ran::from(command.current_dir(scratch.path()).args(words.split_whitespace()).output().unwrap())
    };
    for job in ["lab guidelines --ops bcast", "lab study roots.toml", "lab model", "lab irregular --ops gather"] {
        let ran = submit("", job).exits(0);
        assert!(ran.stdout.contains("--resume \"$run\""), "{}", ran.stdout);
        assert!(ran.stdout.ends_with(&format!(" {job} --budget rest --out \"$run\"\n")), "{}", ran.stdout);
    }
    submit("", "verify").exits(2);
    submit("", "lab bench bcast").exits(2);
    submit("--array 2", "lab study roots.toml").exits(2);
}

#[test]
fn no_submitted_job_is_unknown() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let program = |name: &str, script: &str| {
        let file = scratch.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let command = |out: &str| {
        let mut command = bounded();
        let path = format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap());
        command.current_dir(scratch.path()).env("PATH", path).args(["submit", "--system", "slurm", "--nodes", "2"]);
        command.args(["--ppn", "2", "--time", "10m", "--out", out, "--", "tune"]);
        command
    };
    let submit = |out: &str| Ran::from(command(out).output().unwrap());
    program("squeue", "echo RUNNING");

    // Three at once: one job.
    program("sbatch", "sleep 0.3; echo 7; echo 7 >> jobs");
    let mut all: Vec<_> = (0..3).map(|_| command("run").stderr(std::process::Stdio::null()).spawn().unwrap()).collect();
    let codes = all.iter_mut().map(|one| one.wait().unwrap().code());
    assert_eq!(codes.filter(|code| *code == Some(0)).count(), 1);
    assert_eq!(fs::read_to_string(scratch.path().join("jobs")).unwrap(), "7\n");

    // A job that is rejected leaves nothing behind.
    program("sbatch", "echo closed >&2; exit 1");
    for _ in 0..2 {
        submit("rejected").exits(3);
        assert!(!scratch.path().join("rejected/submission.json").exists());
    }

    // What would fail in its job is not submitted.
    for job in ["tune --ops bcst", "tune --np 64"] {
        let mut command = command("refused");
        Ran::from(command.args(job.split(' ').skip(1)).output().unwrap()).exits(2);
        assert!(!scratch.path().join("refused").exists(), "{job}");
    }
    // The end of the newest log of a job is part of the state.
    fs::write(scratch.path().join("run/job-7.log"), "one\n\n".repeat(9) + "Killed\n").unwrap();
    let mut status = bounded();
    let path = format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap());
    let status = status.current_dir(scratch.path()).env("PATH", path).args(["status", "--json", "run"]).output();
    let status: serde_json::Value = serde_json::from_str(&Ran::from(status.unwrap()).exits(0).stdout).unwrap();
    assert_eq!(status["log"]["lines"], serde_json::json!(["one", "one", "one", "one", "Killed"]));

    // A record that fails: the job is named, and no other one is submitted.
    program("sbatch", "mkdir lost/x; mv lost/submission.json lost/x; mkdir -p lost/submission.json/y; echo 8");
    submit("lost").exits(3).complains("job 8");
    fs::remove_dir_all(scratch.path().join("lost/submission.json")).unwrap();
    fs::rename(scratch.path().join("lost/x/submission.json"), scratch.path().join("lost/submission.json")).unwrap();
    submit("lost").exits(6);

    // A job is accepted without a name: likewise.
    program("sbatch", "true");
    submit("nameless").exits(3);
    submit("nameless").exits(6);
}

#[test]
fn a_run_without_rules_names_the_command_that_resumes_it() {
    let scratch = tempfile::tempdir().unwrap();
    let run = measured(scratch.path(), 1);
    let checked = scratch.path().join("checked");
    collrules("lab guidelines --simulate=fastest --np 4 --ops barrier --out", &checked).exits(0);
    for (run, resume) in [(&run, "tune"), (&checked, "lab guidelines")] {
        let resume = format!("`collrules {resume}");
        collrules("validate", run).exits(3).complains(&resume);
        collrules("report", run).exits(3).complains(&resume);
        let status: serde_json::Value = serde_json::from_str(&collrules("status --json", run).exits(0).stdout).unwrap();
        assert!(status["runs"][0]["resume"].as_str().unwrap().starts_with(&resume), "{status}");
    }
    collrules("tune --resume", &checked).exits(2).complains("`collrules lab guidelines`");
    use std::os::unix::ffi::OsStrExt;
    let hostile = scratch.path().join(std::ffi::OsStr::from_bytes(b"run-\xff"));
    TUNED.at(&hostile);
    collrules("validate", &hostile).exits(2);
}

#[test]
fn impossible_profiles_and_models_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = |wall: &str, time: &str| {
        format!(
            "{{\"format\":{{\"major\":1,\"minor\":0}},\"command\":[\"a\"],\"program\":\"a\",\"library\":\"Open MPI\",\
             \"started\":\"x\",\"ranks\":2,\"nodes\":[2],\"wall\":{wall},\"missing\":[],\"spawned\":[],\"started_processes\":0,\"unfinished\":[],\"exit_code\":0,\
             \"imbalance\":null,\"communicators\":[{{\"ranks\":2,\"nodes\":[2],\"between_groups\":false,\"groups\":[],\
             \"agree\":[],\"disagree\":[]}}],\"calls\":[{{\"communicator\":0,\"operation\":\"bcast\",\"mode\":\"blocking\",\
             \"bytes\":8,\"sum\":16,\"rank_calls\":2,\"in_place\":0,\"not_commutative\":0,\"derived\":0,\"unequal\":0,\
             \"ignored_differ\":0,\"same_root\":true,\"time\":{time},\"longest\":0.1,\"each\":null,\"sampled\":null}}],\
             \"messages\":{{\"rank_calls\":0,\"time\":{none}}},\"waiting\":{{\"rank_calls\":0,\"time\":{none}}}}}",
            none = spread(0, 0.0),
        )
    };
    fn spread(ranks: u32, time: f64) -> String {
        let total = f64::from(ranks) * time;
        format!("{{\"ranks\":{ranks},\"total\":{total:?},\"fastest\":{time:?},\"slowest\":{time:?}}}")
    }
    let file = scratch.path().join("profile.json");
    let show = |text: String| {
        fs::write(&file, text).unwrap();
        collrules("profile show", &file)
    };
    show(profile(&spread(2, 1.0), &spread(2, 0.2))).exits(0);
    for (wall, time) in [(-1.0, 0.2), (1.0, 3e8), (1e300, 0.2), (1.0, -0.1)] {
        let ran = show(profile(&spread(2, wall), &spread(2, time))).exits(3);
        assert!(ran.stderr.len() < 400, "{}", ran.stderr);
    }
}

#[test]
fn markdown_holds_no_tags_of_other_peoples_names() {
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    let options = "lab guidelines --simulate --np 4 --ops bcast --sizes 1K --out";
    let ran = collrules(options, &run);
    assert!(matches!(ran.code, Some(0 | 9)), "{}", ran.stderr);
    change(&run, "manifest.json", |text| {
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["survey"]["library"] = "Open MPI <script>alert(1)</script>\u{1b}[2J".into();
        manifest["command"] = serde_json::json!(["collrules", "<b>\u{1b}[2J"]);
        manifest.to_string()
    });
    reseal(&run);
    let ran = collrules("lab guidelines", &run);
    assert!(matches!(ran.code, Some(0 | 9)), "{}", ran.stderr);
    for name in ["guidelines.md", "guidelines.html"] {
        let text = fs::read_to_string(run.join(name)).unwrap();
        assert!(!text.contains('\u{1b}'), "{name}: {text}");
        // In a block of code there are no tags.
        let outside: String = text.split("````").step_by(if name.ends_with(".md") { 2 } else { 1 }).collect();
        assert!(!outside.contains("<script>alert") && !outside.contains("<b>"), "{name}: {text}");
    }
}

/// Numbers that files are given in place of theirs.
const NUMBERS: [&str; 10] =
    ["-1", "0", "1", "4294967295", "18446744073709551615", "1e300", "-1e-300", "0.5", "9007199254740993", "null"];

/// A change of a file, by chance: a byte, a line, a number, an end, a part of another file.
fn mutate(bytes: &[u8], other: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return other.to_vec();
    }
    let line = rng.random_range(0..lines.len());
    match rng.random_range(0..7) {
        0 => {
            let mut bytes = bytes.to_vec();
            let place = rng.random_range(0..bytes.len());
            bytes[place] ^= 1 << rng.random_range(0..8);
            return bytes;
        }
        1 => drop(lines.remove(line)),
        2 => lines.insert(line, lines[line]),
        3 => return bytes[..rng.random_range(0..bytes.len())].to_vec(),
        4 => {
            let others: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
            lines[line] = others.choose(rng).copied().unwrap_or_default();
        }
        _ => {
            // A number becomes another one.
            let is_digit = |place: &usize| bytes[*place].is_ascii_digit();
            let digits: Vec<usize> = (0..bytes.len()).filter(is_digit).collect();
            let Some(place) = digits.choose(rng) else { return other.to_vec() };
            let is_of_number = |byte: &u8| byte.is_ascii_digit() || b".-+eE".contains(byte);
            let begin = bytes[..*place].iter().rposition(|byte| !is_of_number(byte)).map_or(0, |at| at + 1);
            let end = bytes[*place..].iter().position(|byte| !is_of_number(byte)).map_or(bytes.len(), |at| place + at);
            let number = NUMBERS.choose(rng).unwrap().as_bytes();
            return [&bytes[..begin], number, &bytes[end..]].concat();
        }
    }
    lines.concat()
}

const FILES: [&str; 8] = [
    "manifest.json",
    "findings.json",
    "launches.jsonl",
    "samples.csv",
    "validation.json",
    "state.json",
    "refinement-1.json",
    "proof.json",
];

/// Runs that are mutated: simulated, validated, refined.
fn originals() -> &'static [PathBuf; 2] {
    static MADE: OnceLock<(tempfile::TempDir, [PathBuf; 2])> = OnceLock::new();
    let (_, runs) = MADE.get_or_init(|| {
        let scratch = tempfile::tempdir().unwrap();
        let runs = ["new", "other"].map(|name| scratch.path().join(name));
        TUNED.at(&runs[0]);
        collrules("tune --simulate=noise --np 2,4 --ops allreduce --refine 1 --budget 20s --seed 9 --out", &runs[1])
            .exits(0);
        (scratch, runs)
    });
    runs
}

/// Mutates a run, and lets commands read it. Returns how many of them took it.
fn survive(seed: u64) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let [from, other] = originals();
    // Else the journal accounts for what was mutated, so that commands read on.
    let is_told = rng.random_bool(0.5);
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    copy(from, &run);
    let mut changed = Vec::new();
    for _ in 0..rng.random_range(1..=3) {
        let name = *FILES.choose(&mut rng).unwrap();
        let before = fs::read(run.join(name)).unwrap_or_default();
        let after = mutate(&before, &fs::read(other.join(name)).unwrap_or_default(), &mut rng);
        fs::write(run.join(name), &after).unwrap();
        changed.push(name);
    }
    if !is_told {
        reseal(&run);
    }
    // A journal may be cut, and samples in the middle of a line: that is what interruptions leave.
    let prefix = |name: &str| {
        let (before, after) = (fs::read(from.join(name)).unwrap(), fs::read(run.join(name)).unwrap());
        before.starts_with(&after)
    };
    let same = |name: &str| fs::read(from.join(name)).ok() == fs::read(run.join(name)).ok();
    let covered = ["manifest.json", "samples.csv", "refinement-1.json"];
    let is_named = covered.iter().any(|name| !same(name)) || (!same("launches.jsonl") && !prefix("launches.jsonl"));
    let is_cut = prefix("launches.jsonl") && !same("launches.jsonl");
    let path = run.to_str().unwrap();
    let mut taken = 0;
    for words in [&["analyze", path][..], &["report", path], &["status", path], &["explain", path]] {
        let ran = confined(words);
        let what = format!("seed {seed}: {words:?} of {changed:?}: {:?}\n{}\n{}", ran.code, ran.stdout, ran.stderr);
        assert!(ran.code.is_some_and(|code| code <= 11), "{what}");
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("memory allocation"), "{what}");
        assert!(ran.stderr.len() < 4000 && !ran.stdout.contains("00000000000000000000"), "{what}");
        if words[0] == "analyze" && is_told && is_named && !is_cut {
            assert_eq!(ran.code, Some(3), "a silent change: {what}");
        }
        taken += usize::from(ran.code == Some(0));
        if words[0] == "analyze" {
            // What the analysis wrote anew is not what was mutated.
            fs::remove_dir_all(&run).unwrap();
            copy(from, &run);
            let mut again = ChaCha8Rng::seed_from_u64(seed);
            again.random_bool(0.5);
            for _ in 0..again.random_range(1..=3) {
                let name = *FILES.choose(&mut again).unwrap();
                let before = fs::read(run.join(name)).unwrap_or_default();
                let other = fs::read(other.join(name)).unwrap_or_default();
                fs::write(run.join(name), mutate(&before, &other, &mut again)).unwrap();
            }
            if !is_told {
                reseal(&run);
            }
        }
    }
    taken
}

#[test]
#[ignore = "part of `make test-all`"]
fn mutated_runs_neither_crash_nor_change_in_silence() {
    let taken: usize = (0..24).map(survive).sum();
    assert!(taken > 0, "some changes do not matter to a command");
}

#[test]
#[ignore = "an hour; last result in RESULTS.md"]
fn long_thousands_of_mutated_runs_neither_crash_nor_change_in_silence() {
    let count = std::env::var("RUNS").ok().and_then(|count| count.parse().ok()).unwrap_or(2000);
    let taken: usize = (1000..1000 + count).map(survive).sum();
    say(&format!("{count} runs, {} readings, {taken} of them taken", 5 * count));
}
