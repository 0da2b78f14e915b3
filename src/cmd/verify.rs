//! `collrules verify`: checks if the Open MPI in use obeys a rules file, and lists the reasons if it does not.

use collrules_record::settings::describe;
use collrules_runner::messages::Messages;
use collrules_workflow::WorkflowError;
use collrules_workflow::verify::{self, Verified, Verifying};
use serde_json::json;

use crate::exit::Exit;
use crate::screen::{self, wrapped};
use crate::session;

#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    options: Verifying,
    /// Answer in JSON
    #[arg(long, help_heading = None)]
    json: bool,
}

pub(crate) fn run(args: &Verify) -> Result<Exit, WorkflowError> {
    tell(&session::plain(|session| verify::verify(&args.options, session))?, args.json)
}

/// Prints the result. A file that is not obeyed is a failure, and so is one of which nothing is shown.
fn tell(verified: &Verified, as_json: bool) -> Result<Exit, WorkflowError> {
    if as_json {
        screen::print(&serde_json::to_string_pretty(&as_json_value(verified))?)?;
    } else if verified.reasons.is_empty() {
        let lines: Vec<String> = sentences(verified).iter().flat_map(|sentence| wrapped(sentence, "", "")).collect();
        screen::print(&lines.join("\n"))?;
    }
    if verified.reasons.is_empty() {
        return Ok(if verified.proves_nothing() { Exit::INCOMPLETE } else { Exit::DONE });
    }
    let faults = verified.reasons.iter().map(|reason| wrapped(reason, "  ", "    ").join("\n")).collect();
    let what = if verified.file.as_os_str().is_empty() {
        let what =
            if verified.settings.is_empty() { "no rules file is active" } else { "installed settings do NOT act" };
        format!("{what} in Open MPI {}", verified.version)
    } else {
        format!("{} is NOT obeyed by Open MPI {}", verified.file.display(), verified.version)
    };
    Err(WorkflowError::Unproven { what, faults })
}

fn sentences(verified: &Verified) -> Vec<String> {
    let Verified { version, proof, settings, pins, messages, uncounted, .. } = verified;
    let file = verified.file.display();
    let mut lines = Vec::new();
    if verified.proves_nothing() {
        lines.push("NOT CHECKED: no call shows which rules are used.".to_owned());
    }
    if verified.empty && settings.is_empty() {
        lines.push(format!("{file} leaves everything to the default: there is nothing to obey."));
    } else if let Some(proof) = proof {
        let how = if verified.deployed { ", as it is deployed," } else { "" };
        let is_seen = proof.logged + proof.cells > 0;
        let used = if is_seen { "and uses the right rule" } else { "but which rules its calls use cannot be seen" };
        lines.push(format!("Open MPI {version} accepts {file}{how} {used}."));
    }
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut count = |what, count: usize| rows.extend((count > 0).then(|| (what, count.to_string())));
    if let Some(proof) = proof.as_ref().filter(|_| !verified.empty) {
        let calls = if proof.logged > 0 { proof.logged } else { proof.probed };
        count("calls on both sides of every threshold within reach", calls);
        count("calls with correct data", proof.used);
        count("calls in the component that HAN's rules file names", proof.asked);
        count("collectives of a JSON file whose rules cannot be seen", proof.unshown.len());
    }
    if let Some(Messages { shown, alike, silent, uncounted, .. }) = messages {
        count("calls whose messages are those of the rule's algorithm, and not of the default", shown.len());
        count("calls for which the default sends the same messages", alike.len());
        count("calls without messages that can be compared", silent.len());
        let first = uncounted.first().map(|(cell, why)| format!("{}, such as {cell}: {why}", uncounted.len()));
        rows.extend(first.map(|first| ("calls whose messages could not be counted", first)));
    }
    rows.extend(uncounted.iter().map(|why| ("messages were not counted", why.clone())));
    let settings = Some(settings).filter(|settings| !settings.is_empty());
    rows.extend(settings.map(|settings| ("settings of the tuning that all ranks have", describe(settings))));
    rows.extend(pins.iter().map(|pins| ("settings of its run that it requires", describe(pins))));
    lines.extend(rows.into_iter().map(|(what, found)| format!("{what}: {found}")));
    lines.extend(verified.scope.iter().chain(&verified.notes).cloned());
    lines
}

fn as_json_value(verified: &Verified) -> serde_json::Value {
    json!({
        "file": verified.file.display().to_string(),
        "version": verified.version.to_string(),
        "deployed": verified.deployed,
        "obeyed": verified.reasons.is_empty() && !verified.proves_nothing(),
        "scope": verified.scope,
        "reasons": verified.reasons,
        "notes": verified.notes,
        "settings": verified.pins,
        "calls": verified.proof.as_ref().map(|proof| json!({ "probed": proof.probed, "asked": proof.asked, "used": proof.used })),
        "messages": verified.messages.as_ref().map(|messages| json!({
            "shown": messages.shown,
            "alike": messages.alike,
            "silent": messages.silent,
            "other": messages.other,
            "uncounted": messages.uncounted.iter().map(|(cell, why)| json!({ "cell": cell, "why": why }))
                .collect::<Vec<_>>(),
        })),
        "uncounted": verified.uncounted,
    })
}
