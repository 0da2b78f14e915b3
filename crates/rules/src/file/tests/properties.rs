//! What holds for every file.

use proptest::prelude::*;

use super::*;
use crate::behaviour::Behaviour;
use crate::choice::Choice;
use crate::classic;
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
    let block = (size, rules).prop_map(|(size, (count, rules))| format!("{size} {count}\n{rules}"));
    let blocks = prop::collection::vec(block, 0..6);
    let id = prop_oneof![4 => Just(7u32), 4 => 0u32..22];
    let collectives = prop::collection::vec((id, blocks), 0..4);
    collectives.prop_map(|collectives| {
        let text = |(id, blocks): &(u32, Vec<String>)| format!("{id} {}\n{}", blocks.len(), blocks.concat());
        format!("{} #\n{}", collectives.len(), collectives.iter().map(text).collect::<String>())
    })
}

fn version_2_text() -> impl Strategy<Value = String> {
    classic_text().prop_map(|text| format!("rule-file-version-2\n{text}"))
}

fn any_of(bytes: &'static [u8]) -> impl Strategy<Value = u8> {
    prop::sample::select(bytes)
}

/// A JSON text of overlapping blocks and rules.
fn json_text() -> impl Strategy<Value = String> {
    let odd = || prop::sample::select(vec!["\"inf\"", "-1"]).prop_map(str::to_owned);
    let size = || prop_oneof![8 => (0i64..24).prop_map(|size| size.to_string()), 2 => odd()];
    let rule = (size(), size(), 0u32..12, any::<[bool; 2]>()).prop_map(|(min, max, alg, there)| {
        let min = if there[0] { format!("\"msg_size_min\": {min},") } else { String::new() };
        let max = if there[1] { format!("\"msg_size_max\": {max},") } else { String::new() };
        format!("{{{min} {max} \"alg\": {alg}, \"seg_size\": 8}}")
    });
    let distribution = prop::sample::select(vec!["any", "any", "one-per-node", "single-node"]);
    let block = (size(), size(), distribution, prop::collection::vec(rule, 0..5)).prop_map(|(min, max, on, rules)| {
        let sizes = format!("\"comm_size_min\": {min}, \"comm_size_max\": {max}");
        format!("{{{sizes}, \"comm_rank_distribution\": \"{on}\", \"rules\": [{}]}}", rules.join(","))
    });
    let name = prop::sample::select(vec!["bcast", "bcast", "barrier", "gatherv", "reduce_scatter"]);
    let collective = (name, prop::collection::vec(block, 0..6)).prop_map(|(name, blocks)| {
        let blocks = if name == "gatherv" { String::new() } else { blocks.join(",") };
        format!("\"{name}\": [{blocks}]")
    });
    prop::collection::vec(collective, 0..4).prop_map(|all| format!("{{\"collectives\": {{{}}}}}", all.join(",\n")))
}

/// The rule that serves, looked for as Open MPI does it, step by step.
fn slowly(loaded: &Loaded, id: u32, ranks: u32, bytes: u64, distribution: Distribution) -> Option<(usize, usize)> {
    let rules = loaded.collectives.iter().rfind(|rules| rules.id == id)?;
    let ranks = i64::from(ranks);
    let walk = |passes: &mut dyn Iterator<Item = bool>| passes.take_while(|passes| *passes).count().saturating_sub(1);
    let block = if loaded.behaviour.first_match {
        let fits = |block: &Block| (i64::from(block.min)..=i64::from(block.max)).contains(&ranks);
        rules.blocks.iter().position(|block| block.distribution.serves(distribution) && fits(block))?
    } else {
        walk(&mut rules.blocks.iter().map(|block| i64::from(block.min) <= ranks))
    };
    let list = &rules.blocks.get(block)?.rules;
    let rule = if loaded.behaviour.first_match {
        list.iter().position(|rule| (rule.min..=rule.max).contains(&bytes))?
    } else {
        walk(&mut list.iter().map(|rule| rule.min <= bytes))
    };
    list.get(rule).map(|_| (block, rule))
}

fn check_lookups(loaded: &Loaded, ranks: u32, bytes: u64) -> Result<(), TestCaseError> {
    let tables = Distribution::ALL.map(|distribution| loaded.to_table_for(distribution));
    for collective in Collective::ALL {
        for (distribution, table) in Distribution::ALL.into_iter().zip(&tables) {
            for bytes in [bytes, 0, i64::MAX as u64 - 1, i64::MAX as u64] {
                let lookup = loaded.serve(collective, Ranks(ranks), bytes, distribution);
                let expected = slowly(loaded, collective.id(), ranks, bytes, distribution);
                prop_assert_eq!(lookup.rule.map(|rule| (rule.block, rule.rule)), expected);
                prop_assert_eq!(lookup.choice, table.lookup(collective, ranks.into(), bytes));
                let rule = lookup.rule.map(|at| loaded.collectives[at.collective].blocks[at.block].rules[at.rule]);
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
            let loaded = load(text.as_bytes(), &behaviour).into_accepted().expect("counts fit");
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

    /// The model of version 1 is another implementation of the same.
    #[test]
    fn files_of_version_1_mean_what_their_model_says(text in classic_text(), ranks in 0u32..24, bytes in 0u64..44) {
        let file = classic::read(&text).expect("counts fit");
        for release in Release::ALL {
            let loaded = load(text.as_bytes(), &Behaviour::latest(release)).into_accepted().expect("counts fit");
            prop_assert_eq!(loaded.to_table(), file.to_table(release), "{}", release);
            for collective in Collective::ALL {
                let served = file.lookup(release, collective, ranks, bytes);
                let rule = serving(&loaded, collective, ranks, bytes).rule;
                prop_assert_eq!(rule.map(|at| (at.block, at.rule)), served.map(|at| (at.comm_rule, at.rule)));
            }
        }
    }

    /// Texts of the characters that matter, which get further than random bytes do.
    #[test]
    fn any_text_is_judged_as_the_model_judges_it(text in "([0-3] ?|[0-9x# \n-]){0,60}") {
        for behaviour in Behaviour::distinct().into_iter().filter(|behaviour| !behaviour.reads_json) {
            let found = match load(text.as_bytes(), &behaviour) {
                Load::Accepted(_) => Ok(()),
                Load::Rejected(Rejection { cause: RejectionCause::Classic(cause), .. }) => Err(cause),
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert_eq!(found, classic::read(&text).map(|_| ()));
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for behaviour in Behaviour::distinct() {
            let _ = load(&bytes, &behaviour);
        }
    }

    /// Files with a few bytes changed: places stay within the text, and what is accepted has a meaning.
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
                Load::Accepted(loaded) => {
                    check_lookups(&loaded, 4, 16)?;
                    let blocks = loaded.collectives.iter().flat_map(|rules| &rules.blocks);
                    let rules = blocks.flat_map(|block| &block.rules);
                    let last = rules.map(|rule| rule.span).max_by_key(|span| span.end);
                    last.unwrap_or_default()
                }
                Load::Rejected(rejection) => {
                    prop_assert_eq!(rejection.line, rejection.span.line(&bytes));
                    rejection.span
                }
                Load::Crashes(crash) => crash.span,
            };
            prop_assert!(span.start <= span.end && span.end <= bytes.len());
        }
    }
}
