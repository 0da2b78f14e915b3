//! Numbers and lists in words: one function for each.

use std::fmt::Display;

/// `cell` or `cells`, `launch` or `launches`, `entry` or `entries`.
pub fn plural<N: Copy + PartialEq + From<u8>>(count: N, what: &str) -> String {
    match what {
        _ if count == N::from(1) => what.to_owned(),
        _ if what.ends_with("ch") => format!("{what}es"),
        _ => match what.strip_suffix("ry") {
            Some(stem) => format!("{stem}ries"),
            None => format!("{what}s"),
        },
    }
}

/// `1 cell`, `2 cells`, `2 launches`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    format!("{count} {}", plural(count, what))
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `a, b and c`; of more than `most`, `a, b and 7 more`.
pub fn some(items: &[String], most: usize) -> String {
    match items.len().saturating_sub(most) {
        0 => listed(items),
        more => format!("{} and {more} more", items[..most].join(", ")),
    }
}

/// Lines; of more than `most`, the first ones and `and 7 more`.
pub fn first_lines(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "cell")), ["0 cells", "1 cell", "2 cells"]);
        assert_eq!((counted(2_u64, "launch"), counted(1_usize, "launch")), ("2 launches".into(), "1 launch".into()));
        assert_eq!((plural(1_u32, "entry"), plural(3_u32, "entry")), ("entry".into(), "entries".into()));
        let items = |count: usize| listed(&["a", "b", "c"].map(str::to_owned)[..count]);
        assert_eq!([0, 1, 2, 3].map(items), ["", "a", "a and b", "a, b and c"]);
        let all = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([1, 2, 3].map(|most| some(&all, most)), ["a and 2 more", "a, b and 1 more", "a, b and c"]);
        assert_eq!(first_lines(all.to_vec(), 1), ["a", "and 2 more"]);
        assert_eq!(first_lines(all.to_vec(), 3), all);
    }
}
