//! What outputs say, against each other and against options and names: the right value or a refusal, never another value.

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
    assert!(matches!(import_with(options(), &files), Err(ImportError::MixedMedians)));
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
