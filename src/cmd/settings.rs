//! `collrules settings`: settings that affect the speed of messages and collectives.

use clap::Args;
use collrules_record::options::SystemOptions;
use collrules_report::settings::omission;
use collrules_rules::settings::offer::SettingOmission;
use collrules_rules::settings::request::RequestedSetting;
use collrules_rules::settings::show_value;
use collrules_workflow::WorkflowError;
use collrules_workflow::settings::{self, Listed};

use crate::screen::{self, TextStyle, paint, wrapped};
use crate::session;

#[derive(Debug, Args)]
#[command(
    after_help = "A setting holds for a whole job, and acts on programs without collectives too. What the site or a user \
has set is kept, unless --setting names it."
)]
pub(crate) struct SettingsArgs {
    /// A setting of your own with the values to try: an MCA parameter, or env: and an environment variable, such as
    /// btl_vader_eager_limit=4K,16K or env:UCX_RNDV_THRESH=8K,64K; | separates values that have commas. May be repeated
    #[arg(long = "setting", value_name = "NAME=VALUES")]
    pub(crate) settings: Vec<RequestedSetting>,
    /// List settings that have no effect here as well
    #[arg(long)]
    pub(crate) all: bool,
    /// Answer in JSON, with all settings
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) system: SystemOptions,
}

pub(crate) fn run(args: &SettingsArgs) -> Result<(), WorkflowError> {
    let all = session::plain(|session| settings::list(&args.system, &args.settings, session))?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&all)?);
    }
    let (tried, others): (Vec<Listed>, Vec<Listed>) = all.into_iter().partition(|setting| setting.left_out.is_none());
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

fn describe(setting: &Listed) -> Vec<String> {
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
