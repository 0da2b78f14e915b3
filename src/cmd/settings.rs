//! `collrules settings`: settings that affect the speed of messages and collectives.

use std::collections::BTreeMap;

use clap::Args;
use collrules_record::options::SystemOptions;
use collrules_report::settings::omission;
use collrules_rules::settings::offer::{Setting, SettingOmission};
use collrules_rules::settings::request::RequestedSetting;
use collrules_rules::settings::show_value;
use collrules_workflow::start::start;
use collrules_workflow::{WorkflowError, settings};
use serde::Serialize;

use crate::interrupt;
use crate::progress::say;
use crate::screen::{self, TextStyle, paint, wrapped};

#[derive(Debug, Args)]
#[command(
    after_help = "A setting holds for a whole job, and acts on programs without collectives too. What the site or a user \
has set is kept, unless --setting names it."
)]
pub(crate) struct SettingsArgs {
    /// A setting of your own with the values to try: an MCA parameter, or env: and an environment variable, such as
    /// btl_vader_eager_limit=4K,16K or env:UCX_RNDV_THRESH=8K,64K; | separates values that have commas. May be repeated
    #[arg(long = "setting", value_name = "NAME=VALUES")]
    settings: Vec<RequestedSetting>,
    /// List settings that have no effect here as well
    #[arg(long)]
    all: bool,
    /// Answer in JSON, with all settings
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    system: SystemOptions,
}

/// A setting, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ListedSetting {
    /// The MCA parameter, or `env:` and an environment variable.
    name: String,
    /// Its meaning; missing for settings that the catalogue does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    /// The traffic that it acts on.
    #[serde(skip_serializing_if = "Option::is_none")]
    acts_on: Option<&'static str>,
    /// The present value, common to all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// The values to try.
    values: Vec<String>,
    /// Reason why none is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<SettingOmission>,
    /// Costs of other values apart from time.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'static str>,
    /// Definition in the source of Open MPI or UCX.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
}

/// Lists the settings of a system: those of the catalogue that exist there, and requested ones.
pub(crate) fn run(args: &SettingsArgs) -> Result<(), WorkflowError> {
    let mut started = start(&args.system, &interrupt::flag())?;
    started.remarks.iter().for_each(|remark| say(remark));
    let found = settings::find(&started, &args.settings)?;
    let names: Vec<String> = found.iter().map(|setting| setting.name.clone()).collect();
    // Values that a job really has.
    let ranks = started.backend.values(&BTreeMap::new(), &names)?;
    let all: Vec<ListedSetting> = found.iter().map(|setting| describe_setting(setting, &ranks)).collect();
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&all)?);
    }
    let (tried, others): (Vec<ListedSetting>, Vec<ListedSetting>) =
        all.into_iter().partition(|setting| setting.left_out.is_none());
    let mut lines: Vec<String> = tried.iter().flat_map(describe).collect();
    if tried.is_empty() {
        lines.push("There are no settings to try here.".to_owned());
    }
    if args.all {
        lines.extend(others.iter().flat_map(describe));
    } else if !others.is_empty() {
        let preset = others.iter().filter(|setting| matches!(setting.left_out, Some(SettingOmission::Preset(_))));
        let preset: Vec<String> = preset.map(|setting| setting.name.clone()).collect();
        let kept = if preset.is_empty() { String::new() } else { format!(", already set: {}", preset.join(", ")) };
        lines.push(format!("Left out: {}{kept}. --all lists them.", others.len()));
    }
    screen::print(&lines.join("\n"))
}

fn describe_setting(setting: &Setting, ranks: &[BTreeMap<String, String>]) -> ListedSetting {
    let entry = setting.entry;
    let mut values: Vec<&String> = ranks.iter().filter_map(|values| values.get(&setting.name)).collect();
    values.sort_unstable();
    values.dedup();
    let read = match values.as_slice() {
        [] => setting.now.clone(),
        [same] => Some((*same).clone()).filter(|same| !same.is_empty()).or_else(|| setting.now.clone()),
        several => Some(format!(
            "{} (differs between ranks)",
            several.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
        )),
    };
    ListedSetting {
        name: setting.name.clone(),
        about: entry.map(|entry| entry.about),
        acts_on: entry.map(|entry| entry.layer.name()),
        value: read,
        values: if setting.left_out.is_none() { setting.values.clone() } else { Vec::new() },
        left_out: setting.left_out.clone(),
        cost: entry.map(|entry| entry.cost).filter(|cost| !cost.is_empty()),
        source: entry.map(|entry| entry.source),
    }
}

fn describe(setting: &ListedSetting) -> Vec<String> {
    let shown = |value: &str| show_value(&setting.name, value);
    let now = setting.value.as_deref().map_or_else(|| "not set".to_owned(), shown);
    let mut lines = vec![format!("{} = {now}", paint(TextStyle::Heading, &setting.name))];
    let mut say = |text: &str| lines.extend(wrapped(text, "  ", "    "));
    match (&setting.acts_on, &setting.about) {
        (Some(layer), Some(about)) => say(&format!("{layer}: {about}")),
        _ => say("requested; not in the catalogue"),
    }
    match &setting.left_out {
        Some(why) => say(&format!("not tried: {}", omission(why))),
        None => {
            say(&format!("tries {}", setting.values.iter().map(|value| shown(value)).collect::<Vec<_>>().join(", ")))
        }
    }
    if let Some(cost) = setting.cost {
        say(&format!("costs {cost}"));
    }
    lines
}
