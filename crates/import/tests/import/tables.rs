//! Tables that people and their programs write: the right value or a refusal, never another value.

use collrules_import::{FindingCode, ImportError, Options};
use collrules_record::findings::Statistic;
use proptest::prelude::*;

use crate::support::{A, found, given, import, import_with, options, osu, outcome, timings};

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
        ("library", ["ompi", "ompi", "mpich"], false),
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
    assert_eq!(codes("mbs"), (FindingCode::PassedOver, None));
}

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
fn tables_of_barriers_need_no_sizes() {
    let table = "collective,algorithm_id,comm_size,avg_latency_us\nbarrier,0,4,5\nbarrier,1,4,6\n";
    assert_eq!(outcome(options(), "t.csv", table), "4@0/builtin=5.00 4@0/tuned:1/0/0/0=6.00");
    let mixed = import("t.csv", format!("{table}bcast,0,4,7\n"));
    assert_eq!((mixed.timings.len(), found(&mixed)), (2, vec![(FindingCode::BadRow, Some(4))]));
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
            RIGHT,
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
        (two(&format!("{plain},status"), ["bcast,0,4,1024,30,ok", "bcast,6,4,1024,24,failed"]), DEFAULT),
        (two(&format!("{plain},correct"), ["bcast,0,4,1024,30,True", "bcast,6,4,1024,24,False"]), DEFAULT),
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
