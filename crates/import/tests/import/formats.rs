//! The text of each benchmark, as it is printed and as it gets mixed up.

use collrules_import::{Facts, FindingCode, Import, ImportError, Options};
use collrules_record::findings::Statistic;
use collrules_record::{CandidateName, Ranks};
use collrules_rules::Release;

use crate::support::{data, found, import, import_with, options, timings};

fn osu(name: &str) -> Vec<u8> {
    data(&format!("osu-output/{name}"))
}

fn found_codes(import: &Import) -> Vec<FindingCode> {
    import.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn osu_text_of_every_shape() {
    let plain = import("bcast-np4-a0.txt", osu("bcast-np4.txt"));
    assert_eq!((plain.timings.len(), plain.statistic), (17, Statistic::RankAverage));
    assert_eq!(timings(&plain)[9], "bcast 4 512 builtin 0.0 4.38 -");
    assert_eq!(found(&plain), []);

    let full = import("bcast-np4-a6.txt", osu("bcast-np4-full.txt"));
    assert_eq!((full.timings.len(), full.statistic), (17, Statistic::SlowestRankSummary));
    assert_eq!(timings(&full)[16], "bcast 4 65536 tuned:6/0/0/0 0.0 10.52 21.70");

    let percentiles = import("bcast-np4-a6.txt", osu("bcast-np4-full-percentiles.txt"));
    assert_eq!(timings(&percentiles)[12], "bcast 4 4096 tuned:6/0/0/0 0.0 8.64 13.24");

    let barrier = import("np4/default.txt", osu("barrier-np4.txt"));
    assert_eq!(timings(&barrier), ["barrier 4 0 builtin 0.0 10.54 -"]);
    let barrier = import("np4/a3.txt", osu("barrier-np4-full.txt"));
    assert_eq!(timings(&barrier), ["barrier 4 0 tuned:3/0/0/0 0.0 8.67 8.67"]);

    let block = import("np4/default.txt", osu("reduce_scatter_block-np4.txt"));
    assert_eq!(timings(&block)[0], "reduce_scatter_block 4 1 builtin 0.0 4.96 -", "OSU prints the whole vector");
    assert_eq!(import("scatter-np4-binomial", osu("scatter-np4.txt")).timings.len(), 17);
}

/// OSU's header with a body of commas, as other tools write it, was read as a row of too few values.
#[test]
fn commas_under_the_header_of_osu_are_read() {
    let blanks = String::from_utf8(osu("bcast-np4-full.txt")).unwrap();
    let with_commas = |is_changed: fn(&str) -> bool, mark: &str| -> String {
        let line = |line: &str| match is_changed(line) {
            true => {
                let names = line.trim_start_matches(['#', ' ']).split("  ");
                let fields: Vec<&str> = names.map(str::trim).filter(|field| !field.is_empty()).collect();
                format!("{mark}{}\n", fields.join(","))
            }
            false => format!("{line}\n"),
        };
        blanks.lines().map(line).collect()
    };
    let body = |line: &str| line.starts_with(|sign: char| sign.is_ascii_digit());
    let all = |line: &str| line.starts_with(|sign: char| sign.is_ascii_digit()) || line.starts_with("# Size");
    let expected = timings(&import("bcast-np4-a6.txt", blanks.clone().into_bytes()));
    assert!(expected.len() > 10);
    for text in [with_commas(body, ""), with_commas(all, "")] {
        assert_ne!(text, blanks);
        let imported = import("bcast-np4-a6.txt", text.into_bytes());
        assert_eq!(timings(&imported), expected);
    }
}

#[test]
fn the_first_of_several_datatypes_is_taken() {
    let import = import("allreduce-np4-a0.txt", osu("allreduce-np4-all-types.txt"));
    assert_eq!(import.timings.len(), 9);
    assert_eq!(timings(&import)[0], "allreduce 4 4 builtin 0.0 17.47 -");
    assert_eq!(found(&import), [(FindingCode::PassedOver, Some(14))]);
    assert_eq!(import.findings[0].timings, 18, "{:#?}", import.findings);
}

#[test]
fn rows_that_failed_validation_are_left_out() {
    let import = import("allreduce-np4-a0.txt", osu("allreduce-np4-validated.txt"));
    assert_eq!(timings(&import), ["allreduce 4 4 builtin 0.0 17.44 -", "allreduce 4 8 builtin 0.0 21.93 -"]);
    assert_eq!(found(&import), [(FindingCode::ValidationFailed, Some(7)), (FindingCode::ValidationFailed, Some(8))]);
}

#[test]
fn checks_that_passed_and_counts_of_calls_take_no_row_away() {
    let header = "collective,algorithm_id,np,count,message_bytes,time_us,validation\n";
    let import = import(
        "a.csv",
        format!(
            "{header}allreduce,0,16,100,1024,30,passed\nallreduce,3,16,100,1024,24,OK\nallreduce,4,16,100,1024,20,failed\n"
        ),
    );
    assert_eq!(
        timings(&import),
        ["allreduce 16 1024 builtin 0.0 30.00 -", "allreduce 16 1024 tuned:3/0/0/0 0.0 24.00 -"]
    );
    assert_eq!(found(&import), [(FindingCode::ValidationFailed, Some(4))]);
}

#[test]
fn warnings_in_between_are_reported_and_passed_over() {
    let text = "--------\nWARNING: There was an error initializing an OpenFabrics device.\n--------\n\
                # OSU MPI Broadcast Latency Test v5.6.2\n# Size       Avg Latency(us)\n1      1.50\n\
                [node1:123] 3 more processes have sent help message help-mpi-btl.txt\n\
                2 more processes have sent help message help-mpi-btl.txt\n2      1.60\n4      1.70 5\n8      nan\n16\n";
    let import = import("bcast_np8_alg1.out", text);
    assert_eq!(timings(&import).len(), 2);
    assert_eq!(
        found(&import),
        [
            (FindingCode::StrayLines, Some(1)),
            (FindingCode::BadRow, Some(10)),
            (FindingCode::BadTime, Some(11)),
            (FindingCode::BadRow, Some(12)),
        ]
    );
    assert!(import.findings[0].message.contains("5 lines of the file"), "{}", import.findings[0]);
}

/// They may be of another library or layout: another launch is one that is called so.
#[test]
fn several_outputs_of_the_same_thing_in_a_file_are_not_used() {
    let output = |time: &str| format!("# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)\n8  {time}\n");
    let error =
        import_with(options(), &[("bcast-np4-a0.txt", (output("1.0") + &output("2.0")).as_bytes())]).unwrap_err();
    let ImportError::Nothing { findings } = error else { panic!("{error}") };
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.line)).collect();
    assert_eq!(found, [(FindingCode::Contradiction, Some(3)), (FindingCode::Contradiction, Some(6))]);
    assert!(findings[0].message.starts_with("lines 3 and 6 contradict"), "{}", findings[0]);
    // Another collective in between is another output.
    let both = String::from_utf8(osu("bcast-np4.txt")).unwrap()
        + &String::from_utf8(osu("scatter-np4.txt")).unwrap()
        + "# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n1  2\n";
    let both = import("np4-a0.txt", both);
    assert_eq!(both.timings.len(), 34);
    assert_eq!(found_codes(&both), [FindingCode::PassedOver]);
}

#[test]
fn what_nothing_tells_has_an_option() {
    let error = import_with(options(), &[("output.txt", &osu("bcast-np4.txt"))]).unwrap_err().to_string();
    for option in ["--np N", "--algorithm ID or NAME", "bcast-np4-a3.txt"] {
        assert!(error.contains(option), "{error}");
    }
    assert!(!error.contains("--collective"), "the banner tells it: {error}");
    let headless = "# Size       Avg Latency(us)\n1      1.50\n";
    let error = import_with(options(), &[("np4-a0.txt", headless.as_bytes())]).unwrap_err().to_string();
    assert!(error.contains("--collective NAME"), "{error}");
}

/// The fault behind the scatter tables of the ORFEO report, where the names still tell: nothing of such a name is
/// believed.
#[test]
fn the_content_is_believed_and_a_name_that_contradicts_it_is_not() {
    let file = [("scatter-np4-a0.txt", &osu("bcast-np4.txt")[..])];
    let error = import_with(options(), &file).unwrap_err().to_string();
    assert!(error.contains("--np N") && error.contains("--algorithm ID"), "{error}");
    let facts = Facts { ranks: Some(Ranks(4)), algorithm: Some(CandidateName::Id(0)), ..Facts::default() };
    let imported = import_with(Options { facts, ..options() }, &file).unwrap();
    assert_eq!(timings(&imported)[9], "bcast 4 512 builtin 0.0 4.38 -");
    assert_eq!(found(&imported), [(FindingCode::PassedOver, None)]);
    // Of other facts only the contradicting one is dropped.
    let facts = Facts { ranks: Some(Ranks(8)), algorithm: Some(CandidateName::Id(6)), ..Facts::default() };
    let imported = import_with(Options { facts, ..options() }, &[("bcast-np4-linear.txt", &osu("bcast-np4.txt"))]);
    assert_eq!(timings(&imported.unwrap())[9], "bcast 8 512 tuned:6/0/0/0 0.0 4.38 -");
}

const IMB: &str = "\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#----------------------------------------------------------------
# Minimum message length in bytes:   0

#-----------------------------------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#-----------------------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.50         0.00

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.00         0.00         0.00
            1         1000         0.61         0.75         0.68
            2         1000         0.62         0.77         0.70

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            1         1000         0.81         1.75         1.28
            2         1000         time-out.

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 4
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         1.11         1.33         1.22


# All processes entering MPI_Finalize
";

#[test]
fn imb_blocks_carry_their_ranks() {
    let imported = import("imb-a0.txt", IMB);
    assert_eq!(imported.statistic, Statistic::SlowestRankSummary);
    assert_eq!(
        timings(&imported),
        [
            "barrier 4 0 builtin 0.0 1.22 1.33",
            "bcast 2 1 builtin 0.0 0.68 0.75",
            "bcast 2 2 builtin 0.0 0.70 0.77",
            "bcast 4 1 builtin 0.0 1.28 1.75",
        ]
    );
    let codes: Vec<FindingCode> = imported.findings.iter().map(|finding| finding.code).collect();
    use FindingCode::{InvalidMeasurement, NoData, PassedOver};
    assert_eq!(codes, [PassedOver, NoData, InvalidMeasurement], "{:#?}", imported.findings);
    let average = Options { time: Some(Statistic::RankAverage), ..options() };
    assert_eq!(import_with(average, &[("imb-a0.txt", IMB.as_bytes())]).unwrap().statistic, Statistic::RankAverage);
}

#[test]
fn imb_defects_are_failures() {
    let text = "# Benchmarking Reduce\n# #processes = 4\n \
                #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects\n\
                4  1000  1.0  2.0  1.5  0.00\n8  1000  1.0  2.0  1.5  0.25\n";
    let import = import("default.txt", text);
    assert_eq!(timings(&import), ["reduce 4 4 builtin 0.0 1.50 2.00"]);
    assert_eq!(found(&import), [(FindingCode::ValidationFailed, Some(5))]);
}

const REPROMPI: &str = "\
#Command-line arguments:  ./bin/mpibenchmark --msizes-list=4,8 --calls-list=MPI_Bcast --nrep=3
#MPI calls:
#\tMPI_Bcast
#@operation=MPI_BOR
#@datatype_size_bytes=4
#@nprocs=8
#@clocktype=local
";

#[test]
fn reprompi_calls_are_rounds() {
    let text = format!(
        "{REPROMPI}       test       nrep        count    runtime_sec\n\
         MPI_Bcast 0 1 0.0000109819\nMPI_Bcast 1 1 0.0000030911\nMPI_Bcast 2 1 0.0000029809\n\
         MPI_Bcast 0 2 0.0000043900\n# Execution time: 0s\n"
    );
    let imported = import("a0.txt", &text);
    assert_eq!(imported.statistic, Statistic::SlowestRankSummary);
    assert_eq!(timings(&imported)[1], "bcast 8 4 builtin 0.1 - 3.09");
    assert_eq!(timings(&imported)[3], "bcast 8 8 builtin 0.0 - 4.39");
}

#[test]
fn reprompi_summaries_and_windows() {
    let summary = format!(
        "{REPROMPI}  test  count total_nrep valid_nrep  mean_sec  median_sec  min_sec  max_sec\n\
         MPI_Bcast 16 10 10 0.0000038767 0.0000027941 0.0000022941 0.0000097081\n"
    );
    assert_eq!(timings(&import("a0.txt", summary)), ["bcast 8 64 builtin 0.0 - 2.79"]);
    let window = format!(
        "{REPROMPI}  test nrep count errorcode runtime_sec\n\
         MPI_Bcast 0 1 0 0.0000020\nMPI_Bcast 1 1 2 0.0000090\n"
    );
    let imported = import("a0.txt", window);
    assert_eq!(timings(&imported), ["bcast 8 4 builtin 0.0 - 2.00"]);
    assert_eq!(found(&imported).iter().map(|found| found.0).collect::<Vec<_>>(), [FindingCode::InvalidMeasurement]);
    // Begins and ends of processes are no times.
    let processes = "#@nprocs=2\n#@datatype_size_bytes=1\nprocess test nrep count loc_tstart_sec loc_tend_sec\n\
                     0 MPI_Bcast 0 8 10.000001 10.000002\n1 MPI_Bcast 0 8 77.000001 77.000004\n";
    assert!(import_with(options(), &[("a0.txt", processes.as_bytes())]).is_err());
}

/// PGMPITuneLib says at the end of a benchmark's output which calls it put in place of those.
#[test]
fn other_calls_in_place_of_those_of_the_benchmark_are_refused() {
    let rows = "test nrep count runtime_sec\nMPI_Bcast 0 4 0.0000040\nMPI_Bcast 0 8 0.0000050\n";
    let text = |name: &str| format!("{REPROMPI}{rows}#@pgmpi alg MPI_Bcast 4 {name}\n");
    assert_eq!(timings(&import("bcast-a0.txt", text("default"))).len(), 2);
    let files = [("bcast-a0.txt", text("bcast_as_scatter_allgather").into_bytes())];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_slice()));
    let error = import_with(options(), &files).unwrap_err();
    assert!(matches!(error, ImportError::Nothing { .. }), "{error}");
}

#[test]
fn tables_in_the_shapes_people_make() {
    for text in [
        "Operation,ALGO,NP_total,Size,Avg Latency(us)\nbcast,6,4,8,12.5\n",
        "op;algo_name;np;bytes;latency_ms\nMPI_Bcast;binomial;4;8;0.0125\n",
        "collective\talgorithm\tranks\tsize\ttime [s]\nbroadcast\tbinomial\t4\t8\t0.0000125\n",
        "\"collective\";\"candidate\";\"comm_size\";\"message_bytes\";\"avg_latency_ns\"\n\"bcast\";\"tuned:6/0/0/0\";\"4\";\"8\";\"12500\"\n",
    ] {
        assert_eq!(timings(&import("any.csv", text)), ["bcast 4 8 tuned:6/0/0/0 0.0 12.50 -"], "{text}");
    }
    let named = import("bcast-np4-a6.csv", "Size,Avg Latency(us),Max Latency(us)\n8,12.5,20\n");
    assert_eq!(timings(&named), ["bcast 4 8 tuned:6/0/0/0 0.0 12.50 20.00"]);
    let error = import_with(options(), &[("bcast-np4-a6.csv", b"size,latency\n8,12.5\n")]).unwrap_err().to_string();
    assert!(error.contains("the column latency has no unit"), "{error}");
    let unit = Options { per_second: Some(1e3), ..options() };
    let import = import_with(unit, &[("bcast-np4-a6.csv", b"size,latency\n8,12.5\n")]).unwrap();
    assert_eq!(timings(&import), ["bcast 4 8 tuned:6/0/0/0 0.0 12500.00 -"]);
}

#[test]
fn averages_and_maxima_do_not_mix() {
    let (average, slowest) = ("size,avg_us\n8,1\n", "size,t_max_us\n8,1\n");
    let files = [("bcast-np4-a6.csv", average.as_bytes()), ("bcast-np4-a0.csv", slowest.as_bytes())];
    assert!(matches!(import_with(options(), &files), Err(ImportError::Mixed(_))));
}

#[test]
fn algorithms_have_to_exist_in_the_release() {
    let old = Options::new(Release::V4_0);
    let error = import_with(old, &[("scatter-np4-a3.txt", &osu("scatter-np4.txt"))]).unwrap_err().to_string();
    assert!(error.contains("Open MPI 4.0 has no scatter algorithm 3"), "{error}");
}

#[test]
fn what_is_of_no_format_is_refused_with_the_known_ones() {
    for bytes in [&b""[..], b"\n\n", b"hello\n", b"\0\0\0", b"\x1f\x8bnot packed", b"\xff\xfe\0"] {
        let error = import_with(options(), &[("x", bytes)]).unwrap_err();
        assert!(matches!(error, ImportError::Nothing { .. }), "{error}");
    }
    let error = import_with(options(), &[("x", b"hello\n")]).unwrap_err().to_string();
    assert!(error.contains("text of OSU, IMB-MPI1 or ReproMPI"), "{error}");
}
