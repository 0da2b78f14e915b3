//! Settings with known effects, for `--simulate=settings`.

use std::collections::BTreeMap;

use collrules_rules::Release;
use collrules_rules::settings::catalogue::{ENTRIES, SettingPlace};
use collrules_rules::settings::parameters::Parameters;

use crate::error::RunnerError;

/// Seconds of silence after which a simulated job is ended.
const PATIENCE: u64 = 120;

/// The parameters of the catalogue that a release has, all at a default.
pub(super) fn parameters(release: Release) -> Parameters {
    let known = ENTRIES.iter().filter(|entry| (entry.releases.0..=entry.releases.1).contains(&release));
    let known = known.filter(|entry| entry.place == SettingPlace::Node);
    let text: String = known
        .map(|entry| {
            let line = |field: &str, value: &str| format!("mca:x:y:param:{}:{field}:{value}\n", entry.name);
            line("value", "0") + &line("source", "default") + &line("type", "string")
        })
        .collect();
    let copies = "mca:btl:vader:param:btl_vader_single_copy_mechanism:enumerator:value:";
    let listed = format!("{copies}1:cma\n{copies}3:none\nmca:smsc:cma:version:1\n");
    Parameters::read(&(text + &listed), "")
}

/// Fails if jobs with these settings do: shared-memory collectives crash, and adaptive ones hang.
pub(super) fn start(settings: &BTreeMap<String, String>) -> Result<(), RunnerError> {
    let (doing, output) = ("starting to measure".to_owned(), String::new());
    if settings.contains_key("coll_sm_priority") {
        let status = "signal: 11 (SIGSEGV)".to_owned();
        return Err(RunnerError::JobDied { status, doing, output, outside: false });
    }
    if settings.contains_key("btl_sm_fbox_threshold") || settings.contains_key("btl_vader_fbox_threshold") {
        return Err(RunnerError::JobHung { seconds: PATIENCE, doing, output });
    }
    Ok(())
}

/// Returns true if long messages are copied twice.
pub(super) fn copies_twice(settings: &BTreeMap<String, String>) -> bool {
    settings.values().any(|value| value == "^cma" || value == "none")
}

/// Factor of settings on the time of a message or a collective. A larger eager limit and copying twice help from 1 KiB
/// on, together less than their product; an eager limit from 32 KiB on harms short messages, and long pieces harm
/// messages without collectives.
pub(super) fn factor(settings: &BTreeMap<String, String>, bytes: u64, is_collective: bool) -> f64 {
    let number = |end: &str| {
        let found = settings.iter().find(|(name, _)| name.ends_with(end));
        found.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let eager = number("_eager_limit").unwrap_or(0);
    let copies_twice = copies_twice(settings);
    let is_long = bytes >= 1024;
    let of_eager = match eager {
        8_192 if is_long => 0.9,
        16_384 if is_long => 0.8,
        32_768.. if is_long => 0.68,
        32_768.. => 1.12,
        _ => 1.0,
    };
    let of_copies = if copies_twice && is_long { 0.55 } else { 1.0 };
    let together = if copies_twice && eager >= 32_768 && is_long { 1.15 } else { 1.0 };
    let of_pieces = match number("_max_send_size") {
        Some(131_072) if is_collective && bytes >= 65_536 => 0.9,
        Some(131_072) if !is_collective && bytes >= 65_536 => 1.3,
        _ => 1.0,
    };
    of_eager * of_copies * together * of_pieces
}
