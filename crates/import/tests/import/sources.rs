//! Several files together, and directories.

use std::fs;

use collrules_import::{FindingCode, ImportError, Importer, add_all};

use crate::support::{data, import_with, options, timings};

#[test]
fn files_of_the_same_thing_are_launches_if_their_names_say_so() {
    let osu = |time: f64| format!("# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)\n1  {time:.2}\n");
    let (first, second) = (osu(1.0), osu(2.0));
    let files = [("run0/bcast-np4-a0.txt", first.as_bytes()), ("run1/bcast-np4-a0.txt", second.as_bytes())];
    let import = import_with(options(), &files).unwrap();
    assert_eq!(timings(&import), ["bcast 4 1 builtin 0.0 1.00 -", "bcast 4 1 builtin 1.0 2.00 -"]);
    // Other directories may be of another library or machine.
    let files = [("16nodes/bcast-np4-a0.txt", first.as_bytes()), ("1node/bcast-np4-a6.txt", second.as_bytes())];
    let error = import_with(options(), &files).unwrap_err();
    let ImportError::Nothing { findings } = error else { panic!("{error}") };
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::Contradiction; 2]);
    assert!(findings[0].message.contains("3 of 16nodes/bcast-np4-a0.txt and 3 of 1node/bcast"), "{}", findings[0]);
    // Those whose names say what was timed are one place.
    let files = [("x/np4/a0/bcast.txt", first.as_bytes()), ("x/np4/a6/bcast.txt", second.as_bytes())];
    assert_eq!(import_with(options(), &files).unwrap().timings.len(), 2);
    // Names that give both the same number contradict each other.
    let files = [("bcast-np4-a0-run3.txt", first.as_bytes()), ("bcast-np4-a0-run3.out", second.as_bytes())];
    let error = import_with(options(), &files).unwrap_err().to_string();
    assert!(error.contains("contradict each other about bcast of 1 B on 4 ranks"), "{error}");
}

#[test]
fn a_source_is_known_by_length_and_checksum() {
    let import = import_with(options(), &[("epyc.csv", &data("epyc-two-nodes-osu.csv"))]).unwrap();
    let source = &import.sources[0];
    // As `gzip -lv` prints it of the packed file.
    assert_eq!((source.bytes, source.crc32.as_str(), source.timings), (43_567, CRC, 1343));
}

const CRC: &str = "552b26d0";

/// The directories that open-mpi/ompi-collectives-tuning leaves, with its tables beside the raw outputs.
#[test]
fn the_predecessor_s_directories() {
    let scratch = tempfile::tempdir().unwrap();
    let scatter = scratch.path().join("output/scatter");
    fs::create_dir_all(&scatter).unwrap();
    for algorithm in 0..3 {
        for run in 0..2 {
            let text = format!(
                "# OSU MPI Scatter Latency Test v5.6.2\n# Size       Avg Latency(us)\n8  {}.5{run}\n",
                algorithm + 1
            );
            fs::write(scatter.join(format!("{algorithm}_16ranks_run{run}.out")), text).unwrap();
        }
    }
    fs::write(scatter.join("scatter_coltune.sh"), "#!/bin/sh\nmpirun\n").unwrap();
    fs::write(scatter.join("detail.out"), "#Nnodes Message_size 0 1 2\n16 8 1.5 2.5 3.5\n").unwrap();
    let mut importer = Importer::new(options());
    add_all(&mut importer, &[scratch.path().join("output")]).unwrap();
    let import = importer.finish().unwrap();
    assert_eq!(
        timings(&import),
        [
            "scatter 16 8 builtin 0.0 1.50 -",
            "scatter 16 8 builtin 1.0 1.51 -",
            "scatter 16 8 tuned:1/0/0/0 0.0 2.50 -",
            "scatter 16 8 tuned:1/0/0/0 1.0 2.51 -",
            "scatter 16 8 tuned:2/0/0/0 0.0 3.50 -",
            "scatter 16 8 tuned:2/0/0/0 1.0 3.51 -",
        ]
    );
    let codes: Vec<FindingCode> = import.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::PassedOver; 2], "{:#?}", import.findings);
}

const TABLE: &str = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\nbcast,0,4,1,1\n";

// Unreadable entries of a directory are named and skipped: a named pipe once made the import wait for ever.
#[test]
fn what_cannot_be_read_is_passed_over() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("all");
    fs::create_dir_all(root.join("first")).unwrap();
    fs::write(root.join("first/table.csv"), TABLE).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    for (name, target) in
        [("dangling", "nowhere"), ("loop", "loop"), ("second", "first"), ("up", "."), ("zero", "/dev/zero")]
    {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("table.csv", root.join("first/zlink.csv")).unwrap();
    let large = fs::File::create(root.join("large.csv")).unwrap();
    large.set_len(collrules_import::MOST_BYTES + 1).unwrap();
    let mut importer = Importer::new(options());
    add_all(&mut importer, std::slice::from_ref(&root)).unwrap();
    let import = importer.finish().unwrap();
    assert_eq!(timings(&import), ["bcast 4 1 builtin 0.0 1.00 -"], "a link is no second launch");
    let named: Vec<(&str, &str)> = import
        .findings
        .iter()
        .map(|finding| {
            assert_eq!(finding.code, FindingCode::PassedOver);
            (finding.file.strip_prefix(&root.display().to_string()).unwrap(), finding.message.as_str())
        })
        .collect();
    let again = "it was already read under another name";
    let [dangling, link, large, looped, pipe, second, up, zero] = &named[..] else { panic!("{named:#?}") };
    assert_eq!(
        [link, second, up].map(|(name, why)| (*name, *why)),
        [("/first/zlink.csv", again), ("/second", again), ("/up", again)]
    );
    for ((name, why), (expected, because)) in [
        (dangling, ("/dangling", "No such file")),
        (large, ("/large.csv", "more than 256 MiB")),
        (looped, ("/loop", "levels of symbolic links")),
        (pipe, ("/pipe", "it is not a regular file")),
        (zero, ("/zero", "it is not a regular file")),
    ] {
        assert!(*name == expected && why.contains(because), "{name}: {why}");
    }
}
