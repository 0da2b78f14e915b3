//! A model as rows.

use collrules_model::model::{AlgorithmModel, LogGp, ManyToOne, Model, NodeModel, PairModel, Predicted, Regime};
use collrules_model::place::Where;
use collrules_model::stalls::StallLevel;
use collrules_model::unknown::{LogGpParameter, Unknown};
use collrules_record::Estimate;
use collrules_record::estimate::median;
use collrules_record::units::{Bytes, Seconds};
use collrules_report::document::{Block, Table};
use collrules_report::words::{ends, percent, time, whole};
use collrules_rules::Choice;
use collrules_rules::words::{counted, listed};

/// The most important tables of a model, each under its heading.
pub(super) fn first(model: &Model) -> [Block; 5] {
    let open = |id, title, table| Block::open(id, title, vec![Block::Table(table)]);
    [
        open("lines", "Time of a message", messages(model)),
        open("loggp", "LogGP", loggp(model)),
        open(
            "stalls",
            "Gathers that stall (many-to-one model of Lastovetsky, O'Flynn and Rychkov, 2007)",
            stalls(model),
        ),
        open("quality", "Predicted against measured", quality(&model.quality)),
        open("unknown", "Not known from the probes", Table::new(["parameter", "where", "reason"], unknowns(model))),
    ]
}

/// All other tables.
pub(super) fn others(model: &Model) -> [Block; 5] {
    let part = |id, title, table| Block::section(id, title, vec![Block::Table(table)]);
    [
        part("nodes", "Nodes", nodes(model)),
        part("pair-table", "Pairs", pairs(model)),
        part("gaps", "PLogP's g", gaps(model)),
        part("algorithms", "Alpha and beta of each algorithm", algorithms(model)),
        part("predicted", "Predicted and measured", predicted(model)),
    ]
}

fn or_none<T>(value: Option<T>, say: impl FnOnce(T) -> String) -> String {
    value.map_or("-".to_owned(), say)
}

/// The lines of the pairs.
fn messages(model: &Model) -> Table {
    let row = |place: Where, regime: &Regime| {
        [
            place.to_string(),
            format!("{} to {}", regime.from, regime.to),
            or_none(regime.begins_at.clone(), |limit| format!("above {limit}")),
            time(regime.alpha),
            per_byte(regime.beta),
            rate(1.0 / regime.beta.point),
            format!("{:.1} %", regime.residual * 100.0),
        ]
    };
    let rows = model.ways.iter().flat_map(|way| way.regimes.iter().map(|regime| row(way.place, regime)));
    Table::new(["where", "sizes", "begins", "alpha", "beta per byte", "rate", "largest error:"], rows)
}

fn loggp(model: &Model) -> Table {
    let row = |place: Where, LogGp { latency, send, receive, gap, gap_per_byte }: &LogGp| {
        let [latency, send, receive, gap] = [latency, send, receive, gap].map(|value| or_none(*value, time));
        [place.to_string(), latency, send, receive, gap, or_none(*gap_per_byte, per_byte)]
    };
    let rows = model.ways.iter().filter_map(|way| Some(row(way.place, way.loggp.as_ref()?)));
    Table::new(["where", "L", "o_s", "o_r", "g", "G per byte"], rows)
}

/// Gathers that stall, by the parameters of Lastovetsky, O'Flynn and Rychkov.
fn stalls(model: &Model) -> Table {
    let row = |gather: &ManyToOne| {
        let levels = gather.medium.iter().filter(|medium| !medium.levels.is_empty()).map(|medium| {
            let level = |level: &StallLevel| format!("{} in {}", level.more, percent(level.probability.point));
            format!("{}: {}", medium.bytes, listed(&medium.levels.iter().map(level).collect::<Vec<_>>()))
        });
        let [kappa1, kappa2, kappa3] = [gather.kappa1, gather.kappa2, gather.kappa3].map(|kappa| or_none(kappa, time));
        let (ranks, levels) = (gather.ranks.to_string(), levels.collect::<Vec<_>>().join("; "));
        let (below, last) = (gather.quiet_below.to_string(), gather.last.to_string());
        [gather.name.clone(), ranks, below, last, kappa1, kappa2, kappa3, levels]
    };
    let heads = ["algorithm", "ranks:", "M1", "M2", "kappa1 per byte", "kappa2", "kappa3 per byte", "calls in between"];
    Table::new(heads, model.many_to_one.iter().map(row))
}

/// The errors of the predictions, and of two controls that know the neighbouring sizes.
fn quality(predicted: &[Predicted]) -> Table {
    let row = |name: &str, of: fn(&Predicted) -> Option<f64>| {
        let errors = predicted.iter().filter_map(|cell| Some((of(cell)? / cell.measured - 1.0).abs()));
        let mut errors: Vec<f64> = errors.collect();
        // The median sorts them.
        let (middle, worst) = (median(&mut errors)?, *errors.last()?);
        Some([name.to_owned(), whole(middle), whole(worst), errors.len().to_string()])
    };
    let rows = [
        row("the model alone", |cell| Some(cell.model)),
        row("the model, corrected by other sizes", |cell| cell.corrected),
        row("the time of the neighbouring size", |cell| cell.neighbour),
        row("a line through both neighbours", |cell| cell.line),
    ];
    Table::new(["prediction", "median error:", "worst:", "sizes:"], rows.into_iter().flatten())
}

/// The parameters that the probes cannot determine, with the reasons.
fn unknowns(model: &Model) -> impl Iterator<Item = [String; 3]> {
    model.unknown.iter().map(|unknown| {
        let (what, place, why) = describe(unknown);
        [what.to_owned(), or_none(place, |place| place.to_string()), why]
    })
}

/// A parameter, its place, and the reason why it is unknown.
fn describe(unknown: &Unknown) -> (&'static str, Option<Where>, String) {
    let name = |parameter: LogGpParameter| match parameter {
        LogGpParameter::Send => "o_s",
        LogGpParameter::Receive => "o_r",
        LogGpParameter::Latency => "L",
    };
    let fixed = |what, place: Option<&Where>, why: &str| (what, place.copied(), why.to_owned());
    let of_pairs = |what, some: usize, all: usize, why: &str| (what, None, format!("{some} of {all} pairs: {why}"));
    match unknown {
        Unknown::Intervals => fixed("intervals", None, "they take two launches at least"),
        Unknown::Line(place) => fixed("alpha, beta", Some(place), "they take two sizes at least"),
        Unknown::LogGp(place) => fixed("LogGP", Some(place), "no trains of messages were timed"),
        Unknown::Send(place) => fixed("o_s", Some(place), "no train with a busy sender was timed"),
        Unknown::Receive(place) => fixed("o_r, L", Some(place), "no busy receiver was timed"),
        Unknown::Small { parameter, place } => fixed(name(*parameter), Some(place), "too small to measure"),
        Unknown::Large { parameter, place, estimate, whole } => {
            let of_empty = format!("the {whole} of an empty message: ranks share processors");
            (name(*parameter), Some(*place), format!("its estimate, {estimate}, is above {of_empty}"))
        }
        Unknown::MixedPlaces => {
            fixed("alpha, beta of algorithms", None, "calls have messages inside hosts and between them")
        }
        Unknown::Concurrent => {
            fixed("sending to several at once", None, "no linear scatter or bcast on 3 ranks was timed")
        }
        Unknown::FewRanks(_) => fixed("nodes", None, "they take probes with three ranks at least"),
        Unknown::OneToTwo => fixed("nodes", None, "no empty messages one-to-two were timed"),
        Unknown::NodeBytes => fixed("t of nodes", None, "all messages one-to-two were empty"),
        Unknown::SharedLinks => {
            fixed("t of nodes", None, "two messages of a node share its link, whose rate is given instead")
        }
        Unknown::SlowNodes => fixed("slow nodes", None, "they take three ranks and two launches at least"),
        Unknown::Pairs { untimed, all } => of_pairs("all", *untimed, *all, "not timed"),
        Unknown::PairLatency { overlapping, timed } => {
            of_pairs("L", *overlapping, *timed, "their nodes take longer than the message is on its way")
        }
        Unknown::PairRate { inseparable, timed } => {
            of_pairs("beta", *inseparable, *timed, "it cannot be separated from t of the nodes")
        }
        Unknown::Predictions { calls, cell, choice, messages } => {
            let calls = counted(*calls, "call");
            let why = format!("{calls}, such as {cell} with {choice}: {messages} messages are too many to simulate");
            ("predictions", None, why)
        }
    }
}

fn nodes(model: &Model) -> Table {
    let row = |node: &NodeModel| {
        [
            node.rank.to_string(),
            or_none(model.ranks.get(&node.rank).and_then(Option::as_deref), str::to_owned),
            or_none(node.fixed, time),
            or_none(node.per_byte, per_byte),
            or_none(node.link, |it| rate(it.point)),
            or_none(node.disagreement, |apart| percent((apart * 100.0).round() / 100.0)),
        ]
    };
    let rows = model.nodes.iter().flat_map(|nodes| nodes.nodes.iter().map(row));
    Table::new(["rank", "host", "C per message", "t per byte", "link", "disagreement of C"], rows)
}

fn pairs(model: &Model) -> Table {
    let row = |pair: &PairModel| {
        let slower = model.slow.map.iter().find(|(ranks, _)| *ranks == pair.ranks);
        [
            format!("{} and {}", pair.ranks.0, pair.ranks.1),
            pair.place.to_string(),
            or_none(pair.latency, time),
            or_none(pair.rate, |it| rate(it.point)),
            or_none(slower, |(_, factor)| format!("{factor:.2}x")),
        ]
    };
    let rows = model.nodes.iter().flat_map(|nodes| nodes.pairs.iter().map(row));
    Table::new(["ranks", "where", "L, latency", "beta, rate", "time relative to usual"], rows)
}

fn gaps(model: &Model) -> Table {
    let rows = model.ways.iter().flat_map(|way| {
        way.gaps.iter().map(move |(bytes, gap)| [way.place.to_string(), bytes.to_string(), time(*gap)])
    });
    Table::new(["where", "size", "g"], rows)
}

fn algorithms(model: &Model) -> Table {
    let row = |found: &AlgorithmModel| {
        [
            found.collective.to_string(),
            described(&found.name, found.choice),
            found.ranks.to_string(),
            format!("{} to {}", found.from, found.to),
            or_none(found.alpha, time),
            or_none(found.beta, per_byte),
            whole(found.residual),
        ]
    };
    let heads = ["collective", "algorithm", "ranks", "sizes", "alpha", "beta per byte", "largest error"];
    let table = Table::new(heads, model.algorithms.iter().map(row));
    model.concurrent.iter().fold(table, |table, found| {
        let share = found.share;
        table.about(&format!(
            "Messages of {} to {} ranks at once take {:.2}{} of the time of one after the other ({} with {}); 1 if they \
             share one link.",
            found.bytes,
            found.ranks.0.saturating_sub(1),
            share.point,
            ends(share, |value| format!("{value:.2}")),
            found.collective,
            found.name,
        ))
    })
}

/// The name of an algorithm with its parameters.
fn described(name: &str, choice: Choice) -> String {
    let segment = if choice.segsize > 0 { format!(" in segments of {}", Bytes(choice.segsize)) } else { String::new() };
    let fanout = if choice.faninout > 0 { format!(" with fan-out {}", choice.faninout) } else { String::new() };
    format!("{} {name}{fanout}{segment}", choice.algorithm)
}

fn predicted(model: &Model) -> Table {
    let seconds = |value: f64| Seconds(value).to_string();
    let row = |cell: &Predicted| {
        let [corrected, neighbour, line] = [cell.corrected, cell.neighbour, cell.line].map(|it| or_none(it, seconds));
        let name = format!("{} {}", cell.algorithm, cell.name);
        let error = format!("{:+.0} %", (cell.model / cell.measured - 1.0) * 100.0);
        let (measured, model) = (seconds(cell.measured), seconds(cell.model));
        [cell.cell.to_string(), name, measured, model, error, corrected, neighbour, line]
    };
    let heads =
        ["call", "algorithm", "measured", "model", "error", "corrected", "neighbouring size", "line through both"];
    Table::new(heads, model.quality.iter().map(row))
}

/// Formats the time of a byte in nanoseconds, with three decimals and the interval.
fn per_byte(estimate: Estimate) -> String {
    let say = |value: f64| format!("{:.3}", value * 1e9);
    format!("{} ns{}", say(estimate.point), ends(estimate, say))
}

/// A rate in bits, as usual for networks.
fn rate(bytes_per_second: f64) -> String {
    let bits = 8.0 * bytes_per_second;
    match bits {
        _ if !bits.is_finite() || bits <= 0.0 => "no rate".to_owned(),
        large if large >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        small => format!("{:.1} Mbit/s", small / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Cell, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn the_median_error_of_two_sizes_is_their_mean() {
        let predicted = |model| Predicted {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(8) },
            algorithm: 1,
            name: "linear".to_owned(),
            choice: Choice::plain(1),
            measured: 1.0,
            model,
            corrected: None,
            neighbour: None,
            line: None,
        };
        let table = quality(&[predicted(1.1), predicted(1.3)]).text(100);
        assert!(table.contains("20 %") && table.contains("30 %"), "{table}");
    }
}
