//! `collrules analyze --train-launches ... --test-launches ...`: what decisions on some launches are worth on others.

use collrules_tuner::{Replay, replay};
use collrules_workflow::WorkflowError;
use collrules_workflow::analyze::Source;

use crate::args::Analyze;
use crate::failure::Failure;
use crate::screen;

/// Decides, looks, and prints a table, or JSON.
pub(super) fn run(args: &Analyze, source: &Source) -> Result<(), Failure> {
    let criteria = args.criteria;
    let criteria = collrules_record::findings::Criteria { clock_step: source.clock_step, ..criteria };
    let replay = replay(&source.observations, &args.train_launches, &args.test_launches, source.release, criteria)
        .map_err(WorkflowError::analysis(args.input.display()))?;
    let text = if args.json {
        serde_json::to_string_pretty(&replay).map_err(|cause| Failure::Stdout(cause.into()))?
    } else {
        table(&replay).join("\n")
    };
    screen::print(&text)
}

fn table(replay: &Replay) -> Vec<String> {
    let launches = |launches: &[u32]| launches.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut lines = vec![
        format!(
            "Decided on launch {}, looked at launch {}: {} cells.",
            launches(&replay.train),
            launches(&replay.test),
            replay.cells
        ),
        String::new(),
        format!(
            "{:<24} {:>8} {:>12} {:>8} {:>6} {:>7}",
            "method", "speedup", "slower by 5 %", "regret", "rules", "ranges"
        ),
    ];
    lines.extend(replay.scores.iter().map(|score| {
        let total = score.total;
        format!(
            "{:<24} {:>7.4}x {:>12.2} % {:>6.2} % {:>6} {:>7}",
            score.method,
            total.speedup,
            100.0 * total.slower,
            100.0 * total.regret,
            total.rules,
            total.ranges,
        )
    }));
    if let (Some(promised), Some(kept)) = (replay.promised, replay.kept) {
        lines.push(String::new());
        let kept = format!(
            "Where collrules replaces the builtin it expected {promised:.3}x in geometric mean; the other launches show \
             {kept:.3}x.",
        );
        lines.extend(screen::wrapped(&kept, "", ""));
    }
    lines
}
