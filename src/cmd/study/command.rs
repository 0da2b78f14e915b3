//! A study as a command line of `measure`, which goes into the manifest.

use std::fmt::Display;

use collrules_record::units::{Ranks, Seconds};
use collrules_rules::Collective;

use super::RUN;
use super::definition::Definition;
use crate::args::{Budget, Launch, Simulate, StudyArgs};

/// The words of the command.
pub(super) fn measuring(args: &StudyArgs, definition: &Definition, ranks: &[Ranks]) -> Vec<String> {
    let mut words: Vec<String> = ["collrules", "measure", "--keep-slow"].map(str::to_owned).to_vec();
    let mut option = |name: &str, value: String| words.push(format!("--{name}={value}"));
    option("ops", listed(definition.algorithms.keys()));
    option("np", listed(ranks));
    option("sizes", listed(&definition.sizes.0));
    let named = |(collective, names): (&Collective, &Vec<String>)| {
        names.iter().map(|name| format!("{collective}:{name}")).collect::<Vec<_>>()
    };
    option("only", listed(definition.algorithms.iter().flat_map(named)));
    option("launches", args.launches.unwrap_or(definition.launches).to_string());
    option("budget", budget(args.budget.unwrap_or(definition.budget)));
    option("out", args.out.join(RUN).to_string_lossy().into_owned());
    launching(&args.launch, &mut words);
    simulating(&args.simulate, &mut words);
    words
}

fn listed(items: impl IntoIterator<Item: Display>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

fn budget(budget: Budget) -> String {
    budget.0.map_or("none".to_owned(), seconds)
}

fn seconds(seconds: Seconds) -> String {
    // To the last digit, which the usual form cuts.
    format!("{}s", seconds.0)
}

fn launching(launch: &Launch, words: &mut Vec<String>) {
    let Launch { mpirun, mpirun_args, oversubscribe, layout, disable_han, worker, hang_timeout } = launch;
    words.extend(mpirun.iter().map(|file| format!("--mpirun={}", file.display())));
    if !mpirun_args.is_empty() {
        words.push(format!("--mpirun-args={mpirun_args}"));
    }
    words.extend(oversubscribe.then(|| "--oversubscribe".to_owned()));
    words.push(format!("--layout={layout}"));
    words.extend(disable_han.then(|| "--disable-han".to_owned()));
    words.extend(worker.iter().map(|file| format!("--worker={}", file.display())));
    words.push(format!("--hang-timeout={}", seconds(*hang_timeout)));
}

fn simulating(simulate: &Simulate, words: &mut Vec<String>) {
    let Simulate { simulate, simulated_slots, simulated_release } = simulate;
    let Some(scenario) = simulate else { return };
    words.push(format!("--simulate={}", scenario.name()));
    words.push(format!("--simulated-slots={simulated_slots}"));
    words.push(format!("--simulated-release={simulated_release}"));
}
