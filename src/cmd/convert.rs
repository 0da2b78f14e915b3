//! `collrules convert`: writes the meaning of a rules file in another format, and lists the losses.

use std::path::{Path, PathBuf};

use collrules_record::rundir;
use collrules_rules::Behaviour;
use collrules_rules::convert::{self, Conversion, ConvertError};
use collrules_rules::diff::Difference;
use collrules_rules::emit::{Notes, TargetFormat};
use collrules_rules::explain::{self, VersionGroup};
use collrules_rules::kind::RuleChoice;
use collrules_workflow::{TOOL, WorkflowError};

use super::source;
use crate::progress::say;
use crate::screen;

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// The rules file, of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Format to write: classic (every release), v2 (4.1.8, 5.0.7, 6.0), json (6.0)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: TargetFormat,
    /// Release, or version, whose reading of the file is what it means [default: the newest that accepts it, if all
    /// others that accept it read it alike]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Behaviour>,
    /// File to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Maximum number of changes named for each version.
const NAMED: usize = 10;

pub(crate) fn run(args: &Convert) -> Result<(), WorkflowError> {
    let bytes = source::read(&args.file)?;
    source::refuse_han(&args.file, &bytes)?;
    let failed = |cause| match cause {
        ConvertError::Unreadable(reasons) => WorkflowError::not_in_force(&args.file, reasons),
        cause @ ConvertError::Ambiguous { .. } => {
            let shown = args.file.display();
            WorkflowError::Input(format!("{shown}: {cause}; name with --release whose reading counts"))
        }
        ConvertError::Emit(cause) => cause.into(),
    };
    let source = convert::meaning(&bytes, args.release).map_err(failed)?;
    let said = format!("Converted by {} from what Open MPI {} reads.", TOOL, source.behaviour);
    let notes = Notes { header: vec![said], ..Notes::default() };
    let conversion = convert::convert(&bytes, &source, args.to, &notes).map_err(failed)?;
    match &args.out {
        Some(path) => rundir::put_new(path, &conversion.text).map_err(|cause| WorkflowError::write(path, cause))?,
        None => screen::raw(conversion.text.as_bytes())?,
    }
    list_differences(&args.file, &conversion);
    Ok(())
}

/// Lists the differences to the original on standard error.
fn list_differences(file: &Path, conversion: &Conversion) {
    let versions = conversion.versions.as_slice();
    if versions.is_empty() {
        say("no release can use the file: none has all of its algorithms");
    } else {
        say(&format!("the file is for {}, and means what {} reads", explain::label(versions), conversion.meaning));
    }
    for (version, unknown) in &conversion.lacking {
        say(&format!("not for Open MPI {version}: {unknown}"));
    }
    for (line, loss) in &conversion.losses {
        say(&format!("{}:{line}: {loss}", source::printable_path(file)));
    }
    for (collective, version) in &conversion.metrics {
        say(&format!(
            "calls change: Open MPI {version} looks up other sizes for {collective} than {}",
            conversion.meaning
        ));
    }
    conversion.changes.iter().for_each(changes);
    for hazard in &conversion.hazards {
        say(&format!("warning: {hazard}"));
    }
}

fn changes(group: &VersionGroup<Vec<Difference>>) {
    for change in group.answer.iter().take(NAMED) {
        let release = group.versions.first().map_or(Behaviour::distinct()[0], |version| *version).release;
        let words = |choice: RuleChoice| choice.words(release, change.collective);
        let on = change.part.title().map_or_else(String::new, |_| format!(", {}", change.part));
        say(&format!(
            "calls change in {}: {} for {}{on}, looked up as {}: was {}, is {}",
            group.label(),
            change.collective,
            change.ranks,
            change.sizes,
            words(change.left),
            words(change.right),
        ));
    }
    if group.answer.len() > NAMED {
        say(&format!("calls change in {}: and {} more ranges", group.label(), group.answer.len() - NAMED));
    }
}
