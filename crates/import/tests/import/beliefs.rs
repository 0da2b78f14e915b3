//! Files that people bring, and what they say: the meaning of sizes, the library, names, checks, and times.

use collrules_import::{FindingCode, Import, ImportError, Options};

use crate::support::{import, import_with, options, timings};

/// The findings of files of which nothing is used.
fn nothing(files: &[(&str, &[u8])]) -> Vec<(FindingCode, Option<u64>)> {
    match import_with(options(), files) {
        Err(ImportError::Nothing { findings }) => findings.iter().map(|it| (it.code, it.line)).collect(),
        other => panic!("{other:?}"),
    }
}

fn codes(import: &Import) -> Vec<FindingCode> {
    import.findings.iter().map(|finding| finding.code).collect()
}

fn osu(what: &str, name: &str, row: &str) -> String {
    format!("# OSU {what} {name} Latency Test v7.4\n# Size       Avg Latency(us)\n{row}\n")
}

/// OSU reduces `num_elements / numprocs` elements for each rank, so that its size is that of the whole vector.
#[test]
fn osu_prints_the_whole_vector_of_both_reduce_scatters() {
    for (test, message) in [("Reduce_scatter_block", 2048), ("Reduce_scatter", 8192)] {
        let imported = import("np4-a0.txt", osu("MPI", test, "8192 20.38"));
        assert_eq!(imported.timings[0].cell.bytes.0, message, "{test}");
    }
    // Less than an element for each rank: nothing is reduced.
    assert_eq!(
        nothing(&[("np4-a0.txt", osu("MPI", "Reduce_scatter_block", "2 20.38").as_bytes())])[0].0,
        FindingCode::NoData
    );
    let ints = "# OSU MPI Reduce_scatter_block Latency Test v7.4\n# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n\
                8 1.0\n16 1.1\n2048 2.0\n";
    let imported = import("np4-a0.txt", ints);
    assert_eq!(imported.timings.iter().map(|it| it.cell.bytes.0).collect::<Vec<_>>(), [4, 512]);
    // Whole elements: 341 of 4 B on 6 ranks.
    let sizes = |text: &str| import("np6-a0.txt", text).timings.iter().map(|it| it.cell.bytes.0).collect::<Vec<_>>();
    assert_eq!(sizes(ints), [340]);
    // With a derived datatype less is sent than the size says.
    let derived =
        "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)     Transmit Size\n8192 20.38 4096\n";
    assert_eq!(nothing(&[("np4-a0.txt", derived.as_bytes())])[0].0, FindingCode::UnusableFile);
}

fn imb(version: &str, test: &str) -> String {
    format!(
        "{version}# Benchmarking {test}\n# #processes = 8\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n\
         4096 1000 1.0 2.0 1.5\n"
    )
}

#[test]
fn imb_s_sizes_depend_on_its_version() {
    for (version, bytes) in [
        ("2021.8, MPI-1 part", 32768),
        ("2019 Update 1, MPI-1 part", 32768),
        ("2019, MPI-1 part", 4096),
        ("2018, MPI-1 part", 4096),
        ("2018 Update 3, MPI-1 part", 4096),
    ] {
        let text = imb(&format!("#    Intel(R) MPI Benchmarks {version}\n"), "Reduce_scatter");
        assert_eq!(import("a0.txt", text).timings[0].cell.bytes.0, bytes, "{version}");
    }
    let old = imb("#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part\n", "Reduce_scatter");
    assert_eq!(import("a0.txt", old).timings[0].cell.bytes.0, 4096);
    assert_eq!(nothing(&[("a0.txt", imb("", "Reduce_scatter").as_bytes())]), [(FindingCode::UnusableFile, Some(4))]);
    assert_eq!(import("a0.txt", imb("", "Reduce_scatter_block")).timings[0].cell.bytes.0, 4096);
    assert_eq!(import("a0.txt", imb("", "Allreduce")).timings[0].cell.bytes.0, 4096);
}

#[test]
fn sizes_of_other_tables_are_believed_as_far_as_they_are_documented() {
    let reprompi = |test: &str| {
        format!("#@nprocs=4\n#@datatype_size_bytes=1\ntest nrep count runtime_sec\n{test} 0 1024 0.00001\n")
    };
    assert_eq!(import("a0.txt", reprompi("MPI_Reduce_scatter")).timings[0].cell.bytes.0, 4096);
    assert_eq!(import("a0.txt", reprompi("MPI_Reduce_scatter_block")).timings[0].cell.bytes.0, 1024);
    let table = |size: &str| {
        format!("collective,algorithm_id,comm_size,{size},avg_latency_us\nreduce_scatter_block,0,4,1024,10\n")
    };
    assert_eq!(import("t.csv", table("message_bytes")).timings[0].cell.bytes.0, 1024);
    assert_eq!(nothing(&[("t.csv", table("size").as_bytes())]), [(FindingCode::UnusableFile, Some(2))]);
    let headless = "# Size       Avg Latency(us)\n1024 10.0\n";
    assert_eq!(nothing(&[("reduce_scatter-np4-a0.txt", headless.as_bytes())]), [(FindingCode::UnusableFile, Some(2))]);
    assert_eq!(import("bcast-np4-a0.txt", headless).timings[0].cell.bytes.0, 1024);
    let own = "# collrules MPI Reduce_scatter_block Latency Test v0.1.0\n# 4 ranks, builtin\n# Datatype: MPI_INT.\n\
               # Size       Avg Latency(us)\n8192 20.38\n";
    assert_eq!(import("np4-a0.txt", own).timings[0].cell.bytes.0, 2048);
}

/// Times on devices and on the host became a rule of 10.00x.
#[test]
fn what_ran_is_not_compared_with_something_else() {
    for device in ["MPI-CUDA", "MPI-ROCM", "MPI-OPENACC", "MPI-MANAGED"] {
        let text = osu(device, "Broadcast", "1024 50.0");
        let both = text + &osu("MPI", "Broadcast", "2048 5.0");
        let both = import("bcast-np8-a0.txt", &both);
        assert_eq!(timings(&both), ["bcast 8 2048 builtin 0.0 5.00 -"], "{device} in front of another output");
    }
    for other in ["MPI-CUDA", "MPI-ROCM", "NCCL-CUDA", "RCCL", "RCCL-ROCM", "OpenSHMEM", "UPC", "UPC++"] {
        let text = osu(other, "Broadcast", "1024 50.0");
        assert_eq!(nothing(&[("bcast-np8-a0.txt", text.as_bytes())]), [(FindingCode::PassedOver, Some(1))], "{other}");
    }
    let gpu = imb("#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part (GPU)\n", "Bcast");
    assert_eq!(nothing(&[("a0.txt", gpu.as_bytes())])[0].0, FindingCode::UnusableFile);
    // Tests that are not read may have any columns.
    let others = "# Benchmarking Ibcast\n# #processes = 8\n#bytes #repetitions t_ovrl[usec] t_pure[usec] overlap[%]\n\
                  4 1000 1.0 2.0 1.5\n\n"
        .to_owned();
    let both = import("a0.txt", others + &imb("", "Bcast"));
    assert_eq!((both.timings.len(), codes(&both)), (1, vec![FindingCode::PassedOver]));
    // An unknown test stays unknown, whatever the options say.
    let unknown = "#@nprocs=4\n#@datatype_size_bytes=1\ntest nrep count runtime_sec\nGL_Bcast_as_Scatter 0 8 0.00001\n";
    let facts = collrules_import::Facts { collective: Some(collrules_rules::Collective::Bcast), ..Default::default() };
    let error = import_with(Options { facts, ..options() }, &[("a0.txt", unknown.as_bytes())]).unwrap_err();
    assert!(matches!(error, ImportError::Nothing { .. }), "{error}");
}

#[test]
fn names_are_believed_in_documented_forms_alone() {
    let csv = b"size,avg_latency_us\n1024,5\n";
    for (name, what) in [
        ("bcast-np8-scatter_allgather_ring.csv", "bcast 8 1024 tuned:9/0/0/0 0.0 5.00 -"),
        ("bcast_np8_scatter_allgather_ring.csv", "bcast 8 1024 tuned:9/0/0/0 0.0 5.00 -"),
        ("all_reduce-np8-a3.csv", "allreduce 8 1024 tuned:3/0/0/0 0.0 5.00 -"),
        ("bcast_ignore_np8.csv", "bcast 8 1024 builtin 0.0 5.00 -"),
        ("bcast-np8-binomial_tree.csv", "bcast 8 1024 tuned:6/0/0/0 0.0 5.00 -"),
    ] {
        assert_eq!(timings(&import(name, csv)), [what], "{name}");
    }
    let broadcast = osu("MPI", "Broadcast", "1024 5.0");
    let imported = import("bcast-np8-scatter_allgather.txt", broadcast);
    assert_eq!(timings(&imported), ["bcast 8 1024 tuned:8/0/0/0 0.0 5.00 -"]);
    for name in
        ["neighbor_allgather-np8-a1.csv", "reduce_local-np8-a1.csv", "ibcast-np8-a1.csv", "np8-a1-allreduce-x.csv"]
    {
        assert_eq!(nothing(&[(name, csv)]), [(FindingCode::UnusableFile, None)], "{name}");
    }
    for name in
        ["I_MPI_ADJUST_BCAST=3_np8.csv", "impi/bcast-np8-a3.csv", "bcast-np8-a3-mvapich2.csv", "nccl/bcast-np8-a3.csv"]
    {
        assert_eq!(nothing(&[(name, csv)]), [(FindingCode::UnusableFile, None)], "{name}");
    }
}

/// With -DCHECK, IMB names errors near the row, whose column of defects says 0.00: no size of the block is certain.
#[test]
fn imb_s_failed_checks_are_failures() {
    let header = "# Benchmarking Allreduce\n# #processes = 4\n\
                  #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] defects\n4 1000 1.0 2.0 1.5 0.00\n";
    let (row, error) = ("8 1000 1.0 2.0 1.5 0.00\n", "1: Error Allreduce,size = 8,sample #0\n");
    let mut codes = vec![(FindingCode::ValidationFailed, Some(4)), (FindingCode::ValidationFailed, Some(5))];
    codes.push((FindingCode::ValidationFailed, Some(6)));
    for text in [format!("{header}{error}{row}"), format!("{header}{row}{error}")] {
        assert_eq!(nothing(&[("a0.txt", text.as_bytes())]), codes);
        // The next block passed.
        let next = header.replace("Allreduce", "Reduce") + row;
        let both = import("a0.txt", format!("{text}Process 1: Got invalid buffer\n\n{next}"));
        let sizes = |name: &str| both.timings.iter().filter(|it| it.cell.collective.name() == name).count();
        assert_eq!((sizes("allreduce"), sizes("reduce")), (0, 2));
    }
}

#[test]
fn a_table_has_one_size_and_one_time_and_nothing_of_another_program() {
    for header in
        ["# Size [B]   Latency [us]", "# Size (B)   Latency (us)", "# Size Lat_Avg[us]", "Size [B],Lat Avg[us]"]
    {
        let rows: String = (0..21)
            .map(|power| format!("{}{}1.5\n", 1 << power, if header.contains(',') { "," } else { "  " }))
            .collect();
        assert_eq!(import("bcast-np4-a0.txt", format!("{header}\n{rows}")).timings.len(), 21, "{header}");
    }
    for text in [
        "# size count type redop time algbw busbw error\n1024 256 float sum 192.4 0.1 0.1 0\n",
        "#       size         count      type   redop     time   algbw   busbw  error\n1024 256 float sum 192.4 0.1 0.1 0\n",
        "size,latency_us,time_us\n1024,192.4,3\n",
        "elem_count,size,latency_us\n256,1024,192.4\n",
        "hello\n",
        "",
    ] {
        let file = [("allreduce-np8-a0.txt", text.as_bytes())];
        assert_eq!(nothing(&file), [(FindingCode::UnusableFile, None)], "{text}");
        let Err(ImportError::Nothing { findings }) = import_with(options(), &file) else { panic!() };
        let first = text.lines().next().unwrap_or("empty");
        assert!(findings[0].message.contains(first.get(..40).unwrap_or(first)), "{}", findings[0]);
    }
    let bench =
        import("allreduce-np8-a0.txt", "# MPI Allreduce Latency Test\n# Size [B]        Latency [us]\n1024 5.0\n");
    assert_eq!(timings(&bench), ["allreduce 8 1024 builtin 0.0 5.00 -"]);
}

#[test]
fn times_that_no_call_takes_are_not_used() {
    for table in [
        "size,iterations,time_s\n4,262144,6.27\n8,262144,0.00000627\n",
        "size,iterations,time_s\n8,262144,0.00000627\n4,262144,6.27\n",
        "size,time_us\n262144,0.00027\n1024,3\n",
    ] {
        let found = nothing(&[("allreduce-np8-a0.csv", table.as_bytes())]);
        assert_eq!((found.len(), found[0].0), (1, FindingCode::UnusableFile), "the unit is that of all rows: {table}");
    }
}

#[test]
fn columns_that_are_not_read_are_named() {
    let table = |library: &str| {
        format!(
            "collective,algorithm_id,comm_size,message_bytes,avg_latency_us,library,\n\
             bcast,0,4,1024,5,ompi,\nbcast,6,4,1024,4,{library},\n"
        )
    };
    assert_eq!(codes(&import("t.csv", table("ompi"))), [FindingCode::PassedOver]);
    assert_eq!(nothing(&[("t.csv", table("mpich").as_bytes())]), [(FindingCode::UnusableFile, None)]);
}

#[test]
fn lines_with_one_prefix_throughout_are_read_without_it() {
    let plain = osu("MPI", "Broadcast", "1024 5.0");
    for prefix in ["[1,0]<stdout>:", "0: ", "> ", "2026-11-05T10:00:0"] {
        let number = |place: usize| if prefix.starts_with('2') { format!("{place} ") } else { String::new() };
        let text: String =
            plain.lines().enumerate().map(|(place, line)| format!("{prefix}{}{line}\n", number(place))).collect();
        let imported = import("bcast-np8-a0.txt", text);
        assert_eq!(timings(&imported), ["bcast 8 1024 builtin 0.0 5.00 -"], "{prefix}");
        assert_eq!(codes(&imported), [FindingCode::StrayLines], "{prefix}");
    }
}

#[test]
fn equal_errors_are_said_once_with_a_count() {
    let rows: String =
        (1..6).map(|size| format!("bcast,6,4,{size},2\nbcast,tree_of_life,4,{size},1\nbcast,5,4,{size},0\n")).collect();
    let imported = import("t.csv", format!("collective,algorithm,comm_size,message_bytes,avg_latency_us\n{rows}"));
    let said = collrules_import::Finding::describe_all(&imported.findings);
    assert_eq!(imported.findings.iter().map(|it| it.timings).sum::<usize>(), 10);
    assert_eq!((imported.timings.len(), said.len()), (5, 2), "{said:#?}");
    assert!(said[0].ends_with("5 timings left out") && said[1].ends_with("(5 such lines)"), "{said:#?}");
}
