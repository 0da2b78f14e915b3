//! Properties that hold for every file.

use proptest::prelude::*;

use super::*;
use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::release::Release;

/// A classic text whose counts fit, in any order of sizes; some collectives come twice or have no algorithms.
fn classic_text() -> impl Strategy<Value = String> {
    let size = prop_oneof![8 => 0u64..20, 1 => 2147483640u64..2147483660, 1 => any::<u32>().prop_map(u64::from)];
    let rule =
        (prop_oneof![0u64..40, Just(i64::MAX as u64)], 0u32..12, 0u32..4, prop::sample::select(vec![0u64, 8, 1024]));
    let rules = prop::collection::vec(rule, 0..5).prop_map(|mut rules| {
        rules.first_mut().into_iter().for_each(|rule| rule.0 = 0);
        let line = |(size, algorithm, faninout, segsize)| format!("{size} {algorithm} {faninout} {segsize}\n");
        (rules.len(), rules.into_iter().map(line).collect::<String>())
    });
    let comm_rule = (size, rules).prop_map(|(size, (count, rules))| format!("{size} {count}\n{rules}"));
    let comm_rules = prop::collection::vec(comm_rule, 0..6);
    let id = prop_oneof![4 => Just(7u32), 4 => 0u32..22];
    let collectives = prop::collection::vec((id, comm_rules), 0..4);
    collectives.prop_map(|collectives| {
        let text =
            |(id, comm_rules): &(u32, Vec<String>)| format!("{id} {}\n{}", comm_rules.len(), comm_rules.concat());
        format!("{} #\n{}", collectives.len(), collectives.iter().map(text).collect::<String>())
    })
}

fn version_2_text() -> impl Strategy<Value = String> {
    classic_text().prop_map(|text| format!("rule-file-version-2\n{text}"))
}

fn any_of(bytes: &'static [u8]) -> impl Strategy<Value = u8> {
    prop::sample::select(bytes)
}

/// A JSON text of overlapping communicator rules and rules.
fn json_text() -> impl Strategy<Value = String> {
    let odd = || prop::sample::select(vec!["\"inf\"", "-1"]).prop_map(str::to_owned);
    let size = || prop_oneof![8 => (0i64..24).prop_map(|size| size.to_string()), 2 => odd()];
    let rule = (size(), size(), 0u32..12, any::<[bool; 2]>()).prop_map(|(min, max, alg, there)| {
        let min = if there[0] { format!("\"msg_size_min\": {min},") } else { String::new() };
        let max = if there[1] { format!("\"msg_size_max\": {max},") } else { String::new() };
        format!("{{{min} {max} \"alg\": {alg}, \"seg_size\": 8}}")
    });
    let distribution = prop::sample::select(vec!["any", "any", "one-per-node", "single-node"]);
    let comm_rule =
        (size(), size(), distribution, prop::collection::vec(rule, 0..5)).prop_map(|(min, max, on, rules)| {
            let sizes = format!("\"comm_size_min\": {min}, \"comm_size_max\": {max}");
            format!("{{{sizes}, \"comm_rank_distribution\": \"{on}\", \"rules\": [{}]}}", rules.join(","))
        });
    let name = prop::sample::select(vec!["bcast", "bcast", "barrier", "gatherv", "reduce_scatter"]);
    let collective = (name, prop::collection::vec(comm_rule, 0..6)).prop_map(|(name, comm_rules)| {
        let comm_rules = if name == "gatherv" { String::new() } else { comm_rules.join(",") };
        format!("\"{name}\": [{comm_rules}]")
    });
    prop::collection::vec(collective, 0..4).prop_map(|all| format!("{{\"collectives\": {{{}}}}}", all.join(",\n")))
}

/// Finds the rule that applies as Open MPI does it, step by step.
fn slowly(loaded: &Loaded, id: u32, ranks: u32, bytes: u64, distribution: Distribution) -> Option<(usize, usize)> {
    let rules = loaded.collectives.iter().rfind(|rules| rules.id == id)?;
    let ranks = i64::from(ranks);
    let walk = |passes: &mut dyn Iterator<Item = bool>| passes.take_while(|passes| *passes).count().saturating_sub(1);
    let comm_rule = if loaded.behaviour.first_match {
        let fits = |comm_rule: &CommRule| (i64::from(comm_rule.min)..=i64::from(comm_rule.max)).contains(&ranks);
        rules
            .comm_rules
            .iter()
            .position(|comm_rule| comm_rule.distribution.applies_to(distribution) && fits(comm_rule))?
    } else {
        walk(&mut rules.comm_rules.iter().map(|comm_rule| i64::from(comm_rule.min) <= ranks))
    };
    let list = &rules.comm_rules.get(comm_rule)?.rules;
    let rule = if loaded.behaviour.first_match {
        list.iter().position(|rule| (rule.min..=rule.max).contains(&bytes))?
    } else {
        walk(&mut list.iter().map(|rule| rule.min <= bytes))
    };
    list.get(rule).map(|_| (comm_rule, rule))
}

/// The content of a valid text: a collective's id, and for each communicator size its rules by message size.
type Naive = Vec<(i64, Vec<(i64, Vec<i64>)>)>;

fn naively_read(text: &str) -> Naive {
    let words = text.lines().flat_map(|line| line.split('#').next().unwrap_or("").split_whitespace());
    let mut numbers = words.map(|word| word.parse::<i64>().expect("a plain number"));
    let mut next = || numbers.next().expect("counts fit");
    let mut file = Naive::new();
    for _ in 0..next() {
        let (id, comm_rules) = (next(), next());
        let mut comm_rule = || {
            let (size, rules) = (next(), next());
            // The algorithm, the fan-out and the segment size decide nothing here.
            let rules = (0..rules).map(|_| [next(), next(), next(), next()][0]).collect();
            (i64::from(size as i32), rules)
        };
        file.push((id, (0..comm_rules).map(|_| comm_rule()).collect()));
    }
    file
}

/// Places of the communicator rule and the rule. Up to 5.0 each list is walked while sizes are not larger, and the last
/// counts; in 6.0 the first range counts, and a communicator size ends its own range.
fn naively_found(
    file: &Naive,
    release: Release,
    collective: Collective,
    ranks: i64,
    bytes: i64,
) -> Option<(usize, usize)> {
    let (_, comm_rules) = file.iter().rfind(|(id, _)| *id == i64::from(collective.id()))?;
    let sizes: Vec<i64> = comm_rules.iter().map(|(size, _)| *size).collect();
    let walk = |starts: &[i64], size: i64| {
        let passed = starts.iter().take_while(|start| **start <= size).count();
        if starts.is_empty() { None } else { Some(passed.saturating_sub(1)) }
    };
    if release < Release::V6_0 {
        let comm_rule = walk(&sizes, ranks)?;
        return Some((comm_rule, walk(&comm_rules[comm_rule].1, bytes)?));
    }
    let (mut min, mut found) = (0i32, None);
    for (place, size) in sizes.iter().enumerate() {
        let max = if place + 1 == sizes.len() { i32::MAX } else { (*size as i32).wrapping_sub(1) };
        if found.is_none() && (i64::from(min)..=i64::from(max)).contains(&ranks) {
            found = Some(place);
        }
        min = max.wrapping_add(1);
    }
    let starts = &comm_rules[found?].1;
    let ends = starts.iter().skip(1).map(|next| (*next as u64).wrapping_sub(1)).chain([i64::MAX as u64]);
    let fits = |(start, end): (&i64, u64)| (*start as u64..=end).contains(&(bytes as u64));
    Some((found?, starts.iter().zip(ends).position(fits)?))
}

fn check_lookups(loaded: &Loaded, ranks: u32, bytes: u64) -> Result<(), TestCaseError> {
    let tables = Distribution::ALL.map(|distribution| loaded.to_table_for(distribution));
    for collective in Collective::ALL {
        for (distribution, table) in Distribution::ALL.into_iter().zip(&tables) {
            for bytes in [bytes, 0, i64::MAX as u64 - 1, i64::MAX as u64] {
                let lookup = loaded.lookup_by_size(collective, Ranks(ranks), bytes, distribution);
                let expected = slowly(loaded, collective.id(), ranks, bytes, distribution);
                prop_assert_eq!(lookup.rule.map(|rule| (rule.comm_rule, rule.rule)), expected);
                prop_assert_eq!(lookup.choice, table.lookup(collective, ranks.into(), bytes));
                let rules = loaded.rules_for(collective);
                let rule = lookup.rule.zip(rules).map(|(at, rules)| rules.comm_rules[at.comm_rule].rules[at.rule]);
                prop_assert_eq!(lookup.choice, rule.map_or(Choice::BUILTIN, |rule| rule.effect()));
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn classic_lookups_are_those_of_open_mpi(text in classic_text(), ranks in 0u32..24, bytes in 0u64..44) {
        for behaviour in Behaviour::distinct() {
            let loaded = load(text.as_bytes(), &behaviour).expect("counts fit");
            for ranks in [ranks, i32::MAX as u32 - 1, i32::MAX as u32] {
                check_lookups(&loaded, ranks, bytes)?;
            }
        }
    }

    #[test]
    fn json_lookups_are_those_of_open_mpi(text in json_text(), ranks in 0u32..26, bytes in 0u64..26) {
        let loaded = accepted(&text, "6.0");
        for ranks in [ranks, i32::MAX as u32] {
            check_lookups(&loaded, ranks, bytes)?;
        }
    }

    #[test]
    fn classic_files_mean_what_a_naive_reader_makes_of_them(
        text in classic_text(), ranks in 0u32..24, bytes in 0u64..44,
    ) {
        let file = naively_read(&text);
        for release in Release::ALL {
            let loaded = load(text.as_bytes(), &Behaviour::latest(release)).expect("counts fit");
            for collective in Collective::ALL {
                let in_use = naively_found(&file, release, collective, ranks.into(), bytes as i64);
                let rule = look_up(&loaded, collective, ranks, bytes).rule;
                prop_assert_eq!(rule.map(|at| (at.comm_rule, at.rule)), in_use, "{}", release);
            }
        }
    }

    /// Texts of relevant characters, which get further than random bytes: comments change nothing.
    #[test]
    fn any_text_of_numbers_is_judged_alike_with_comments(text in "([0-3] ?|[0-9x# \n-]){0,60}") {
        let commented = text.replace('\n', " \n# 7 -1\n");
        for behaviour in Behaviour::distinct().into_iter().filter(|behaviour| !behaviour.reads_json) {
            let judge = |text: &str| match load(text.as_bytes(), &behaviour) {
                Ok(loaded) => Ok(loaded.to_table()),
                Err(Fault { line: Some(_), kind, .. }) if !kind.crashes() => Err(std::mem::discriminant(&kind)),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(judge(&text), judge(&commented));
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for behaviour in Behaviour::distinct() {
            let _ = load(&bytes, &behaviour);
        }
    }

    /// Files with a few changed bytes: places stay within the text, and accepted files have a meaning.
    #[test]
    fn damaged_files_are_judged(
        text in prop_oneof![classic_text(), version_2_text(), json_text()],
        damage in prop::collection::vec((any::<prop::sample::Index>(), any_of(b"0 9,x-#\n\"[]{}:\\\xff\0")), 0..5),
    ) {
        let mut bytes = text.into_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for behaviour in Behaviour::distinct() {
            let span = match load(&bytes, &behaviour) {
                Ok(loaded) => {
                    check_lookups(&loaded, 4, 16)?;
                    let comm_rules = loaded.collectives.iter().flat_map(|rules| &rules.comm_rules);
                    let rules = comm_rules.flat_map(|comm_rule| &comm_rule.rules);
                    let last = rules.map(|rule| rule.span).max_by_key(|span| span.end);
                    last.unwrap_or_default()
                }
                Err(fault) => fault.span,
            };
            prop_assert!(span.start <= span.end && span.end <= bytes.len());
        }
    }
}
