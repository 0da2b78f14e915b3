//! Proof of the rules of a JSON file by Open MPI's log of its selections, for each of the file's layouts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::Cell;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::file::Loaded;
use collrules_rules::metric::{Metric, metric};

use super::handed::sides;
use super::{ProofFault, Prover, is_ruled};
use crate::backend::Backend;
use crate::error::RunnerError;
use crate::grid::{DEFAULT_MEMORY, obstacle};

impl Prover<'_> {
    /// Makes calls under the file itself, in the cells and on both sides of every boundary within reach, and compares the
    /// log with the meaning of the file for communicators with this arrangement. Without a log nothing is shown.
    pub(super) fn show_by_log(&mut self, path: &Path, file: &Loaded) -> Result<(), RunnerError> {
        let (mut shown, mut ruled) = (0, 0);
        for (ranks, calls) in calls(self.backend, file, self.cells) {
            let distribution = self.backend.distribution(ranks);
            let table = file.to_table_for(distribution);
            // One job for each communicator size: calls are logged without theirs.
            let Some(log) = self.backend.log_selections(path, &calls)? else { return Ok(()) };
            if log.is_empty() {
                self.proof.faults.push(ProofFault::NotAccepted);
                return Ok(());
            }
            for call in calls {
                match log.contradicts(file, &call, distribution) {
                    Some(why) => self.proof.faults.push(ProofFault::OtherSelection { call, why }),
                    None => {
                        shown += 1;
                        ruled += usize::from(is_ruled(&table, file.behaviour.release, &call));
                    }
                }
            }
        }
        if shown > 0 {
            (self.proof.logged, self.proof.ruled) = (shown, ruled);
            self.proof.unshown.clear();
            let has_rules = |cell: &&Cell| file.rules_for(cell.collective).is_some();
            self.proof.cells = self.cells.iter().filter(has_rules).count();
        }
        Ok(())
    }
}

/// The calls to make, by communicator size.
fn calls(backend: &dyn Backend, file: &Loaded, cells: &[Cell]) -> BTreeMap<Ranks, Vec<Cell>> {
    let release = file.behaviour.release;
    let largest = cells.iter().map(|cell| cell.ranks.0).max().unwrap_or(0);
    let mut made: BTreeMap<Ranks, BTreeSet<Cell>> = BTreeMap::new();
    let collectives: BTreeSet<_> = cells.iter().map(|cell| cell.collective).collect();
    for collective in collectives.into_iter().filter(|collective| file.rules_for(*collective).is_some()) {
        let measured = || cells.iter().filter(|cell| cell.collective == collective);
        let bytes: BTreeSet<Bytes> = measured().map(|cell| cell.bytes).collect();
        let mut reached: BTreeSet<Ranks> = measured().map(|cell| cell.ranks).collect();
        let ends = file.rules_for(collective).into_iter().flat_map(|rules| &rules.comm_rules);
        let ends = ends.flat_map(|rule| [rule.min.saturating_sub(1), rule.min, rule.max, rule.max.saturating_add(1)]);
        let ends = ends.filter_map(|end| u32::try_from(end).ok()).filter(|ranks| (2..=largest).contains(ranks));
        reached.extend(ends.map(Ranks));
        for ranks in reached {
            let table = file.to_table_for(backend.distribution(ranks));
            let mut sizes = bytes.clone();
            if let (Metric::Times(factor), Some(blocks)) = (metric(release, collective, ranks), table.get(collective)) {
                let edges = blocks.get(ranks.0.into()).iter().map(|(start, _, _)| start).skip(1);
                sizes.extend(edges.flat_map(|edge| sides(collective, edge.div_ceil(factor))));
            }
            let calls = sizes.into_iter().map(|bytes| Cell { collective, ranks, bytes });
            // Calls without data return before anything is looked up.
            let calls = calls.filter(|cell| cell.bytes.0 > 0 || !collective.has_sizes());
            made.entry(ranks).or_default().extend(calls.filter(|cell| obstacle(*cell, DEFAULT_MEMORY).is_none()));
        }
    }
    made.into_iter().map(|(ranks, calls)| (ranks, calls.into_iter().collect())).collect()
}
