//! Arguments of `collrules study`.

use collrules_record::options::Studying;

#[derive(Debug, clap::Args)]
#[command(after_help = "A definition says what is asked, which algorithms are compared, and what is drawn:

  title = \"Two ways to broadcast\"
  question = \"Which of them is faster, and where?\"
  np = [2, 4, 8]            # sizes above the slots are left out
  sizes = \"1:1M\"            # as --sizes of tune
  [algorithms]              # by name or number, besides the default
  bcast = [\"binomial\", \"chain\"]
  [figures]
  over_ranks = [\"1\", \"1M\"]  # these sizes over the number of ranks
  over_sizes = [8]          # these communicators over the message size
  builtin = true            # the default alone, a line per communicator

collrules' sources have several under examples/studies.")]
pub(crate) struct StudyArgs {
    #[command(flatten)]
    pub(crate) studying: Studying,
}
