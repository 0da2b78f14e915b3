//! Rules files of coll/han: which component serves a call, by collective, topology level, size of the communicator and
//! size of the message, and which of its own algorithms HAN uses.
//!
//! HAN serves communicators that span nodes from 5.0 on (in 4.1 where its priority is raised). On
//! [`Level::GlobalCommunicator`] a rule can hand a call to another component, such as `tuned` with its own rules file;
//! the other levels are the communicators that HAN makes for itself. Everything here is from the source of 4.1, 5.0 and
//! 6.0, and was tried on 5.0.11.

mod explain;
mod model;
mod read;
mod table;
mod vocabulary;
mod write;

pub use explain::{Decided, Difference, Served, answer, call, contents, differences, words};
pub use model::{CollectiveRules, Configuration, LevelRules, Loaded, Rule};
pub use read::{Fault, Field, Load, Rejection, load};
pub(crate) use table::last_that_fits;
pub use table::{RankSteps, Reason, SizeSteps, Table, all_parameters};
pub use vocabulary::{
    Choice, Component, Level, Service, UnknownLevel, acted_on, algorithms, inner, is_ruled, lookup_bytes, service,
};
pub use write::{WriteError, write};

/// Why a HAN file does not do what a file for coll/tuned does.
pub const CONFUSED: &str = "this is a rules file for coll/han, which coll_tuned_dynamic_rules_filename does not read; \
                            coll_han_dynamic_rules_filename names it, with coll_han_use_dynamic_file_rules = 1";

/// Whether a text was written for HAN rather than for coll/tuned: outside of comments, the name of a component follows a
/// number.
pub fn is_han(source: &[u8]) -> bool {
    let lines = source.split(|byte| *byte == b'\n');
    let words = lines.flat_map(|line| {
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.take_while(|word| word[0] != b'#')
    });
    let mut before_is_number = false;
    words.into_iter().any(|word| {
        let found = before_is_number && Component::is_name(word);
        before_is_number = word.iter().all(u8::is_ascii_digit);
        found
    })
}

#[cfg(test)]
mod tests;
