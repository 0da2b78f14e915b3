//! The section about settings: what was found, and a drawing of each effect.

use collrules_record::Estimate;
use collrules_record::settings::SettingsFindings;

use crate::settings;

/// The width of a drawing, in pixels.
const WIDTH: f64 = 240.0;

/// Speedups beyond this, either way, end at the edge of a drawing.
const MOST: f64 = 4.0;

/// The section.
pub(super) struct SettingsView {
    pub(super) sentences: Vec<String>,
    pub(super) columns: [&'static str; 7],
    pub(super) effects: Vec<EffectRow>,
    pub(super) guard_columns: [&'static str; 4],
    pub(super) guards: Vec<[String; 4]>,
}

/// The effect of a value, with its drawing.
pub(super) struct EffectRow {
    pub(super) cells: [String; 7],
    pub(super) drawing: String,
}

impl SettingsView {
    pub(super) fn new(found: &SettingsFindings) -> Self {
        let drawings = found.effects.iter().map(|effect| effect.alone.as_ref().map(draw).unwrap_or_default());
        Self {
            sentences: settings::sentences(found),
            columns: settings::EFFECTS,
            effects: settings::effects(found)
                .into_iter()
                .zip(drawings)
                .map(|(cells, drawing)| EffectRow { cells, drawing })
                .collect(),
            guard_columns: settings::GUARDS,
            guards: settings::guards(found),
        }
    }
}

/// A speedup with its interval on a logarithmic axis, whose middle is 1.
fn draw(speedup: &Estimate) -> String {
    let place = |speedup: f64| {
        let share = (speedup.ln() / MOST.ln()).clamp(-1.0, 1.0);
        WIDTH / 2.0 * (1.0 + if share.is_nan() { 0.0 } else { share })
    };
    let interval = speedup.low.zip(speedup.high).map_or(String::new(), |(low, high)| {
        format!("<path d=\"M{:.1} 7H{:.1}\" stroke-width=\"3\"/>", place(low), place(high))
    });
    format!(
        "<svg viewBox=\"0 0 {WIDTH} 14\" width=\"{WIDTH}\" height=\"14\" aria-hidden=\"true\" stroke=\"currentColor\">\
         <path d=\"M{middle} 0V14\" stroke-dasharray=\"2\"/>{interval}<circle cx=\"{point:.1}\" cy=\"7\" r=\"3\" \
         fill=\"currentColor\"/></svg>",
        middle = WIDTH / 2.0,
        point = place(speedup.point),
    )
}
