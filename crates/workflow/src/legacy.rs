//! The command line of runs of format 1.0, whose manifests hold nothing else about their options.
//!
//! This is how collrules 0.1.0 was called. All of its options that are left are called today as they were then, and mean
//! the same where nobody says them; whoever changes one says here what it was.

use clap::{Arg, ArgAction};
use collrules_record::options::{self, Tuning};

/// Options about the session that began the run, not about the run, and two ways of deciding that are gone; and whether
/// they have a value.
const LEFT_OUT: [(&str, bool); 8] = [
    ("out", true),
    ("resume", true),
    ("failures", true),
    ("caution", true),
    ("max-rules", true),
    ("json", false),
    ("dry-run", false),
    ("quiet", false),
];

/// What `collrules tune` or `collrules measure` of 0.1.0 was asked to do by these words.
pub(crate) fn tuning(words: &[String]) -> Result<Tuning, String> {
    let words = match words {
        [_, command, options @ ..] if ["tune", "measure"].contains(&command.as_str()) => options,
        other => return Err(format!("`{}` is no command that tunes", other.get(1).map_or("", String::as_str))),
    };
    let left_out = LEFT_OUT.into_iter().map(|(name, valued)| {
        let action = if valued { ArgAction::Append } else { ArgAction::Count };
        Arg::new(name).long(name).action(action)
    });
    options::read_by(options::command::<Tuning>().args(left_out), words)
}

#[cfg(test)]
mod tests {
    use collrules_record::options::{Jobs, Scenario, Simulated};
    use collrules_record::units::{Ranks, Seconds};
    use collrules_rules::{Collective, Release};

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_command_of_0_1_0_says_what_it_said() {
        let said = tuning(&words(
            "target/debug/collrules tune --ops=bcast --np 2,4 --min-gain 5 --hang-timeout 9s --out there --oversubscribe",
        ))
        .expect("reads");
        assert_eq!((said.grid.collectives, said.grid.ranks.sizes), (vec![Collective::Bcast], vec![Ranks(2), Ranks(4)]));
        assert_eq!((said.criteria.min_gain, said.grid.sizes.len(), said.launches), (0.05, 21, 3));
        let Jobs::Mpi(launching) = said.system.jobs else { panic!("nothing is simulated") };
        assert_eq!((launching.hang_timeout, said.system.oversubscribe), (Seconds(9.0), true));
        let simulated = tuning(&words("collrules measure --simulate=noise --simulated-slots 4")).expect("reads");
        let expected = Simulated {
            scenario: Scenario::Noise,
            slots: Ranks(4),
            each: Ranks(1),
            release: Release::V5_0,
            model: None,
        };
        assert_eq!(simulated.system.jobs, Jobs::Simulation(expected));
    }

    #[test]
    fn what_cannot_be_read_is_no_default() {
        for bad in
            ["", "collrules", "collrules verify x", "collrules tune --new 3", "collrules tune --np", "collrules tune x"]
        {
            assert!(tuning(&words(bad)).is_err(), "{bad}");
        }
    }
}
