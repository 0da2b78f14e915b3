//! JSON files, as a real 6.0 reads them.

use super::*;
use crate::choice::Choice;

fn file(collectives: &str) -> String {
    format!(r#"{{"rule_file_version": 3, "module": "tuned", "collectives": {{{collectives}}}}}"#)
}

fn bcast(comm_rules: &str) -> String {
    file(&format!(r#""bcast": [{comm_rules}]"#))
}

/// One communicator rule for all communicators.
fn rules(rules: &str) -> String {
    bcast(&format!(r#"{{"rules": [{rules}]}}"#))
}

/// The first rule of the first communicator rule.
fn first_rule(text: &str) -> Rule {
    accepted(text, "6.0").collectives[0].comm_rules[0].rules[0]
}

fn json_fault(text: &str) -> FaultKind {
    let Fault { line, kind, .. } = rejected(text, "6.0");
    assert_eq!(line, None, "{text}");
    kind
}

#[test]
fn the_example_of_the_specification() {
    let text = r#"{ "rule_file_version": 3, "module": "tuned",
      "collectives": {
        "bcast": [ { "comm_size_min": 4, "comm_size_max": 4, "comm_rank_distribution": "any",
                     "rules": [ { "msg_size_min": 0, "msg_size_max": 1023, "alg": "binomial" },
                                { "msg_size_min": 1024, "msg_size_max": "inf", "alg": 3,
                                  "faninout": 0, "seg_size": 1024, "reqs": 0 } ] } ] } }"#;
    let loaded = accepted(text, "6.0");
    assert_eq!(loaded.format, Format::Json);
    assert_eq!([0, 1023, 1024, u64::MAX].map(|bytes| algorithm(&loaded, 4, bytes)), [6, 6, 3, 3].map(Some));
    assert_eq!([3, 5].map(|ranks| look_up(&loaded, Collective::Bcast, ranks, 0).reason), [Reason::NoCommRule; 2]);
    let rule = look_up(&loaded, Collective::Bcast, 4, 1024).rule.expect("a rule");
    assert_eq!(rule.span.line(text.as_bytes()), 5);
    assert!(rule.span.of(text.as_bytes()).starts_with(b"{ \"msg_size_min\": 1024"));
    // Every other version reads numbers out of it.
    assert!(load(text.as_bytes(), &version("5.0")).is_err_and(|fault| !fault.kind.crashes()));
}

#[test]
fn overlaps_take_the_first_and_gaps_are_not_filled() {
    let loaded = accepted(
        bcast(
            r#"{"comm_size_min": 4, "comm_size_max": 8, "rules": [
                 {"msg_size_min": 0, "msg_size_max": 4096, "alg": 1},
                 {"msg_size_min": 100, "msg_size_max": 9999, "alg": 2}]},
               {"comm_size_min": 2, "comm_size_max": 16, "rules": [{"alg": 3}]}"#,
        ),
        "6.0",
    );
    let found = [500, 5000, 20000].map(|bytes| algorithm(&loaded, 4, bytes));
    assert_eq!(found, [Some(1), Some(2), None]);
    let first = loaded.rules_for(Collective::Bcast).expect("rules").comm_rules[0].span;
    assert_eq!(look_up(&loaded, Collective::Bcast, 4, 20000).reason, Reason::NoSize { comm_rule: 0, span: first });
    assert_eq!([2, 3, 9, 16, 17].map(|ranks| algorithm(&loaded, ranks, 0)), [Some(3), Some(3), Some(3), Some(3), None]);
}

#[test]
fn everything_has_a_default() {
    let rule = first_rule(&rules(r#"{"alg": 3}"#));
    assert_eq!((rule.min, rule.max, rule.choice), (0, i64::MAX as u64, Choice::plain(3)));
    let comm_rule = &accepted(rules(""), "6.0").collectives[0].comm_rules[0];
    assert_eq!(
        (comm_rule.min, comm_rule.max, comm_rule.distribution, comm_rule.listed),
        (0, i32::MAX, Distribution::Any, None)
    );
    let full = r#"{"alg": 2, "faninout": 4, "seg_size": 8192, "reqs": 5, "segsize": 1, "msg_size_min": 8}"#;
    assert_eq!(first_rule(&rules(full)).choice, "2/4/8192/5".parse().expect("a choice"));
    // Unlike in classic files nothing is inherited.
    let text = rules(r#"{"alg": 3}"#);
    let loaded = load_inheriting(text.as_bytes(), &version("6.0"), 7).expect("accepted");
    assert_eq!(loaded.collectives[0].comm_rules[0].rules[0].choice.max_requests, 0);
}

#[test]
fn inf_is_the_largest_size_and_no_communicator() {
    for inf in ["inf", "Inf", "INF", "infinity"] {
        let rule = first_rule(&rules(&format!(r#"{{"msg_size_max": "{inf}", "alg": 1}}"#)));
        assert_eq!(rule.max, i64::MAX as u64, "{inf}");
    }
    for text in ["iNF", "max", "", "9"] {
        let text = rules(&format!(r#"{{"msg_size_max": "{text}"}}"#));
        assert_eq!(json_fault(&text), FaultKind::NotAnInteger("msg_size_max"));
    }
    let loaded = accepted(bcast(r#"{"comm_size_min": 2, "comm_size_max": "inf", "rules": [{"alg": 1}]}"#), "6.0");
    assert_eq!(loaded.collectives[0].comm_rules[0].max, -1);
    assert_eq!([1, 2, 9].map(|ranks| look_up(&loaded, Collective::Bcast, ranks, 0).reason), [Reason::NoCommRule; 3]);
    // As a smallest size it is -1 as well, and so below all.
    let loaded = accepted(bcast(r#"{"comm_size_min": "inf", "rules": [{"alg": 1}]}"#), "6.0");
    assert_eq!(algorithm(&loaded, 2, 0), Some(1));
}

#[test]
fn integers_of_every_size() {
    let all = accepted(rules(r#"{"msg_size_max": 9223372036854775807, "alg": 1}"#), "6.0");
    assert_eq!(algorithm(&all, 2, u64::MAX), Some(1));
    let unlimited = accepted(rules(r#"{"msg_size_max": -1, "alg": 1}"#), "6.0");
    assert_eq!(algorithm(&unlimited, 2, 1 << 60), Some(1));
    let never = accepted(rules(r#"{"msg_size_min": -1, "alg": 1}"#), "6.0");
    assert_eq!(algorithm(&never, 2, 0), None);
    for number in ["18446744073709551615", "0.0", "1e3", "null", "\"2\"", "true", "[]", "{}"] {
        let text = rules(&format!(r#"{{"msg_size_min": {number}}}"#));
        assert_eq!(json_fault(&text), FaultKind::NotAnInteger("msg_size_min"), "{number}");
    }
    // Narrowed to an `int`.
    let comm_rule =
        bcast(r#"{"comm_size_min": 4294967300, "comm_size_max": 4294967301, "rules": [{"alg": 4294967299}]}"#);
    assert_eq!([4, 5, 6].map(|ranks| algorithm(&accepted(&comm_rule, "6.0"), ranks, 0)), [Some(3), Some(3), None]);
}

#[test]
fn algorithms_have_names_in_any_case_or_numbers() {
    for (alg, expected) in [
        ("\"binomial\"", 6),
        ("\"Binomial\"", 6),
        ("\"SCATTER_allgather\"", 8),
        ("\"6\"", 6),
        ("\" 6\"", 6),
        ("\"0x6\"", 6),
        ("\"06\"", 6),
        ("\"+6\"", 6),
        ("6", 6),
        ("0", 0),
        ("\"ignore\"", 0),
        ("\"\"", 0),
    ] {
        let rule = first_rule(&rules(&format!(r#"{{"alg": {alg}}}"#)));
        assert_eq!((rule.choice.algorithm, rule.state), (expected, RuleState::Plain), "{alg}");
    }
    for alg in ["2.0", "null", "true", "[6]"] {
        let rule = first_rule(&rules(&format!(r#"{{"alg": {alg}}}"#)));
        assert_eq!((rule.choice.algorithm, rule.state), (0, RuleState::NoAlgorithm), "{alg}");
    }
    assert_eq!(first_rule(&rules("{}")).state, RuleState::NoAlgorithm);
    // Whatever is no object is a rule with nothing in it.
    assert_eq!(first_rule(&rules("7")).state, RuleState::NoAlgorithm);
    let named = |collective: &str, alg: &str| {
        let text = file(&format!(r#""{collective}": [{{"rules": [{{"alg": "{alg}"}}]}}]"#));
        first_rule(&text).choice.algorithm
    };
    assert_eq!(named("allgather", "bruck-k-fanout"), 2);
    assert_eq!(named("reduce_scatter", "non-overlapping"), 1);
    assert_eq!(named("reduce_scatter_block", "butterfly"), 4);
}

#[test]
fn an_unknown_algorithm_drops_its_rule_alone() {
    for alg in ["99", "-1", "\"no_such_alg\"", "\"6 \"", "\"bruck\"", "\"0x\"", "\" \""] {
        let text = rules(&format!(r#"{{"msg_size_max": 100, "alg": {alg}}}, {{"msg_size_max": 50, "alg": 6}}"#));
        let loaded = accepted(&text, "6.0");
        assert_eq!(loaded.collectives[0].comm_rules[0].rules[0].state, RuleState::Disabled, "{alg}");
        assert_eq!([0, 50, 51].map(|bytes| algorithm(&loaded, 4, bytes)), [Some(6), Some(6), None], "{alg}");
    }
}

#[test]
fn of_a_collective_twice_the_last_counts_and_of_a_key_the_first() {
    let twice = file(r#""bcast": [{"rules": [{"alg": 1}]}], "bcast": [{"rules": [{"alg": 2, "alg": 3}]}]"#);
    let loaded = accepted(&twice, "6.0");
    assert_eq!(loaded.collectives.iter().map(|rules| rules.replaced).collect::<Vec<_>>(), [true, false]);
    assert_eq!(algorithm(&loaded, 4, 0), Some(2));
    let roots = r#"{"collectives": {"bcast": [{"rules": [{"alg": 1}]}]}, "collectives": 5}"#;
    assert_eq!(algorithm(&accepted(roots, "6.0"), 4, 0), Some(1));
}

#[test]
fn distributions_are_looked_at() {
    let comm_rule = |distribution: &str, alg: u32| {
        format!(r#"{{"comm_rank_distribution": {distribution}, "rules": [{{"alg": {alg}}}]}}"#)
    };
    let comm_rules =
        [comm_rule("\"one-per-node\"", 1), comm_rule("\"single-node\"", 2), comm_rule("\"any\"", 3)].join(",");
    let loaded = accepted(bcast(&comm_rules), "6.0");
    let found = Distribution::ALL
        .map(|distribution| loaded.lookup_by_size(Collective::Bcast, Ranks(4), 0, distribution).choice.algorithm);
    assert_eq!(found, [3, 1, 2]);
    let table = |distribution| loaded.to_table_for(distribution).lookup(Collective::Bcast, 4, 0).algorithm;
    assert_eq!(Distribution::ALL.map(table), [3, 1, 2]);
    // Any other text is any distribution.
    assert_eq!(algorithm(&accepted(bcast(&comm_rule("\"One-Per-Node\"", 1)), "6.0"), 4, 0), Some(1));
    assert_eq!(json_fault(&bcast(&comm_rule("1", 1))), FaultKind::DistributionNotString);
}

#[test]
fn tolerances_of_the_parser() {
    let text = rules(r#"{"alg": 6,},"#);
    for text in [text.clone(), format!("\u{feff}{text}"), text.replace(' ', "\r\n"), format!("{text}\0junk")] {
        assert_eq!(algorithm(&accepted(&text, "6.0"), 4, 0), Some(6), "{text:?}");
    }
    let unknown = r#"{"$schema": {"collectives": []}, "rule_file_version": 99, "module": "han", "x": [[1.5]],
        "collectives": {"bcast": [{"y": null, "rules": [{"z": {"alg": 9}, "alg": 6}]}]}}"#;
    assert_eq!(algorithm(&accepted(unknown, "6.0"), 4, 0), Some(6));
}

#[test]
fn json_that_is_no_rules_file_is_ignored() {
    for text in ["[]", "7", "{}", "\"x\"", r#"{"Collectives": {}}"#] {
        assert_eq!(json_fault(text), FaultKind::NoMember, "{text}");
    }
    for text in ["[]", "7", "null"] {
        assert_eq!(json_fault(&format!(r#"{{"collectives": {text}}}"#)), FaultKind::CollectivesNotObject);
    }
    for name in ["Bcast", "reducescatter", "reducescatterblock", "ibcast", ""] {
        let fault = FaultKind::UnknownCollective(name.to_owned());
        assert_eq!(json_fault(&file(&format!(r#""{name}": []"#))), fault);
        // Collectives without communicator rules leave nothing behind that could be freed again.
        assert_eq!(json_fault(&file(&format!(r#""bcast": [], "{name}": []"#))), fault);
    }
    assert_eq!(json_fault(&file(r#""bcast": {}"#)), FaultKind::NotAnArray("bcast".to_owned()));
    assert_eq!(json_fault(&bcast(r#"{"comm_size_min": 0.5}"#)), FaultKind::NotAnInteger("comm_size_min"));
    assert_eq!(json_fault(&bcast(r#"{"comm_size_min": 1}"#)), FaultKind::NoRules);
    assert_eq!(json_fault(&bcast("5")), FaultKind::NoRules);
    assert!(accepted(file(""), "6.0").to_table().is_empty());
    assert!(accepted(bcast(r#"{"rules": {}}"#), "6.0").to_table().is_empty());
    let text = bcast("\n{}");
    assert_eq!(rejected(&text, "6.0").span.line(text.as_bytes()), 2);
}

#[test]
fn faults_behind_a_good_rule_crash() {
    let good = r#"{"rules": [{"alg": 1}]}"#;
    for bad in [r#""Bcast": []"#, r#""reducescatter": []"#, r#""barrier": {}"#, r#""barrier": 5"#] {
        let crash = crashes(file(&format!(r#""bcast": [{good}], {bad}"#)));
        assert!(matches!(crash.kind, FaultKind::AfterGoodRule(_)), "{bad}");
        assert!(load(file(bad).as_bytes(), &version("6.0")).is_err_and(|fault| !fault.kind.crashes()), "{bad}");
    }
    for bad in [r#"{"comm_size_max": 1.5, "rules": []}"#, r#"{"comm_rank_distribution": 1, "rules": []}"#, "{}", "7"] {
        let crash = crashes(bcast(&format!("{good}, {bad}")));
        assert!(matches!(crash.kind, FaultKind::AfterGoodRule(_)), "{bad}");
        assert!(load(bcast(bad).as_bytes(), &version("6.0")).is_err_and(|fault| !fault.kind.crashes()), "{bad}");
        // The good rule may be another collective's.
        crashes(file(&format!(r#""barrier": [{good}], "bcast": [{bad}]"#)));
    }
    // A bad field of a message rule is a mere rejection everywhere, and so are `rules` that hold nothing.
    for bad in [r#"{"rules": [{"msg_size_min": "x"}]}"#, r#"{"rules": 5}"#] {
        json_fault(&bcast(&format!("{good}, {bad}")));
    }
}

#[test]
fn other_crashes() {
    let untuned = ["alltoallw", "gatherv", "scatterv", "neighbor_allgather", "neighbor_alltoallw"];
    for name in untuned {
        for alg in ["0", "1", "\"linear\""] {
            let crash = crashes(file(&format!(r#""{name}": [{{"rules": [{{"alg": {alg}}}]}}]"#)));
            assert_eq!(crash.kind, FaultKind::AlgorithmOfUntuned(name));
        }
        // Without an algorithm to look for there is no table to miss.
        for rule in ["{}", r#"{"alg": 1.5}"#] {
            accepted(file(&format!(r#""{name}": [{{"rules": [{rule}]}}]"#)), "6.0");
        }
    }
    let crash = crashes(bcast(r#"{"rules": {"alg": 1}}"#));
    assert_eq!(crash.kind, FaultKind::RulesAreObject);
    assert_eq!(crash.to_string(), {
        "MPI_Init crashes: `rules` must be an array; an object is read as if it were one"
    });
}
