//! `collrules verify`: checks if the Open MPI in use obeys a rules file, and lists the reasons if it does not.

use std::path::PathBuf;

use collrules_record::settings::Settings;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::values::{List, communicators, sizes};
use collrules_rules::words::counted;
use collrules_runner::messages::Messages;
use collrules_workflow::WorkflowError;
use collrules_workflow::verify::{self, Verified, Verifying};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::arguments;
use crate::screen::{self, wrapped};
use crate::session;
use collrules_record::options::{Launching, SystemOptions};

arguments! {
    Verify {} => Verifying {
        /// The rules file; with --deployed, the one that should be active
        #[arg(value_name = "FILE", required_unless_present = "deployed")]
        rules: Option<PathBuf>,
        /// Check what Open MPI does with the settings of this shell and its parameter files, instead of passing it the
        /// file
        #[arg(long)]
        deployed: bool,
        /// Communicator sizes to call on, as for tune [default: powers of two up to the available slots, and the slots]
        #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
        ranks: List<Ranks>,
        /// Message sizes to call with, besides both sides of every threshold
        #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = sizes)]
        sizes: List<Bytes>,
        /// Directory for a copy of the file that exists while the command runs; all nodes have to see it
        #[arg(long, value_name = "DIR", default_value = ".")]
        scratch: PathBuf,
        #[command(flatten)]
        system: SystemOptions<Launching>,
    } {
        /// Answer in JSON
        #[arg(long, help_heading = None)]
        json: bool,
    }
}

pub(crate) fn run(args: &Verify) -> Result<Exit, Failure> {
    tell(&session::plain(|session| verify::verify(&args.resolve(), session))?, args.json)
}

/// Prints the result. A file that is not obeyed is a failure, and so is one of which nothing is shown.
fn tell(verified: &Verified, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        screen::print(&serde_json::to_string_pretty(&as_json_value(verified))?)?;
    } else if verified.reasons.is_empty() {
        let lines: Vec<String> = sentences(verified).iter().flat_map(|sentence| wrapped(sentence, "", "")).collect();
        screen::print(&lines.join("\n"))?;
    }
    if verified.reasons.is_empty() {
        return Ok(if verified.proves_nothing() { Exit::Incomplete } else { Exit::Done });
    }
    let faults = verified.reasons.iter().map(|reason| wrapped(reason, "  ", "    ").join("\n")).collect();
    let what = if verified.file.as_os_str().is_empty() {
        let what =
            if verified.settings.is_empty() { "no rules file is active" } else { "installed settings do NOT act" };
        format!("{what} in Open MPI {}", verified.version)
    } else {
        format!("{} is NOT obeyed by Open MPI {}", verified.file.display(), verified.version)
    };
    Err(WorkflowError::Unproven { what, faults }.into())
}

fn sentences(verified: &Verified) -> Vec<String> {
    let Verified { version, .. } = verified;
    let file = verified.file.display();
    let mut sentences = Vec::new();
    if verified.proves_nothing() {
        sentences.push("NOT CHECKED: no call shows which rules are used.".to_owned());
    }
    if verified.empty && verified.settings.is_empty() {
        sentences.push(format!("{file} leaves everything to the default: there is nothing to obey."));
    } else if let Some(proof) = &verified.proof {
        let how = if verified.deployed { ", as it is deployed," } else { "" };
        let served = if proof.logged > 0 {
            let logged = proof.logged;
            format!(
                "and uses the right rule, according to its log: {logged} calls, on both sides of every threshold \
                 within reach"
            )
        } else if proof.cells == 0 {
            "but which rules its calls use cannot be seen from outside".to_owned()
        } else {
            let probed = proof.probed;
            format!(
                "and uses the right rule for every call: {probed} calls, on both sides of every threshold within reach"
            )
        };
        let used = proof.used;
        sentences.push(format!(
            "Open MPI {version} accepts {file}{how} {served}. With the file active, all {used} checked calls returned \
             correct data.",
        ));
        if proof.cells > 0 && !proof.unshown.is_empty() {
            let names: Vec<&str> = proof.unshown.iter().map(|collective| collective.name()).collect();
            sentences.push(format!(
                "Not checked: {}. In a JSON file, no rule can make their calls fail, so their rules cannot be seen \
                 from outside.",
                names.join(", ")
            ));
        }
    }
    if let Some(proof) = verified.proof.as_ref().filter(|proof| proof.asked > 0) {
        sentences.push(format!(
            "Open MPI also obeys HAN's rules file: {} calls, on both sides of its thresholds, used the intended \
             component.",
            proof.asked,
        ));
    }
    if let Some(messages) = &verified.messages {
        sentences.push(of_messages(messages));
    }
    if let Some(why) = &verified.uncounted {
        sentences.push(format!("The intended algorithms cannot be checked by counting messages: {why}."));
    }
    let list = |settings: &Settings| {
        settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    };
    if !verified.settings.is_empty() {
        sentences.push(format!("All ranks have the settings of the tuning: {}.", list(&verified.settings)));
    }
    if let Some(pins) = &verified.pins {
        sentences.push(format!("This requires the settings of its run: {}.", list(pins)));
    }
    sentences.extend(verified.scope.iter().cloned());
    sentences.extend(verified.notes.iter().cloned());
    sentences
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

fn of_messages(messages: &Messages) -> String {
    let Messages { shown, alike, silent, uncounted, .. } = messages;
    if shown.is_empty() && alike.is_empty() && uncounted.is_empty() {
        return if silent.is_empty() {
            "No rule names an algorithm for any of the calls.".to_owned()
        } else {
            format!("Open MPI reports no messages for the {}.", ruled(silent.len()))
        };
    }
    let all = shown.len() + alike.len() + silent.len() + uncounted.len();
    let mut text = format!(
        "Counted messages confirm the intended algorithm for {} of the {}: they match that algorithm, and not the \
         default.",
        shown.len(),
        ruled(all),
    );
    if !alike.is_empty() {
        text += &format!(" {} cannot be told apart: the default sends the same messages.", alike.len());
    }
    if !silent.is_empty() {
        text += &format!(" For {}, Open MPI reports no messages that can be compared.", silent.len());
    }
    if let Some((cell, why)) = uncounted.first() {
        text += &format!(" For {}, messages could not be counted; the first is {cell}: {why}.", uncounted.len());
    }
    text
}

/// Calls for which a rule names an algorithm.
fn ruled(calls: usize) -> String {
    format!("{} whose rule names an algorithm", counted(calls, "call"))
}
