//! A rules file made by hand: what one wants, as ranges, and what each release of Open MPI makes of it.
//!
//! Run with `cargo run --example rules_by_hand`.

#![allow(clippy::print_stdout)]

use collrules_rules::emit::{self, Notes};
use collrules_rules::steps::Steps;
use collrules_rules::table::all_builtin;
use collrules_rules::{Behaviour, Bytes, Call, Choice, Collective, Ranks, Release, RuleTable, load, registry};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // On 4 to 7 ranks, broadcast 64 KiB to 1 MiB through a pipeline of 8 KiB segments.
    let pipeline = Choice::plain(3).with_segsize(8 << 10);
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(64 << 10, Some(1 << 20), pipeline);
    let mut ranks = all_builtin();
    ranks.set(4, Some(8), sizes);
    let mut table = RuleTable::new();
    table.set(Collective::Bcast, ranks);

    // A table that would break programs is refused here, with the reasons.
    let file = emit::classic(&table, &Notes::default(), |_| false)?;
    println!("{file}");
    for release in Release::ALL {
        let read = load(file.as_bytes(), &Behaviour::latest(release))?;
        for ranks in [3, 4, 7, 8] {
            let call = Call::new(Collective::Bcast, Ranks(ranks), Bytes(100_000));
            let name = registry::describe(release, Collective::Bcast, read.lookup(&call).choice);
            println!("Open MPI {release}: bcast of 100000 bytes on {ranks} ranks is run by {name}");
        }
    }
    Ok(())
}
