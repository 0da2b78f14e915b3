//! Tables good and bad, and the published ones.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use collrules_rules::{Choice, Collective};
use flate2::Compression;
use flate2::write::GzEncoder;

use collrules_record::{Bytes, Candidate, Cell, Ranks, Seconds};
use collrules_rules::Release;

use crate::timing::Imported;
use crate::{Finding, ImportError, MOST_BYTES, Options};

const HEADER: &str = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n";

/// Contents of a table, in line order.
#[derive(Debug, PartialEq)]
struct Contents {
    timings: Vec<Imported>,
    problems: Vec<Finding>,
}

fn read(text: impl AsRef<[u8]>) -> Result<Contents, ImportError> {
    of_release(text.as_ref(), Release::V5_0)
}

fn of_release(text: &[u8], release: Release) -> Result<Contents, ImportError> {
    let mut import = crate::table("t", text, Options::new(release))?;
    import.timings.sort_by_key(|timing| timing.line);
    import.findings.retain(|finding| !finding.code.is_suspicion());
    Ok(Contents { timings: import.timings, problems: import.findings })
}

/// The table of these rows under the usual header.
fn rows(rows: &str) -> Contents {
    read(format!("{HEADER}{rows}")).expect("some rows are good")
}

fn problems(table: &Contents) -> Vec<String> {
    let told = |found: &Finding| format!("line {}: {}", found.line.unwrap_or(1), found.message);
    table.problems.iter().map(told).collect()
}

fn lines(table: &Contents) -> Vec<u64> {
    table.timings.iter().map(|timing| timing.line).collect()
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("writes to memory");
    encoder.finish().expect("writes to memory")
}

#[test]
fn a_row_becomes_a_timing() {
    let table = rows("bcast,0,4,1024,12.5\nbcast,2,4,1024,3e1\nbarrier,1,2,0,0.25\n");
    assert_eq!(problems(&table), [""; 0]);
    let cell = Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(1024) };
    let first = &table.timings[0];
    assert_eq!((first.line, first.cell, first.candidate, first.launch), (2, cell, Candidate::Builtin, 0));
    assert_eq!(first.times.mean, Some(Seconds(12.5e-6)));
    // A chain that is forced uses its own default fan-out.
    assert_eq!(table.timings[1].candidate, Candidate::Tuned(Choice::plain(2).with_faninout(4)));
    assert_eq!(table.timings[1].times.mean, Some(Seconds(30e-6)));
    assert_eq!(table.timings[2].cell.bytes, Bytes(0));
}

#[test]
fn columns_are_found_by_name_in_any_order() {
    let text = "\u{feff} Avg_Latency_us ,note,LAUNCH,message_bytes,comm_size,\"algorithm_id\",algorithm,collective\r\n\
                7,\"a, b\",3,8K,16,1,linear,scatter\r\n";
    let table = read(text).expect("reads");
    assert_eq!(problems(&table), ["line 1: columns `note` are not read"]);
    let timing = &table.timings[0];
    assert_eq!((timing.line, timing.launch, timing.times.mean), (2, 3, Some(Seconds(7e-6))));
    assert_eq!(timing.cell.to_string(), "scatter of 8 KiB on 16 ranks");
}

#[test]
fn bad_rows_are_reported_with_their_line_and_left_out() {
    for (row, what) in [
        ("bcast,0,4,1,", "avg_latency_us is empty"),
        ("bcast,0,4, ,1", "message_bytes is empty"),
        (",0,4,1,1", "collective is empty"),
        (",,,,", "the row is empty"),
        ("bcast,0,4,1,0", "avg_latency_us: `0` is zero: no call takes no time"),
        ("bcast,0,4,1,-0.0", "avg_latency_us: `-0.0` is zero: no call takes no time"),
        ("bcast,0,4,1,1e-320", "avg_latency_us: `1e-320` is zero: no call takes no time"),
        ("bcast,0,4,1,-3", "avg_latency_us: `-3` is negative"),
        ("bcast,0,4,1,fast", "avg_latency_us: `fast` is not a number"),
        ("bcast,0,4,1,inf", "avg_latency_us: `inf` is not finite"),
        ("bcast,0,4,1,1e999", "avg_latency_us: `1e999` is not finite"),
        ("bcast,0,4,1,NaN", "avg_latency_us: `NaN` is not finite"),
        ("bcast,0,0,1,1", "comm_size: `0` is not a number of ranks; write a whole number of at least 1"),
        ("bcast,-1,4,1,1", "algorithm_id: `-1` is not a whole number from 0 to 4294967295"),
        ("bcast,+1,4,1,1", "algorithm_id: `+1` is not a whole number from 0 to 4294967295"),
        ("barrier,0,4,8,1", "barrier carries no data, but its size is 8"),
        ("bcast,0,4,1", "4 fields instead of 5"),
        ("bcast,0,4,1,1,2", "6 fields instead of 5"),
    ] {
        let table = rows(&format!("bcast,0,2,1,1\n{row}\nbcast,0,8,1,1\n"));
        assert_eq!(problems(&table), [format!("line 3: {what}")]);
        assert_eq!(lines(&table), [2, 4], "{row}");
    }
}

// The message about a line of megabytes names its place and the fault, and stays short.
#[test]
fn a_long_value_is_quoted_by_its_ends() {
    let table = rows(&format!("bcast,0,2,1,1\nbcast,0,4,1,{}\n", "7".repeat(1 << 20)));
    let problems = problems(&table);
    assert!(problems[0].starts_with("line 3: avg_latency_us: `777") && problems[0].ends_with("777` is not finite"));
    assert!(problems[0].len() < 1200, "{} bytes", problems[0].len());
}

#[test]
fn unknown_names_and_ids_are_reported_with_the_known_ones() {
    let table = rows("bcast,0,2,1,1\nbrodcast,0,2,1,1\nscatter,99,2,1,1\n");
    let problems = problems(&table);
    assert!(
        problems[0].starts_with("line 3: collective: unknown collective `brodcast`; the nearest name is bcast"),
        "{problems:?}"
    );
    assert!(problems[1].starts_with("line 4: Open MPI 5.0 has no scatter algorithm 99; known are"), "{problems:?}");
}

#[test]
fn rows_that_are_not_utf8_are_left_out_wherever_the_fault_is() {
    let mut text = b"collective,algorithm_id,comm_size,message_bytes,avg_latency_us,note\n".to_vec();
    text.extend_from_slice(b"bcast,0,2,1,1,caf\xe9\nbcast,0,4,1,1,tea\n");
    let table = read(text).expect("one row is good");
    assert_eq!(problems(&table), ["line 1: columns `note` are not read", "line 2: field 6 is not UTF-8"]);
    assert_eq!(lines(&table), [3]);
}

#[test]
fn lines_are_those_of_the_file_whatever_ends_them() {
    for ending in ["\n", "\r\n"] {
        let text = format!("{HEADER}\nbcast,0,2,1,1\n\n\nbcast,0,4,1,1\nbcast,0,8,1,x\nbcast,0,16,1,1\n\n\n");
        for text in [text.trim_end().to_owned() + "\n", text] {
            let table = read(text.replace('\n', ending)).expect("reads");
            assert_eq!(lines(&table), [3, 6, 8]);
            let found: Vec<_> = table.problems.iter().filter_map(|problem| problem.line).collect();
            assert_eq!(found, [7], "blank lines are no rows");
        }
    }
}

/// `48,0,70` of `48,0,7000` once became a rule.
#[test]
fn a_last_line_without_its_end_is_not_used() {
    let table = rows("bcast,0,2,1,7000\nbcast,1,2,1,70");
    assert_eq!(lines(&table), [2]);
    let [problem] = &problems(&table)[..] else { panic!("{:?}", table.problems) };
    assert!(problem.starts_with("line 3: the last line has no line end"), "{problem}");
    assert_eq!(problems(&rows("bcast,0,2,1,7000\n  ")), [""; 0], "blanks are no values");
    assert!(read(format!("{HEADER}bcast,0,2,1,7000")).is_err(), "nothing else is there");
}

#[test]
fn a_name_with_several_numbers_refuses() {
    let header = "collective,algorithm_id,algorithm,comm_size,message_bytes,avg_latency_us\n";
    let rows = ["bcast,0,builtin,4,1,9", "bcast,5,binomial,4,1,1", "bcast,6,Binomial,4,2,2", "bcast,3,pipeline,4,1,3"];
    let error = read(format!("{header}{}\n", rows.join("\n"))).expect_err("5 is no binomial tree");
    assert!(matches!(error, ImportError::Doubtful { line: Some(3), .. }), "{error}");
    // Other collectives number theirs in their own way.
    let rows = ["bcast,6,binomial,4,1,1", "gather,2,binomial,4,1,2"];
    assert_eq!(lines(&read(format!("{header}{}\n", rows.join("\n"))).expect("reads")), [2, 3]);
}

#[test]
fn tables_with_semicolons_and_tabs_are_read() {
    let text = format!("{HEADER}bcast,0,2,1,12.5\n");
    for separator in [";", "\t"] {
        assert_eq!(lines(&read(text.replace(',', separator)).expect("reads")), [2]);
    }
}

/// 1 GiB of spaces compresses to 1 MB.
#[test]
fn what_grows_without_end_is_refused() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(HEADER.as_bytes()).expect("writes to memory");
    io::copy(&mut io::repeat(b' ').take(MOST_BYTES), &mut encoder).expect("writes to memory");
    let packed = encoder.finish().expect("writes to memory");
    let error = read(packed).expect_err("is too large").to_string();
    assert!(error.contains("more than 256 MiB"), "{error}");
}

#[test]
fn a_stray_quote_swallows_no_rows_in_silence() {
    let table = rows("bcast,0,2,1,1\nbcast,0,4,1,\"1\nbcast,0,8,1,1\nbcast,0,16,1,1\n");
    assert_eq!(lines(&table), [2, 4, 5]);
    assert_eq!(problems(&table), ["line 3: a quoted value is not closed"]);
}

#[test]
fn of_rows_that_agree_the_first_is_kept() {
    let table = rows("bcast,0,2,1,1\nbcast,0,4,1,1\nbcast,0,2,1,1.0\nbcast,0,2,1,1e0\n");
    assert_eq!(lines(&table), [2, 3]);
    assert_eq!(problems(&table), ["line 4: repeats line 2", "line 5: repeats line 2"]);
}

#[test]
fn rows_that_contradict_each_other_are_all_left_out() {
    let table = rows("bcast,0,2,1,1\nbcast,0,4,1,1\nbcast,0,2,1,2\nbcast,0,2,1,1\nbcast,1,2,1,2\n");
    assert_eq!(lines(&table), [3, 6]);
    let what = "lines 2, 4 and 5 contradict each other about bcast of 1 B on 2 ranks, builtin, and none is used; \
                number repetitions in a column `launch` (starts of mpirun, `run1` in names of files) or `nrep` (calls of one \
                start), and times of single ranks in a column `rank`; algorithm 0 and `default` are the same";
    assert_eq!(problems(&table), [2, 4, 5].map(|line| format!("line {line}: {what}")));
}

#[test]
fn long_contradictions_stay_short() {
    let many: String = (1..=100).map(|time| format!("bcast,0,2,1,{time}\n")).collect();
    let table = rows(&format!("{many}bcast,0,4,1,1\n"));
    assert_eq!(table.problems.len(), 100);
    assert!(table.problems[0].message.starts_with("lines 2, 3, 4, 5, 6, 7 and 94 more contradict"));
}

#[test]
fn launches_are_told_apart() {
    let header = "collective,algorithm_id,comm_size,launch,message_bytes,avg_latency_us\n";
    let table = read(format!("{header}bcast,0,2,0,1,1\nbcast,0,2,1,1,2\nbcast,0,2,,1,2\n")).expect("reads");
    assert_eq!(table.timings.iter().map(|timing| timing.launch).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(problems(&table), ["line 4: launch is empty"]);
}

#[test]
fn a_header_without_the_columns_is_refused() {
    let error = read("collective,method,comm_size\nbcast,0,2\n").expect_err("columns are missing").to_string();
    assert_eq!(error, "the header lacks a time such as avg_latency_us; it has collective, method, comm_size");
    let error = read(format!("launch,launch,{HEADER}")).expect_err("a column is there twice").to_string();
    assert!(error.starts_with("the column launch means the same as another one: `launch,launch,"), "{error}");
}

#[test]
fn tables_without_a_usable_row_are_refused() {
    assert!(matches!(read(""), Err(ImportError::Empty)));
    assert!(matches!(read("\n\n"), Err(ImportError::Empty)));
    assert!(matches!(read(HEADER), Err(ImportError::NoTimings)));
    let error = read(format!("{HEADER}bcast,0,2,1,0\nx\n")).expect_err("no good rows").to_string();
    let what = "no timing can be used:\n  t:2: error (bad-time): avg_latency_us: `0` is zero: no call takes no time; left out\n  \
                t:3: error (bad-row): 1 fields instead of 5; left out";
    assert_eq!(error, what);
}

#[test]
fn what_is_no_text_is_refused() {
    let xz = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01".to_vec();
    for bytes in [xz, vec![0; 100], packed(&packed(HEADER.as_bytes()))] {
        assert!(matches!(read(bytes), Err(ImportError::NotText)));
    }
}

#[test]
fn text_in_utf16_is_read() {
    let text = format!("\u{feff}{HEADER}bcast,0,2,1,1\r\n");
    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(to_bytes).collect();
        assert_eq!(read(bytes).expect("reads"), read(&text).expect("reads"));
    }
}

#[test]
fn gzip_is_known_by_its_first_bytes() {
    let text = format!("\u{feff}{HEADER}bcast,0,2,1,1\nbcast,0,4,1,\n");
    let table = read(&text).expect("reads");
    assert_eq!(read(packed(text.as_bytes())).expect("unpacks"), table);
    // Several members, as `cat a.gz b.gz` makes them, are one table.
    let (first, second) = text.split_at(80);
    let members = [packed(first.as_bytes()), packed(second.as_bytes())].concat();
    assert_eq!(read(members).expect("unpacks"), table);
}

#[test]
fn damaged_gzip_gives_no_part_of_the_table() {
    let text: String = (1..=2000).map(|size| format!("bcast,0,2,{size},1.{size}\n")).collect();
    let whole = packed(format!("{HEADER}{text}").as_bytes());
    assert_eq!(read(&whole).expect("unpacks").timings.len(), 2000);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    for damaged in [&whole[..whole.len() / 2], &whole[..whole.len() - 3], &whole[..5], &flipped] {
        assert!(matches!(read(damaged), Err(ImportError::Gzip(_))));
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn file(path: &Path, release: Release) -> Contents {
    of_release(&fs::read(path).expect("opens"), release).expect("reads")
}

#[test]
fn the_orfeo_tables_are_read_but_for_the_empty_cell() {
    for release in [Release::V4_1, Release::V5_0] {
        let table = file(&root().join("tests/data/epyc-two-nodes-osu.csv"), release);
        assert_eq!(problems(&table), ["line 504: avg_latency_us is empty"]);
        assert_eq!(table.timings.len(), 1343);
        let table = file(&root().join("tests/data/thin-barrier-approx.csv"), release);
        assert_eq!(problems(&table), [""; 0]);
        assert_eq!(table.timings.len(), 15);
        assert_eq!(table.timings[14].cell.to_string(), "barrier on 48 ranks");
        assert_eq!(table.timings[14].times.mean, Some(Seconds(0.007)));
    }
}

#[test]
fn the_summit_table_is_read_whole() {
    let path = root().join("../shared/data/summit-osu.csv.gz");
    if !path.exists() {
        // Not `eprintln!`, which the test runner keeps to itself.
        writeln!(io::stderr(), "skipped: {} is not there", path.display()).expect("stderr is open");
        return;
    }
    for release in [Release::V4_0, Release::V4_1, Release::V5_0] {
        let table = file(&path, release);
        assert_eq!(problems(&table), [""; 0], "{release}");
        assert_eq!(table.timings.len(), 24_880);
    }
}

/// A unit of the column, of the option, or of all values: without any the time is not known.
#[test]
fn a_time_has_the_unit_of_its_value_or_of_its_column() {
    let table = |time: [&str; 2]| {
        let [first, second] = time;
        format!("collective,algorithm_id,comm_size,message_bytes,latency\nbcast,0,2,1,{first}\nbcast,0,4,1,{second}\n")
    };
    let times = |text: &str| {
        let times = read(text).map(|table| table.timings.iter().map(|it| it.times.mean.expect("a mean").0).collect());
        times.map_err(|error| error.to_string())
    };
    assert_eq!(times(&table(["6.25us", "1.5 ms"])), Ok(vec![6.25e-6, 1.5e-3]));
    assert_eq!(times(&table(["6.25 µs", "1e3ns"])).map(|times: Vec<f64>| times.len()), Ok(2));
    for table in [table(["6.25us", "7.00"]), table(["6.25", "7.000"])] {
        let error = times(&table).expect_err("the unit is unknown");
        assert!(error.contains("the column latency has no unit"), "{error}");
    }
    assert_eq!(times(&table(["6.25us", "7.00 x"])), Ok(vec![6.25e-6]), "what is no unit is no time");
}

/// Behind such a comment ranks were sizes.
#[test]
fn a_comment_with_other_columns_refuses_the_rows_behind_it() {
    let comment = "# collective,algorithm_id,message_bytes,comm_size,avg_latency_us,note\n";
    assert!(read(format!("{HEADER}bcast,0,2,64,1\n{comment}bcast,0,64,4,1\n")).is_err());
    assert_eq!(lines(&rows("bcast,0,2,64,1\n# time (us)\nbcast,0,4,64,1\n")), [2, 4]);
}
