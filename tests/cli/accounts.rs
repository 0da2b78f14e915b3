//! Journal and samples of a run that is resumed have to account for each other: what was emptied, cut or exchanged is
//! refused, and nothing is changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::collrules;

fn new_run(scratch: &Path, seed: u32) -> PathBuf {
    let run = scratch.join(format!("seed-{seed}"));
    let options = "measure --simulate=noise --simulated-slots 4 --np 4 --ops bcast,barrier --sizes 64 --launches 3";
    let more = format!("--only bcast:6,barrier:3 --segments 8192 --budget 5s --seed {seed} --out");
    collrules(&format!("{options} {more}"), &run).exits(0);
    run
}

fn lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

/// Refused in words that contain `why`, and untouched.
fn refused(run: &Path, kind: &str, why: &str) {
    let content = || ["samples.csv", "launches.jsonl"].map(|name| fs::read(run.join(name)).ok());
    let before = content();
    let ran = collrules("measure --resume", run);
    assert_eq!(ran.code, Some(3), "{kind}: {}", ran.stderr);
    ran.complains("do not belong together");
    ran.complains(why);
    ran.complains("measure into a new directory with --out");
    assert!(content() == before, "{kind}");
}

fn kinds(run: &Path, other_samples: &str) {
    let emptied = "bytes of the samples are missing";
    let (samples, journal) = (run.join("samples.csv"), run.join("launches.jsonl"));
    let (all_samples, all_lines) = (fs::read_to_string(&samples).unwrap(), fs::read_to_string(&journal).unwrap());
    let (sample_count, line_count) = (all_samples.lines().count(), all_lines.lines().count());
    // The last line alone is what an interruption may leave out.
    fs::write(&journal, lines(&all_lines, line_count - 1)).unwrap();
    collrules("measure --resume", run).exits(0);
    fs::write(&samples, &all_samples).unwrap();
    for (kind, text, why) in [
        ("emptied", String::new(), "the journal lacks launches that took samples"),
        ("the format alone", lines(&all_lines, 1), "manifest.json or a refinement was changed"),
        ("cut in the middle", lines(&all_lines, line_count / 2), "the journal lacks launches that took samples"),
        (
            "of the end alone",
            all_lines.split_inclusive('\n').filter(|line| !line.contains("\"launch\":0")).collect(),
            "a line of launches.jsonl before line 3 was changed",
        ),
    ] {
        fs::write(&journal, text).unwrap();
        refused(run, kind, why);
    }
    fs::remove_file(&journal).unwrap();
    refused(run, "missing", "launches.jsonl is missing");
    fs::write(&journal, &all_lines).unwrap();
    for (kind, text, why) in [
        ("samples emptied", String::new(), emptied),
        ("samples but their head cut", lines(&all_samples, 2), emptied),
        ("samples of another run", other_samples.to_owned(), ""),
    ] {
        fs::write(&samples, text).unwrap();
        refused(run, kind, why);
    }
    fs::remove_file(&samples).unwrap();
    refused(run, "samples missing", emptied);
    fs::write(&samples, lines(&all_samples, sample_count / 2)).unwrap();
    refused(run, "samples cut in the middle", "");
    fs::write(&samples, &all_samples).unwrap();
    collrules("measure --resume", run).exits(0);
    assert_eq!(fs::read_to_string(&samples).unwrap(), all_samples);
}

#[test]
fn a_run_of_today() {
    let scratch = tempfile::tempdir().unwrap();
    let (run, other) = (new_run(scratch.path(), 1), new_run(scratch.path(), 2));
    kinds(&run, &fs::read_to_string(other.join("samples.csv")).unwrap());
    // Even one row too few is known.
    let (samples, text) = (run.join("samples.csv"), fs::read_to_string(run.join("samples.csv")).unwrap());
    fs::write(&samples, lines(&text, text.lines().count() - 1)).unwrap();
    refused(&run, "last row cut", "bytes of the samples are missing");
}
