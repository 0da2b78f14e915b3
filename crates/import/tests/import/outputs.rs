//! Outputs of benchmarks against the lines around them, options and names: the right value or a refusal, never another
//! value.

use collrules_import::{Facts, FindingCode, ImportError, Options};
use collrules_record::CandidateName;
use collrules_record::findings::Statistic;
use collrules_record::units::Ranks;
use collrules_rules::Collective;

use crate::support::{A, found, given, import, import_with, options, osu, outcome, times, timings};

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
        (output("30").replace("OSU MPI", "OSU MPI-CUDA"), "refused"),
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
