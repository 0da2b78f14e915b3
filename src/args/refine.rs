//! Refinement of crossovers, as options.

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Refinement")]
pub(crate) struct RefineArgs {
    /// Rounds in which sizes are measured between those of the grid where the choice changes, as long as it is worth the
    /// time; they share 15 % of the budget
    #[arg(long, value_name = "ROUNDS", default_value_t = 2)]
    pub(crate) refine: u32,
    /// Stop refining a change where the size above it is at most so many times the size below it
    #[arg(long, value_name = "RATIO", default_value = "1.25", value_parser = width)]
    pub(crate) refine_width: f64,
    /// Measure communicator sizes between those of the grid as well
    #[arg(long)]
    pub(crate) refine_np: bool,
}

fn width(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(ratio) if ratio > 1.0 && ratio.is_finite() => Ok(ratio),
        _ => Err(format!("`{text}` is not a ratio above 1: the sizes around a change differ by more than nothing")),
    }
}
