//! Models in the formats of network simulators.

use std::fmt::Write;

use collrules_rules::names;

use crate::machine::{IntervalEnd, Unsaid, platform};
use crate::model::{Model, Where};

/// A simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// SimGrid: a platform file, with a shared link for each host, and a latency and rate for each pair.
    Simgrid,
    /// LogGOPSim: the options of its command line.
    Loggopsim,
}

names!(Simulator, read as "simulator" {
    Simgrid "simgrid",
    Loggopsim "loggopsim",
});

/// Reason why there is nothing to export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoExport {
    /// The model cannot be played on its own ranks.
    #[error(transparent)]
    Unsaid(#[from] Unsaid),
    /// LogGP's parameters are missing.
    #[error("loggopsim needs L, o, g and G, and the model has no {0}: too few probes were timed")]
    Missing(&'static str),
}

/// A model for a simulator.
pub fn export(model: &Model, simulator: Simulator) -> Result<String, NoExport> {
    match simulator {
        Simulator::Simgrid => Ok(simgrid(model)?),
        Simulator::Loggopsim => loggopsim(model),
    }
}

/// A rate that means unlimited: more than any link carries.
const FREE: f64 = 1e15;

fn simgrid(model: &Model) -> Result<String, Unsaid> {
    let ranks = model.ranks.len();
    let made = platform(model, ranks, IntervalEnd::Middle)?;
    let mut text =
        String::from("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n");
    let fixed = made.fixed.iter().sum::<f64>() / ranks.max(1) as f64;
    let per_byte = made.per_byte.iter().sum::<f64>() / ranks.max(1) as f64;
    // SMPI has one value for all nodes; what it takes for a message and a byte, from size 0 on.
    let handling = format!("0:{fixed:e}:{per_byte:e}");
    text += "<platform version=\"4.1\">\n";
    let _ = writeln!(
        text,
        "  <!-- A host for each rank of {}; speeds of processors were not measured. -->",
        comment(&model.source)
    );
    let _ = writeln!(
        text,
        "  <config>\n    <prop id=\"smpi/os\" value=\"{handling}\"/>\n    <prop id=\"smpi/or\" value=\"{handling}\"/>\n    \
         <prop id=\"network/bandwidth-factor\" value=\"1\"/>\n    <prop id=\"network/latency-factor\" value=\"1\"/>\n    \
         <prop id=\"network/weight-S\" value=\"0\"/>\n  </config>"
    );
    text += "  <zone id=\"machine\" routing=\"Full\">\n";
    let rate = |rate: f64| if rate.is_finite() { rate } else { FREE };
    for rank in 0..ranks {
        let _ = writeln!(text, "    <host id=\"rank{rank}\" speed=\"1Gf\"/>");
    }
    for (host, link) in made.link.iter().enumerate() {
        let _ = writeln!(
            text,
            "    <link id=\"link{host}\" bandwidth=\"{:e}Bps\" latency=\"0s\" sharing_policy=\"SPLITDUPLEX\"/>",
            rate(*link)
        );
    }
    let pairs = || (0..ranks).flat_map(|i| (0..ranks).filter(move |j| *j != i).map(move |j| (i, j)));
    for (i, j) in pairs() {
        let _ = writeln!(
            text,
            "    <link id=\"way{i}-{j}\" bandwidth=\"{:e}Bps\" latency=\"{:e}s\" sharing_policy=\"FATPIPE\"/>",
            rate(made.cap[i][j]),
            made.latency[i][j]
        );
    }
    for (i, j) in pairs() {
        let (from, to) = (made.host[i], made.host[j]);
        let links = if from == to {
            String::new()
        } else {
            format!("<link_ctn id=\"link{from}\" direction=\"UP\"/><link_ctn id=\"link{to}\" direction=\"DOWN\"/>")
        };
        let _ = writeln!(
            text,
            "    <route src=\"rank{i}\" dst=\"rank{j}\" symmetrical=\"NO\">{links}<link_ctn id=\"way{i}-{j}\"/></route>"
        );
    }
    text += "  </zone>\n</platform>\n";
    Ok(text)
}

/// Escapes text for an XML comment.
fn comment(text: &str) -> String {
    text.chars().map(|char| if char.is_control() || "<>&-".contains(char) { '_' } else { char }).collect()
}

fn loggopsim(model: &Model) -> Result<String, NoExport> {
    let found = model.way(Where::Between).or(model.way(Where::Inside)).and_then(|way| way.loggp.as_ref());
    let found = found.ok_or(NoExport::Missing("L, o, g and G"))?;
    let send = found.send.ok_or(NoExport::Missing("o"))?.point;
    let receive = found.receive.ok_or(NoExport::Missing("o"))?.point;
    let latency = found.latency.ok_or(NoExport::Missing("L"))?.point;
    let gap = found.gap.ok_or(NoExport::Missing("g"))?.point;
    let per_byte = found.gap_per_byte.ok_or(NoExport::Missing("G"))?.point;
    // It takes whole numbers of whatever unit: a byte may take less than a nanosecond.
    let (unit, name) = if per_byte < 20e-9 { (1e-12, "picoseconds") } else { (1e-9, "nanoseconds") };
    let whole = |seconds: f64| (seconds.max(0.0) / unit).round();
    Ok(format!(
        "# For LogGOPSim, as $(grep -v '^#' FILE); all times, also those that it prints, are in {name}.\n-L {} -o {} \
         -g {} -G {} -O 0\n",
        whole(latency),
        whole(f64::midpoint(send, receive)),
        whole(gap),
        whole(per_byte),
    ))
}
