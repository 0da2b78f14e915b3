//! The report as one page: everything in it, nothing fetched.
//!
//! It opens with the verdict, the confirmed speedup, a strip for each collective, the quality of the data and the command
//! that installs the tuning; all else is folded. Pictures and tables are complete without the script; it adds numbers at
//! the pointer, highlights algorithms, and opens folded parts for printing where the browser does not. Numbers of curves
//! are read back from their paths, so that no number is in the page twice.

mod collective;
mod overview;
mod palette;
mod settings;
mod strip;
mod validation;

use askama::Template;
use collrules_record::findings::Findings;

use crate::Context;
use crate::conduct;
use crate::facts;
use crate::gains::Gains;
use crate::layouts;
use crate::plain;
use crate::plot::{self, Entry};
use crate::remarks::remarks;
use crate::summary::by_collective;
use collective::CollectiveView;
use overview::Opening;
use settings::SettingsView;
use strip::{Axis, Tick};
use validation::ValidationView;

/// Filters of the templates.
#[allow(unreachable_pub, reason = "what the macro makes is public")]
pub(crate) mod filters {
    use askama::filters::Safe;

    /// A sentence; what stands between backquotes is code.
    #[askama::filter_fn]
    pub(crate) fn prose(text: &str, _: &dyn askama::Values) -> askama::Result<Safe<String>> {
        Ok(Safe(super::prose(text)))
    }
}

/// A sentence as markup; what stands between backquotes is code.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A lonely backquote is one.
        return plain::markup(text);
    }
    let mark = |(place, part): (usize, &&str)| match place % 2 {
        0 => plain::markup(part),
        _ => format!("<code>{}</code>", plain::markup(part)),
    };
    parts.iter().enumerate().map(mark).collect()
}

/// The page.
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    frame: Frame,
    findings: &'a Findings,
    subject: String,
    opening: Opening,
    /// Labels of the axis of message sizes.
    ticks: Vec<Tick>,
    /// Legend of the strips; empty if there are none.
    strip_legend: Vec<Entry>,
    /// Origin of the speedups, in a phrase.
    speedups_are: &'static str,
    settings: Option<SettingsView>,
    switch_on: &'a [String],
    proof: &'a [String],
    validation: Option<ValidationView>,
    remarks: Vec<String>,
    assumptions: Vec<String>,
    collectives: Vec<CollectiveView>,
    conduct: Vec<[String; 6]>,
    conduct_columns: [&'static str; 6],
    conduct_title: &'static str,
    layouts: Vec<[String; 8]>,
    layout_columns: [&'static str; 8],
    layout_words: [&'static str; 2],
    handover: Vec<[String; 4]>,
    elsewhere: &'static str,
    disqualified: Vec<[String; 3]>,
    method: Vec<String>,
    placement: Vec<[String; 3]>,
    provenance: Vec<(String, String)>,
}

/// Parts that every page has.
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) tool: String,
    /// Warning that comes first, on every page of paper too.
    pub(crate) warning: Option<&'static str>,
    pub(crate) style: &'static str,
    pub(crate) plot_style: &'static str,
    pub(crate) script: &'static str,
}

impl Frame {
    /// The frame of a page with this title, written by this program.
    pub(crate) fn new(title: String, tool: &str, simulated: bool) -> Self {
        Self {
            title: if simulated { format!("SIMULATED: {title}") } else { title },
            tool: tool.to_owned(),
            warning: simulated.then_some(facts::SIMULATED),
            style: include_str!("../document/page.css"),
            plot_style: plot::STYLE,
            script: include_str!("../document/page.js"),
        }
    }
}

/// The report as a page of HTML that needs no other file.
pub fn page(findings: &Findings, context: &Context<'_>) -> String {
    let gains = Gains::new(findings, context.validation);
    let axis = Axis::new(&gains);
    let mut collectives: Vec<CollectiveView> =
        by_collective(findings).map(|cells| CollectiveView::new(findings, cells, &gains, axis.as_ref())).collect();
    // The largest gains first, then what has no rule.
    collectives.sort_by(|a, b| b.mean.unwrap_or(f64::MIN).total_cmp(&a.mean.unwrap_or(f64::MIN)));
    let page = Page {
        frame: Frame::new(overview::title(findings, context), &context.tool, findings.simulated),
        findings,
        subject: overview::subject(findings),
        opening: Opening::new(findings, context, &gains),
        ticks: axis.map_or_else(Vec::new, |axis| axis.ticks),
        strip_legend: if collectives.iter().any(|one| !one.rows.is_empty()) {
            strip::legend(&gains)
        } else {
            Vec::new()
        },
        speedups_are: match gains.round {
            Some(_) => "in fresh launches without and with the rules",
            None => "expected from the timings for tuning, not confirmed",
        },
        settings: context.settings.map(SettingsView::new),
        switch_on: &context.switch_on,
        proof: &context.proof,
        validation: context.validation.map(|validation| ValidationView::new(findings, validation)),
        remarks: remarks(findings),
        assumptions: facts::assumptions(findings),
        collectives,
        conduct: conduct::rows(findings),
        conduct_columns: conduct::COLUMNS,
        conduct_title: conduct::TITLE,
        layouts: layouts::rows(findings),
        layout_columns: layouts::COLUMNS,
        layout_words: [layouts::TITLE, layouts::about(findings)],
        handover: facts::handover(findings),
        elsewhere: facts::HANDOVER,
        disqualified: facts::disqualified(findings),
        method: facts::method(findings),
        placement: facts::placement(findings),
        provenance: context.manifest.map(facts::provenance).unwrap_or_default(),
    };
    rendered(&page)
}

/// A page from its template. Writing to a string cannot fail, and nothing in the templates can; should it be otherwise, the
/// page says so.
pub(crate) fn rendered(page: &impl Template) -> String {
    let page = page.render().unwrap_or_else(|error| format!("<!doctype html><p>The page could not be made: {error}"));
    plain::document(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_are_code_and_the_rest_is_text() {
        assert_eq!(prose("ask `collrules verify` & see"), "ask <code>collrules verify</code> &amp; see");
        assert_eq!(prose("a ` alone <b>"), "a ` alone &lt;b&gt;");
        assert_eq!(prose("`<i>`"), "<code>&lt;i&gt;</code>");
    }
}
