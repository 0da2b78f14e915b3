//! Runs whose files were changed, as if collrules had written them.

use std::fs;
use std::path::Path;

use collrules_record::rundir::RunDir;

/// Gives a run whose files were changed a journal that accounts for them, as if collrules had written them. A journal that
/// cannot be read stays.
pub(crate) fn reseal(run: &Path) {
    let path = run.join("launches.jsonl");
    let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
    let mut journal = String::new();
    for line in text.lines() {
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(line) else { return };
        let fields = value.as_object_mut().and_then(|entry| entry.values_mut().next()?.as_object_mut());
        let Some(fields) = fields else { return };
        let is_of_files = |key: &str| key == "samples_bytes" || key.ends_with("_sha256");
        fields.retain(|key, _| !is_of_files(key));
        journal += &format!("{value}\n");
    }
    fs::write(&path, journal).unwrap();
    let _ = RunDir::open(run).map(|run| run.seal());
}
