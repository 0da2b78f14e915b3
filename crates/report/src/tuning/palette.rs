//! Which candidate has which colour: the same in every picture of a collective.

use std::collections::BTreeMap;

use collrules_record::Candidate;
use collrules_record::findings::CellFinding;

use crate::document::Fill;
use crate::plot::{COLOURS, Stroke};

/// The colours of a collective's candidates.
#[derive(Clone, Debug, Default)]
pub(super) struct Palette {
    /// Candidates with a colour, the one that most cells use first.
    coloured: Vec<Candidate>,
}

/// Least number of candidates with a colour: a winner and the runner-up.
const LEAST: usize = 2;

impl Palette {
    /// Gives a colour to candidates that are used, or were found better, twice as many as there are colours at most;
    /// also to the next best while there are few.
    pub(super) fn from_cells(cells: &[CellFinding]) -> Self {
        // Cells that use it, cells won, cells in which it is the fastest.
        let mut merits: BTreeMap<Candidate, (usize, usize, usize)> = BTreeMap::new();
        for cell in cells {
            merits.entry(cell.candidate_in_use()).or_default().0 += 1;
            merits.entry(cell.verdict.candidate()).or_default().1 += 1;
            let fastest = cell.points.iter().min_by(|a, b| a.time.point.total_cmp(&b.time.point));
            if let Some(fastest) = fastest {
                merits.entry(fastest.candidate).or_default().2 += 1;
            }
        }
        merits.remove(&Candidate::Builtin);
        let mut ranked: Vec<_> = merits.into_iter().collect();
        ranked.sort_by_key(|(candidate, merit)| (std::cmp::Reverse(*merit), *candidate));
        let winners = ranked.iter().filter(|(_, (in_use, won, _))| in_use + won > 0).count();
        let kept = winners.clamp(LEAST, 2 * COLOURS);
        Self { coloured: ranked.into_iter().take(kept).map(|(candidate, _)| candidate).collect() }
    }

    fn place(&self, candidate: Candidate) -> Option<usize> {
        self.coloured.iter().position(|known| *known == candidate)
    }

    /// Returns the stroke of the candidate's line; none if it has none.
    pub(super) fn stroke(&self, candidate: Candidate) -> Option<Stroke> {
        match candidate {
            Candidate::Builtin => Some(Stroke::Builtin),
            other => self.place(other).map(Stroke::Series),
        }
    }

    /// The colour of its tiles.
    pub(super) fn fill(&self, candidate: Candidate) -> Fill {
        self.place(candidate).map_or(Fill::Builtin, Fill::Series)
    }
}
