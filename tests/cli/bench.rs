//! `collrules lab bench`, on real releases of Open MPI.

use crate::support::{Ran, bounded, under_each_release};

/// The lines of a table that are not comments, by their fields.
fn rows(stdout: &str) -> Vec<Vec<String>> {
    let lines = stdout.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn tables_have_a_line_per_size_with_checked_data() {
    under_each_release(|mpi| {
        let bench = |arguments: &str| {
            let mut command = bounded();
            command.args(["lab", "bench"]).args(arguments.split_whitespace()).arg("--mpirun").arg(&mpi.mpirun);
            Ran::from(command.output().unwrap())
        };
        bench("bcast --np 2 --candidate tuned:99/0/0/0").exits(2).complains("has no bcast algorithm 99");
        let bench = |arguments: &str| bench(arguments).exits(0);
        let ran = bench("bcast --np 2 -m 4:64 -i 20 -x 2 -f -z=50,100 -c");
        let rows = rows(&ran.stdout);
        assert_eq!(rows.iter().map(|row| &row[0][..]).collect::<Vec<_>>(), ["4", "8", "16", "32", "64"]);
        for row in &rows {
            let [_, average, least, most, calls, median, largest, valid] = &row[..] else { panic!("{row:?}") };
            let number = |text: &String| text.parse::<f64>().unwrap();
            assert!(number(least) <= number(average) && number(average) <= number(most), "{row:?}");
            assert!(number(median) <= number(largest), "{row:?}");
            assert_eq!((&calls[..], &valid[..]), ("20", "Pass"));
        }

        let ran = bench("scatter --np 3 --oversubscribe --csv -m 1K:2K -i 10 --candidate tuned:2/0/0/0");
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], "bytes,avg_us");
        assert!(lines[1].starts_with("1024,") && lines[2].starts_with("2048,") && lines.len() == 3, "{}", ran.stdout);

        let ran = bench("barrier --np 3 --oversubscribe -i 10");
        ran.says("# Avg Latency(us)");
        assert_eq!(self::rows(&ran.stdout).len(), 1);
    });
}

/// Rules of a run come with its settings, and mpirun of 4.1 refuses a parameter that is listed twice.
#[test]
fn a_run_stands_for_its_rules() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let run = scratch.path().join("run");
        let table = scratch.path().join("table.csv");
        let mut text = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n".to_owned();
        for size in [64, 128, 256] {
            text += &format!("bcast,0,2,{size},40\nbcast,6,2,{size},10\n");
        }
        std::fs::write(&table, text).unwrap();
        let release = mpi.version.split('.').take(2).collect::<Vec<_>>().join(".");
        let mut command = bounded();
        command.arg("analyze").arg(&table).args(["--release", &release, "--out"]).arg(&run);
        Ran::from(command.output().unwrap()).exits(0);
        assert!(run.join("rules.conf").is_file());
        for rules in [run.clone(), run.join("rules.conf")] {
            let mut command = bounded();
            command
                .args(["lab", "bench", "bcast", "--np", "2", "-m", "64:64", "-i", "10", "--mpirun"])
                .arg(&mpi.mpirun);
            let ran = Ran::from(command.arg("--rules").arg(&rules).output().unwrap()).exits(0);
            assert_eq!(rows(&ran.stdout).len(), 1, "{}: {}", mpi.version, rules.display());
        }
    });
}

#[test]
fn a_benchmark_that_makes_no_sense_is_refused() {
    let refused = |arguments: &str, code, said: &str| {
        let ran: Ran = bounded().args(["lab", "bench"]).args(arguments.split_whitespace()).output().unwrap().into();
        ran.exits(code).complains(said);
    };
    refused("bcast -i 0", 2, "0 timed calls");
    refused("bcast -m 8:4", 2, "8 B is larger than 4 B");
    refused("bcast --rules no-such-file", 3, "cannot open no-such-file");
    refused("sing", 2, "bcast");
}
