//! Tests of values that are flagged, and of values that are not.

use collrules_import::{FindingCode, Import, Options};
use collrules_rules::{Bytes, Release};

use crate::support::{data, found, import, import_with, shared};

/// The lines and faults that the description of the table names, and nothing else.
const ORFEO: [(FindingCode, Option<u64>); 5] = [
    // bcast, default, 128 ranks, 16 KiB: 207.38 us.
    (FindingCode::Outlier, Some(144)),
    // bcast, binary tree, 128 ranks, 1 MiB: no value.
    (FindingCode::EmptyValue, Some(504)),
    // scatter, default: the job script ran osu_bcast for it.
    (FindingCode::TwinColumn, Some(675)),
    // scatter, default, 16 ranks, 1 MiB: 1048.576 us.
    (FindingCode::DigitSlip, Some(757)),
    // scatter, default, 256 ranks, 1 MiB: 4068.63 us.
    (FindingCode::Bandwidth, Some(841)),
];

fn line(text: &str, line: u64) -> &str {
    text.lines().nth(line as usize - 1).unwrap()
}

#[test]
fn the_orfeo_table_has_exactly_its_known_faults() {
    let bytes = data("epyc-two-nodes-osu.csv");
    for release in [Release::V4_1, Release::V5_0] {
        let import = import_with(Options::new(release), &[("epyc.csv", &bytes)]).unwrap();
        assert_eq!(found(&import), ORFEO, "{:#?}", import.findings);
        assert_eq!(import.timings.len(), 1343, "flagged timings are kept");
    }
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(line(&text, 144), "bcast,0,default,128,16384,207.38");
    assert_eq!(line(&text, 504), "bcast,5,binary_tree,128,1048576,");
    assert!(line(&text, 675).starts_with("scatter,0,default,4,"), "{}", line(&text, 675));
    assert_eq!(line(&text, 757), "scatter,0,default,16,1048576,1048.576");
    assert_eq!(line(&text, 841), "scatter,0,default,256,1048576,4068.63");
}

#[test]
fn flagged_timings_are_left_out_if_that_is_wanted() {
    let options = Options { leave_out_flagged: true, ..Options::new(Release::V5_0) };
    let import = import_with(options, &[("epyc.csv", &data("epyc-two-nodes-osu.csv"))]).unwrap();
    assert_eq!(found(&import), ORFEO);
    assert!(import.findings.iter().all(|finding| finding.left_out));
    // The builtin of scatter has 168 timings, and bcast one outlier.
    assert_eq!(import.timings.len(), 1343 - 168 - 1);
}

#[test]
fn the_barrier_table_has_none() {
    assert_eq!(found(&import("thin-barrier.csv", data("thin-barrier-approx.csv"))), []);
}

/// Two launches on Summit: gather's rank averages are faster than light, and few values stand out.
#[test]
fn the_summit_table_has_a_short_list() {
    let Some(bytes) = shared("summit-osu.csv.gz") else { return };
    let import = import("summit.csv.gz", bytes);
    let count = |code: FindingCode| import.findings.iter().filter(|finding| finding.code == code).count();
    let gather = import
        .findings
        .iter()
        .filter(|finding| finding.message.contains("gather of") && finding.message.contains("on 2048 ranks"));
    assert_eq!(gather.filter(|finding| finding.code == FindingCode::Bandwidth).count(), 3, "{:#?}", import.findings);
    assert_eq!(
        (count(FindingCode::TwinColumn), count(FindingCode::UnitSlip), count(FindingCode::DigitSlip)),
        (0, 0, 0)
    );
    assert!(import.findings.len() <= 15, "{:#?}", import.findings);
    assert_eq!(import.timings.len(), 24_880);
}

/// A smooth table of three algorithms with a little noise: `a + b m` times a factor of the algorithm.
fn smooth(noise: f64, edit: impl Fn(u32, u32, u64, f64) -> Option<f64>) -> Import {
    let mut text = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n".to_owned();
    let mut state = 1u64;
    for algorithm in [0u32, 1, 5, 6] {
        for ranks in [2u32, 4, 8, 16, 32] {
            for bytes in (0..18).map(|power| 1u64 << power) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let jitter = ((state >> 33) as f64 / f64::from(1u32 << 31) - 0.5) * 2.0 * noise;
                let steps = f64::from(ranks).log2() * f64::from(1 + algorithm % 3);
                let time = steps * (1.0 + bytes as f64 / 4000.0) * jitter.exp();
                if let Some(time) = edit(algorithm, ranks, bytes, time) {
                    text += &format!("bcast,{algorithm},{ranks},{bytes},{time:.2}\n");
                }
            }
        }
    }
    import("smooth.csv", text)
}

#[test]
fn smooth_and_noisy_tables_raise_no_alarm() {
    for noise in [0.0, 0.02, 0.1, 0.3] {
        assert_eq!(found(&smooth(noise, |_, _, _, time| Some(time))), [], "noise {noise}");
    }
}

#[test]
fn slips_are_found_wherever_there_are_neighbours() {
    for (factor, code) in [
        (1000.0, FindingCode::UnitSlip),
        (0.001, FindingCode::UnitSlip),
        (1e6, FindingCode::UnitSlip),
        (10.0, FindingCode::Outlier),
        (0.1, FindingCode::Outlier),
        (4.0, FindingCode::Outlier),
    ] {
        for (ranks, bytes) in [(4, 2), (8, 1024), (16, 65536), (2, 16384), (32, 4096), (8, 131_072)] {
            let import = smooth(0.05, |algorithm, r, b, time| {
                let time = 100.0 * time;
                Some(if (algorithm, r, b) == (5, ranks, bytes) { time * factor } else { time })
            });
            let codes: Vec<FindingCode> = import.findings.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, [code], "{factor} at {ranks} x {bytes}: {:#?}", import.findings);
            let place = format!("bcast of {} on {ranks} ranks", Bytes(bytes));
            assert!(import.findings[0].message.contains(&place), "{}", import.findings[0]);
        }
    }
}

/// A whole file in milliseconds: one communicator of a candidate, or all of them.
#[test]
fn series_in_another_unit_are_found() {
    let one =
        smooth(0.05, |algorithm, ranks, _, time| Some(if (algorithm, ranks) == (5, 8) { time * 1000.0 } else { time }));
    assert_eq!(one.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::UnitSlip]);
    assert_eq!(one.findings[0].timings, 18, "{:#?}", one.findings);
    let all = smooth(0.05, |algorithm, _, _, time| Some(if algorithm == 5 { time * 1000.0 } else { time }));
    assert_eq!(all.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::UnitSlip]);
    assert_eq!(all.findings[0].timings, 90, "{:#?}", all.findings);
}

// A value on which two launches agree is no slip.
#[test]
fn a_value_that_another_launch_repeats_is_none() {
    let table = |second: f64| {
        let mut text = "collective,algorithm_id,comm_size,launch,message_bytes,avg_latency_us\n".to_owned();
        for (launch, ranks, power) in
            (0..2).flat_map(|l| [2, 4, 8].map(|r| (l, r))).flat_map(|(l, r)| (0..16).map(move |p| (l, r, p)))
        {
            let slip = if (ranks, power) == (4, 8) { [20.0, second][launch] } else { 1.0 };
            let time = f64::from(ranks) * (1.0 + f64::from(1 << power) / 1000.0) * slip;
            text += &format!("bcast,0,{ranks},{launch},{},{time:.2}\n", 1 << power);
        }
        import("launches.csv", text)
    };
    assert_eq!(table(1.0).findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [FindingCode::Outlier]);
    assert_eq!(found(&table(20.0)), []);
}
