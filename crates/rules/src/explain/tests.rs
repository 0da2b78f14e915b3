use super::*;
use crate::kind::FileKind;
use crate::units::Bytes;

fn explained(text: &str, call_: &Call) -> Vec<VersionGroup<Answer<Explanation>>> {
    let lines = Lines::new(text.as_bytes());
    group(
        Behaviour::distinct()
            .into_iter()
            .map(|version| (version, FileKind::Tuned.load(text.as_bytes(), &version)))
            .map(|(version, load)| (version, call(&load, &lines, call_, Level::GlobalCommunicator))),
    )
}

#[test]
fn equal_answers_are_one_group() {
    let text = "1 7 3\n2 1\n0 1 0 0\n4 1\n0 6 0 0 # binomial\n8 1\n0 3 0 0\n";
    let groups = explained(text, &Call::new(Collective::Bcast, Ranks(2), Bytes(8)));
    let labels: Vec<_> = groups.iter().map(VersionGroup::label).collect();
    assert_eq!(labels, ["Open MPI 4.0, 4.1, 5.0", "Open MPI 6.0"]);
    let Answer::Accepted(in_use) = &groups[1].answer else { panic!("{groups:?}") };
    let place = Excerpt { line: 5, text: "0 6 0 0 # binomial".to_owned() };
    assert_eq!((in_use.place.as_ref(), in_use.runs.as_str()), (Some(&place), "binomial"));
    // The last size has the same effect, by another line of thought.
    assert_eq!(explained(text, &Call::new(Collective::Bcast, Ranks(9), Bytes(8))).len(), 1);
}

#[test]
fn errors_and_endless_loops_are_outcomes() {
    let ends = |text, ranks| {
        let collective = Collective::Allgather;
        let groups = explained(text, &Call::new(collective, Ranks(ranks), Bytes(8)));
        let end = |group: &VersionGroup<Answer<Explanation>>| match &group.answer {
            Answer::Accepted(in_use) => in_use.end,
            other => panic!("{other:?}"),
        };
        groups.iter().map(end).collect::<Vec<_>>()
    };
    assert_eq!(ends("1 0 1 1 1 0 6 0 0", 3), [End::Error]);
    assert_eq!(ends("1 0 1 1 1 0 2 0 0", 4), [End::Algorithm, End::Endless]);
    assert_eq!(ends("1 0 1 1 1 0 0 0 0", 4), [End::Builtin]);
    // Not in 4.0 and 4.1.
    assert_eq!(ends("1 0 1 1 1 0 7 0 0", 4), [End::Error, End::Error, End::Algorithm]);
}

#[test]
fn rows_give_message_sizes() {
    let text = "1\n9\n2\n4 1\n0 1 0 0\n4 2\n0 1 0 0\n1000 2 0 0\n";
    let rows = |text: &str, by: &str| {
        let load = FileKind::Tuned.load(text.as_bytes(), &by.parse().expect("known"));
        match contents(&load, &Lines::new(text.as_bytes())) {
            Answer::Accepted(Contents { rules }) => rules.iter().map(|row| row.message).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rows(text, "5.0"), [MessageSizes::OverRanks; 3]);
    assert_eq!(rows(text, "4.0"), [MessageSizes::CountFree; 3]);
    let four = "1\n9\n3\n0 1\n0 0 0 0\n4 2\n0 1 0 0\n1002 2 0 0\n5 1\n0 0 0 0\n";
    let range = |first, end| MessageSizes::PerRank(ByteRange { first, end });
    assert_eq!(rows(four, "5.0")[1..3], [range(0, Some(251)), range(251, None)]);
    // Barriers look up 0 and meet no other rule.
    assert_eq!(rows("1 6 1 0 2 0 1 0 0 8 2 0 0", "5.0"), [MessageSizes::None]);
}

#[test]
fn wrong_results_and_calls_without_data_are_ends() {
    let end = |call: &Call| match &explained("1 2 1 1 1 0 4 0 0", call)[0].answer {
        Answer::Accepted(in_use) => (in_use.end, in_use.runs.clone()),
        other => panic!("{other:?}"),
    };
    let call = Call::new(Collective::Allreduce, Ranks(4), Bytes(8192));
    assert_eq!(end(&call).0, End::Algorithm);
    let (wrong, words) = end(&Call { commutative: false, ..call });
    assert_eq!(wrong, End::Wrong);
    assert!(words.starts_with("ring, with a WRONG RESULT: it reorders operands"), "{words}");
    let empty = Call::new(Collective::Allreduce, Ranks(4), Bytes(0));
    assert_eq!(end(&empty).0, End::Nothing);
    // Elements without a size are elements.
    assert_eq!(end(&empty.with_type_size(0)).0, End::Algorithm);
}

/// The answers about a file of HAN are those about one of coll/tuned, of a level.
#[test]
fn files_of_han_are_explained_alike() {
    let text = "1\nbcast\n1\n2\n2\n1 1\n0 han\n8 2\n0 han\n2048 tuned\n";
    let lines = Lines::new(text.as_bytes());
    let load = FileKind::of(text.as_bytes()).load(text.as_bytes(), &"5.0".parse().expect("known"));
    let answer = |level| {
        let four = Call::new(Collective::Bcast, Ranks(8), Bytes(4096));
        match call(&load, &lines, &four, level) {
            Answer::Accepted(in_use) => (in_use.end, in_use.said, in_use.place.map(|place| place.line)),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(answer(Level::GlobalCommunicator), (End::Component, "tuned".to_owned(), Some(10)));
    assert_eq!(answer(Level::IntraNode), (End::Builtin, "HAN's parameters".to_owned(), None));
    let Answer::Accepted(Contents { rules: rows }) = contents(&load, &lines) else { panic!("{load:?}") };
    let level = Part::Level(Level::GlobalCommunicator);
    let found: Vec<_> =
        rows.iter().map(|row| (row.part, row.ranks.first, row.lookup.first, row.said.as_str())).collect();
    assert_eq!(found, [(level, 0, 0, "han"), (level, 8, 0, "han"), (level, 8, 2048, "tuned")]);
    let row = serde_json::to_value(&rows[2]).expect("plain data");
    assert_eq!((&row["level"], &row["choice"]["component"]), (&"global_communicator".into(), &"tuned".into()));
}
