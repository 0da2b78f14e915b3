//! `collrules bench`, on real releases of Open MPI.

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
            command.arg("bench").args(arguments.split_whitespace()).arg("--mpirun").arg(&mpi.mpirun);
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

#[test]
fn a_benchmark_that_makes_no_sense_is_refused() {
    let refused = |arguments: &str, code, said: &str| {
        let ran: Ran = bounded().arg("bench").args(arguments.split_whitespace()).output().unwrap().into();
        ran.exits(code).complains(said);
    };
    refused("bcast -i 0", 2, "0 timed calls");
    refused("bcast -m 8:4", 2, "8B is larger than 4B");
    refused("bcast --rules no-such-file", 3, "cannot open no-such-file");
    refused("sing", 2, "bcast");
}
