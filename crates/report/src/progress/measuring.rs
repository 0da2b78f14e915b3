//! A plan, and the components that handle its calls.

use std::path::Path;

use collrules_record::obstacle::CellObstacle;
use collrules_record::plan::{Separate, Skipped};
use collrules_record::settings::Settings;
use collrules_record::{Cell, Component, Layout, Nodes, Serving};
use collrules_rules::words::counted;

/// A file system without locks.
pub const NO_LOCKS: &str =
    "this file system has no locks: make sure that no other collrules measures into the directory";

/// Another layout that places ranks like that of the run.
pub fn same_layout(layout: Layout, own: Layout) -> String {
    format!("--also-layout {layout} is left out: it places all communicators as {own} does")
}

/// Measurement in another layout, into this directory.
pub fn other_layout(layout: Layout, directory: &Path) -> String {
    format!("--also-layout {layout}: measuring in {}", directory.display())
}

/// The layout in which programs spend the most time.
pub fn layout_of_programs(layout: Layout) -> String {
    format!("--layout {layout}: programs spend the most time on communicators with this layout")
}

/// Cells that a plan leaves out, by collective and reason.
pub fn left_out(skipped: &[Skipped]) -> Vec<String> {
    let describe = |(why, cells): (&CellObstacle, Vec<Cell>)| {
        let more = match cells.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more size")),
        };
        format!("left out: {}{more}: {why}", cells[0])
    };
    grouped(skipped).into_iter().map(describe).collect()
}

/// Skipped cells, by collective and reason.
fn grouped(skipped: &[Skipped]) -> Vec<(&CellObstacle, Vec<Cell>)> {
    let mut groups: Vec<(&CellObstacle, Vec<Cell>)> = Vec::new();
    for Skipped { cell, why } in skipped {
        let alike =
            |(known, cells): &&mut (&CellObstacle, Vec<Cell>)| *known == why && cells[0].collective == cell.collective;
        match groups.iter_mut().find(alike) {
            Some((_, cells)) => cells.push(*cell),
            None => groups.push((why, vec![*cell])),
        }
    }
    groups
}

/// Collectives whose algorithms have launches of their own, with their number and whether they suffice for a test.
pub fn separate(separate: &Separate, launches: usize, suffices: bool) -> String {
    let names: Vec<&str> = separate.collectives.iter().map(|collective| collective.name()).collect();
    format!(
        "{}: each algorithm has launches of its own, {} series and {launches} launches in all{}",
        names.join(", "),
        separate.series,
        if suffices { "" } else { "; the default stays, since a test needs more series: raise --budget or --launches" },
    )
}

/// Component other than coll/tuned that is the default on communicators of a size.
pub fn other_component(serving: &Serving, nodes: Option<&Nodes>) -> String {
    let place = nodes.map_or(String::new(), |nodes| format!(" ({nodes})"));
    format!(
        "{} on {} ranks{place} uses the component {}: this is the default there; coll/tuned is measured with it \
         switched off",
        serving.collective, serving.ranks, serving.by,
    )
}

/// Component whose calls end the job, with the settings that leave it out.
pub fn crashing_component(component: Component, leaving: &Settings, why: &str) -> String {
    let settings: Vec<String> = leaving.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let why = why.lines().next().unwrap_or_default();
    format!("{component} is left out ({}), since its calls end the job: {why}", settings.join(", "))
}

/// Further message sizes, or calls in pieces.
pub fn further(sizes: usize) -> String {
    format!("timing further sizes or pieces: {}", counted(sizes, "message size"))
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn cells_with_one_obstacle_share_a_sentence() {
        let skipped =
            |collective, bytes, why| Skipped { cell: Cell { collective, ranks: Ranks(4), bytes: Bytes(bytes) }, why };
        let count = CellObstacle::Count(Bytes(1 << 40));
        let all = [
            skipped(Collective::Bcast, 8, CellObstacle::NoMockup),
            skipped(Collective::Gather, 8, CellObstacle::NoMockup),
            skipped(Collective::Bcast, 16, CellObstacle::NoMockup),
            skipped(Collective::Bcast, 1 << 40, count),
            skipped(Collective::Bcast, 32, CellObstacle::NoMockup),
        ];
        let said = left_out(&all);
        let why = CellObstacle::NoMockup;
        assert_eq!(
            said[..2],
            [
                format!("left out: bcast of 8 B on 4 ranks and 2 more sizes: {why}"),
                format!("left out: gather of 8 B on 4 ranks: {why}"),
            ]
        );
        assert_eq!(said.len(), 3);
    }
}
