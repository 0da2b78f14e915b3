use super::*;
use crate::file::load;
use crate::units::Bytes;

fn explained(text: &str, call_: &Call) -> Vec<Group<Answer<Served>>> {
    let lines = Lines::new(text.as_bytes());
    group(
        Behaviour::distinct()
            .into_iter()
            .map(|version| (version, call(&load(text.as_bytes(), &version), &lines, call_))),
    )
}

#[test]
fn equal_answers_are_one_group() {
    let text = "1 7 3\n2 1\n0 1 0 0\n4 1\n0 6 0 0 # binomial\n8 1\n0 3 0 0\n";
    let groups = explained(text, &Call::new(Collective::Bcast, Ranks(2), Bytes(8)));
    let labels: Vec<_> = groups.iter().map(Group::label).collect();
    assert_eq!(labels, ["Open MPI 4.0, 4.1, 5.0", "Open MPI 6.0"]);
    let Answer::Accepted(served) = &groups[1].answer else { panic!("{groups:?}") };
    let place = Place { line: 5, text: "0 6 0 0 # binomial".to_owned() };
    assert_eq!((served.place.as_ref(), served.runs.as_str()), (Some(&place), "binomial"));
    // The last size serves alike, by another line of thought.
    assert_eq!(explained(text, &Call::new(Collective::Bcast, Ranks(9), Bytes(8))).len(), 1);
}

#[test]
fn errors_and_endless_loops_are_outcomes() {
    let outcomes = |text, ranks| {
        let collective = Collective::Allgather;
        let groups = explained(text, &Call::new(collective, Ranks(ranks), Bytes(8)));
        let outcome = |group: &Group<Answer<Served>>| match &group.answer {
            Answer::Accepted(served) => served.outcome,
            other => panic!("{other:?}"),
        };
        groups.iter().map(outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcomes("1 0 1 1 1 0 6 0 0", 3), [Outcome::Error]);
    assert_eq!(outcomes("1 0 1 1 1 0 2 0 0", 4), [Outcome::Algorithm, Outcome::Endless]);
    assert_eq!(outcomes("1 0 1 1 1 0 0 0 0", 4), [Outcome::Builtin]);
    // Not in 4.0 and 4.1.
    assert_eq!(outcomes("1 0 1 1 1 0 7 0 0", 4), [Outcome::Error, Outcome::Error, Outcome::Algorithm]);
}

#[test]
fn rows_give_message_sizes() {
    let text = "1\n9\n2\n4 1\n0 1 0 0\n4 2\n0 1 0 0\n1000 2 0 0\n";
    let rows = |text: &str, by: &str| {
        let load = load(text.as_bytes(), &by.parse().expect("known"));
        match contents(&load, &Lines::new(text.as_bytes())) {
            Answer::Accepted(rows) => rows.iter().map(|row| row.message).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rows(text, "5.0"), [MessageSizes::OverRanks; 3]);
    assert_eq!(rows(text, "4.0"), [MessageSizes::CountFree; 3]);
    let four = "1\n9\n3\n0 1\n0 0 0 0\n4 2\n0 1 0 0\n1002 2 0 0\n5 1\n0 0 0 0\n";
    let range = |first, end| MessageSizes::Blocks(ByteRange { first, end });
    assert_eq!(rows(four, "5.0")[1..3], [range(0, Some(251)), range(251, None)]);
    // Barriers look up 0 and meet no other rule.
    assert_eq!(rows("1 6 1 0 2 0 1 0 0 8 2 0 0", "5.0"), [MessageSizes::None]);
}

#[test]
fn places_are_lines_fit_to_be_shown() {
    let long = format!("short \x1b[1m line\n{} end\n", "x".repeat(200));
    let lines = Lines::new(long.as_bytes());
    assert_eq!(lines.place(Span::new(2, 4)), Place { line: 1, text: "short ?[1m line".to_owned() });
    let place = lines.place(Span::new(20, 300));
    assert_eq!((place.line, place.text.len()), (2, SHOWN + 4));
    assert_eq!(lines.place(Span::at(long.len())).line, 3);
    assert_eq!(Lines::new(b"").place(Span::at(0)), Place { line: 1, text: String::new() });
}
