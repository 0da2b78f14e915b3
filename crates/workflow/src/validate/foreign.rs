//! A tuning from elsewhere: a rules file of coll/tuned, one of coll/han, or both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_record::validation::GivenBack;
use collrules_record::{Cell, Handover, Layout, Ranks};
use collrules_rules::han::{self, Level};
use collrules_rules::lines::Lines;
use collrules_rules::lint;
use collrules_rules::metric::metric;
use collrules_rules::{Behaviour, Collective, Release};

use crate::error::WorkflowError;
use crate::session::Session;
use crate::verify;

/// A rules file of coll/han that was read.
#[derive(Clone)]
pub(super) struct Half {
    /// From the root on.
    pub(super) file: PathBuf,
    shown: String,
    text: Vec<u8>,
}

/// What a tuning from elsewhere is.
#[derive(Clone, Default)]
pub(super) struct Foreign {
    /// Whether it has a rules file of coll/tuned.
    pub(super) has_rules: bool,
    /// HAN's file with what it says here.
    pub(super) han: Option<(PathBuf, han::Table)>,
    /// The communicator sizes at which HAN gets calls here.
    pub(super) reached: BTreeSet<Ranks>,
}

impl Half {
    /// Reads a file that is to be HAN's.
    pub(super) fn open(path: &Path) -> Result<Self, WorkflowError> {
        let text = verify::read(path)?;
        let file = std::path::absolute(path).map_err(|cause| WorkflowError::open(path, cause))?;
        Ok(Self { file, shown: path.display().to_string(), text })
    }

    /// What a version makes of it.
    pub(super) fn table(&self, version: &Behaviour) -> Result<han::Table, WorkflowError> {
        let refused = |reasons| WorkflowError::NotInForce { path: self.file.clone(), reasons };
        if !han::is_han(&self.text) && collrules_rules::load(&self.text, version).into_accepted().is_some() {
            let why = "this is a rules file for coll/tuned, which coll_han_dynamic_rules_filename does not read";
            return Err(refused(vec![why.to_owned()]));
        }
        match han::load(&self.text, version) {
            han::Load::Accepted(read) => Ok(read.to_table()),
            han::Load::Rejected(why) | han::Load::Crashes(why) => {
                let (line, _) = Lines::new(&self.text).position(why.span.within(&self.text).start);
                let mut reasons = vec![format!("{}: line {line}: {why}", version.name())];
                reasons.extend(self.read_by_others(version));
                Err(refused(reasons))
            }
            han::Load::NoHan => Err(refused(vec![format!("{} has no HAN", version.name())])),
        }
    }

    /// The same; what is odd about the file is said.
    pub(super) fn read(&self, version: &Behaviour, session: &mut Session<'_>) -> Result<han::Table, WorkflowError> {
        let table = self.table(version)?;
        let lines = Lines::new(&self.text);
        for problem in lint::check(&self.text, &[*version]).problems {
            let (line, _) = lines.position(problem.span.within(&self.text).start);
            session.say(&format!("{}:{line}: {}: {}", self.shown, problem.message, problem.explanation));
        }
        Ok(table)
    }

    /// The versions that would have it.
    fn read_by_others(&self, version: &Behaviour) -> Option<String> {
        let accepts = |other: &Behaviour| matches!(han::load(&self.text, other), han::Load::Accepted(_));
        let others = Behaviour::distinct().into_iter().filter(|other| other != version && accepts(other));
        let names: Vec<&str> = others.map(|other| other.name()).collect();
        (!names.is_empty()).then(|| format!("it was written for another release: {} would read it", names.join(", ")))
    }
}

impl Foreign {
    /// What HAN's file says of the calls of programs.
    pub(super) fn handover(&self) -> Handover {
        self.han.as_ref().map(|(_, table)| Handover::of_han(table)).unwrap_or_default()
    }

    /// The collectives whose calls HAN's file acts on, also from below.
    pub(super) fn collectives(&self) -> BTreeSet<Collective> {
        let levels = self.han.iter().flat_map(|(_, table)| table.iter());
        levels.flat_map(|(collective, level, _)| han::acted_on(collective, level)).collect()
    }

    /// The collectives for which HAN itself calls something that its file has rules for.
    pub(super) fn below(&self) -> BTreeSet<Collective> {
        let levels = self.han.iter().flat_map(|(_, table)| table.iter());
        let below = levels.filter(|(_, level, _)| *level != Level::GlobalCommunicator);
        below.flat_map(|(collective, level, _)| han::acted_on(collective, level)).collect()
    }

    /// Whether such rules act on the calls of a cell.
    pub(super) fn acts_below(&self, cell: Cell) -> bool {
        self.reached.contains(&cell.ranks) && self.below().contains(&cell.collective)
    }

    /// Finds out on which of these communicators HAN gets calls.
    pub(super) fn place(&mut self, release: Release, layout: Layout, hosts: &[String], ranks: &[Ranks]) {
        let gets = |ranks: &&Ranks| {
            let nodes = layout.nodes(hosts, **ranks);
            release >= Release::V5_0 && nodes.are_several() && nodes.share()
        };
        self.reached = ranks.iter().filter(gets).copied().collect();
    }

    /// HAN's rules with these ranges left to HAN as it is; where settings are given back, it is what HAN itself calls.
    pub(super) fn without(&self, release: Release, given_back: &[GivenBack]) -> Option<han::Table> {
        let (_, table) = self.han.as_ref()?;
        let mut left = table.clone();
        for range @ GivenBack { collective, ranks, lookup } in given_back {
            if range.is_settings() {
                for (level, inner) in han::inner(*collective) {
                    left.set(*inner, *level, han::all_parameters());
                }
                continue;
            }
            let Some(steps) = table.get(*collective, Level::GlobalCommunicator) else { continue };
            // What HAN hands over is given back for one communicator size at a time.
            let alone = ranks.end == Some(ranks.first + 1);
            let Some(size) = u32::try_from(ranks.first).ok().filter(|_| alone) else { continue };
            let factor = metric(release, *collective, Ranks(size)).factor();
            let mut steps = left.get(*collective, Level::GlobalCommunicator).unwrap_or(steps).clone();
            let mut sizes = steps.get(ranks.first).clone();
            let kept = Some(han::Choice::of(han::Component::Han));
            sizes.set(lookup.0.div_ceil(factor), lookup.1.map(|end| end.div_ceil(factor)), kept);
            steps.set(ranks.first, ranks.end, sizes);
            left.set(*collective, Level::GlobalCommunicator, steps);
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "2 bcast 2 0 1 1 1 0 basic 2 1 1 1 0 tuned barrier 1 2 1 1 1 0 tuned\n";

    fn foreign(text: &str) -> Foreign {
        let han::Load::Accepted(read) = han::load(text.as_bytes(), &Behaviour::latest(Release::V5_0)) else {
            panic!("{text} is not read");
        };
        Foreign { han: Some((PathBuf::new(), read.to_table())), ..Foreign::default() }
    }

    /// HAN's allreduce and allgather end with a broadcast on each node.
    #[test]
    fn rules_for_the_ranks_of_a_node_act_on_all_that_han_makes_of_them() {
        use Collective::{Allgather, Allreduce, Barrier, Bcast};
        let foreign = foreign(FILE);
        assert_eq!(foreign.below(), BTreeSet::from([Allgather, Allreduce, Bcast]));
        let between = self::foreign("1 bcast 1 1 1 1 1 0 tuned\n");
        assert_eq!(between.collectives(), BTreeSet::from([Bcast]), "between nodes they call another collective");
        assert_eq!(foreign.collectives(), BTreeSet::from([Allgather, Allreduce, Barrier, Bcast]));
    }

    #[test]
    fn what_slows_han_down_from_below_is_given_back_alone() {
        let foreign = foreign(FILE);
        let left =
            foreign.without(Release::V5_0, &[GivenBack::settings(Collective::Allreduce)]).expect("a file of HAN's");
        let levels: Vec<(Collective, Level)> = left.iter().map(|(collective, level, _)| (collective, level)).collect();
        let kept = [Collective::Barrier, Collective::Bcast].map(|one| (one, Level::GlobalCommunicator));
        assert_eq!(levels, kept);
    }
}
