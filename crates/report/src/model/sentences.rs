//! What a model comes to, in sentences.

use collrules_record::Estimate;
use collrules_record::model::{Concurrent, Model, Way, Where};
use collrules_rules::words::{counted, listed};

use crate::plain;
use crate::words::{ends, percent, ratio, time};

/// Where the numbers come from.
pub(super) fn origin(model: &Model) -> String {
    let library = model.library.as_deref().map_or(String::new(), |library| format!(" ({})", plain::line(library)));
    let simulated =
        if model.simulated { " A simulation gave these times: they say nothing about any machine." } else { "" };
    format!(
        "Fitted: {}{library}, {} with {}; intervals of {} come from differences between launches.{simulated}",
        plain::line(&model.source),
        counted(model.ranks.len(), "rank"),
        counted(model.launches, "launch"),
        percent(model.level)
    )
}

/// What stands out, first of all.
pub(super) fn slow(model: &Model) -> Vec<String> {
    let slow = &model.slow;
    let mut said: Vec<String> = slow
        .nodes
        .iter()
        .map(|node| {
            let host = node.host.as_deref().map_or(String::new(), |host| format!(" on {}", plain::line(host)));
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
        "{} stands out by more than {} ({tested} tested; where none is slow, one is named in at most {} of such checks).",
        if said.is_empty() { "No node and no pair" } else { "Nothing else" },
        percent(slow.tolerate),
        percent(slow.error_rate)
    ));
    said
}

/// How well it predicts.
pub(super) fn quality(model: &Model) -> Vec<String> {
    if model.quality.is_empty() {
        return Vec::new();
    }
    let error = |of: &dyn Fn(&collrules_record::model::Predicted) -> Option<f64>| -> Option<(f64, f64, usize)> {
        let mut all: Vec<f64> =
            model.quality.iter().filter_map(|cell| Some((of(cell)? / cell.measured - 1.0).abs())).collect();
        all.sort_by(f64::total_cmp);
        Some((*all.get(all.len() / 2)?, *all.last()?, all.len()))
    };
    let told = |name: &str, found: Option<(f64, f64, usize)>| {
        found.map(|(middle, worst, count)| {
            format!(
                "{name} is off by {:.0} % in the median and {:.0} % at worst ({})",
                middle * 100.0,
                worst * 100.0,
                counted(count, "cell")
            )
        })
    };
    let model_error = error(&|cell| Some(cell.model));
    let corrected = error(&|cell| cell.corrected);
    // What `predict` answers for these algorithms at other sizes.
    let answered = corrected.or(model_error);
    let rivals = [
        ("the time of the neighbouring size", error(&|cell| cell.neighbour)),
        ("a line through both neighbours", error(&|cell| cell.line)),
    ];
    let mut said = Vec::new();
    for (name, found) in rivals {
        if let (Some(rival), Some(own)) = (found, answered)
            && rival.0 < own.0
        {
            said.push(format!("Where neighbouring sizes are measured, {name} predicts better than the model."));
        }
    }
    let own = [
        told("the model alone", model_error),
        told("the model, corrected by the other sizes of the same algorithm,", corrected),
    ];
    let parts: Vec<String> =
        own.into_iter().chain(rivals.into_iter().map(|(name, found)| told(name, found))).flatten().collect();
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
            let begins = regime.begins_at.as_ref().map_or(String::new(), |limit| format!(", behind {limit}"));
            said.push(format!(
                "{place} a message of {} to {}{begins} takes {} and {} for each byte ({}); measured sizes are within {:.1} %.",
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
                    "{place}, no message beyond {limit} was timed, {whose}: what longer ones take is not known."
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

/// Whether no line of them begins at a limit.
fn is_unseen(way: &Way) -> bool {
    !way.regimes.is_empty() && way.regimes.iter().all(|regime| regime.begins_at.is_none())
}

/// What each algorithm says of its messages.
pub(super) fn algorithms(model: &Model) -> Vec<String> {
    let Some(Concurrent { collective, name, ranks, bytes, share }) = &model.concurrent else { return Vec::new() };
    let least = 1.0 / f64::from(ranks.0.max(2) - 1);
    vec![format!(
        "Messages of {bytes} to {} ranks at once take {} of what they would take one after the other ({collective} by {name}); \
         it would be 1 if they shared one link, and {least:.2} if they shared none.",
        ranks.0.saturating_sub(1),
        of(*share)
    )]
}

/// A share with its interval.
fn of(share: Estimate) -> String {
    format!("{:.2}{}", share.point, ends(share, |value| format!("{value:.2}")))
}

/// The same for a byte: nanoseconds, with as many digits as they need.
pub(super) fn per_byte(estimate: Estimate) -> String {
    let say = |value: f64| format!("{:.3}", value * 1e9);
    format!("{}ns{}", say(estimate.point), ends(estimate, say))
}

/// A rate, in bits as networks have it.
pub(super) fn rate(bytes_per_second: f64) -> String {
    let bits = 8.0 * bytes_per_second;
    match bits {
        _ if !bits.is_finite() || bits <= 0.0 => "no rate".to_owned(),
        large if large >= 1e9 => format!("{:.2} Gbit/s", bits / 1e9),
        small => format!("{:.1} Mbit/s", small / 1e6),
    }
}
