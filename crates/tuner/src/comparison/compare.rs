//! Blocks of launches until all demands are decided, or no time is left.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Estimate;
use collrules_record::comparison::{LaunchFailure, Stage};
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::{Guard, Settings, SettingsVerdict};
use collrules_record::validation::ValidationCriteria;

use super::block::{ArmBlock, control_speedup, count_pairs, mean_speedup};
use super::judge::{ArmDemand, SubjectResult, judge, open_classes};
use super::looks::Looks;

/// Blocks until which losses are looked for that only must not be shown: to exclude them all would take too long.
const LOOKED_FOR: u32 = 16;

/// Log speedup that each setting of a combination has to add: two standard errors of the difference of two arms beside each
/// other after four blocks, on a quiet host.
pub(super) const LEAST_ADDED: f64 = 0.015;

/// A launcher of jobs.
pub trait ArmLauncher {
    /// Error that ends a comparison.
    type Error;

    /// Runs a block: one launch of each arm and of the base, and a second one of the base in blocks that have a
    /// [control](has_control), over these subjects, or all. None if no time is left.
    fn block(
        &mut self,
        stage: Stage,
        number: u32,
        arms: (&Settings, &[Settings]),
        subjects: Option<&BTreeSet<ArmSubject>>,
    ) -> Result<Option<ArmBlock>, Self::Error>;
}

/// Number of blocks of which one has a control.
const PER_CONTROL: u32 = 4;

/// Returns true if a block has a second launch of the base, whose speedup shows what chance makes.
pub fn has_control(stage: Stage, block: u32) -> bool {
    !stage.is_search() && block.is_multiple_of(PER_CONTROL)
}

/// Arms to compare with a base, with the limits for a decision.
pub struct Comparison<'a> {
    /// Stage of the launches.
    pub stage: Stage,
    /// The arm with which the others are compared: the default, or settings under which rules are.
    pub base: &'a Settings,
    /// The arms.
    pub arms: &'a [Settings],
    /// What is asked of a subject with an arm.
    pub demand: &'a dyn Fn(&Settings, &ArmSubject) -> ArmDemand,
    /// The weight of a subject in an arm's mean speedup.
    pub weight: &'a dyn Fn(&Settings, &ArmSubject) -> f64,
    /// Criteria of verdicts.
    pub criteria: ValidationCriteria,
    /// The largest loss that a subject may have.
    pub max_loss: f64,
    /// When arms are judged.
    pub looks: Looks,
    /// True if one arm is to be chosen, which must gain in the mean: others have no launches once they are behind. Otherwise
    /// each arm is compared until its subjects are decided.
    pub chooses: bool,
}

impl<'a> Comparison<'a> {
    /// A comparison of each arm, which reports results and asks nothing of them; all subjects have the same weight.
    pub fn new(stage: Stage, base: &'a Settings, arms: &'a [Settings]) -> Self {
        Self {
            stage,
            base,
            arms,
            demand: &|_, _| ArmDemand::Report,
            weight: &|_, _| 1.0,
            criteria: ValidationCriteria::default(),
            max_loss: 0.05,
            looks: Looks::from(4),
            chooses: false,
        }
    }
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Results of the arms that have launches. If one is to be chosen, the best first, without those whose jobs fail.
    pub arms: Vec<ArmResult>,
    /// The index of the arm that may be installed, if one is to be chosen.
    pub chosen: Option<usize>,
    /// Arms whose jobs fail.
    pub failed: BTreeMap<Settings, LaunchFailure>,
    /// Subjects that fail with an arm.
    pub barred: Vec<(Settings, ArmSubject, String)>,
    /// The speedup of a second launch of the base over the first: 1 if the comparison is right. None without one.
    pub control: Option<Estimate>,
    /// Reason why jobs ran one after the other in some block; none if they took turns.
    pub apart: Option<String>,
    /// All blocks.
    pub blocks: Vec<ArmBlock>,
}

/// Result of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmResult {
    /// The arm.
    pub arm: Settings,
    /// Blocks with a launch of it and of the base.
    pub pairs: u32,
    /// The geometric mean of the speedups, by weight; none without a block that timed all subjects.
    pub speedup: Option<Estimate>,
    /// Results of subjects.
    pub subjects: Vec<SubjectResult>,
    /// Verdict on installing it for all, if it has to gain in the mean.
    pub verdict: SettingsVerdict,
}

impl Compared {
    /// The result of an arm.
    pub fn of(&self, arm: &Settings) -> Option<&ArmResult> {
        self.arms.iter().find(|result| result.arm == *arm)
    }
}

/// Launches so far.
#[derive(Default)]
struct Launched {
    blocks: Vec<ArmBlock>,
    /// Those that time all subjects: the mean of a part is another one.
    whole: Vec<ArmBlock>,
    /// Share of the error for this look.
    share: f64,
    /// Results of subjects that are no longer timed with an arm. Variances are shared between subjects, so later launches of
    /// others would change them.
    settled: BTreeMap<(Settings, ArmSubject), SubjectResult>,
}

/// Arms and subjects of the next blocks; all subjects if none are named.
struct Next {
    arms: Vec<Settings>,
    subjects: Option<BTreeSet<ArmSubject>>,
}

/// Compares arms with a base in blocks of fresh launches. Subjects that are decided are no longer timed, nor arms whose
/// subjects all are.
pub fn compare<L: ArmLauncher>(comparison: &Comparison<'_>, launcher: &mut L) -> Result<Compared, L::Error> {
    compare_in_parts(comparison, &[None], launcher)
}

/// Like [`compare`], for parts of the subjects one after the other, the most important first: each has all looks before the
/// next one begins. None as a part are all subjects.
pub fn compare_in_parts<L: ArmLauncher>(
    comparison: &Comparison<'_>,
    parts: &[Option<BTreeSet<ArmSubject>>],
    launcher: &mut L,
) -> Result<Compared, L::Error> {
    let mut launched = Launched::default();
    for part in parts {
        let working = comparison.arms.iter().filter(|arm| !launched.fails(arm));
        let next = Next { arms: working.cloned().collect(), subjects: part.clone() };
        let has_time = compare_part(comparison, next, launcher, &mut launched)?;
        if !has_time || comparison.arms.iter().all(|arm| launched.fails(arm)) {
            break;
        }
    }
    let (arms, blocks) = (comparison.judge(&launched), launched.blocks);
    let control = control_speedup(&blocks, comparison.base);
    let is_off = control.is_some_and(|control| comparison.criteria.is_off(control));
    let is_confirmed = |result: &ArmResult| result.verdict == SettingsVerdict::Confirmed;
    let chosen = arms.iter().position(is_confirmed).filter(|_| comparison.chooses && !is_off);
    let apart = blocks.iter().find_map(|block| block.apart.clone());
    let failed = blocks.iter().flat_map(|block| block.failed.clone()).collect();
    let mut barred = Vec::new();
    for new in blocks.iter().flat_map(|block| &block.barred) {
        barred.extend((!barred.contains(new)).then(|| new.clone()));
    }
    Ok(Compared { arms, chosen, failed, barred, control, apart, blocks })
}

/// Compares a part until its subjects are decided. Returns false if no time is left.
fn compare_part<L: ArmLauncher>(
    comparison: &Comparison<'_>,
    mut next: Next,
    launcher: &mut L,
    launched: &mut Launched,
) -> Result<bool, L::Error> {
    let (looks, part, before) = (&comparison.looks, next.subjects.clone(), launched.blocks.len());
    let mut has_time = true;
    'looks: for (look, end) in looks.ends().iter().enumerate() {
        launched.share = looks.share(look, false);
        while launched.blocks.len() - before < *end as usize {
            let number = launched.blocks.len() as u32;
            let Some(block) =
                launcher.block(comparison.stage, number, (comparison.base, &next.arms), next.subjects.as_ref())?
            else {
                // Time ends the launches, and no result: this is the last look.
                launched.share = looks.share(look, true);
                has_time = false;
                break 'looks;
            };
            launched.whole.extend(next.subjects.is_none().then(|| block.clone()));
            launched.blocks.push(block);
            next.arms.retain(|arm| !launched.fails(arm));
            if next.arms.is_empty() {
                break;
            }
        }
        let judged = comparison.judge(launched);
        let Some(further) = comparison.choose_next(&judged, &next.arms, part.as_ref(), *end) else { break };
        next = further;
        if let Some(subjects) = &next.subjects {
            let judged = judged.into_iter().filter(|result| next.arms.contains(&result.arm));
            // What has passed is timed again only for its class.
            let is_passed = |it: &SubjectResult| it.demand.excludes_loss() && it.guard == Guard::Passed;
            launched.settle(judged, |it| !subjects.contains(&it.subject) || is_passed(it));
        }
    }
    if part.is_some() {
        // Later parts have looks of their own.
        let judged = comparison.judge(launched);
        launched.settle(judged.into_iter(), |_| true);
    }
    Ok(has_time)
}

impl Launched {
    /// Returns true if jobs of an arm have failed.
    fn fails(&self, arm: &Settings) -> bool {
        self.blocks.iter().any(|block| block.failed.contains_key(arm))
    }

    /// Keeps the results of subjects that are no longer timed.
    fn settle(&mut self, judged: impl Iterator<Item = ArmResult>, is_over: impl Fn(&SubjectResult) -> bool) {
        for ArmResult { arm, subjects, .. } in judged {
            let over = subjects.into_iter().filter(|it| is_over(it));
            self.settled.extend(over.map(|it| ((arm.clone(), it.subject.clone()), it)));
        }
    }
}

impl Comparison<'_> {
    /// The arms with the results of the launches; if one is to be chosen, those that never fail, the best first: the fastest,
    /// less what it has to add for what it sets.
    fn judge(&self, launched: &Launched) -> Vec<ArmResult> {
        let arms = self.arms.iter().filter(|arm| !(self.chooses && launched.fails(arm)));
        let mut judged: Vec<ArmResult> = arms.filter_map(|arm| self.judge_arm(launched, arm)).collect();
        if self.chooses {
            let score = |it: &ArmResult| {
                it.speedup.map_or(f64::NEG_INFINITY, |speedup| speedup.point.ln()) - LEAST_ADDED * it.arm.len() as f64
            };
            judged.sort_by(|one, other| score(other).total_cmp(&score(one)));
        }
        judged
    }

    fn judge_arm(&self, launched: &Launched, arm: &Settings) -> Option<ArmResult> {
        let pairs = count_pairs(&launched.blocks, arm, self.base);
        if pairs == 0 {
            return None;
        }
        let demand = |subject: &ArmSubject| (self.demand)(arm, subject);
        let mut subjects =
            judge(&launched.blocks, arm, self.base, self.criteria, self.max_loss, launched.share, &demand);
        for result in &mut subjects {
            // Unless it is timed for its class, and slower after all.
            let is_lost = |settled: &&SubjectResult| result.guard == Guard::Lost && result.pairs > settled.pairs;
            let settled = launched.settled.get(&(arm.clone(), result.subject.clone()));
            if let Some(settled) = settled.filter(|settled| !is_lost(settled)) {
                *result = settled.clone();
            }
        }
        let weight = |subject: &ArmSubject| (self.weight)(arm, subject);
        let speedup = mean_speedup(&launched.whole, arm, self.base, &weight, self.criteria.level);
        let gains = speedup.is_some_and(|speedup| {
            speedup.low.is_some_and(|low| low > 1.0) && speedup.point >= 1.0 + self.criteria.min_difference
        });
        let has = |wanted: Guard| subjects.iter().any(|it| it.demand.excludes_loss() && it.guard == wanted);
        let verdict = match () {
            () if !gains => SettingsVerdict::NoGain,
            () if has(Guard::Lost) => SettingsVerdict::Harmful,
            () if has(Guard::Undecided) => SettingsVerdict::Undecided,
            () => SettingsVerdict::Confirmed,
        };
        Some(ArmResult { arm: arm.clone(), pairs, speedup, subjects, verdict })
    }

    /// The arms and subjects of the blocks of a part after a look; none if nothing is left to decide.
    fn choose_next(
        &self,
        judged: &[ArmResult],
        open: &[Settings],
        part: Option<&BTreeSet<ArmSubject>>,
        blocks: u32,
    ) -> Option<Next> {
        if self.chooses {
            return self.choose_best(judged, open);
        }
        let (mut arms, mut subjects) = (Vec::new(), BTreeSet::new());
        for result in judged.iter().filter(|result| open.contains(&result.arm)) {
            let mut wanted = undecided(result, blocks);
            wanted.retain(|subject| part.is_none_or(|part| part.contains(subject)));
            if !wanted.is_empty() {
                arms.push(result.arm.clone());
                subjects.extend(wanted);
            }
        }
        (!arms.is_empty()).then_some(Next { arms, subjects: Some(subjects) })
    }

    /// The arm that may still be the best. To exclude losses takes many blocks: from the first look on only the best has
    /// launches, and once it is shown to be faster only its subjects that are undecided. If it slows something down, even if
    /// perhaps by less than the limit, the next best takes its place: a small loss takes the most blocks to exclude. Once that
    /// one is confirmed, the time that is left is for those that are faster.
    fn choose_best(&self, judged: &[ArmResult], open: &[Settings]) -> Option<Next> {
        let ValidationCriteria { min_difference, error_rate, .. } = self.criteria;
        // What slows something down, or cannot gain enough, needs no further launches.
        let is_open = |it: &&ArmResult| {
            let high = it.speedup.and_then(|speedup| speedup.high);
            it.verdict != SettingsVerdict::Harmful && high.is_none_or(|high| high >= 1.0 + min_difference)
        };
        let candidates: Vec<&ArmResult> = judged.iter().filter(is_open).collect();
        let is_slower = |it: &SubjectResult| it.speedup.point < 1.0 && it.q_value.unwrap_or(1.0) <= error_rate;
        let is_slow = |it: &SubjectResult| it.is_failed() || it.is_open() && is_slower(it);
        let mut without_loss = candidates.iter().filter(|it| !it.subjects.iter().any(is_slow)).peekable();
        let next = without_loss.peek().copied();
        let mut best = *without_loss.find(|it| open.contains(&it.arm)).or(next).or(candidates.first())?;
        if best.verdict == SettingsVerdict::Confirmed {
            let point = |it: &ArmResult| it.speedup.map_or(0.0, |speedup| speedup.point);
            let least = (1.0 + min_difference) * point(best);
            best = candidates.iter().take_while(|it| it.arm != best.arm).find(|it| point(it) >= least)?;
        }
        let subjects = (best.verdict == SettingsVerdict::Undecided).then(|| open_classes(&best.subjects));
        Some(Next { arms: vec![best.arm.clone()], subjects })
    }
}

/// The subjects of an arm for which a demand is open, with their classes, without calls of cells for which another one has
/// failed: their rule is lost.
fn undecided(result: &ArmResult, blocks: u32) -> BTreeSet<ArmSubject> {
    let lost: BTreeSet<_> =
        result.subjects.iter().filter(|it| it.is_failed()).filter_map(|it| it.subject.cell()).collect();
    let is_left = |it: &&SubjectResult| it.subject.cell().is_none_or(|cell| !lost.contains(&cell));
    let is_wanted = |it: &&SubjectResult| it.demand != ArmDemand::NoLoss || blocks < LOOKED_FOR;
    let wanted: Vec<SubjectResult> = result.subjects.iter().filter(is_left).filter(is_wanted).cloned().collect();
    open_classes(&wanted)
}
