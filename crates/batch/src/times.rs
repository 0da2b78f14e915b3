//! Times as batch systems write them.

use collrules_record::Seconds;

/// `DAYS-HOURS:MINUTES:SECONDS`, read from the right: `90`, `5:00`, `1:00:00`, `1-00:00:00`. None for words such as
/// UNLIMITED.
pub(crate) fn clock(text: &str) -> Option<Seconds> {
    let (days, rest) = match text.trim().split_once('-') {
        Some((days, rest)) => (days.parse::<u64>().ok()?, rest),
        None => (0, text.trim()),
    };
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    if parts.len() > 3 {
        return None;
    }
    let seconds = parts.into_iter().fold(0, |sum: u64, part| sum.saturating_mul(60).saturating_add(part));
    Some(Seconds(days.saturating_mul(86_400).saturating_add(seconds) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_right() {
        for (text, seconds) in
            [("90", 90.0), ("5:00", 300.0), ("1:00:00\n", 3600.0), ("1-02:03:04", 93_784.0), ("0:30", 30.0)]
        {
            assert_eq!(clock(text), Some(Seconds(seconds)), "{text}");
        }
        for text in ["UNLIMITED", "", "1:2:3:4", "x-1", "-5"] {
            assert_eq!(clock(text), None, "{text}");
        }
    }
}
