//! Comparison of the finalists with the default in fresh launches, over all sizes and the guard set.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::settings::{Finalist, Guard, Guarded, Measure, RulesUse, SearchStage, Settings, SettingsVerdict};
use collrules_record::{Cell, Estimate};

use super::block::{SettingsBlock, guard, mean_speedup, weight_of};
use super::search::{LEAST_GAIN, SettingsLauncher};

/// Numbers of pairs of launches after which the finalists are judged.
pub const LOOKS: [u32; 6] = [4, 8, 32, 64, 128, 256];

/// Probability with which the interval of a subject misses, over all looks.
pub const ERROR: f64 = 0.05;

/// Number of combinations that have launches between the first and the second look.
const AFTER_FIRST_LOOK: usize = 3;

/// Finalists to confirm, with the limits for a decision.
pub struct Confirmation<'a> {
    /// The combinations.
    pub finalists: &'a [Settings],
    /// The weights of the requested sizes in the mean speedup.
    pub asked: &'a BTreeMap<Cell, f64>,
    /// Subjects of every launch, by which a disturbed one is known.
    pub always: &'a BTreeSet<Measure>,
    /// The loss to exclude for each subject.
    pub max_loss: f64,
    /// The least gain.
    pub min_gain: f64,
    /// Stage of the launches.
    pub stage: SearchStage,
}

/// Launches so far.
#[derive(Default)]
struct Launched {
    blocks: Vec<SettingsBlock>,
    /// Those that time all subjects: the mean of a part is another one.
    whole: Vec<SettingsBlock>,
    /// The look, as an index.
    look: usize,
    /// Results of subjects that are no longer timed with a combination. Variances are shared between subjects, so later
    /// launches of others would change them.
    settled: BTreeMap<(Settings, Measure), (Estimate, Guard)>,
}

impl Launched {
    /// The probability of an error of this look: in proportion to its pairs, since most is known after the last.
    fn error(&self) -> f64 {
        ERROR * f64::from(LOOKS[self.look]) / f64::from(LOOKS.iter().sum::<u32>())
    }
}

/// Compares the finalists with the default, until the best of those that slow nothing down is confirmed, all are
/// decided, or no time is left. Returns them, the best first, and the index of the one that may be installed.
///
/// To exclude losses takes many pairs. After the first look the best few have launches, from the second on only the
/// best, and once it is shown to be faster they time only the subjects that are undecided. If it slows something down, the
/// next best takes its place.
pub fn confirm<B: SettingsLauncher>(
    confirmation: &Confirmation<'_>,
    bench: &mut B,
) -> Result<(Vec<Finalist>, Option<usize>), B::Error> {
    let mut open: Vec<Settings> = confirmation.finalists.to_vec();
    let mut launched = Launched::default();
    let mut is_focused = false;
    'looks: for (look, pairs) in LOOKS.into_iter().enumerate() {
        while (launched.blocks.len() as u32) < pairs {
            match bench.block(confirmation.stage, launched.blocks.len() as u32, &open)? {
                Some(block) => {
                    launched.whole.extend((!is_focused).then(|| block.clone()));
                    launched.blocks.push(block);
                }
                None => {
                    // Time ends the launches, and no result: this is the last look.
                    launched.look = LOOKS.len() - 1;
                    break 'looks;
                }
            }
        }
        launched.look = look;
        let judged = confirmation.judge(&launched);
        // What slows something down, or cannot gain enough, needs no further launches.
        let is_open = |it: &Finalist| match it.standing {
            SettingsVerdict::Undecided | SettingsVerdict::Confirmed => true,
            SettingsVerdict::NoGain => it.speedup.high.is_none_or(|high| high >= 1.0 + confirmation.min_gain),
            SettingsVerdict::Harmful => false,
        };
        let candidates: Vec<&Finalist> = judged.iter().filter(|it| is_open(it)).collect();
        let Some(next) = candidates.first() else { break };
        let best = candidates.iter().find(|it| open.contains(&it.settings)).unwrap_or(next);
        if best.standing == SettingsVerdict::Confirmed {
            break;
        }
        if pairs == LOOKS[0] {
            open = candidates.iter().take(AFTER_FIRST_LOOK).map(|it| it.settings.clone()).collect();
            continue;
        }
        if !open.contains(&best.settings) {
            bench.focus(None);
            is_focused = false;
        }
        open = vec![best.settings.clone()];
        if best.standing == SettingsVerdict::Undecided {
            let (undecided, decided) = confirmation.divide(&launched, &best.settings);
            bench.focus(Some(&undecided));
            is_focused = true;
            let settled = decided.into_iter().map(|(measure, found)| ((best.settings.clone(), measure), found));
            launched.settled.extend(settled);
        }
    }
    let judged = confirmation.judge(&launched);
    let chosen = judged.iter().position(|finalist| finalist.standing == SettingsVerdict::Confirmed);
    Ok((judged, chosen))
}

impl Confirmation<'_> {
    /// The finalists with the results of the launches, the best first: the fastest, if each of its settings adds
    /// [`LEAST_GAIN`]. Those that failed are left out.
    fn judge(&self, launched: &Launched) -> Vec<Finalist> {
        let mut judged: Vec<Finalist> =
            self.finalists.iter().filter_map(|settings| self.judge_one(launched, settings)).collect();
        let score = |it: &Finalist| it.speedup.point.ln() - LEAST_GAIN * it.settings.len() as f64;
        judged.sort_by(|one, other| score(other).total_cmp(&score(one)));
        judged
    }

    /// The subjects to time further: those for which a loss is not excluded, and those of every launch. The others with
    /// their results.
    fn divide(
        &self,
        launched: &Launched,
        settings: &Settings,
    ) -> (BTreeSet<Measure>, BTreeMap<Measure, (Estimate, Guard)>) {
        let guards = self.guards(launched, settings);
        let is_open = |measure: &Measure, guard: Guard| guard == Guard::Undecided || self.always.contains(measure);
        let (open, decided): (BTreeMap<_, _>, BTreeMap<_, _>) =
            guards.into_iter().partition(|(measure, (_, guard))| is_open(measure, *guard));
        (open.into_keys().collect(), decided)
    }

    fn guards(&self, launched: &Launched, settings: &Settings) -> BTreeMap<Measure, (Estimate, Guard)> {
        let mut guards = guard(&launched.blocks, settings, &Settings::new(), self.max_loss, launched.error());
        let own = launched.settled.iter().filter(|((settled, _), _)| settled == settings);
        guards.extend(own.map(|((_, measure), found)| (measure.clone(), *found)));
        guards
    }

    fn judge_one(&self, launched: &Launched, settings: &Settings) -> Option<Finalist> {
        let blocks = &launched.blocks;
        let weight = |measure: &Measure| weight_of(self.asked, measure);
        let speedup = mean_speedup(&launched.whole, settings, &Settings::new(), &weight)?;
        let guarded: Vec<Guarded> = self
            .guards(launched, settings)
            .into_iter()
            .map(|(measure, (speedup, guard))| {
                let is_asked_for = matches!(&measure, Measure::Call(cell) if self.asked.contains_key(cell));
                Guarded { name: measure.to_string(), is_asked_for, speedup, guard }
            })
            .collect();
        let has = |wanted: Guard| guarded.iter().any(|guarded| guarded.guard == wanted);
        let gains = speedup.low.is_some_and(|low| low > 1.0) && speedup.point >= 1.0 + self.min_gain;
        let standing = match () {
            () if !gains => SettingsVerdict::NoGain,
            () if has(Guard::Lost) => SettingsVerdict::Harmful,
            () if has(Guard::Undecided) => SettingsVerdict::Undecided,
            () => SettingsVerdict::Confirmed,
        };
        Some(Finalist {
            settings: settings.clone(),
            speedup,
            with_rules: None,
            rules_alone: None,
            rules: RulesUse::LeftOut,
            guarded,
            memory: None,
            pairs: blocks.iter().filter(|block| block.launches.contains_key(settings)).count() as u32,
            standing,
        })
    }
}
