//! What verifying showed, for people and programs.

use std::collections::BTreeMap;

use collrules_report::notes;
use collrules_runner::messages::Messages;
use collrules_runner::proof::Proof;
use serde_json::json;

use super::{Question, System};
use crate::failure::Failure;
use crate::screen::{self, wrapped};

pub(super) struct Outcome {
    file: String,
    version: String,
    deployed: bool,
    empty: bool,
    pins: Option<BTreeMap<String, String>>,
    /// What is worth knowing although the file is obeyed.
    notes: Vec<String>,
    /// Why the file is not obeyed; empty where it is.
    pub(super) reasons: Vec<String>,
    pub(super) proof: Option<Proof>,
    pub(super) messages: Option<Messages>,
    /// Why no messages were counted.
    pub(super) uncounted: Option<String>,
}

impl Outcome {
    pub(super) fn new(
        question: &Question,
        system: &System,
        deployed: bool,
        pins: Option<BTreeMap<String, String>>,
    ) -> Self {
        let origin = notes::origin(&String::from_utf8_lossy(&question.bytes));
        let other = origin.filter(|origin| origin.measured != system.release);
        let note = |origin: notes::Origin| {
            format!(
                "It was measured on Open MPI {}, not on {}: whether it is obeyed says nothing about whether it is fast here.",
                origin.measured, system.release
            )
        };
        Self {
            file: question.path.display().to_string(),
            version: system.survey.version.to_string(),
            deployed,
            empty: question.table.is_empty(),
            pins,
            notes: other.map(note).into_iter().collect(),
            reasons: Vec::new(),
            proof: None,
            messages: None,
            uncounted: None,
        }
    }

    /// Prints it. What is not obeyed is a failure.
    pub(super) fn tell(self, as_json: bool) -> Result<(), Failure> {
        if as_json {
            screen::print(&serde_json::to_string_pretty(&self.json())?)?;
        } else if self.reasons.is_empty() {
            let lines: Vec<String> = self.sentences().iter().flat_map(|sentence| wrapped(sentence, "", "")).collect();
            screen::print(&lines.join("\n"))?;
        }
        if self.reasons.is_empty() {
            return Ok(());
        }
        let faults = self.reasons.iter().map(|reason| wrapped(reason, "  ", "    ").join("\n")).collect();
        let what = if self.file.is_empty() {
            format!("no rules file is in force in Open MPI {}", self.version)
        } else {
            format!("{} is NOT obeyed by Open MPI {}", self.file, self.version)
        };
        Err(Failure::Unproven { what, faults })
    }

    fn sentences(&self) -> Vec<String> {
        let Self { file, version, .. } = self;
        let mut sentences = Vec::new();
        if self.empty {
            sentences.push(format!("{file} leaves everything to the builtin: there is nothing to obey."));
        } else if let Some(proof) = &self.proof {
            let how = if self.deployed { ", as it is deployed," } else { "" };
            sentences.push(format!(
                "Open MPI {version} accepts {file}{how} and serves every call by the intended rule: {} calls, on both sides \
                 of every boundary within reach. With the file in force, {} calls with checked data were right.",
                proof.probed, proof.used,
            ));
        }
        if let Some(messages) = &self.messages {
            sentences.push(of_messages(messages));
        }
        if let Some(why) = &self.uncounted {
            sentences.push(format!("That the intended algorithms ran cannot be shown by their messages: {why}."));
        }
        if let Some(pins) = &self.pins {
            let settings: Vec<String> = pins.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            sentences.push(format!("This holds with the settings that its run asks for: {}.", settings.join(", ")));
        }
        sentences.extend(self.notes.iter().cloned());
        sentences
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "file": self.file,
            "version": self.version,
            "deployed": self.deployed,
            "obeyed": self.reasons.is_empty(),
            "reasons": self.reasons,
            "notes": self.notes,
            "settings": self.pins,
            "calls": self.proof.as_ref().map(|proof| json!({ "probed": proof.probed, "used": proof.used })),
            "messages": self.messages.as_ref().map(|messages| json!({
                "shown": messages.shown,
                "alike": messages.alike,
                "silent": messages.silent,
                "other": messages.other,
                "uncounted": messages.uncounted.iter().map(|(cell, why)| json!({ "cell": cell, "why": why }))
                    .collect::<Vec<_>>(),
            })),
            "uncounted": self.uncounted,
        })
    }
}

fn of_messages(messages: &Messages) -> String {
    let Messages { shown, alike, silent, uncounted, .. } = messages;
    if shown.is_empty() && alike.is_empty() && uncounted.is_empty() {
        return if silent.is_empty() {
            "No call was made that a rule gives an algorithm of its own.".to_owned()
        } else {
            format!("The messages of the {} calls with algorithms of their own are not reported.", silent.len())
        };
    }
    let mut text = format!(
        "Messages counted: {} of {} calls with an algorithm of their own send what that algorithm sends, and the builtin \
         would not",
        shown.len(),
        shown.len() + alike.len() + silent.len() + uncounted.len(),
    );
    if !alike.is_empty() {
        text += &format!("; {} send what both would send", alike.len());
    }
    if !silent.is_empty() {
        text += &format!("; of {} the messages are not reported or cannot be compared", silent.len());
    }
    if let Some((cell, why)) = uncounted.first() {
        text += &format!("; {} could not be counted, the first of them {cell}: {why}", uncounted.len());
    }
    text + "."
}
