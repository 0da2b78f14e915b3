//! Arms by what they switch on.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::settings::Settings;
use collrules_record::tuning::{digest_of_rules, read_text_of};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};

use crate::error::WorkflowError;

/// Arms of a comparison, with the settings that switch them on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arms {
    jobs: BTreeMap<Settings, Settings>,
}

impl Arms {
    /// Adds an arm, and returns what tells it from others: its settings, with the digest of a file in place of its path.
    pub(crate) fn add(&mut self, job: Settings) -> Result<Settings, WorkflowError> {
        let arm = identify(&job)?;
        self.jobs.insert(arm.clone(), job);
        Ok(arm)
    }

    /// The settings of a job of an arm. What only settings tell, such as a combination of a search, is its own.
    pub(crate) fn job(&self, arm: &Settings) -> Settings {
        self.jobs.get(arm).unwrap_or(arm).clone()
    }

    /// The settings of all arms.
    pub(crate) fn settings_of_jobs(&self) -> Vec<Settings> {
        self.jobs.values().filter(|job| !job.is_empty()).cloned().collect()
    }
}

/// Settings with digests of the files that they name.
fn identify(job: &Settings) -> Result<Settings, WorkflowError> {
    let mut arm = job.clone();
    for name in [RULES_FILE, HAN_FILE] {
        if let Some(value) = arm.get_mut(name) {
            *value = format!("sha256:{}", digest_of_rules(&read_text_of(Path::new(value.as_str()))?));
        }
    }
    Ok(arm)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_arm_is_told_by_the_text_of_its_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("rules.conf");
        let job = Settings::from([(RULES_FILE.to_owned(), path.display().to_string())]);
        let mut arms = Arms::default();
        let mut with = |text: &str| {
            fs::write(&path, text).expect("written");
            arms.add(job.clone()).expect("reads")
        };
        let (one, other) = (with("1 # one collective\n"), with("0 # none\n"));
        assert_ne!(one, other, "the path is the same, and the rules are not");
        assert_eq!(with("# NOT CONFIRMED\n1 # mine\n"), one, "a comment is no rule");
        assert_eq!(arms.job(&one), job);
        let missing = Settings::from([(RULES_FILE.to_owned(), "/nowhere".to_owned())]);
        assert!(Arms::default().add(missing).is_err());
    }
}
