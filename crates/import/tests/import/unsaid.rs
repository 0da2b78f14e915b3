//! Inputs that gave a wrong value without an error: the right value or a refusal.

use collrules_import::FindingCode;

use crate::support::{found, import, import_with, options, outcome};

const OSU: &str = "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n64 4.44\n";
const HEADER: &str = "collective,algorithm_id,np,message_bytes,avg_us";
const ROWS: [&str; 2] = ["bcast,0,4,1024,30", "bcast,6,4,1024,24"];
const BOTH: &str = "4@1024/builtin=30.00 4@1024/tuned:6/0/0/0=24.00";
const DEFAULT: &str = "4@1024/builtin=30.00";

fn table(column: &str, values: [&str; 2]) -> String {
    format!("{HEADER},{column}\n{},{}\n{},{}\n", ROWS[0], values[0], ROWS[1], values[1])
}

/// The ranks that a line in front of an output supplies, and whether a name with these ranks is believed.
fn check_ranks(line: &str, ranks: Option<u32>) {
    let expected = |ranks: u32| format!("{ranks}@64/tuned:3/0/0/0=4.44");
    let text = format!("{line}\n{OSU}");
    assert_eq!(outcome(options(), "bcast-a3.txt", &text), ranks.map_or("refused".to_owned(), expected), "{line}");
    if let Some(ranks) = ranks {
        assert_eq!(outcome(options(), &format!("bcast-np{ranks}-a3.txt"), &text), expected(ranks), "{line}");
    }
}

#[test]
fn options_of_a_program_are_not_those_of_its_launcher() {
    for (line, ranks) in [
        ("mpirun ./a -n 100", None),
        ("mpirun ./a -np 100", None),
        ("srun ./a -n 100", None),
        ("mpirun --oversubscribe ./a -n 100", None),
        ("mpirun --mca pml ob1 ./a -n 100", None),
        ("mpirun -np 4 taskset -c 0-3 ./a -n 100", Some(4)),
        ("hostname && mpirun -np 8 ./a -n 100", Some(8)),
        ("mpirun -n 8 ./a -n 100 -c 7", Some(8)),
        ("mpirun -np 4 ./a -c 100", Some(4)),
        ("mpirun -np4 ./a -n 100", Some(4)),
        ("mpirun -np 4 numactl -N 0 ./a", Some(4)),
        ("srun -n 8 ./a -N 4", Some(8)),
        ("mpirun -x OMP_NUM_THREADS=2 -np 8 ./a -n 5", Some(8)),
        ("mpirun -np 2 ./pre -n 3 : -np 6 ./a -n 100", Some(8)),
        ("time mpirun -np 8 ./a -np 3 | tee -a out", Some(8)),
        ("mpirun -np 4 hostname; mpirun -np 4 ./a", Some(4)),
    ] {
        check_ranks(line, ranks);
    }
    for line in ["mpirun ./a -n 100", "srun ./a -n 100", "mpirun --mca pml ob1 ./a -n 100"] {
        assert_eq!(outcome(options(), "bcast-np4-a3.txt", &format!("{line}\n{OSU}")), "4@64/tuned:3/0/0/0=4.44");
    }
    check_ranks("mpirun -np 4 hostname && mpirun -np 8 ./a", None);
}

#[test]
fn numbers_of_ranks_are_read_to_their_end() {
    for (line, ranks) in [
        ("nranks=1,024", None),
        ("Procs: 1,024", None),
        ("ranks = 1 024", None),
        ("np=1'024", None),
        ("ranks: 2^10", None),
        ("ranks: 2*8", None),
        ("ranks=16+16", None),
        ("ranks=1_024", None),
        ("ranks: 16,32", None),
        ("on 1,024 ranks", None),
        ("[1,024 processes]", None),
        ("mpirun -np 1,024 ./a", None),
        ("mpirun -np 4*8 ./a", None),
        ("number of tasks: 2 x 8", None),
        ("ranks: 8 16 32", None),
        ("ranks: 8-16", None),
        ("ranks: 16.", Some(16)),
        ("ranks: 16, threads: 2", Some(16)),
        ("-N 4 -n 32", Some(32)),
        ("args: -n 32 -N 4", Some(32)),
        ("ranks per communicator: 16", Some(16)),
        ("processes in the job: 16", Some(16)),
        ("started on 16 cores", None),
        ("nodes 4 ppn 8", Some(32)),
        ("P=16", None),
        ("p = 0.05", None),
    ] {
        check_ranks(line, ranks);
        if line != "p = 0.05" {
            assert_eq!(outcome(options(), "bcast-np4-a3.txt", &format!("{line}\n{OSU}")), "refused", "{line}");
        }
    }
}

/// The maximum of one process became that of all.
#[test]
fn a_process_has_one_time_of_a_call() {
    let rows = |processes: [u32; 2]| {
        let [first, second] = processes;
        format!("{HEADER},rank\nbcast,0,2,8,20,{first}\nbcast,0,2,8,30,{second}\nbcast,6,2,8,24,0\nbcast,6,2,8,12,1\n")
    };
    for (processes, expected) in [
        ([0, 1], "2@8/builtin=30.00 2@8/tuned:6/0/0/0=24.00"),
        ([1, 0], "2@8/builtin=30.00 2@8/tuned:6/0/0/0=24.00"),
        ([1, 2], "2@8/builtin=30.00 2@8/tuned:6/0/0/0=24.00"),
        ([0, 0], "refused"),
        ([0, 5], "refused"),
    ] {
        assert_eq!(outcome(options(), "t.csv", &rows(processes)), expected, "{processes:?}");
    }
    let six = import("t.csv", rows([0, 1]).replace("24,0", "24,1"));
    assert_eq!(found(&six), [(FindingCode::BadRow, Some(4))]);
    assert_eq!(six.findings[0].timings, 2);
}

/// The first row alone was compared.
#[test]
fn libraries_components_and_statistics_of_all_rows_are_compared() {
    for (column, ours, other) in [
        ("library", "ompi", "mpich"),
        ("mpi", "Open MPI 5.0.3", "MVAPICH2 2.3.7"),
        ("mpi", "openmpi", "Intel MPI 2021.6"),
        ("mpi_library", "openmpi", "impi"),
        ("implementation", "openmpi-5.0.3", "mpich-4.1"),
        ("library", "open_mpi", "nccl"),
        ("ompi_version", "5.0.3", "4.1.5"),
        ("version", "v5.0.3", "4.1.5"),
        ("mpi_version", "Open MPI v5.0.3", "Open MPI 4.1.5"),
        ("component", "tuned", "han"),
        ("coll_component", "tuned", "basic"),
        ("statistic", "mean", "p99"),
        ("stat", "avg", "min"),
        ("aggregation", "median", "max"),
        ("statistic", "mean over ranks", "99th percentile"),
        ("reduction", "mean", "max"),
        ("quantity", "average time", "p95"),
        ("stack", "openmpi", "hpe-mpt"),
        ("collective_component", "tuned", "han"),
    ] {
        assert_eq!(outcome(options(), "t.csv", &table(column, [ours; 2])), BOTH, "{column}: {ours}");
        assert_eq!(outcome(options(), "t.csv", &table(column, [other; 2])), "refused", "{column}: {other}");
        // Of other sizes, so that the columns of no comparison differ.
        let later = format!("bcast,0,4,2048,40,{other}\nbcast,6,4,2048,34,{other}\n");
        let text = table(column, [ours; 2]) + &later;
        assert_eq!(outcome(options(), "t.csv", &text), "refused", "{column}: {ours}, {other}");
    }
}

/// A line between two outputs was taken for one in front of the second.
#[test]
fn ranks_belong_to_an_output_if_each_has_its_own_in_front() {
    let output = |name: &str, time: &str| OSU.replace("Broadcast", name).replace("4.44", time);
    let (first, second) = (output("Broadcast", "1.0"), output("Broadcast", "2.0"));
    let value = |ranks: u32, time: &str| format!("{ranks}@64/tuned:3/0/0/0={time}");
    let file = |text: String| outcome(options(), "bcast-a3.txt", &text);
    for [of_first, of_second] in [["np 16", "np 32"], ["16 MPI ranks", "32 MPI ranks"], ["16 procs", "32 procs"]] {
        let in_front = format!("{of_first}\n{first}{of_second}\n{second}");
        assert_eq!(file(in_front), format!("{} {}", value(16, "1.00"), value(32, "2.00")), "{of_first}");
        assert_eq!(file(format!("{first}{of_first}\n{second}{of_second}\n")), "refused", "{of_first}");
    }
    // Ranks of a command that are not understood are not those of the one before it.
    assert_eq!(file(format!("mpirun -np 4 ./a\n{first}mpirun -np $N ./a\n{second}")), "refused");
    let known = format!("mpirun -np 4 ./a\n{first}32 procs\n{second}");
    assert_eq!(outcome(options(), "bcast-np4-a3.txt", &known), "refused");
}

#[test]
fn lines_are_compared_with_what_is_assumed() {
    let text = |line: &str| format!("{line}\n{HEADER}\n{}\n{}\n", ROWS[0], ROWS[1]);
    for line in [
        "# size in KiB",
        "# message sizes in kilobytes",
        "# size = number of doubles",
        "# best of 5",
        "# minimum of 10 runs",
        "# 99th percentile latency",
        "# rank 0 only",
        "# times relative to the default",
        "# component: han",
        "# buffers in GPU memory",
        "# columns: collective, algorithm_id, message_bytes, np, avg_us",
    ] {
        assert_eq!(outcome(options(), "t.csv", &text(line)), "refused", "{line}");
    }
    for line in
        ["# sizes from 1 KB to 1 MB", "# sizes in bytes", "# mean over 1000 calls", "# with coll/tuned", "# a note"]
    {
        assert_eq!(outcome(options(), "t.csv", &text(line)), BOTH, "{line}");
    }
    let table = |line: &str| format!("{line}\nalg,np,size,us_mean\n0,4,1024,30\n6,4,1024,24\n");
    for line in ["# MPI_Allreduce", "# allreduce", "# Operation: MPI_Allreduce", "# mpirun -np 4 ./osu_allreduce"] {
        assert_eq!(outcome(options(), "bcast.csv", &table(line)), "refused", "{line}");
        assert_eq!(
            outcome(options(), "bcast.csv", &table(&line.to_lowercase().replace("allreduce", "bcast"))),
            BOTH,
            "{line}"
        );
    }
}

#[test]
fn columns_that_are_not_read_are_compared_like_lines() {
    for (column, other) in [
        ("unit", "ms"),
        ("time_unit", "ms"),
        ("size_unit", "KiB"),
        ("type", "nonblocking"),
        ("memory", "cuda"),
        ("mca", "coll ^tuned"),
    ] {
        assert_eq!(outcome(options(), "t.csv", &table(column, [other; 2])), "refused", "{column}: {other}");
    }
    let nodes = "collective,algorithm_id,nodes,ppn,size,avg_us\nbcast,0,4,16,1024,30\nbcast,6,4,16,1024,24\n";
    assert_eq!(outcome(options(), "np16.csv", nodes), "refused");
    // Of the calls of a row.
    for (column, value) in [("max_us", "20"), ("min_us", "40")] {
        assert_eq!(outcome(options(), "t.csv", &table(column, [value; 2])), "refused", "{column}");
    }
}

#[test]
fn lines_name_other_libraries() {
    for line in ["HPE MPT 2.27", "# Platform MPI 9.1", "module load mpt/2.27", "MS-MPI 10.1", "Cray MPICH 8.1"] {
        assert_eq!(outcome(options(), "bcast-np4-a3.txt", &format!("{line}\n{OSU}")), "refused", "{line}");
    }
}

#[test]
fn parameters_of_algorithms_are_known_by_a_word() {
    for column in [
        "algorithm_segmentsize",
        "segsize_bytes",
        "segment",
        "seg",
        "segments",
        "segment_kib",
        "coll_tuned_bcast_algorithm_segmentsize",
        "bcast_segment_size",
        "tree_fanout",
        "chain_fanout",
        "algorithm_max_requests",
        "radix",
    ] {
        let read = |values| outcome(options(), "t.csv", &table(column, values));
        assert_eq!([read(["0", "0"]), read(["", "0"])], [BOTH, BOTH], "{column}");
        assert_eq!(read(["0", "8192"]), DEFAULT, "{column}");
        assert_eq!(read(["8192", "8192"]), "refused", "{column}");
    }
}

#[test]
fn rows_that_are_marked_as_wrong_are_left_out() {
    for (column, good, bad) in [
        ("valid", "1", "0"),
        ("valid", "yes", "no"),
        ("passed", "true", "false"),
        ("ok", "1", "0"),
        ("correct", "True", "0"),
        ("success", "1", ""),
        ("errors", "0", "12"),
        ("n_errors", "0", "1"),
        ("error_count", "0", "3"),
        ("failed", "0", "1"),
        ("invalid", "false", "true"),
        ("mismatches", "0", "5"),
        ("status", "ok", "failed"),
        // Of some programs 0 is good, of others 1.
        ("status", "ok", "0"),
        ("check", "passed", "1"),
    ] {
        let read = |values| outcome(options(), "t.csv", &table(column, values));
        assert_eq!(read([good; 2]), BOTH, "{column}: {good}");
        assert_eq!(read([good, bad]), DEFAULT, "{column}: {bad}");
        assert_eq!(read([bad; 2]), "refused", "{column}: {bad}");
    }
}

/// The first of two rows on a line vanished.
#[test]
fn carriage_returns_end_lines() {
    let [first, second] = ROWS;
    for text in [
        format!("{HEADER}\n{first}\r{second}\n"),
        format!("{HEADER}\n\r{first}\n\r{second}\n"),
        format!("{HEADER}\r{first}\n{second}\n"),
        format!("{HEADER}\r\n{first}\r\r\n{second}\r\n"),
        format!("{HEADER}\r{first}\r{second}\r"),
    ] {
        assert_eq!(outcome(options(), "t.csv", &text), BOTH, "{text:?}");
    }
}

#[test]
fn units_that_lines_name_are_compared() {
    for line in [
        "# now in milliseconds",
        ",,,,ms",
        "-,-,-,B,ms",
        "\"\",\"\",\"\",\"\",\"ms\"",
        "unit,,,,ms",
        "# ms from here on",
        "# in ms",
        "; in ms",
        "# switch to ns",
        "# avg [ms]",
        "# avg_us is really ms",
        "# ms instead of us",
        "# unit ms",
        "# header in ms",
        "# note: ms",
        "# Milli-seconds",
        "# columns: -,-,-,bytes,ms",
    ] {
        for text in [
            format!("{line}\n{HEADER}\n{}\n", ROWS.join("\n")),
            format!("{HEADER}\n{line}\n{}\n", ROWS.join("\n")),
            format!("{HEADER}\n{}\n", ROWS.join(&format!("\n{line}\n"))),
        ] {
            // A line of fields in front of the header makes it none.
            assert_eq!(outcome(options(), "t.csv", &text), "refused", "{text}");
        }
    }
    for line in [
        "# now in microseconds",
        "# warmup took 3 ms",
        "# timeout 5 s",
        "# 2 ms of jitter",
        "# node ms-12 in rack 3",
        "# elapsed (ms): 12",
        "# rate in Mbytes/sec",
        "# second part",
    ] {
        let text = format!("{HEADER}\n{}\n", ROWS.join(&format!("\n{line}\n")));
        assert_eq!(outcome(options(), "t.csv", &text), BOTH, "{line}");
    }
}

#[test]
fn statements_are_read_in_other_words() {
    for (line, is_used) in [
        ("world size is 16", false),
        ("world size 16", false),
        ("np 16", false),
        ("ranks are 16", false),
        ("ntasks 16", false),
        ("16-rank run", false),
        ("32ranks", false),
        ("4x8 ranks", false),
        ("run with 16 ranks total", false),
        ("size of MPI_COMM_WORLD: 16", false),
        ("8 per node on 4 nodes", false),
        ("4 nodes, 8 ranks each", false),
        ("4 nodes * 8", false),
        ("procs/node: 8, nodes: 4", false),
        ("8 ppn, 4 nodes", false),
        ("mpirun -ppn 16 -hosts a,b ./a", false),
        ("rank count: 16", false),
        ("Number of MPI tasks 16", false),
        ("mpirun --map-by ppr:8:socket ./a", false),
        ("bcast_algorithm=4", false),
        ("bcast_algorithm 4", false),
        ("algorithm is 4", false),
        ("using algorithm chain", false),
        ("Intel MPI 2021.6", false),
        ("module load intel-mpi", false),
        ("module load impi/2021.6", false),
        ("mpiexec.hydra -n 4 ./a", false),
        ("export I_MPI_ADJUST_BCAST=3", false),
        ("MV2_BCAST=1", false),
        ("NCCL version 2.18", false),
        ("np 4", true),
        ("ppn=2 nodes=2", true),
        ("world size is 4", true),
        ("processes 2 to 5 were bound", true),
        ("rank 16 is on node 3", true),
        ("bcast_algorithm=3", true),
        ("allreduce_algorithm=4", true),
        ("mpirun -np 4 --map-by ppr:8:socket ./a", true),
        ("loading intel compiler 2021.6", true),
        ("Intel(R) MPI Benchmarks 2021.6 were built", true),
    ] {
        let outcome = outcome(options(), "bcast-np4-a3.txt", &format!("{line}\n{OSU}"));
        assert_eq!(outcome != "refused", is_used, "{line}: {outcome}");
    }
}

#[test]
fn orders_of_columns_that_lines_tell_are_compared() {
    for line in [
        "# swapped columns",
        "# np <-> message_bytes",
        "# fields reversed",
        "# swap columns 3 and 4",
        "# size comes before np here",
        "# ranks and bytes have traded places",
        "# inverted columns",
        "# columns 3,4 are the other way round",
        "# message size first, then ranks",
        "# message_bytes before np",
        "# order: message_bytes, np",
        "# the third column is message_bytes, the fourth np",
        "# columns: collective algorithm_id message_bytes np avg_us",
    ] {
        let inside = format!("{HEADER}\n{}\n{line}\nbcast,6,1024,4,24\n", ROWS[0]);
        assert_eq!(outcome(options(), "t.csv", &inside), "refused", "{line}");
        assert_eq!(outcome(options(), "t.csv", &format!("{line}\n{inside}")), "refused", "{line}");
    }
    let text = |line: &str| format!("{line}\n{HEADER}\n{}\n", ROWS.join("\n"));
    for line in ["# columns: collective algorithm_id np message_bytes avg_us", "# size in bytes, mean over all ranks"] {
        assert_eq!(outcome(options(), "t.csv", &text(line)), BOTH, "{line}");
    }
}

/// A comment about the origin of a table made its sizes those of a benchmark, or passed over its rows.
#[test]
fn a_table_that_names_its_collective_is_of_no_benchmark() {
    for banner in [
        "# OSU results of last week",
        "# OSU MPI-CUDA and other tests",
        "# collrules table",
        "# Benchmarking allreduce and others",
        "#    Intel(R) MPI Benchmarks 2018, MPI-1 part",
    ] {
        let text = format!("{banner}\n{HEADER}\n{}\n", ROWS.join("\n"));
        let import = import("t.csv", &text);
        assert_eq!((crate::support::times(&import), found(&import)), (BOTH.to_owned(), vec![]), "{banner}");
        let reduce = text.replace("bcast", "reduce_scatter").replace("message_bytes", "size");
        assert_eq!(outcome(options(), "t.csv", &reduce), "refused", "{banner}");
    }
    // ReproMPI's sizes are those of one rank; its header has a column `test`, and no ranks.
    for header in ["# collective   algorithm_id   np   size   avg_us", "# op   alg   ranks   bytes   time_us"] {
        let text = |collective: &str| format!("{header}\n{collective} 0 16 1024 30\n");
        assert_eq!(outcome(options(), "t.txt", &text("reduce_scatter")), "refused", "{header}");
        assert_eq!(outcome(options(), "t.txt", &text("bcast")), "16@1024/builtin=30.00", "{header}");
    }
}

#[test]
fn empty_fields_at_the_end_of_a_line_are_none() {
    let rows = ROWS.join(",,,\n");
    assert_eq!(outcome(options(), "t.csv", &format!("{HEADER}\n{rows},\n")), BOTH);
    assert_eq!(outcome(options(), "t.csv", &format!("{HEADER},,\n{rows},,x\n")), DEFAULT);
}

#[test]
fn parts_of_a_path_with_other_ranks_are_not_believed() {
    for name in ["np4-x/8ranks/bcast-a3.txt", "np4/bcast-np8-fast/bcast-a3.txt"] {
        assert_eq!(outcome(options(), name, OSU), "refused", "{name}");
    }
}

/// The message says what contradicts the rows, next to the line.
#[test]
fn a_contradiction_has_the_stated_value() {
    for (line, value) in [("ranks: 1,024", "(1,024)"), ("Nodes: 4, PPN: 8", "(32)"), ("bcast_algorithm=4", "(4)")] {
        let error = import_with(options(), &[("bcast-np4-a3.txt", format!("{line}\n{OSU}").as_bytes())]).unwrap_err();
        assert!(error.to_string().contains(value), "{error}");
    }
}

/// What is not understood may be what a comparison is about.
#[test]
fn unknown_columns_with_several_values_refuse_the_table() {
    for column in ["chunk", "tree degree", "nerrors", "timed_out", "Check OK", "crc_ok", "data_errors"] {
        let read = |values| outcome(options(), "t.csv", &table(column, values));
        assert_eq!([read(["0", "0"]), read(["0", "1"])], [BOTH, "refused"], "{column}");
        // Of other sizes as well.
        let text = table(column, ["0", "0"]) + "bcast,0,4,2048,40,1\nbcast,6,4,2048,34,1\n";
        assert_eq!(outcome(options(), "t.csv", &text), "refused", "{column}");
    }
    for column in ["bandwidth_mbs", "timestamp", "note", "job_id", "speedup"] {
        assert_eq!(outcome(options(), "t.csv", &table(column, ["1", "2"])), BOTH, "{column}");
    }
    for (column, value) in [("mpi_flavour", "mpich"), ("runtime_used", "mvapich2"), ("built_with", "Open MPI 4.1.6")] {
        assert_eq!(outcome(options(), "t.csv", &table(column, [value; 2])), "refused", "{column}");
    }
}

/// Only rows with the same collective and ranks are compared, so that what these tell splits no comparison.
#[test]
fn columns_that_ranks_or_collectives_tell_are_no_factors() {
    let rows = |nodes: [u32; 4]| {
        let [a, b, c, d] = nodes;
        format!(
            "{HEADER},blades\nbcast,0,4,1024,30,{a}\nbcast,6,4,1024,24,{b}\nbcast,0,8,1024,60,{c}\nbcast,6,8,1024,50,{d}\n"
        )
    };
    let read = format!("{BOTH} 8@1024/builtin=60.00 8@1024/tuned:6/0/0/0=50.00");
    assert_eq!(outcome(options(), "t.csv", &rows([1, 1, 2, 2])), read);
    assert_eq!(outcome(options(), "t.csv", &rows([1, 2, 2, 2])), "refused");
}

/// A word says the opposite for a validation and for an error.
#[test]
fn a_validation_that_is_false_has_failed() {
    assert_eq!(outcome(options(), "t.csv", &table("validation", ["True", "False"])), DEFAULT);
    assert_eq!(outcome(options(), "t.csv", &table("errorcode", ["False", "True"])), DEFAULT);
}
