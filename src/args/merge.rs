//! Arguments of `collrules merge`.

use collrules_record::options::Merging;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Merge {
    #[command(flatten)]
    pub(crate) merging: Merging,
}
