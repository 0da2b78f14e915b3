//! Rules files of coll/han: the component that handles a call, by collective, topology level, communicator size and
//! message size, and the algorithm that HAN uses.
//!
//! HAN handles communicators that span nodes from 5.0 on (in 4.1 if its priority is raised). On
//! [`Level::GlobalCommunicator`] a rule can delegate a call to another component, such as `tuned` with its own rules
//! file; the other levels are the communicators that HAN makes for itself. Everything here comes from the sources of
//! 4.1, 5.0 and 6.0, and was tested with 5.0.11.

mod model;
mod read;
mod table;
mod vocabulary;
mod write;

pub use model::{Configuration, HanCollectiveRules, HanFile, HanFileRule, LevelRules};
pub use read::load;
pub use table::HanTable;
pub use vocabulary::{
    ComponentChoice, HanComponent, Level, Service, acted_on, algorithms, inner, is_in, is_ruled, lookup_bytes, runs,
    service,
};
pub use write::write;

/// Message for a HAN file that is passed to coll/tuned.
pub const CONFUSED: &str = "this is a rules file for coll/han, which coll_tuned_dynamic_rules_filename does not read; \
                            coll_han_dynamic_rules_filename names it, with coll_han_use_dynamic_file_rules = 1";

/// Returns true if a text was written for HAN, not for coll/tuned: outside of comments there is the name of a topology
/// level, the name of a component follows a number, or the counts are those of HAN's files. Rules of the two differ in
/// their length, and coll/tuned's begin at message size 0, where a configuration of HAN has its size 1.
pub fn is_han(source: &[u8]) -> bool {
    let lines = source.split(|byte| *byte == b'\n');
    let words: Vec<&[u8]> = lines
        .flat_map(|line| {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.take_while(|word| word[0] != b'#')
        })
        .collect();
    let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    // A word within a complete file of coll/tuned is stray text.
    let has_components = words.windows(2).any(|pair| is_number(pair[0]) && HanComponent::is_name(pair[1]));
    let is_level = |word: &&[u8]| Level::ALL.iter().any(|level| level.name().as_bytes().eq_ignore_ascii_case(word));
    words.iter().any(is_level) || has_structure(&words) == Some(true) || has_components && is_classic(&words).is_none()
}

/// Reads the numbers of a text by the counts of classic files to their end.
fn is_classic(words: &[&[u8]]) -> Option<()> {
    let mut numbers = words.iter().filter_map(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
    for _ in 0..numbers.next()? {
        numbers.next()?;
        for _ in 0..numbers.next()? {
            numbers.next()?;
            for place in 0..numbers.next()? {
                let rule = [numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?];
                (place > 0 || rule[0] == 0).then_some(())?;
            }
        }
    }
    numbers.next().is_none().then_some(())
}

/// Reads words by the counts of HAN's files to their end, whatever the names; true if there are rules.
fn has_structure(words: &[&[u8]]) -> Option<bool> {
    // The algorithm behind a component.
    let mut words = words.iter().filter(|word| word[0] != b'@');
    let mut has_rules = false;
    let number = |word: Option<&&[u8]>| std::str::from_utf8(word?).ok()?.parse::<u64>().ok();
    for _ in 0..number(words.next())? {
        words.next()?;
        for _ in 0..number(words.next())? {
            let level = words.next()?;
            let is_level = Level::ALL.into_iter().any(|known| known.name().as_bytes() == *level);
            (is_level || number(Some(level))? <= 2).then_some(())?;
            for place in 0..number(words.next())? {
                let size = number(words.next())?;
                (if place == 0 { size == 1 } else { size > 1 }).then_some(())?;
                for _ in 0..number(words.next())? {
                    number(words.next())?;
                    words.next()?;
                    has_rules = true;
                }
            }
        }
    }
    words.next().is_none().then_some(has_rules)
}

#[cfg(test)]
mod tests;
