//! A tuning as one value: everything that makes programs faster on a system.

mod file;
mod revert;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use collrules_rules::deploy::JobSettings;
use collrules_rules::han::{self, Level};
use collrules_rules::{Behaviour, Choice, Collective, RuleTable};

use crate::cell::Cell;
use crate::competitor;
use crate::file::Digests;
use crate::findings::Findings;
use crate::han_rules::{HanRule, HanRules};
use crate::rundir::{HAN, RULES, RunDir, RunDirError, within};
use crate::settings::Settings;
use crate::units::Ranks;

pub use file::{RulesFile, TuningError, digest_of_rules, read_from, read_text_of};
pub use revert::{revert_steps, revert_table};

/// Rules of coll/tuned, rules of HAN, and MCA parameters. Any of them may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// The rules file of coll/tuned.
    pub tuned: Option<RulesFile<RuleTable>>,
    /// The rules file of coll/han.
    pub han: Option<RulesFile<han::HanTable>>,
    /// MCA parameters other than those that switch the files on.
    pub parameters: Settings,
    /// MCA parameters that are set with or without the tuning; its own come first.
    pub pins: Settings,
}

impl Tuning {
    /// Reads a rules file of either component, or one of coll/tuned with one of HAN. Tables are those of the newest version
    /// that accepts the file; empty if none does, which [`Self::read_as`] refuses.
    pub fn read(path: &Path, han: Option<&Path>) -> Result<Self, TuningError> {
        let path = within(path, RULES);
        let text = read_text_of(&path)?;
        if !han::is_han(&text) {
            let han = han.map(|han| {
                let path = within(han, HAN);
                read_text_of(&path).map(|text| RulesFile::of_han(path, text))
            });
            let tuned = Some(RulesFile::of_tuned(path, text));
            return Ok(Self { tuned, han: han.transpose()?, ..Self::default() });
        }
        match han {
            Some(_) => Err(TuningError::NotOfTuned { path }),
            None => Ok(Self { han: Some(RulesFile::of_han(path, text)), ..Self::default() }),
        }
    }

    /// The tuning as a version reads it.
    pub fn read_as(&self, version: &Behaviour) -> Result<Self, TuningError> {
        Ok(Self {
            tuned: self.tuned.as_ref().map(|file| file.read_as(version)).transpose()?,
            han: self.han.as_ref().map(|file| file.read_as(version)).transpose()?,
            ..self.clone()
        })
    }

    /// Fails if no version reads a file: programs would run as if without it.
    pub fn refuse_unreadable(&self) -> Result<(), TuningError> {
        let none = |read: &dyn Fn(&Behaviour) -> Option<TuningError>| {
            let refusals: Option<Vec<TuningError>> = Behaviour::distinct().iter().map(read).collect();
            refusals.and_then(|mut all| all.pop()).map_or(Ok(()), Err)
        };
        self.tuned.as_ref().map_or(Ok(()), |file| none(&|version| file.read_as(version).err()))?;
        self.han.as_ref().map_or(Ok(()), |file| none(&|version| file.read_as(version).err()))
    }

    /// The tuning with its files in a directory, under these names.
    #[must_use]
    pub fn moved(&self, directory: &Path, rules: &str, han: &str) -> Self {
        let mut moved = self.clone();
        if let Some(file) = &mut moved.tuned {
            file.path = directory.join(rules);
        }
        if let Some(file) = &mut moved.han {
            file.path = directory.join(han);
        }
        moved
    }

    /// Writes the files into a directory, under their names.
    pub fn store(&self, directory: &RunDir) -> Result<(), RunDirError> {
        self.files().try_for_each(|(_, path, text)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            directory.write(&name, text).map(drop)
        })
    }

    /// The files: names in a run directory, present paths, and texts.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path, &[u8])> {
        let tuned = self.tuned.iter().map(|file| (RULES, file.path.as_path(), &file.text[..]));
        tuned.chain(self.han.iter().map(|file| (HAN, file.path.as_path(), &file.text[..])))
    }

    /// The main file: that of coll/tuned if there is one, else that of HAN.
    pub fn path(&self) -> &Path {
        self.files().next().map_or(Path::new(""), |(_, path, _)| path)
    }

    /// The absolute path of the main file.
    pub fn absolute(&self) -> PathBuf {
        absolute(self.path())
    }

    /// The digests of the rules in the files.
    pub fn digests(&self) -> Digests {
        self.files().map(|(name, _, text)| (name.to_owned(), digest_of_rules(text))).collect()
    }

    /// The settings that apply the tuning to a launch.
    pub fn settings(&self) -> JobSettings {
        let path = |path: &Path| absolute(path).to_string_lossy().into_owned();
        // A file without rules is worth no setting, unless it is all there is.
        let alone = self.han.is_none() && self.parameters.is_empty();
        let tuned = self.tuned.as_ref().filter(|file| alone || file.has_rules());
        let han = self.han.as_ref().map(|file| path(&file.path));
        JobSettings::new(tuned.map(|file| path(&file.path)), han, self.further())
    }

    /// All MCA parameters other than those that switch the files on.
    pub fn further(&self) -> Settings {
        competitor::add_settings(&self.pins, &self.parameters)
    }

    /// The rules of coll/tuned.
    pub fn table(&self) -> RuleTable {
        self.tuned.as_ref().map(|file| file.table.clone()).unwrap_or_default()
    }

    /// The choice of coll/tuned's rules for a call.
    pub fn choice(&self, collective: Collective, ranks: Ranks, lookup_bytes: u64) -> Choice {
        self.tuned.as_ref().map_or(Choice::BUILTIN, |file| file.table.lookup(collective, ranks.0.into(), lookup_bytes))
    }

    /// HAN's rules for the calls of programs.
    pub fn han_rules(&self) -> HanRules {
        self.han.as_ref().map(|file| HanRules::of_han(&file.table)).unwrap_or_default()
    }

    /// HAN's rule for a call that HAN gets.
    pub fn han_rule(&self, cell: Cell) -> HanRule {
        let bytes = han::lookup_bytes(cell.collective, cell.bytes.0);
        let rule = self.han.as_ref().and_then(|file| {
            file.table.lookup((cell.collective, Level::GlobalCommunicator), cell.ranks.0.into(), bytes)
        });
        rule.map_or(HanRule::Default, |choice| HanRule::of_choice(cell.collective, choice))
    }

    /// The collectives whose calls HAN's rules affect, also through calls by HAN itself.
    pub fn han_collectives(&self) -> BTreeSet<Collective> {
        self.han_levels().flat_map(|(collective, level)| han::acted_on(collective, level)).collect()
    }

    /// The collectives for which HAN makes calls that its file has rules for.
    pub fn below_han(&self) -> BTreeSet<Collective> {
        let below = self.han_levels().filter(|(_, level)| *level != Level::GlobalCommunicator);
        below.flat_map(|(collective, level)| han::acted_on(collective, level)).collect()
    }

    fn han_levels(&self) -> impl Iterator<Item = (Collective, Level)> {
        self.han.iter().flat_map(|file| file.table.collectives()).map(|(key, _)| key)
    }

    /// Returns true if no file has a rule.
    pub fn has_no_rules(&self) -> bool {
        !self.tuned.as_ref().is_some_and(RulesFile::has_rules) && self.han_levels().next().is_none()
    }

    /// The file that differs from the findings; none if all agree.
    pub fn differs_from(&self, findings: &Findings) -> Option<&'static str> {
        if self.table() != findings.table {
            return Some(RULES);
        }
        (self.han_rules() != findings.han).then_some(HAN)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
