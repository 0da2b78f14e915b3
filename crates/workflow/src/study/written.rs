//! What a study leaves behind.

/// The study, as a file.
pub const README: &str = "README.md";
/// Every time.
pub const TIMES: &str = "times.csv";
/// All of it for programs.
pub const STUDY: &str = "study.json";

/// What the names of files begin with that are as OSU's benchmarks print theirs.
pub(super) const OSU: &str = "osu";

/// What a study says in short.
pub struct Studied {
    /// The conclusion, and what is not drawn.
    pub paragraphs: Vec<String>,
    /// How many figures there are.
    pub figures: usize,
    /// The placements that are compared, each with the directory of its study; none where there is one study.
    pub placements: Vec<(String, String)>,
}
