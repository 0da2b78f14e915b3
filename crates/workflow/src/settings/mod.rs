//! Settings of a whole job, and the search for those that make collectives faster.
//!
//! | module | job |
//! |---|---|
//! | `list` | the settings of a system, with the values to try |
//! | `stage` | the part of `tune` that searches for settings, and chooses between them and the rules |

mod list;
mod stage;

use collrules_record::Estimate;
use collrules_record::settings::{Finalist, Guarded, RulesUse};
use collrules_tuner::comparison::{ArmDemand, ArmResult, Compared};

use crate::comparison::CellWeights;

pub use list::find;
pub(crate) use stage::SettingsPlan;

/// A speedup that was not measured.
const NOTHING: Estimate = Estimate { point: 1.0, low: None, high: None, level: 0.95, samples: 0 };

/// The result of an arm, over the requested sizes and the guard set, in which it may lose `max_loss` at most.
pub(crate) fn describe_finalist(
    compared: &Compared,
    result: &ArmResult,
    asked: &CellWeights,
    max_loss: f64,
) -> Finalist {
    let guarded = result.subjects.iter().filter(|it| it.demand == ArmDemand::ExcludeClassLoss).map(|it| Guarded {
        subject: it.subject.clone(),
        // Sizes that refinement added have no weight in the mean.
        is_asked_for: it.subject.cell().and_then(|cell| asked.get(&cell)).is_some_and(|weight| *weight > 0.0),
        speedup: it.speedup,
        guard: it.guard,
    });
    Finalist {
        settings: result.arm.clone(),
        speedup: result.speedup.unwrap_or(NOTHING),
        with_rules: None,
        rules: RulesUse::LeftOut,
        under: None,
        guarded: guarded.collect(),
        max_loss,
        memory: None,
        pairs: result.pairs,
        control: compared.control,
        apart: compared.apart.clone(),
        standing: result.verdict,
    }
}
