//! Result of a model, in sentences.

use collrules_model::model::{Concurrent, ManyToOne, Model, PathModel, Predicted};

use collrules_model::place::Where;
use collrules_model::stalls::StallLevel;
use collrules_model::unknown::{LogGpParameter, Unknown};
use collrules_record::Estimate;
use collrules_rules::words::{counted, listed};

use crate::words::{ends, percent, ratio, time, whole};

/// Describes the origin of the numbers.
pub(super) fn origin(model: &Model) -> String {
    let library = model.library.as_deref().map_or(String::new(), |library| format!(" ({library})"));
    format!(
        "Fitted: {}{library}, {} with {}; intervals of {} come from differences between launches.",
        model.source,
        counted(model.ranks.len(), "rank"),
        counted(model.launches, "launch"),
        percent(model.level)
    )
}

/// Describes parameters that the probes cannot determine, with the reason.
pub(super) fn unknown(unknown: &Unknown) -> String {
    let parameter = |parameter: &LogGpParameter| match parameter {
        LogGpParameter::Send => "o_s",
        LogGpParameter::Receive => "o_r",
        LogGpParameter::Latency => "L",
    };
    match unknown {
        Unknown::Intervals => "No intervals: they take two launches at least.".to_owned(),
        Unknown::Line(place) => format!("No line {place}: round trips of two sizes at least are needed."),
        Unknown::LogGp(place) => format!("No LogGP parameters {place}: there are no trains of messages."),
        Unknown::Send(place) => {
            format!("No o_s {place}: there are no trains in which the sender is busy between messages.")
        }
        Unknown::Receive(place) => {
            format!("No o_r and no L {place}: no timed receiver computed before it received.")
        }
        Unknown::Small { parameter: which, place } => {
            format!("No {} {place}: too small to measure.", parameter(which))
        }
        Unknown::Large { parameter: which, place, estimate, whole } => format!(
            "No {} {place}: the estimate of {estimate} is above the {whole} of an empty message. Ranks that share \
             processors lose their turn while they are busy.",
            parameter(which)
        ),
        Unknown::MixedPlaces => {
            "No alpha and beta of algorithms, and no cost of sending to several at once: some ranks share a host, \
             others do not, and a call has messages of both kinds."
                .to_owned()
        }
        Unknown::Concurrent => "No cost of sending to several at once: this needs scatter or bcast with their linear \
                                algorithms, on three ranks or more."
            .to_owned(),
        Unknown::FewRanks(ranks) => {
            format!("No parameters of single nodes: they take probes with three ranks at least, and there are {ranks}.")
        }
        Unknown::OneToTwo => {
            "No parameters of single nodes: there are no probes one-to-two with empty messages.".to_owned()
        }
        Unknown::NodeBytes => "No times per byte of single nodes: all probes one-to-two are empty.".to_owned(),
        Unknown::SharedLinks => {
            "No times per byte of single nodes: two messages of a node share its link, so the node's time per byte \
             cannot be separated from the link's. The rate of each link is given instead."
                .to_owned()
        }
        Unknown::Pairs { untimed, all } => {
            format!("{untimed} of {all} pairs were not timed; nothing is known of them.")
        }
        Unknown::PairLatency { overlapping, timed } => format!(
            "No latency of {overlapping} of {timed} pairs: their nodes take longer for an empty message than it is on its \
             way, so that senders wait while messages travel."
        ),
        Unknown::PairRate { inseparable, timed } => format!(
            "No rate of {inseparable} of {timed} pairs: their time per byte cannot be separated from that of their nodes."
        ),
        Unknown::SlowNodes => "No search for slow nodes: it needs at least three ranks and two launches.".to_owned(),
        Unknown::Predictions { calls, cell, choice, messages } => format!(
            "No predictions of {}, the first of them {cell} with {choice}: its {messages} messages are too many to simulate.",
            counted(*calls, "measured call")
        ),
    }
}

/// Describes slow nodes and pairs, the first part of the result.
pub(super) fn slow(model: &Model) -> Vec<String> {
    let slow = &model.slow;
    let mut said: Vec<String> = slow
        .nodes
        .iter()
        .map(|node| {
            let host = node.host.as_deref().map_or(String::new(), |host| format!(" on {host}"));
            let what =
                if node.bytes.0 == 0 { "empty messages".to_owned() } else { format!("messages of {}", node.bytes) };
            format!("Rank {}{host} takes {} as long as a usual one for {what}.", node.rank, ratio(node.factor))
        })
        .collect();
    said.extend(slow.pairs.iter().map(|pair| {
        format!(
            "Between ranks {} and {}, messages of {} take {} as long as their two nodes explain.",
            pair.ranks.0,
            pair.ranks.1,
            pair.bytes,
            ratio(pair.factor)
        )
    }));
    if slow.tested == 0 {
        return said;
    }
    let tested = counted(slow.tested, "node and pair").replace("node and pairs", "nodes and pairs");
    said.push(format!(
        "{} stands out by more than {} ({tested} tested; if none is slow, at most {} of such checks name one).",
        if said.is_empty() { "No node and no pair" } else { "Nothing else" },
        percent(slow.tolerate),
        percent(slow.error_rate)
    ));
    said
}

/// Describes the errors of the predictions.
pub(super) fn quality(model: &Model) -> Vec<String> {
    if model.quality.is_empty() {
        return Vec::new();
    }
    let error = |of: &dyn Fn(&Predicted) -> Option<f64>| -> Option<(f64, f64, usize)> {
        let mut all: Vec<f64> =
            model.quality.iter().filter_map(|cell| Some((of(cell)? / cell.measured - 1.0).abs())).collect();
        all.sort_by(f64::total_cmp);
        Some((*all.get(all.len() / 2)?, *all.last()?, all.len()))
    };
    let told = |name: &str, found: Option<(f64, f64, usize)>| {
        found.map(|(middle, worst, count)| {
            format!(
                "{name} is off by {} in the median and {} at worst ({})",
                whole(middle),
                whole(worst),
                counted(count, "size")
            )
        })
    };
    let model_error = error(&|cell| Some(cell.model));
    let corrected = error(&|cell| cell.corrected);
    // What `predict` answers for these algorithms at other sizes.
    let answered = corrected.or(model_error);
    let competitors = [
        ("the time of the neighbouring size", error(&|cell| cell.neighbour)),
        ("a line through both neighbours", error(&|cell| cell.line)),
    ];
    let mut said = Vec::new();
    for (name, found) in competitors {
        if let (Some(competitor), Some(own)) = (found, answered)
            && competitor.0 < own.0
        {
            said.push(format!("If neighbouring sizes are measured, {name} predicts better than the model."));
        }
    }
    let own = [
        told("the model alone", model_error),
        told("the model, corrected by the other sizes of the same algorithm,", corrected),
    ];
    let parts: Vec<String> =
        own.into_iter().chain(competitors.into_iter().map(|(name, found)| told(name, found))).flatten().collect();
    said.push(format!("Predicted against measured: {}.", parts.join("; ")));
    said
}

/// The lines of the pairs.
pub(super) fn lines(model: &Model) -> Vec<String> {
    let mut said = Vec::new();
    for way in &model.ways {
        let place = match way.place {
            Where::Inside => "Inside a host",
            Where::Between => "Between hosts",
        };
        for regime in &way.regimes {
            let begins = regime.begins_at.as_ref().map_or(String::new(), |limit| format!(", above {limit}"));
            said.push(format!(
                "{place}, a message of {} to {}{begins} takes {} plus {} per byte ({}), within {:.1} % of the measured \
                 times.",
                regime.from,
                regime.to,
                time(regime.alpha),
                per_byte(regime.beta),
                rate(1.0 / regime.beta.point),
                regime.residual * 100.0
            ));
        }
        if let Some(limit) = model.eager.get(&way.place).filter(|_| is_unseen(way)) {
            let whose = if model.eager_reported.contains(&way.place) {
                "the eager limit that Open MPI reports"
            } else {
                "the default eager limit"
            };
            let beyond = way.regimes.iter().any(|regime| regime.to > *limit);
            said.push(match beyond {
                true => format!("{place}, no change is seen at {limit}, {whose}."),
                false => format!(
                    "{place}, no message beyond {limit} was timed, {whose}: the times of longer ones are unknown."
                ),
            });
        }
        if let Some(found) = &way.loggp {
            let parts: Vec<String> = [
                ("L", found.latency.map(time)),
                ("o_s", found.send.map(time)),
                ("o_r", found.receive.map(time)),
                ("g", found.gap.map(time)),
                ("G", found.gap_per_byte.map(per_byte)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} = {}", value?)))
            .collect();
            if !parts.is_empty() {
                said.push(format!("{place}, LogGP: {}.", listed(&parts)));
            }
        }
    }
    said
}

/// Returns true if there are lines, and none of them begins at a limit.
fn is_unseen(way: &PathModel) -> bool {
    !way.regimes.is_empty() && way.regimes.iter().all(|regime| regime.begins_at.is_none())
}

/// Describes the messages of each algorithm.
pub(super) fn algorithms(model: &Model) -> Vec<String> {
    let Some(Concurrent { collective, name, ranks, bytes, share }) = &model.concurrent else { return Vec::new() };
    let least = 1.0 / f64::from(ranks.0.max(2) - 1);
    vec![format!(
        "Messages of {bytes} to {} ranks at once take {} of the time of sending them one after the other ({collective} \
         with {name}); 1 means that they share one link, {least:.2} that they share none.",
        ranks.0.saturating_sub(1),
        of(*share)
    )]
}

/// A share with its interval.
fn of(share: Estimate) -> String {
    format!("{:.2}{}", share.point, ends(share, |value| format!("{value:.2}")))
}

/// Formats the time of a byte in nanoseconds, with three decimals and the interval.
pub(super) fn per_byte(estimate: Estimate) -> String {
    let say = |value: f64| format!("{:.3}", value * 1e9);
    format!("{}ns{}", say(estimate.point), ends(estimate, say))
}

/// A rate in bits, as usual for networks.
pub(super) fn rate(bytes_per_second: f64) -> String {
    let bits = 8.0 * bytes_per_second;
    match bits {
        _ if !bits.is_finite() || bits <= 0.0 => "no rate".to_owned(),
        large if large >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        small => format!("{:.1} Mbit/s", small / 1e6),
    }
}

/// Gathers that stall, by the formulas of Lastovetsky, O'Flynn and Rychkov.
pub(super) fn many_to_one(model: &Model) -> Vec<String> {
    let byte = |estimate: Option<Estimate>| estimate.map_or("unknown".to_owned(), |it| time(it) + " per byte");
    let fixed = |estimate: Option<Estimate>| estimate.map_or("unknown".to_owned(), time);
    let one = |gather: &ManyToOne| {
        let levels = gather.medium.iter().filter(|medium| !medium.levels.is_empty()).map(|medium| {
            let level = |level: &StallLevel| format!("{} in {}", level.more, percent(level.probability.point));
            format!("at {} by {}", medium.bytes, listed(&medium.levels.iter().map(level).collect::<Vec<_>>()))
        });
        format!(
            "gather with {} on {} ranks stalls above {} and up to {} (many-to-one model of Lastovetsky, O'Flynn and \
             Rychkov, 2007). Up to {} it takes n (C0 + t0 M) + max(Ci + ti M + M / beta_i0) + kappa1 M with kappa1 = \
             {}; above {} it takes C0 + t0 M + sum(Ci + ti M + M / beta_i0) + kappa2 + kappa3 M with kappa2 = {} and \
             kappa3 = {}. In between, calls take longer: {}.",
            gather.name,
            gather.ranks,
            gather.quiet_below,
            gather.last,
            gather.quiet_below,
            byte(gather.kappa1),
            gather.last,
            fixed(gather.kappa2),
            byte(gather.kappa3),
            levels.collect::<Vec<_>>().join("; "),
        )
    };
    model.many_to_one.iter().map(one).collect()
}
