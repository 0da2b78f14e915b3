//! The list of guidelines.

use crate::document::{Block, Document};

/// A guideline in the list.
#[derive(Clone, Debug)]
pub struct ListedGuideline {
    /// The collective.
    pub collective: &'static str,
    /// Name of the calls that it should not be slower than.
    pub calls: &'static str,
    /// Formula of their memory on the root.
    pub root: String,
    /// Formula of their memory on other ranks.
    pub others: String,
    /// Source of the guideline.
    pub source: &'static str,
    /// Calls, counts and copies in words.
    pub how: &'static str,
}

/// Width of the list: the longest words of the columns next to each other.
const WIDTH: usize = 160;

const EXPLANATION: &str = "p ranks, m message bytes, e bytes of an element, m' = m rounded up to a multiple of p*e; n nodes of \
                           r ranks each, r and n at least 2, one node's ranks behind the other's, which hier and lane \
                           take. Splits and pads need buffers for what they pack: up to p*m/K each way for a split, p*SIZE \
                           for a pad of collectives with blocks. All blocks together have to be within a C int, and a \
                           message has to be whole elements.";

/// The catalogue as text.
pub fn list(catalogue: &[ListedGuideline]) -> String {
    let own = catalogue.iter().map(|it| [it.collective, it.calls, &it.root, &it.others, it.source, it.how]);
    let parts = [
        ("split:K", "K consecutive calls with a K-th of the data each"),
        ("split:K+barrier", "the same with a barrier between them"),
        ("pad:SIZE", "one call of SIZE, whose surplus is ignored"),
    ];
    let rows = own.chain(parts.map(|(calls, how)| ["all but barrier", calls, "", "", "", how]));
    let heads = ["collective", "not slower than", "bytes, root", "others", "source", "how"];
    let blocks = vec![Block::table(heads, rows.map(|row| row.map(str::to_owned))), Block::prose(EXPLANATION)];
    Document { blocks, ..Document::default() }.text(WIDTH)
}

/// Like [`list`], for programs.
pub fn list_json(catalogue: &[ListedGuideline]) -> serde_json::Result<String> {
    let entry = |it: &ListedGuideline| {
        serde_json::json!({
            "collective": it.collective,
            "candidate": format!("mockup:{}", it.calls),
            "calls": it.calls,
            "how": it.how,
            "extra_memory_root": it.root,
            "extra_memory_others": it.others,
            "source": it.source,
        })
    };
    let all: Vec<serde_json::Value> = catalogue.iter().map(entry).collect();
    serde_json::to_string_pretty(&all).map(|text| text + "\n")
}
