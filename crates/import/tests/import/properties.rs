//! Any bytes are read without a panic, in whatever format they pose as.

use proptest::prelude::*;

use crate::support::{import_with, options};

/// Words that the readers look for, in any order.
const WORDS: [&str; 47] = [
    "# OSU MPI Broadcast Latency Test v7.4\n",
    "# OSU MPI ",
    "#    Intel(R) MPI Benchmarks 2021.8, MPI-1 part (GPU)\n",
    "1: Error Allreduce,size = 8,sample #0\n",
    "[1,0]<stdout>:",
    "# Size       Avg Latency(us)",
    "   Max Latency(us)",
    "  Validation\n",
    "# Datatype: MPI_INT.\n",
    "# Avg Latency(us)\n",
    "Pass\n",
    "Fail\n",
    "DATA VALIDATION ERROR\n",
    "# Benchmarking Bcast\n",
    "# Benchmarking ",
    "# #processes = 4\n",
    "# #processes = x\n",
    "# ( 2 groups of 2 processes\n",
    " #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n",
    " defects\n",
    "#@nprocs=2\n",
    "#@datatype_size_bytes=18446744073709551615\n",
    "#@datatype_size_bytes=1\n",
    "test nrep count runtime_sec\n",
    "process test nrep count errorcode loc_tstart_sec loc_tend_sec\n",
    "test count median_sec\n",
    "MPI_Bcast ",
    "#Nnodes Message_size 0 1 binomial\n",
    "# Size Avg Latency(us) Transmit Size\n",
    "No data",
    "(0.5)",
    "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n",
    "bcast,0,4,",
    "1048576",
    "18446744073709551615",
    "0",
    "-1",
    "1e308",
    "nan",
    ".",
    "\"",
    ";",
    ",",
    "\t",
    " ",
    "\n",
    "\u{e9}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), name in "[a-z0-9_./{}*-]{0,30}") {
        let _ = import_with(options(), &[(&name, &bytes)]);
    }

    #[test]
    fn any_mixture_of_formats_is_read(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        let text = words.concat();
        let _ = import_with(options(), &[("bcast-np4-a0.txt", text.as_bytes())]);
        let _ = import_with(options(), &[("x", text.as_bytes())]);
    }

    /// Timings used and timings reported as left out add up to the rows of a file.
    #[test]
    fn every_row_is_accounted_for(rows in prop::collection::vec((1u32..8, 1u64..40, "[0-9.x-]{0,4}"), 1..60)) {
        let mut text = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n".to_owned();
        for (algorithm, bytes, time) in &rows {
            text += &format!("bcast,{algorithm},4,{bytes},{time}\n");
        }
        let (used, findings) = match import_with(options(), &[("t.csv", text.as_bytes())]) {
            Ok(import) => (import.timings.len(), import.findings),
            Err(collrules_import::ImportError::Nothing { findings }) => (0, findings),
            Err(other) => panic!("{other}"),
        };
        let lost: usize = findings.iter().filter(|finding| finding.left_out).map(|finding| finding.timings).sum();
        prop_assert_eq!(used + lost, rows.len(), "{:#?}", findings);
    }
}
