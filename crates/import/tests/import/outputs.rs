//! Outputs against each other and against options and names: the right value or a refusal, never another value.

use collrules_import::{Facts, FindingCode, Import, ImportError, Options};
use collrules_record::CandidateName;
use collrules_record::findings::Statistic;
use collrules_record::units::Ranks;
use collrules_rules::Collective;
use proptest::prelude::*;

use crate::support::{found, import, import_with, options, timings};

/// The times in microseconds, by algorithm and size, or `refused`.
fn outcome(options: Options, name: &str, text: &str) -> String {
    match import_with(options, &[(name, text.as_bytes())]) {
        Ok(import) => times(&import),
        Err(_) => "refused".to_owned(),
    }
}

fn times(import: &Import) -> String {
    let time = |it: &collrules_import::Imported| {
        let time = it.time(import.statistic).expect("the statistic of the import");
        format!("{}@{}/{}={:.2}", it.cell.ranks, it.cell.bytes.0, it.candidate, time.0 * 1e6)
    };
    import.timings.iter().map(time).collect::<Vec<_>>().join(" ")
}

fn given(ranks: Option<u32>, algorithm: Option<u32>) -> Options {
    let facts = Facts {
        collective: Some(Collective::Allreduce),
        ranks: ranks.map(Ranks),
        algorithm: algorithm.map(CandidateName::Id),
        ..Facts::default()
    };
    Options { facts, ..options() }
}

fn timed(statistic: Statistic) -> Options {
    Options { time: Some(statistic), ..options() }
}

/// With 190 and 412 algorithm 3 lost, which is the faster one.
#[test]
fn statistics_over_calls_are_not_those_over_ranks() {
    const BOTH: &str = "16@1024/builtin=30.00 16@1024/tuned:3/0/0/0=24.00";
    let table = |columns: &str, rows: [&str; 2]| {
        format!(
            "collective,algorithm_id,np,message_bytes,{columns}\nallreduce,0,16,1024,{}\nallreduce,3,16,1024,{}\n",
            rows[0], rows[1]
        )
    };
    for (columns, rows) in [
        ("median_us,min_us,max_us", ["30,28,190", "24,22,412"]),
        ("min_us,median_us,max_us", ["28,30,190", "22,24,412"]),
        ("min_us,max_us,p50_us", ["28,190,30", "22,412,24"]),
        ("med_us,max_us", ["30,190", "24,412"]),
        ("Median Latency (us),Max (us)", ["30,190", "24,412"]),
        ("median_time_us,max_time_us", ["30,190", "24,412"]),
        ("median_us,mean_us,max_us", ["30,40,190", "24,70,412"]),
        ("mean_us,median_us,std_us", ["40,30,9", "70,24,99"]),
        ("median_ms,max_ms", ["0.030,0.190", "0.024,0.412"]),
        ("mean_us,std_us,max_us", ["30,9,190", "24,99,412"]),
        ("mean_us,stddev,max_us", ["30,9,190", "24,99,412"]),
        ("avg_us,var_us,min_us,max_us", ["30,9,28,190", "24,99,22,412"]),
        ("latency_us,p99_us,max_us", ["30,90,190", "24,99,412"]),
        ("time_us,percentile_99_us,max_time_us", ["30,90,190", "24,99,412"]),
        ("avg_latency_us,ci95_low_us,ci95_high_us,max_latency_us", ["30,29,31,190", "24,23,25,412"]),
        ("avg_latency_us,ci_low,ci_high,max_us", ["30,29,31,190", "24,23,25,412"]),
        ("avg_us,n_iter,min_us,max_us", ["30,100,28,190", "24,100,22,412"]),
        ("mean_us,min_us,max_us", ["30,28,190", "24,22,412"]),
        ("max_us,mean_us", ["190,30", "412,24"]),
        ("mean_latency_us,std_latency_us,max_latency_us", ["30,9,190", "24,99,412"]),
        ("mean_us,iqr_us,max_latency_us", ["30,9,190", "24,99,412"]),
        ("median_latency_us,max_latency_us", ["30,190", "24,412"]),
        ("slowest_rank_us,max_us", ["30,190", "24,412"]),
        ("max_over_ranks_us,mean_us", ["30,28", "24,22"]),
        ("t_max[usec],std[usec]", ["30,9", "24,99"]),
        ("Max Latency(us),Avg Latency(us)", ["30,28", "24,22"]),
    ] {
        assert_eq!(outcome(options(), "t.csv", &table(columns, rows)), BOTH, "{columns}");
    }
    for (columns, rows) in [
        ("max_us", ["190", "412"]),
        ("min_us,max_us", ["28,190", "22,412"]),
        ("max_us,std_us", ["190,9", "412,99"]),
        ("max_latency_us,p99_us", ["190,9", "412,99"]),
        ("min_us", ["28", "22"]),
        ("std_us,p99_us", ["28,2", "22,3"]),
    ] {
        assert_eq!(outcome(options(), "t.csv", &table(columns, rows)), "refused", "{columns}");
    }
    // The user knows.
    let slowest = timed(Statistic::SlowestRankSummary);
    let text = table("min_us,max_us", ["28,30", "22,24"]);
    assert_eq!(outcome(slowest.clone(), "t.csv", &text), BOTH);
    assert_eq!(outcome(slowest, "t.csv", &table("median_us,max_us", ["28,30", "22,24"])), BOTH);
    // Nor are medians compared with means.
    let files: [(&str, &[u8]); 2] =
        [("bcast-np4-a0.csv", b"size,median_us\n1024,30\n"), ("bcast-np4-a6.csv", b"size,avg_us\n1024,20\n")];
    assert!(matches!(import_with(options(), &files), Err(ImportError::Mixed(_))));
}

/// A rule of 1.91x compared two libraries.
#[test]
fn columns_that_split_a_comparison_refuse_the_table() {
    let table = |column: &str, rows: [&str; 3]| {
        format!(
            "collective,algorithm_id,np,message_bytes,avg_us,{column}\nbcast,0,4,8,9,{}\nbcast,6,4,8,5,{}\nbcast,0,4,16,9,{}\n",
            rows[0], rows[1], rows[2]
        )
    };
    for (column, rows, is_used) in [
        ("library", ["ompi", "mpich", "ompi"], false),
        ("host", ["a", "b", "a"], false),
        ("ucx", ["1.14.0", "1.15.0", "1.14.0"], false),
        ("ppn", ["1", "4", "1"], false),
        ("num_nodes", ["1", "4", "1"], false),
        ("root", ["0", "3", "0"], false),
        ("library", ["ompi", "", "ompi"], false),
        ("library", ["ompi", "ompi", "mpich"], true),
        ("library", ["ompi", "ompi", "ompi"], true),
        ("bandwidth_mbs", ["10.5", "20.1", "3"], true),
        ("timestamp", ["2026-01-01T10:00", "2026-01-01T10:01", "x"], true),
        ("note", ["a", "b", "c"], true),
        ("std_us", ["1", "2", "3"], true),
        ("p99", ["1", "2", "3"], true),
    ] {
        let text = table(column, rows);
        assert_eq!(outcome(options(), "t.csv", &text) != "refused", is_used, "{text}");
    }
    let codes = |column: &str| found(&import("t.csv", table(column, ["1", "2", "3"])))[0];
    assert_eq!(codes("std_us"), (FindingCode::PassedOver, None), "what is known is no factor");
    assert_eq!(codes("mbs"), (FindingCode::VaryingColumn, None));
}

const A: &str = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nallreduce,0,32,4096,10.5\n";

/// `cat a.csv b.csv` gave 4,096 ranks with 32 B, and 10.5 ns.
#[test]
fn a_header_within_a_table_begins_another_output() {
    const FIRST: &str = "32@4096/builtin=10.50";
    const BOTH: &str = "32@4096/builtin=10.50 32@4096/tuned:3/0/0/0=8.50";
    for (second, expected) in [
        ("collective,algorithm_id,message_bytes,comm_size,avg_latency_us\nallreduce,3,4096,32,8.5\n", BOTH),
        ("collective,algorithm_id,comm_size,message_bytes,avg_latency_ms\nallreduce,3,32,4096,0.0085\n", BOTH),
        ("collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nallreduce,3,32,4096,8.5\n", BOTH),
        ("collective;algorithm_id;comm_size;message_bytes;avg_latency_ms\nallreduce;3;32;4096;0.0085\n", BOTH),
        ("collective\talgorithm_id\tcomm_size\tmessage_bytes\ttime [s]\nallreduce\t3\t32\t4096\t8.5e-6\n", BOTH),
        ("Collective,Algorithm_ID,Message_Bytes,Comm_Size,AVG_LATENCY_US\nallreduce,3,4096,32,8.5\n", BOTH),
        ("avg_us,collective,np,size,alg\n8.5,allreduce,32,4096,3\n", BOTH),
        ("\ncollective,algorithm_id,message_bytes,comm_size,median_us\nallreduce,3,4096,32,8.5\n", "refused"),
        ("collective,algorithm_id,message_bytes,comm_size,latency\nallreduce,3,4096,32,8.5\n", "refused"),
        ("coll,algorithm,m,n,t\nallreduce,3,4096,32,8.5\n", "refused"),
        ("Collective,Verfahren,Groesse,Prozesse,Zeit\nallreduce,3,4096,32,8.5\n", "refused"),
        ("collective,algorithm_id,message_bytes,comm_size\nallreduce,3,4096,32\n", "refused"),
        ("#collective,algorithm_id,message_bytes,comm_size,avg_us\nallreduce,3,4096,32,8.5\n", BOTH),
        ("# made by sweep.sh, size and time as printed\nallreduce,3,32,4096,8.5\n", BOTH),
        (
            "allreduce,3,32,4096,collective,algorithm_id,message_bytes,comm_size,avg_us\nallreduce,3,4096,32,8.5\n",
            FIRST,
        ),
        ("allreduce,3,32\n", FIRST),
    ] {
        assert_eq!(outcome(options(), "t.csv", &format!("{A}{second}")), expected, "{second}");
    }
    let other = format!(
        "{A}collective,algorithm_id,comm_size,message_bytes,avg_latency_us,library\nallreduce,3,32,4096,8.5,mpich\n"
    );
    assert_eq!(outcome(options(), "t.csv", &other), "refused");
}

fn osu(time: &str) -> String {
    format!("# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024 {time}\n")
}

/// `--np` and `--algorithm` are one for all outputs.
#[test]
fn several_banners_under_one_option_are_named() {
    let both = osu("5.0") + &osu("6.0").replace("1024", "2048");
    for (options, name, is_named) in [
        (given(Some(8), Some(3)), "x.txt", true),
        (given(Some(8), None), "a3.txt", true),
        (given(None, Some(3)), "np8.txt", true),
        (options(), "np8-a3.txt", false),
    ] {
        let import = import_with(options, &[(name, both.as_bytes())]).unwrap();
        assert_eq!(times(&import), "8@1024/tuned:3/0/0/0=5.00 8@2048/tuned:3/0/0/0=6.00");
        assert_eq!(found(&import).contains(&(FindingCode::SeveralOutputs, None)), is_named, "{name}");
    }
    let import = import_with(given(Some(8), Some(3)), &[("x.txt", osu("5.0").as_bytes())]).unwrap();
    assert_eq!(found(&import), []);
}

#[test]
fn lines_around_outputs_are_compared_with_what_is_assumed() {
    let second = osu("6.0").replace("1024", "2048");
    for (line, fits) in [
        ("mpirun -np 16 ./osu_allreduce", false),
        ("mpirun -np 8 ./osu_allreduce", true),
        ("+ mpiexec -n 16 ./osu_allreduce", false),
        ("$ srun -n 16 osu_allreduce", false),
        ("# mpirun --np 16 osu_allreduce", false),
        ("srun --ntasks=16 osu_allreduce", false),
        ("srun -N 2 --ntasks=8 -c 16 osu_allreduce", true),
        ("-np 16", false),
        ("mpirun -np 8 --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4 x", false),
        ("mpirun -np 8 --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 3 x", true),
        ("mpirun -np 8 --mca coll_tuned_bcast_algorithm 4 x", true),
        ("export OMPI_MCA_coll_tuned_allreduce_algorithm=4", false),
        ("export OMPI_MCA_coll_tuned_allreduce_algorithm=ring", false),
        ("export OMPI_MCA_coll_tuned_allreduce_algorithm=recursive_doubling", true),
        ("Algorithm: 4", false),
        ("algorithm=3", true),
        ("=== Algorithm 4 ===", false),
        ("alg: ring", false),
        ("Algorithm: 99", false),
        ("Algorithm: recursive doubling", true),
        ("algorithm selection took 3 s", true),
        ("Procs: 16", false),
        ("Procs: 8", true),
        ("# ranks = 16", false),
        ("nprocs=16", false),
        ("Number of processes: 16", false),
        ("Processes: 4 per node", true),
        ("Running on 16 processes", false),
        ("2 more processes have sent help message help-mpi-btl.txt", true),
        ("mpirun (Open MPI) 4.1.5", false),
        ("mpirun (Open MPI) 5.0.3", true),
        ("module load openmpi/4.1.5", false),
        ("/opt/openmpi-4.0.7/bin/mpirun ./osu_allreduce", false),
        ("Open MPI 3.1.6", false),
        ("MVAPICH2 Version: 2.3.7", false),
        ("MPICH Version: 4.1", false),
        ("Intel(R) MPI Library 2021.9", false),
    ] {
        for text in
            [format!("{line}\n{}", osu("5.0")), format!("{}{line}\n{second}", osu("5.0")), osu("5.0") + line + "\n"]
        {
            let outcome = outcome(given(Some(8), Some(3)), "x.txt", &text);
            assert_eq!(outcome != "refused", fits, "{outcome}: {text}");
        }
        // Names of files are no better than options.
        let outcome = outcome(options(), "np8-a3.txt", &format!("{line}\n{}", osu("5.0")));
        assert_eq!(outcome != "refused", fits, "{line}");
    }
    let paths = |one: &str, other: &str| format!("{one}/bin/mpirun x\n{}{other}/bin/mpirun x\n{second}", osu("5.0"));
    assert_eq!(outcome(given(Some(8), Some(3)), "x.txt", &paths("/opt/a", "/opt/b")), "refused");
    assert_eq!(outcome(given(Some(8), Some(3)), "x.txt", &paths("/opt/a", "/opt/a")).matches('@').count(), 2);
    // The content is about a part of the ranks that a command starts.
    let imb = "mpirun -np 16 IMB-MPI1\n# Benchmarking Bcast\n# #processes = 8\n\
               #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n4096 1000 1.0 2.0 1.5\n";
    assert_eq!(outcome(options(), "a0.txt", imb), "8@4096/builtin=2.00");
    // The whole line is shown.
    let line = format!("mpirun {} -np 16 x", "--mca pml ob1 ".repeat(12).trim());
    let error = import_with(given(Some(8), Some(3)), &[("x.txt", format!("{line}\n{}", osu("5.0")).as_bytes())]);
    assert!(error.unwrap_err().to_string().contains(&line));
}

/// Lines around an output name the ranks and the default if nothing else does; sources that differ are an error.
#[test]
fn lines_around_outputs_supply_ranks_and_the_default() {
    let a3 = Options { facts: Facts { algorithm: Some(CandidateName::Id(3)), ..Facts::default() }, ..options() };
    for (text, expected) in [
        (format!("mpirun -np 16 ./osu_allreduce\n{}", osu("5.0")), "16@1024/tuned:3/0/0/0=5.00"),
        (format!("{}Procs: 16\n", osu("5.0")), "16@1024/tuned:3/0/0/0=5.00"),
        (format!("Procs: 16\n{}Procs: 16\n", osu("5.0")), "16@1024/tuned:3/0/0/0=5.00"),
        (format!("Procs: 16\nmpirun -np 16 x\n{}", osu("5.0")), "16@1024/tuned:3/0/0/0=5.00"),
        (format!("Procs: 16\nmpirun -np 8 x\n{}", osu("5.0")), "refused"),
        (format!("Procs: 8\nProcs: 16\nProcs: 16\n{}", osu("5.0")), "refused"),
        (format!("Procs: 16\n{}Procs: 8\n", osu("5.0")), "refused"),
        (osu("5.0"), "refused"),
        (
            format!("-np 8\n{}-np 16\n{}", osu("5.0"), osu("6.0")),
            "8@1024/tuned:3/0/0/0=5.00 16@1024/tuned:3/0/0/0=6.00",
        ),
        (format!("# Procs: 16\n{}", A.replace(",comm_size", "").replace(",32", "")), "16@4096/builtin=10.50"),
        (format!("# Procs: 16\n{A}"), "32@4096/builtin=10.50"),
    ] {
        let options = if text.contains("algorithm_id") { options() } else { a3.clone() };
        assert_eq!(outcome(options, "x.txt", &text), expected, "{text}");
    }
    for (name, line, expected) in [
        ("np8.txt", "Algorithm: tuned", "8@1024/builtin=5.00"),
        ("np8.txt", "component: tuned", "8@1024/builtin=5.00"),
        ("np8-tuned.txt", "", "8@1024/builtin=5.00"),
        ("np8-a3.txt", "component: tuned", "8@1024/tuned:3/0/0/0=5.00"),
        ("np8-a3.txt", "Algorithm: tuned", "refused"),
        ("np8.txt", "Algorithm: 3", "refused"),
        ("np8-a3.txt", "mpirun -np 16 x", "refused"),
    ] {
        assert_eq!(outcome(options(), name, &format!("{line}\n{}", osu("5.0"))), expected, "{name}: {line}");
    }
    const BOTH: &str = "4@8/builtin=3.00 4@8/tuned:6/0/0/0=2.00";
    for (header, rows, expected) in [
        ("alg", ["tuned", "6"], BOTH),
        ("algorithm_id", ["tuned", "binomial"], BOTH),
        ("algorithm", ["tuned", "binomial"], BOTH),
        ("component", ["tuned", "han"], "4@8/builtin=3.00"),
        ("component,algorithm_id", ["tuned,0", "tuned,6"], BOTH),
        ("component,algorithm_id", ["tuned,0", "han,6"], "refused"),
        ("alg", ["-1", "6"], "4@8/tuned:6/0/0/0=2.00"),
    ] {
        let [first, second] = rows.map(|row| format!("bcast,{row},4,8"));
        let text = format!("collective,{header},np,size,avg_us\n{first},3\n{second},2\n");
        assert_eq!(outcome(options(), "t.csv", &text), expected, "{text}");
    }
}

/// Every time of a row is about the same calls.
#[test]
fn times_of_a_row_have_to_fit_each_other() {
    let osu = |row: &str| {
        format!(
            "# OSU MPI Allreduce Latency Test v7.4\n\
             # Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n1024 {row} 1000\n"
        )
    };
    for (row, expected) in [
        ("30.00 28.00 32.00", "8@1024/tuned:3/0/0/0=32.00"),
        ("30.00 30.00 30.00", "8@1024/tuned:3/0/0/0=30.00"),
        ("30.00 31.00 32.00", "refused"),
        ("30.00 28.00 29.00", "refused"),
        ("30.00 32.00 28.00", "refused"),
        // The slowest of 8 ranks alone makes the mean at least 58.
        ("30.00 28.00 300.00", "refused"),
        ("299.00 28.00 300.00", "refused"),
        ("62.01 28.00 300.00", "8@1024/tuned:3/0/0/0=300.00"),
    ] {
        assert_eq!(outcome(given(Some(8), Some(3)), "x.txt", &osu(row)), expected, "{row}");
    }
    let average = Options { time: Some(Statistic::RankAverage), ..given(Some(8), Some(3)) };
    assert_eq!(outcome(average, "x.txt", &osu("30.00 28.00 300.00")), "8@1024/tuned:3/0/0/0=30.00");
}

/// Nine rows went, and ten stayed.
#[test]
fn a_doubt_about_a_unit_concerns_all_rows() {
    let table = |unit: &str, base: f64, growth: f64| {
        let rows = (0..19).map(|power| {
            let bytes = 4u64 << power;
            [0, 3].map(|id| format!("{id},{bytes},{}\n", base + f64::from(id) + growth * bytes as f64)).concat()
        });
        format!("algorithm_id,size,avg_{unit}\n{}", rows.collect::<String>())
    };
    let read = |text: &str| import_with(given(Some(16), None), &[("t.csv", text.as_bytes())]);
    let codes =
        |text: &str| read(text).map(|import| found(&import).into_iter().map(|found| found.0).collect::<Vec<_>>());
    // Microseconds, named nanoseconds.
    assert!(read(&table("ns", 5.0, 0.0002)).is_err());
    assert_eq!(codes(&table("us", 5.0, 0.0002)).unwrap(), []);
    // 64 B in 3.1 ms, 1 MiB in 2.1 s.
    let slow = codes(&table("ms", 3.1, 0.002)).unwrap();
    assert_eq!(slow, [FindingCode::UnitSlip]);
    let slow = read(&table("ms", 3.1, 0.002)).unwrap();
    assert_eq!(slow.findings[0].timings, slow.timings.len(), "all rows of the column");
    // The same time whatever the size.
    assert_eq!(codes(&table("us", 40.0, 0.0)).unwrap(), [FindingCode::Flat, FindingCode::Flat]);
    // 512 KiB in about 1 us: 519 GB/s.
    let fast = "algorithm_id,size,avg_us\n0,524288,1.01\n0,524,0.9\n";
    assert!(codes(fast).unwrap().contains(&FindingCode::Bandwidth));
}

#[test]
fn what_terminals_show_is_read() {
    let plain = osu("5.0");
    for text in [
        plain.replace("# OSU", "\r# OSU"),
        plain.replace("# OSU", "loading  50 %\rloading 100 %\r# OSU"),
        plain.replace("1024", "\u{1b}[32m1024\u{1b}[0m"),
        plain.replace("# OSU", "\u{1b}[1;34m# OSU"),
        plain.replace('\n', "\r\n"),
    ] {
        assert_eq!(outcome(given(Some(8), Some(3)), "x.txt", &text), "8@1024/tuned:3/0/0/0=5.00", "{text:?}");
    }
    let imb = "# Benchmarking Bcast\n# #processes = 8\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n\
               4096 1000 1.0 2.0 1.5\n";
    for stop in ["8192 1000 time-out.", "8192 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over"] {
        let imported = import("a0.txt", format!("{imb}{stop}\n"));
        assert_eq!(timings(&imported), ["bcast 8 4096 builtin 0.0 1.50 2.00"]);
        assert_eq!(found(&imported), [(FindingCode::InvalidMeasurement, Some(5))], "{stop}");
    }
}

#[test]
fn names_of_parameters_in_names_of_files_are_read() {
    let csv = "size,avg_latency_us\n1024,5\n";
    for (name, expected) in [
        ("coll_tuned_allreduce_algorithm_3_np8.csv", "8@1024/tuned:3/0/0/0=5.00"),
        ("np8/coll_tuned_allreduce_algorithm_3.csv", "8@1024/tuned:3/0/0/0=5.00"),
        ("OMPI_MCA_coll_tuned_allreduce_algorithm=3-np8.csv", "8@1024/tuned:3/0/0/0=5.00"),
        ("coll_tuned_allreduce_algorithm_ring_np8.csv", "8@1024/tuned:4/0/0/0=5.00"),
        ("coll_tuned_allreduce_algorithm_0_np8.csv", "8@1024/builtin=5.00"),
        ("coll_tuned_allreduce_algorithm_3_segmentsize_8192_np8.csv", "refused"),
    ] {
        assert_eq!(outcome(options(), name, csv), expected, "{name}");
    }
}

#[test]
fn tables_of_barriers_need_no_sizes() {
    let table = "collective,algorithm_id,comm_size,avg_latency_us\nbarrier,0,4,5\nbarrier,1,4,6\n";
    assert_eq!(outcome(options(), "t.csv", table), "4@0/builtin=5.00 4@0/tuned:1/0/0/0=6.00");
    let mixed = import("t.csv", format!("{table}bcast,0,4,7\n"));
    assert_eq!((mixed.timings.len(), found(&mixed)), (2, vec![(FindingCode::BadRow, Some(4))]));
}

/// A sweep writes `default` beside 0, which means the default as well.
#[test]
fn both_names_of_the_default_are_named() {
    let file = |time: &str| format!("# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n1024 {time}\n");
    let (one, other, best) = (file("5.0"), file("5.5"), file("4.0"));
    let files = [
        ("allreduce_default_np8.log", one.as_bytes()),
        ("allreduce_algo0_np8.log", other.as_bytes()),
        ("allreduce_algo3_np8.log", best.as_bytes()),
    ];
    let Err(ImportError::NoDefault { collective, findings }) = import_with(options(), &files) else { panic!() };
    let lost: Vec<_> = findings.iter().filter(|it| it.code == FindingCode::Contradiction).collect();
    assert!(lost.iter().all(|it| files[..2].iter().all(|(name, _)| it.message.contains(name))), "{lost:#?}");
    assert_eq!((collective, lost.len()), (Collective::Allreduce, 2));
    let launch = [files[0], ("allreduce_algo0_np8_run1.log", files[1].1), files[2]];
    assert_eq!(import_with(options(), &launch).unwrap().timings.len(), 3);
}

/// Nothing is compared with a default that has no timing left.
#[test]
fn a_lost_default_refuses_the_import() {
    let table = |time: &str| format!("{A}bcast,0,4,8,{time}\nbcast,6,4,8,2\n");
    assert_eq!(outcome(options(), "t.csv", &table("3")).matches('@').count(), 3);
    assert_eq!(outcome(options(), "t.csv", &table("x")), "refused");
    assert_eq!(outcome(options(), "t.csv", &table("3\nbcast,0,4,8,5")), "refused");
    assert_eq!(outcome(options(), "t.csv", &table("3\nbcast,0,4,16,x")).matches('@').count(), 3);
}

/// Header, separator, order of columns, and unit of a part of a table.
fn part(order: &[usize], separator: &str, unit: usize, renamed: bool, rows: &[(u32, u32, u64, u32)]) -> String {
    let (unit, factor) = [("us", 1.0), ("ms", 1e-3), ("ns", 1e3), ("s", 1e-6)][unit];
    let time = format!("{}_{unit}", if renamed { "latency" } else { "avg_latency" });
    let names: [&str; 5] = if renamed {
        ["op", "alg", "np", "size", &time]
    } else {
        ["collective", "algorithm_id", "comm_size", "message_bytes", &time]
    };
    let line =
        |fields: [String; 5]| order.iter().map(|place| fields[*place].clone()).collect::<Vec<_>>().join(separator);
    let row = |(id, ranks, bytes, tenths): &(u32, u32, u64, u32)| {
        let time = f64::from(*tenths) / 10.0 * factor;
        line(["bcast".to_owned(), id.to_string(), ranks.to_string(), bytes.to_string(), format!("{time:.7}")])
    };
    let head = line(names.map(str::to_owned));
    std::iter::once(head).chain(rows.iter().map(row)).map(|line| line + "\n").collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A table and a variant of itself give no value that neither has.
    #[test]
    fn concatenated_tables_give_no_other_values(
        first in prop::collection::vec((0u32..7, 2u32..64, 1u64..2048, 10u32..900), 1..12),
        change in (0u32..3, 0u64..3, 0u32..3),
        order in Just((0..5).collect::<Vec<usize>>()).prop_shuffle(),
        (separator, unit, renamed) in (0usize..3, 0usize..4, any::<bool>()),
        (blank, comment) in (any::<bool>(), any::<bool>()),
    ) {
        let second: Vec<_> =
            first.iter().map(|(id, ranks, bytes, time)| (*id, ranks + change.0, bytes + change.1, time + change.2)).collect();
        let a = part(&[0, 1, 2, 3, 4], ",", 0, false, &first);
        let b = part(&order, [",", ";", "\t"][separator], unit, renamed, &second);
        let between = [if blank { "\n" } else { "" }, if comment { "# second part\n" } else { "" }].concat();
        let alone: Vec<String> = [&a, &b]
            .into_iter()
            .filter_map(|text| import_with(options(), &[("t.csv", text.as_bytes())]).ok())
            .flat_map(|import| timings(&import))
            .collect();
        if let Ok(import) = import_with(options(), &[("t.csv", format!("{a}{between}{b}").as_bytes())]) {
            for value in timings(&import) {
                prop_assert!(alone.contains(&value), "{value} is in neither of {alone:?}\n{a}{between}{b}");
            }
        }
    }
}

/// A table of two algorithms under a header, with the separator of the header.
fn two(header: &str, rows: [&str; 2]) -> String {
    format!("{header}\n{}\n{}\n", rows[0], rows[1])
}

/// Tables as other tools and people write them: the values that they mean, or a refusal.
#[test]
fn tables_of_all_forms_give_their_values_or_are_refused() {
    const RIGHT: &str = "4@1024/builtin=30.00 4@1024/tuned:6/0/0/0=24.00";
    const DEFAULT: &str = "4@1024/builtin=30.00";
    let plain = "collective,algorithm_id,np,message_bytes,avg_us";
    let rows = ["bcast,0,4,1024,30", "bcast,6,4,1024,24"];
    let swapped = |text: &str, sign: &str| text.replace(',', sign);
    for (text, expected) in [
        // Separators and quotes.
        (two(plain, rows), RIGHT),
        (swapped(&two(plain, rows), ";"), RIGHT),
        (swapped(&two(plain, rows), "\t"), RIGHT),
        (swapped(&two(plain, rows), " , "), RIGHT),
        (swapped(&two(plain, rows), ":"), "refused"),
        (swapped(&two(plain, rows), "|"), "refused"),
        (swapped(&two(plain, rows), " & "), "refused"),
        (swapped(&two(plain, rows), " "), "refused"),
        (format!("| {} |\n|---|---|---|---|---|\n| bcast | 0 | 4 | 1024 | 30 |\n", swapped(plain, " | ")), "refused"),
        (two(plain, rows).replace(',', "\",\"").lines().map(|line| format!("\"{line}\"\n")).collect(), RIGHT),
        (two(plain, rows).lines().map(|line| format!("'{}'\n", swapped(line, "','"))).collect(), "refused"),
        (two(plain, rows).lines().map(|line| format!("{line},\n")).collect(), RIGHT),
        (two(plain, rows).replace('\n', "\r\n"), RIGHT),
        (two(plain, rows).replace('\n', "\r"), RIGHT),
        (format!("\u{feff}{}", two(plain, rows)), RIGHT),
        (format!("sep=;\n{}", swapped(&two(plain, rows), ";")), "refused"),
        (format!("Sweep of November\n{}", two(plain, rows)), "refused"),
        (format!("# Sweep of November\n{}", two(plain, rows)), RIGHT),
        (format!("{}mean,,,,27\n", two(plain, rows)), RIGHT),
        (format!("{}TOTAL,,,,54\n", two(plain, rows)), RIGHT),
        (two(&format!(",{plain}"), ["0,bcast,0,4,1024,30", "1,bcast,6,4,1024,24"]), RIGHT),
        (
            "[{\"collective\":\"bcast\",\"algorithm_id\":0,\"np\":4,\"message_bytes\":1024,\"avg_us\":30}]\n"
                .to_owned(),
            "refused",
        ),
        // Numbers.
        (two(plain, ["bcast,0,4,1024,3.0E+01", "bcast,6,4,1024,2.4e1"]), RIGHT),
        (two(plain, ["bcast,0,4,1K,30", "bcast,6,4,1 KiB,24"]), RIGHT),
        (two(plain, ["bcast,0,4,1024 B,30", "bcast,6,4,1KB,24"]), RIGHT),
        (two(plain, ["bcast,0.0,4.0,1024.0,30", "bcast,6.0,4.0,1024.0,24"]), RIGHT),
        (two(plain, ["bcast,0.5,4,1024,30", "bcast,6,4.5,1024,24"]), "refused"),
        (two(plain, ["bcast,0,4,\"1,024\",30", "bcast,6,4,\"1,024\",24"]), "refused"),
        (two(&swapped(plain, ";"), ["bcast;0;4;1024;30,0", "bcast;6;4;1024;24,0"]), "refused"),
        (two(&swapped(plain, ";"), ["bcast;0;4;1.024;30", "bcast;6;4;1.024;24"]), "refused"),
        (two(plain, ["bcast,0,4,1024,30±2", "bcast,6,4,1024,24±2"]), "refused"),
        (two(plain, ["bcast,0,4,1024,30us", "bcast,6,4,1024,0.024 ms"]), RIGHT),
        (two(plain, ["bcast,0,4,1024,30 KB", "bcast,6,4,1024,24x"]), "refused"),
        (two(plain, ["bcast,0,4,1024,30", "bcast,6,4,1024,nan"]), DEFAULT),
        (two(plain, ["bcast,0,4,1024,30", "bcast,-1,4,1024,24"]), DEFAULT),
        (two(plain, ["bcast,0,4,1024,30", "bcast,6,4,1024,1e400"]), DEFAULT),
        // Units.
        (
            two("collective,algorithm_id,np,message_bytes,time_ns", ["bcast,0,4,1024,30000", "bcast,6,4,1024,24000"]),
            RIGHT,
        ),
        (
            two("collective,algorithm_id,np,message_bytes,Time (ms)", ["bcast,0,4,1024,0.030", "bcast,6,4,1024,0.024"]),
            RIGHT,
        ),
        (
            two(
                "collective,algorithm_id,np,message_bytes,time_seconds",
                ["bcast,0,4,1024,3e-5", "bcast,6,4,1024,2.4e-5"],
            ),
            RIGHT,
        ),
        (two("collective,algorithm_id,np,message_bytes,runtime", rows), "refused"),
        (
            two(
                "collective,algorithm_id,np,message_bytes,avg_us,unit",
                ["bcast,0,4,1024,30,us", "bcast,6,4,1024,0.024,ms"],
            ),
            "refused",
        ),
        (two("collective,algorithm_id,np,message_bytes,cycles", rows), "refused"),
        (two("collective,algorithm_id,np,message_bytes,log10_time_s", rows), "refused"),
        (
            two(
                "collective,algorithm_id,np,message_bytes,total_time_us,iterations",
                ["bcast,0,4,1024,30,9", "bcast,6,4,1024,24,9"],
            ),
            "refused",
        ),
        (
            two(
                "collective,algorithm_id,np,message_bytes,cpu_time_us,wall_time_us",
                ["bcast,0,4,1024,1,30", "bcast,6,4,1024,1,24"],
            ),
            "refused",
        ),
        (
            two(
                "collective,algorithm_id,np,message_bytes,latency_us,time_us",
                ["bcast,0,4,1024,30,31", "bcast,6,4,1024,24,25"],
            ),
            "refused",
        ),
        (
            two(
                "collective,algorithm_id,np,message_bytes,baseline_us,best_us",
                ["bcast,0,4,1024,30,31", "bcast,6,4,1024,24,25"],
            ),
            "refused",
        ),
        // Sizes and ranks.
        (two("collective,algorithm_id,np,size_kb,avg_us", ["bcast,0,4,1,30", "bcast,6,4,1,24"]), "refused"),
        (two("collective,algorithm_id,np,Size (KiB),avg_us", ["bcast,0,4,1,30", "bcast,6,4,1,24"]), "refused"),
        (two("collective,algorithm_id,np,message_size_mb,avg_us", ["bcast,0,4,1,30", "bcast,6,4,1,24"]), "refused"),
        (two("collective,algorithm_id,np,total_bytes,avg_us", rows), "refused"),
        (two("collective,algorithm_id,np,bytes_per_rank,avg_us", rows), "refused"),
        (two("collective,algorithm_id,np,count,avg_us", rows), "refused"),
        (two("collective,algorithm_id,nodes,message_bytes,avg_us", rows), "refused"),
        (two("collective,algorithm_id,cores,message_bytes,avg_us", rows), "refused"),
        (two("collective,algorithm_id,log2_np,log2_size,avg_us", rows), "refused"),
        (
            two(
                "collective,algorithm_id,nodes,ppn,message_bytes,avg_us",
                ["bcast,0,2,2,1024,30", "bcast,6,2,2,1024,24"],
            ),
            "refused",
        ),
        ("np,message_bytes,bcast_0,bcast_6\n4,1024,30,24\n".to_owned(), "refused"),
        // Names.
        (two("COLL,ALG,NPROCS,SIZE,LATENCY_US", ["MPI_BCAST,0,4,1024,30", "MPI_Bcast,6,4,1024,24"]), RIGHT),
        (two("operation,algo,ranks,msg_size,Latency [us]", ["Broadcast,0,4,1024,30", "osu_bcast,6,4,1024,24"]), RIGHT),
        (two("coll,algorithm,np,size,avg_us", ["bcast,default,4,1024,30", "bcast,Binomial,4,1024,24"]), RIGHT),
        (two("coll,algorithm,np,size,avg_us", ["bcast,builtin,4,1024,30", "bcast,best,4,1024,24"]), DEFAULT),
        (two(plain, ["ibcast,0,4,1024,30", "ibcast,6,4,1024,24"]), "refused"),
        // What a comparison is about.
        (two(&format!("{plain},segsize"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,8192"]), DEFAULT),
        (two(&format!("{plain},segsize"), ["bcast,0,4,1024,30,", "bcast,6,4,1024,24,0"]), RIGHT),
        (two(&format!("{plain},fanout"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,4"]), DEFAULT),
        (two(&format!("{plain},max_requests"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,1"]), DEFAULT),
        (two(&format!("{plain},exit_code"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,137"]), DEFAULT),
        (two(&format!("{plain},rc"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,0"]), RIGHT),
        (two(&format!("{plain},status"), ["bcast,0,4,1024,30,ok", "bcast,6,4,1024,24,failed"]), "refused"),
        (two(&format!("{plain},correct"), ["bcast,0,4,1024,30,True", "bcast,6,4,1024,24,False"]), "refused"),
        (two(&format!("{plain},in_place"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,1"]), "refused"),
        (two(&format!("{plain},gpus"), ["bcast,0,4,1024,30,0", "bcast,6,4,1024,24,4"]), "refused"),
        (two(&format!("{plain},bandwidth_mbs"), ["bcast,0,4,1024,30,34", "bcast,6,4,1024,24,42"]), RIGHT),
        (two(&format!("{plain},ompi_version"), ["bcast,0,4,1024,30,5.0.3", "bcast,6,4,1024,24,5.0.3"]), RIGHT),
        (two(&format!("{plain},ompi_version"), ["bcast,0,4,1024,30,4.1.5", "bcast,6,4,1024,24,4.1.5"]), "refused"),
        (
            two(&format!("{plain},mpi"), ["bcast,0,4,1024,30,Open MPI 4.1.5", "bcast,6,4,1024,24,Open MPI 4.1.5"]),
            "refused",
        ),
        (two(&format!("{plain},library"), ["bcast,0,4,1024,30,mpich", "bcast,6,4,1024,24,mpich"]), "refused"),
        (two(&format!("{plain},iter"), ["bcast,0,4,1024,30,0", "bcast,0,4,1024,20,1"]), "refused"),
        (two(&format!("{plain},rank"), ["bcast,0,4,1024,30,0", "bcast,0,4,1024,20,1"]), "refused"),
        (two(&format!("{plain},rep"), ["bcast,0,4,1024,30,0", "bcast,0,4,1024,20,1"]), "refused"),
        (
            two(
                &format!("{plain},rank"),
                ["bcast,0,2,1024,20,0\nbcast,0,2,1024,30,1", "bcast,6,2,1024,24,0\nbcast,6,2,1024,12,1"],
            ),
            "2@1024/builtin=30.00 2@1024/tuned:6/0/0/0=24.00",
        ),
        (two(&format!("{plain},statistic"), ["bcast,0,4,1024,30,p99", "bcast,6,4,1024,24,p99"]), "refused"),
        (two(&format!("{plain},statistic"), ["bcast,0,4,1024,30,median", "bcast,6,4,1024,24,median"]), RIGHT),
        (format!("# statistic: maximum over 1000 calls\n{}", two(plain, rows)), "refused"),
    ] {
        assert_eq!(outcome(options(), "t.csv", &text), expected, "{text}");
    }
}

/// Logs of sweeps by shell scripts and batch systems.
#[test]
fn logs_of_all_forms_give_their_values_or_are_refused() {
    let output = |time: &str| {
        format!(
            "\n# OSU MPI Broadcast Latency Test v6.2\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1024      {time}\n"
        )
    };
    let is_refused = |name: &str, text: &str| outcome(options(), name, text) == "refused";
    for (before, is_used) in [
        ("srun -n8 ./osu_bcast", true),
        ("srun -n16 ./osu_bcast", false),
        ("srun --ntasks=8 ./osu_bcast", true),
        ("mpirun --np 16 ./osu_bcast", false),
        ("mpirun --np=16 ./osu_bcast", false),
        ("mpiexec -np16 ./osu_bcast", false),
        ("#SBATCH -n 16", false),
        ("#SBATCH --ntasks=16", false),
        ("#BSUB -n 16", false),
        ("SLURM_NTASKS=16", false),
        ("np=16 alg=6", false),
        ("np=8 alg=6", true),
        ("np=8 alg=5", false),
        ("Running with 16 MPI ranks", false),
        ("Total number of MPI processes: 16", false),
        ("=== bcast algorithm 5 ===", false),
        ("=== bcast algorithm 6 ===", true),
        ("+ export OMPI_MCA_coll_tuned_bcast_algorithm=5", false),
        ("+ export OMPI_MCA_coll_tuned_reduce_algorithm=5", true),
        ("mpirun -np 8 --mca coll_tuned_bcast_algorithm binomial ./osu_bcast", true),
        ("mpirun -np 8 --mca coll_tuned_bcast_algorithm chain ./osu_bcast", false),
        ("MVAPICH2 Version: 2.3.7", false),
        ("Open MPI: 4.1.5", false),
        ("module load openmpi/5.0.3", true),
        ("mpirun -N 8 --map-by ppr:8:node ./osu_bcast", true),
        ("head -n 16 result", true),
        ("[node1:123] *** Process received signal ***", true),
        ("\x1b[1mStarting\x1b[0m\r", true),
    ] {
        let text = format!("{before}{}", output("30"));
        assert_eq!(!is_refused("bcast-np8-a6.log", &text), is_used, "{before}");
    }
    let one = "8@1024/tuned:6/0/0/0=30.00";
    let imb = "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking Bcast\n# #processes = 8\n\
               #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";
    for (text, expected) in [
        (output("30"), one),
        (output("30").replace('\n', "\r\n"), one),
        (output("30").replace("\n# OSU", "\nloading...\r# OSU"), one),
        (output("30").replace("\n# OSU", "\n\r\x1b[32m# OSU").replace("v6.2", "v6.2\x1b[0m"), one),
        (output("30").lines().map(|line| format!("[1,0]<stdout>:{line}\n")).collect(), one),
        (output("30").replace("Avg Latency(us)", "Latency (us)"), one),
        (output("0.030").replace("(us)", "(ms)"), one),
        (output("30").replace("Avg Latency", "Latency"), one),
        (output("30 us"), "refused"),
        (output("x"), "refused"),
        (output("0.00"), "refused"),
        (output("30 28 31"), "refused"),
        (output("30").replace("OSU MPI", "OSU MPI-CUDA"), one),
        (output("30").replace("Broadcast", "Non-blocking Broadcast"), "refused"),
        (output("30").replace("Broadcast", "Scatter"), "refused"),
        (format!("{}{}", output("30"), output("30")), one),
        (format!("{}{}", output("30"), output("24")), "refused"),
        (format!("{}1024 24\n", output("30")), "refused"),
        (format!("{}mpirun noticed that process rank 3 with PID 9 on node n exited on signal 9.\n", output("30")), one),
        (format!("{imb}1024 1000 28.0 30.0 29.0\n"), one),
        (format!("{imb}1024 1000 28.0 30.0 29.0\n2048 time-out.\n"), one),
        (format!("{imb}1024 1000 30.0 28.0 29.0\n"), "refused"),
        (format!("{imb}1024 time-out.\n"), "refused"),
        (imb.to_owned(), "refused"),
        (
            "#@nprocs=8\n#@datatype_size_bytes=1\ntest nrep count runtime_sec\nMPI_Bcast 0 1024 0.000030\n".to_owned(),
            one,
        ),
        ("#@nprocs=8\ntest nrep count runtime_sec\nMPI_Bcast 0 1024 0.000030\n".to_owned(), "refused"),
        (
            "#@nprocs=4\n#@datatype_size_bytes=1\ntest nrep count runtime_sec\nMPI_Bcast 0 1024 3e-5\n".to_owned(),
            "4@1024/tuned:6/0/0/0=30.00",
        ),
        (
            "# nThread 1\n#  size count type redop root time algbw busbw #wrong\n 8 2 float sum -1 12.48 0.0 0.0 0\n"
                .to_owned(),
            "refused",
        ),
        ("#p0 p1 dist len ave time (us) rate\n 0 1 1 1024 30 34\n".to_owned(), "refused"),
    ] {
        assert_eq!(outcome(options(), "bcast-np8-a6.log", &text), expected, "{text}");
    }
}

#[test]
fn versions_in_names_are_compared_with_the_release() {
    let csv = "collective,algorithm_id,np,message_bytes,avg_us\nbcast,0,4,1024,5\n";
    for (name, is_used) in [
        ("openmpi-5.0.3.csv", true),
        ("openmpi-5.0.3/table.csv", true),
        ("openmpi-4.1.5.csv", false),
        ("openmpi_4.1.5/np4/table.csv", false),
        ("sweep_openmpi-4.1.5.csv", false),
        ("ompi-4.1/table.csv", false),
        ("sweep-4.1.csv", true),
        ("openmpi/table.csv", true),
    ] {
        assert_eq!(outcome(options(), name, csv) != "refused", is_used, "{name}");
    }
}

/// Without a line end in front of a banner, times of allreduce became those of bcast.
#[test]
fn an_output_that_begins_within_a_line_is_not_taken_for_the_one_in_front() {
    let first = "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n64 4.44\n262144 259.24";
    let rows = "# Size       Avg Latency(us)\n64 5.32\n262144 311.08\n";
    for banner in [
        "# OSU MPI Allreduce Latency Test v7.4",
        "  # OSU MPI Allreduce Latency Test v7.4",
        "# MPI Allreduce Latency Test",
        "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part",
        "# Benchmarking Allreduce",
        "# #processes = 32",
        " [n1] a warning # OSU MPI Allreduce Latency Test v7.4",
        "# Size       Avg Latency(us)",
        " # Size       Max Latency(ms)",
        "# bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]",
    ] {
        assert_eq!(outcome(options(), "np16-a3.txt", &format!("{first}{banner}\n{rows}")), "refused", "{banner}");
    }
    let whole = outcome(options(), "bcast-np16-a3.txt", &format!("### OSU MPI Broadcast: a heading\n{first}\n"));
    assert_eq!(whole, "16@64/tuned:3/0/0/0=4.44 16@262144/tuned:3/0/0/0=259.24");
}

/// Settings in front of an output under which something else ran than its name says.
#[test]
fn settings_that_contradict_the_candidate_refuse() {
    let output = "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n64 4.44\n262144 259.24\n";
    let own = "16@64/builtin=4.44 16@262144/builtin=259.24";
    let forced = "16@64/tuned:3/0/0/0=4.44 16@262144/tuned:3/0/0/0=259.24";
    let (dynamic, rules) = ("--mca coll_tuned_use_dynamic_rules", "--mca coll_tuned_dynamic_rules_filename /x/r.conf");
    let segments = "--mca coll_tuned_bcast_algorithm_segmentsize";
    let forcing = "--mca coll_tuned_bcast_algorithm 3";
    for (settings, of_default, of_forced) in [
        ("--mca coll ^tuned", "refused", "refused"),
        ("--mca coll basic,libnbc,self", "refused", "refused"),
        ("--mca coll '^hcoll,tuned'", "refused", "refused"),
        ("--mca coll ^hcoll", own, forced),
        ("--mca coll tuned,basic,libnbc,self", own, forced),
        ("-x OMPI_MCA_coll=^tuned", "refused", "refused"),
        ("--mca coll_tuned_priority 0", "refused", "refused"),
        ("--mca coll_hcoll_priority 100", "refused", "refused"),
        ("--mca coll_adapt_priority 100", "refused", "refused"),
        ("--mca coll_tuned_priority 101 --mca coll_adapt_priority 100", own, forced),
        ("--mca coll_sync_priority 100", own, forced),
        (rules, "refused", forced),
        (&format!("{dynamic} 1 {rules}"), "refused", forced),
        (&format!("{dynamic} 0 {rules}"), own, "refused"),
        (&format!("{dynamic} 0"), own, "refused"),
        (&format!("{dynamic} 1"), own, forced),
        (&format!("{segments} 8192"), own, "refused"),
        (&format!("{segments} 0"), own, forced),
        ("--mca coll_tuned_bcast_algorithm_chain_fanout 2", own, "refused"),
        ("--mca coll_tuned_reduce_algorithm_chain_fanout 2", own, forced),
    ] {
        let text = format!("mpirun -np 16 {settings} ./osu_bcast\n{output}");
        assert_eq!(outcome(options(), "bcast-np16-a0.txt", &text), of_default, "{settings}");
        assert_eq!(outcome(options(), "bcast-np16-a3.txt", &text), of_forced, "{settings}");
    }
    // Open MPI ignores a forced algorithm without `use_dynamic_rules`.
    for (settings, is_doubted) in [("", false), (forcing, true), (&format!("{dynamic} 1 {forcing}"), false)] {
        let text = format!("mpirun -np 16 {settings} ./osu_bcast\n{output}");
        let import = import("bcast-np16-a3.txt", text);
        assert_eq!(found(&import).contains(&(FindingCode::NotForced, Some(1))), is_doubted, "{settings}");
        assert_eq!(times(&import), forced);
    }
    let text = format!("mpirun -np 16 {dynamic} 0 {forcing} ./osu_bcast\n{output}");
    assert_eq!(outcome(options(), "bcast-np16-a0.txt", &text), own);
    assert_eq!(outcome(options(), "bcast-np16-a3.txt", &text), "refused");
    // Settings count wherever they stand.
    for exported in [
        "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\nexport OMPI_MCA_coll_tuned_bcast_algorithm=3\n",
        "export OMPI_MCA_coll_tuned_priority=101\nexport OMPI_MCA_coll_adapt_priority=100\n",
    ] {
        let import = import("bcast-np16-a3.txt", format!("{exported}{output}"));
        assert!(!found(&import).iter().any(|(code, _)| *code == FindingCode::NotForced), "{exported}");
    }
    let exported =
        "export OMPI_MCA_coll_tuned_use_dynamic_rules=1\nexport OMPI_MCA_coll_tuned_dynamic_rules_filename=/r";
    assert_eq!(outcome(options(), "bcast-np16-a0.txt", &format!("{exported}\n{output}")), "refused");
    for ranks in [
        "+ srun -N 4 --ntasks-per-node=8 ./osu_bcast",
        "mpirun --host n1:32,n2:32 --map-by ppr:16:node ./osu_bcast",
        "Running with 32 processes on 2 nodes",
        "=== 32 ranks, binomial ===",
        "[32 ranks]",
        "bcast on 32 ranks of a cluster: on 32 ranks.",
        "4 nodes with 8 processes per node",
        "Nodes: 4, ranks per node: 8",
        "2 nodes x 16 ranks",
        "mpirun -np 16 --host n1,n2 --map-by ppr:16:node ./osu_bcast",
        "mpirun -N 16 --host n1,n2 ./osu_bcast",
        "#SBATCH -N 4\n#SBATCH --ntasks-per-node=8",
        "#SBATCH --ntasks-per-node 8\n#SBATCH --nodes=4",
        "#PBS -l select=4:ncpus=8:mpiprocs=8",
        "SLURM_NNODES=4\nSLURM_NTASKS_PER_NODE=8",
    ] {
        assert_eq!(outcome(options(), "bcast-np16-a3.txt", &format!("{ranks}\n{output}")), "refused", "{ranks}");
    }
    for ranks in [
        "#SBATCH -N 4\n#SBATCH --ntasks-per-node=8\nmpirun -np 16 ./osu_bcast",
        "#SBATCH --ntasks-per-node=8\nmpirun -np 16 --host n1,n2,n3,n4 ./osu_bcast",
        "2 nodes with 8 processes per node",
        "srun -N 4 -n 16 --ntasks-per-node=8 ./osu_bcast",
    ] {
        assert_eq!(outcome(options(), "bcast-np16-a3.txt", &format!("{ranks}\n{output}")), forced, "{ranks}");
    }
}

/// One path has one number of ranks, and one algorithm.
#[test]
fn paths_that_contradict_themselves_are_not_believed() {
    let csv = "collective,size,avg_us\nbcast,64,5\n";
    for (name, expected) in [
        ("np4/a3/bcast.txt", "4@64/tuned:3/0/0/0=5.00"),
        ("np4/a3/bcast-np4.txt", "4@64/tuned:3/0/0/0=5.00"),
        ("np4/a3/bcast-pipeline.txt", "4@64/tuned:3/0/0/0=5.00"),
        ("np4/a3/bcast-np8.txt", "refused"),
        ("4ranks/a3/x/bcast-np8.txt", "refused"),
        ("np4/a3/bcast-a5.txt", "refused"),
        ("np4/default/bcast-a3.txt", "refused"),
        ("allreduce/np4/bcast-a3.txt", "refused"),
        ("run1/np4/a3/bcast-run2.txt", "refused"),
    ] {
        assert_eq!(outcome(options(), name, csv), expected, "{name}");
    }
    let facts = Facts { ranks: Some(Ranks(8)), algorithm: Some(CandidateName::Id(3)), ..Facts::default() };
    let options = Options { facts, ..options() };
    assert_eq!(outcome(options, "np4/a5/bcast-np8-a3.txt", csv), "8@64/tuned:3/0/0/0=5.00");
}

/// Rows whose header is missing had sizes for ranks.
#[test]
fn rows_in_another_order_than_their_header_refuse() {
    let rows = |is_swapped: bool, ranks: &[u64], sizes: &[u64]| -> String {
        let cells = ranks.iter().flat_map(|ranks| sizes.iter().map(move |size| (*ranks, *size)));
        let ordered = cells.map(|(ranks, size)| if is_swapped { (size, ranks) } else { (ranks, size) });
        ordered.map(|(first, second)| format!("bcast,3,{first},{second},{}.5\n", first + second)).collect()
    };
    let header = "collective,algorithm_id,comm_size,message_bytes,avg_us\n";
    let sizes = [64, 1024, 16384, 262_144];
    for between in ["", "\n", "\n\n", "# second part\n", "---\n"] {
        let text = |second: String| format!("{header}{}{between}{second}", rows(false, &[16], &sizes));
        let read = |second| outcome(options(), "t.csv", &text(second));
        assert_eq!(read(rows(true, &[32], &sizes)), "refused", "{between}");
        assert_eq!(read(rows(true, &[32, 48], &sizes)), "refused", "{between}");
        assert_eq!(read(rows(false, &[32, 48], &sizes)).matches('@').count(), 12, "{between}");
        assert_eq!(read(rows(false, &[8, 32, 64, 128, 512], &[8])).matches('@').count(), 9, "{between}");
    }
}

/// Behind such lines ranks were sizes and sizes ranks.
#[test]
fn lines_about_the_columns_below_refuse() {
    let rows = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nbcast,3,16,64,4.437\n";
    let refused = |line: &str| outcome(options(), "a.csv", &format!("{rows}{line}\nbcast,3,64,32,5.325\n"));
    assert_eq!(refused("\"collective,algorithm_id,message_bytes,comm_size,avg_latency_us\""), "refused");
    assert_eq!(refused("message_bytes and comm_size are swapped below"), "refused");
    assert_eq!(refused("now comm_size, then message_bytes"), "refused");
    assert_eq!(refused("Terminated"), "16@64/tuned:3/0/0/0=4.44 64@32/tuned:3/0/0/0=5.33");
}

#[test]
fn a_name_and_a_number_of_different_algorithms_refuse() {
    for (algorithm, expected) in [
        ("3,recursive_doubling", "16@64/tuned:3/0/0/0=4.44"),
        ("4,ring", "16@64/tuned:4/0/0/0=4.44"),
        ("3,ring", "refused"),
        ("3,default", "refused"),
        ("0,ring", "refused"),
        ("0,default", "16@64/builtin=4.44"),
        ("3,my_build", "16@64/tuned:3/0/0/0=4.44"),
        ("3,tuned", "16@64/tuned:3/0/0/0=4.44"),
    ] {
        let text = format!(
            "collective,algorithm_id,algorithm,comm_size,message_bytes,avg_latency_us\nallreduce,{algorithm},16,64,4.437\n"
        );
        assert_eq!(outcome(options(), "a.csv", &text), expected, "{algorithm}");
    }
    for (candidate, expected) in [
        ("3,tuned:3/0/0/0", "16@64/tuned:3/0/0/0=4.44"),
        ("0,builtin", "16@64/builtin=4.44"),
        ("3,tuned:3", "16@64/tuned:3/0/0/0=4.44"),
        ("3,tuned:3/0/8192/0", "refused"),
        ("3,tuned:6", "refused"),
        ("3,builtin", "refused"),
    ] {
        let text = format!(
            "collective,algorithm_id,candidate,comm_size,message_bytes,avg_latency_us\nallreduce,{candidate},16,64,4.437\n"
        );
        assert_eq!(outcome(options(), "a.csv", &text), expected, "{candidate}");
    }
}

#[test]
fn comments_that_contradict_a_header_refuse() {
    let header = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n";
    let row = "bcast,3,16,64,4.437\n";
    let read = |comment: &str| {
        let inside = outcome(options(), "a.csv", &format!("{header}{row}{comment}\nbcast,3,32,64,5.325\n"));
        let before = outcome(options(), "a.csv", &format!("{comment}\n{header}{row}"));
        [inside, before]
    };
    for comment in [
        "# times in ms",
        "# Latency is in seconds",
        "# unit: ms",
        "# all timings are ns",
        "# [ms]",
        "# time (s)",
        "# values in milliseconds, medians",
        "# comm_size and message_bytes are swapped",
        "# columns 3 and 4 are interchanged",
    ] {
        assert_eq!(read(comment), ["refused", "refused"], "{comment}");
    }
    for comment in [
        "# times in us",
        "# [us]",
        "# took 3 ms in all",
        "# waited in s1 for a time",
        "# total time (s): 3",
        "# time: 3 s",
    ] {
        let right = ["16@64/tuned:3/0/0/0=4.44 32@64/tuned:3/0/0/0=5.33", "16@64/tuned:3/0/0/0=4.44"];
        assert_eq!(read(comment), right, "{comment}");
    }
    // Sentences without a mark, and outputs of benchmarks.
    assert_eq!(read("times below are in ms")[0], "refused");
    assert_eq!(read("# now message_bytes, then comm_size")[0], "refused");
    assert_eq!(outcome(given(Some(8), Some(3)), "x.txt", &format!("all times in ms\n{}", osu("5.0"))), "refused");
    let second = osu("6.0").replace("1024", "2048");
    let both = |between: &str| outcome(given(Some(8), Some(3)), "x.txt", &format!("{}{between}{second}", osu("5.0")));
    assert_eq!(both("all times in ms\n"), "refused");
    assert_eq!(both("all times in us\n").matches('@').count(), 2);
}

/// Barriers have no size; numbers, sizes and texts in forms that other programs write.
#[test]
fn texts_of_other_programs_are_read_or_named() {
    let barrier = "collective,algorithm_id,comm_size,message_bytes,avg_us\nbarrier,0,16,0,12\nbarrier,4,16,,8\n";
    assert_eq!(outcome(options(), "t.csv", barrier), "16@0/builtin=12.00 16@0/tuned:4/0/0/0=8.00");
    let why = |text: &str| match import_with(options(), &[("bcast-np16-a3.txt", text.as_bytes())]) {
        Err(ImportError::Nothing { findings }) => findings[0].message.clone(),
        other => panic!("{other:?}"),
    };
    for (text, word) in [
        ("# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n64  4,44\n", "decimal point"),
        ("size;avg_us\n64;4,44\n", "decimal point"),
        ("msg_size_kb,avg_us\n64,4.4\n", "message_bytes"),
        ("# OSU MPI Broadcast Latency Test v7.4\n# Size (KiB)      Avg Latency(us)\n0.0625  4.44\n", "message_bytes"),
        ("# OSU MPI Broadcast Latency Test v7.4\n# Size       Bandwidth (MB/s)\n64  14.4\n", "bandwidth"),
        ("# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n64  4.44\n", "bcast"),
    ] {
        assert!(why(text).contains(word), "{}", why(text));
    }
}
