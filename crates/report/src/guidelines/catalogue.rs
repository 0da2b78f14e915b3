//! The list of guidelines.

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

/// The catalogue as text.
pub fn list(catalogue: &[ListedGuideline]) -> String {
    let mut lines = vec![format!(
        "{:<21} {:<30} {:<12} {:<12} {:<13} {}",
        "collective", "not slower than", "bytes, root", "others", "source", "how"
    )];
    lines.extend(catalogue.iter().map(|it| {
        format!("{:<21} {:<30} {:<12} {:<12} {:<13} {}", it.collective, it.calls, it.root, it.others, it.source, it.how)
    }));
    lines.push(String::new());
    lines.push(
        "all but barrier       split:K                        K consecutive calls with a K-th of the data each".into(),
    );
    lines.push("                      split:K+barrier                the same with a barrier between them".into());
    lines
        .push("                      pad:SIZE                       one call of SIZE, whose surplus is ignored".into());
    lines.push(String::new());
    lines.push(
        "p ranks, m message bytes, e bytes of an element, m' = m rounded up to a multiple of p*e; n nodes of r ranks\n\
         each, r and n at least 2, one node's ranks behind the other's, which hier and lane take. Splits and pads need\n\
         buffers for what they pack: up to p*m/K each way for a split, p*SIZE for a pad of collectives with blocks.\n\
         All blocks together have to be within a C int, and a message has to be whole elements."
            .into(),
    );
    lines.join("\n") + "\n"
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
