//! Tests of the registry against the enumerators of real releases.

use super::*;
use crate::units::Ranks;

fn listed(release: Release, collective: Collective) -> Vec<(u32, String)> {
    algorithms(release, collective).map(|algorithm| (algorithm.id, algorithm.name.to_owned())).collect()
}

#[test]
fn ids_are_dense_and_names_are_unique() {
    for release in Release::ALL {
        for collective in Collective::ALL {
            let listed = listed(release, collective);
            assert!(listed.iter().map(|(id, _)| *id).eq(1..=listed.len() as u32), "{release} {collective}");
            let mut names: Vec<_> = listed.iter().map(|(_, name)| name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), listed.len(), "{release} {collective}");
        }
    }
}

/// Numbers of algorithms, in the order of [`Collective::ALL`].
#[test]
fn releases_have_as_many_algorithms_as_their_enumerators() {
    for (release, counts) in [
        (Release::V4_0, [6, 5, 6, 5, 2, 6, 9, 2, 3, 7, 4, 4, 2, 2]),
        (Release::V4_1, [6, 5, 6, 5, 2, 6, 9, 2, 3, 7, 4, 4, 2, 3]),
        (Release::V5_0, [7, 6, 6, 5, 2, 6, 9, 2, 3, 7, 4, 4, 2, 3]),
        (Release::V6_0, [8, 6, 7, 5, 2, 6, 9, 2, 3, 8, 4, 4, 2, 3]),
    ] {
        assert_eq!(Collective::ALL.map(|collective| algorithms(release, collective).count()), counts, "{release}");
    }
}

#[test]
fn only_operations_can_fail_to_commute() {
    use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, ReduceScatterBlock, Scan};
    let reducing = [Allreduce, Exscan, Reduce, ReduceScatter, ReduceScatterBlock, Scan];
    for collective in Collective::ALL {
        for algorithm in algorithms(Release::V6_0, collective) {
            assert!(!algorithm.reorders || reducing.contains(&collective), "{collective} {}", algorithm.name);
        }
    }
}

#[test]
fn unknown_ids_list_the_known() {
    let error = algorithm(Release::V4_0, Collective::Scatter, 3).expect_err("since 4.1").to_string();
    assert_eq!(error, "Open MPI 4.0 has no scatter algorithm 3; known are 1 basic_linear, 2 binomial");
    assert!(algorithm(Release::V6_0, Collective::Scatter, 0).is_err());
    let bruck = |release| algorithm(release, Collective::Allgather, 2).map(|algorithm| algorithm.name);
    assert_eq!(bruck(Release::V5_0), Ok("bruck"));
    assert_eq!(bruck(Release::V6_0), Ok("bruck-k-fanout"));
}

#[test]
fn comparing_says_precisely_what_differs() {
    let release = Release::V5_0;
    for collective in Collective::ALL {
        let mut table = listed(release, collective);
        assert_eq!(compare(release, collective, &table), Ok(()));
        table.insert(0, (0, "ignore".to_owned()));
        assert_eq!(compare(release, collective, &table), Ok(()));
    }
    let mut table = listed(release, Collective::Scatter);
    table.remove(0);
    table[0].1 = "bin".to_owned();
    table.push((4, "new".to_owned()));
    let error = compare(release, Collective::Scatter, &table).expect_err("three differences").to_string();
    assert_eq!(
        error,
        "the library's scatter algorithms are not those of Open MPI 5.0: \
         1 basic_linear is missing; 2 is called `bin` instead of binomial; 4 `new` is unknown"
    );
    let twice: Vec<_> = [listed(release, Collective::Scan), listed(release, Collective::Scan)].concat();
    assert!(compare(release, Collective::Scan, &twice).is_err());
    assert!(compare(release, Collective::Scan, &[(0, "off".to_owned())]).is_err());
}

#[test]
fn choices_are_described_by_what_they_use() {
    let say = |release, collective, choice: &str| describe(release, collective, choice.parse().expect("a choice"));
    let new = Release::V6_0;
    assert_eq!(say(new, Collective::Bcast, "0/4/8192/1"), "default");
    assert_eq!(say(new, Collective::Bcast, "3/0/0/0"), "pipeline");
    assert_eq!(say(new, Collective::Bcast, "3/4/8192/2"), "pipeline, 8 KiB segments");
    assert_eq!(say(new, Collective::Bcast, "2/4/65536/0"), "chain, fan-out 4, 64 KiB segments");
    assert_eq!(say(new, Collective::Alltoall, "4/0/0/8"), "linear_sync, at most 8 requests");
    assert_eq!(say(new, Collective::Bcast, "42/0/0/0"), "algorithm 42");
    assert_eq!(say(new, Collective::Allgather, "2/4/0/0"), "bruck-k-fanout, fan-out 4");
    assert_eq!(say(Release::V5_0, Collective::Allgather, "2/2/0/0"), "bruck");
}

#[test]
fn a_forced_algorithm_runs_with_the_default_fan_outs() {
    let force = |release, collective, id| forced(release, collective, id).map(|choice| choice.to_string());
    for (collective, id, choice) in [
        (Collective::Bcast, 2, "2/4/0/0"),
        (Collective::Bcast, 3, "3/0/0/0"),
        (Collective::Reduce, 2, "2/4/0/0"),
        (Collective::Allgather, 2, "2/2/0/0"),
        (Collective::Bcast, 0, "0/0/0/0"),
    ] {
        assert_eq!(force(Release::V4_1, collective, id).as_deref(), Ok(choice), "{collective} {id}");
    }
    assert_eq!(force(Release::V6_0, Collective::Allgather, 2).as_deref(), Ok("2/4/0/0"));
    assert_eq!(force(Release::V6_0, Collective::Reduce, 8).as_deref(), Ok("8/4/0/0"));
    assert!(force(Release::V5_0, Collective::Reduce, 8).is_err());
}

#[test]
fn only_two_process_algorithms_refuse_ranks() {
    for collective in Collective::ALL {
        for algorithm in algorithms(Release::V6_0, collective) {
            assert!(algorithm.admits(Ranks(2)), "{collective} {}", algorithm.name);
            assert_eq!(algorithm.admits(Ranks(3)), algorithm.name != "two_proc", "{collective}");
        }
    }
}
