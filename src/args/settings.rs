//! Arguments of `collrules settings`.

use clap::Args;
use collrules_record::options::SystemOptions;
use collrules_rules::settings::request::RequestedSetting;

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
