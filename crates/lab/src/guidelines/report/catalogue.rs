//! The list of guidelines.

use collrules_program::catalogue::{CATALOGUE, Guideline};
use collrules_record::{Bytes, Cell, Even, Mockup, Ranks};
use collrules_report::document::{Block, Document};
use collrules_runner::grid::needed_memory;

/// Width of the list: the longest words of the columns next to each other.
const WIDTH: usize = 140;

const EXPLANATION: &str = "Memory is that of the rank that needs most besides the caller's buffers, on 8 ranks of 2 nodes with \
                           messages of 1 KiB. p ranks, m message bytes, m' = m rounded up to a multiple of p elements; hier \
                           and lane take several nodes with equally many ranks, one node's behind the other's. Splits and \
                           pads need buffers for what they pack: up to p*m/K each way for a split, p*SIZE for a pad of \
                           collectives with blocks. All blocks together have to be within a C int, and a message has to be \
                           whole elements.";

/// The memory of a mock-up in the example.
fn memory(it: &Guideline) -> Bytes {
    let bytes = Bytes(if it.collective.has_sizes() { 1024 } else { 0 });
    let cell = Cell { collective: it.collective, ranks: Ranks(8), bytes };
    needed_memory(cell, Mockup::Pattern(it.pattern), Some(Even { nodes: 2, each: 4 })).unwrap_or_default()
}

/// The catalogue as text.
pub fn list() -> String {
    let own = CATALOGUE.iter().map(|it| {
        let (collective, calls) = (it.collective.to_string(), it.pattern.to_string());
        [collective, calls, memory(it).to_string(), it.source.to_owned(), it.calls.to_owned()]
    });
    let parts = [
        ("split:K", "K consecutive calls with a K-th of the data each"),
        ("split:K+barrier", "the same with a barrier between them"),
        ("pad:SIZE", "one call of SIZE, whose surplus is ignored"),
    ];
    let rows = own.chain(parts.map(|(calls, how)| ["all but barrier", calls, "", "", how].map(str::to_owned)));
    let heads = ["collective", "not slower than", "memory:", "source", "how"];
    let blocks = vec![Block::table(heads, rows), Block::prose(EXPLANATION)];
    Document { blocks, ..Document::default() }.text(WIDTH)
}

/// Like [`list`], for programs.
pub fn list_json() -> serde_json::Result<String> {
    let entry = |it: &Guideline| {
        serde_json::json!({
            "collective": it.collective.name(),
            "candidate": Mockup::Pattern(it.pattern).to_string(),
            "calls": it.pattern.name(),
            "how": it.calls,
            "memory_8_ranks_1_kib": memory(it).0,
            "source": it.source,
        })
    };
    serde_json::to_string_pretty(&CATALOGUE.iter().map(entry).collect::<Vec<_>>()).map(|text| text + "\n")
}
