//! Layers of options: what the command line gives, over what a run recorded, over defaults.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use collrules_record::condition::Condition;
use collrules_record::options::{Demands, SystemOptions, TimingOptions, TuneOptions};
use collrules_record::policy::Policy;

/// A list as one argument of the command line; clap would take each value of a `Vec` as an argument.
pub(crate) type List<T> = Vec<T>;

/// Options of which some may be given, over a complete layer of them.
pub(crate) trait Layer<Below> {
    /// What is given, and the layer below for the rest.
    fn over(self, below: Below) -> Below;
}

impl<T> Layer<T> for Option<T> {
    fn over(self, below: T) -> T {
        self.unwrap_or(below)
    }
}

/// An option that need not have a value.
impl<T> Layer<Option<T>> for Option<T> {
    fn over(self, below: Option<T>) -> Option<T> {
        self.or(below)
    }
}

/// Declares options that form a layer over a type of the same fields, or of more, which `..` gives.
macro_rules! layer {
    ($(#[$meta:meta])* $name:ident over $target:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* } $(..$rest:expr)?) => {
        #[derive(Clone, Debug, Default, PartialEq, clap::Args)]
        $(#[$meta])*
        pub(crate) struct $name {
            $($(#[$about])* pub(crate) $field: $type,)*
        }

        impl Layer<$target> for $name {
            fn over(self, below: $target) -> $target {
                $target { $($field: self.$field.over(below.$field),)* $(..$rest)? }
            }
        }
    };
}

/// The parser of an option with these words, each with its help.
macro_rules! words {
    ($type:ident, $($help:literal),+ $(,)?) => {{
        let help: [&str; $type::ALL.len()] = [$($help),+];
        let words = $type::ALL.into_iter().zip(help);
        let words = words.map(|(value, help)| clap::builder::PossibleValue::new(value.name()).help(help));
        let known = clap::builder::PossibleValuesParser::new(words);
        clap::builder::TypedValueParser::try_map(known, |word| {
            $type::ALL.into_iter().find(|value| value.name() == word).ok_or("unknown word")
        })
    }};
}

pub(crate) use {layer, words};

/// The layer that the command line gives, without the defaults that help shows.
#[derive(Clone, Debug)]
pub(crate) struct Given<L>(pub(crate) L);

impl<L: FromArgMatches> FromArgMatches for Given<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = matches.clone();
        for id in matches.ids().filter(|id| matches.value_source(id.as_str()) != Some(ValueSource::CommandLine)) {
            // What is there can be cleared.
            let _ = given.try_clear_id(id.as_str());
        }
        L::from_arg_matches(&given).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|given| *self = given)
    }
}

impl<L: Args> Args for Given<L> {
    fn augment_args(command: Command) -> Command {
        L::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        L::augment_args_for_update(command)
    }
}

impl<L> Given<L> {
    /// Over the options that a run recorded.
    pub(crate) fn over<Below>(&self, recorded: Below) -> Below
    where
        L: Layer<Below> + Clone,
    {
        self.0.clone().over(recorded)
    }
}

/// Without a record, a layer lies over the defaults.
macro_rules! over_defaults {
    ($($target:ty),+) => {
        $(impl<L: Layer<$target>> From<Given<L>> for $target {
            fn from(Given(layer): Given<L>) -> Self {
                layer.over(Self::default())
            }
        })+
    };
}

over_defaults!(TimingOptions, Demands, Policy, TuneOptions);

/// Calls are those of programs unless options say otherwise.
impl<L: Layer<Condition>> From<Given<L>> for Condition {
    fn from(Given(layer): Given<L>) -> Self {
        layer.over(Self::OF_PROGRAMS)
    }
}

impl<L: Layer<SystemOptions<J>>, J: Default> From<Given<L>> for SystemOptions<J> {
    fn from(Given(layer): Given<L>) -> Self {
        layer.over(Self::default())
    }
}

/// Ids of the options that the command line gives.
#[derive(Clone, Debug)]
pub(crate) struct Named(pub(crate) Vec<String>);

impl FromArgMatches for Named {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let named = matches.ids().map(clap::Id::as_str);
        let named = named.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(named.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|named| *self = named)
    }
}

impl Args for Named {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use collrules_record::options::Validating;
    use collrules_record::units::Seconds;

    use super::*;
    use crate::cmd::begin::TuneArgs;
    use crate::cmd::validate::Validate;
    use crate::options::TimingArgs;

    #[derive(Parser)]
    struct Line<A: Args> {
        #[command(flatten)]
        args: A,
    }

    fn parse<A: Args>(words: &str) -> A {
        Line::parse_from(words.split(' ')).args
    }

    #[test]
    fn what_is_given_lies_over_what_was_recorded_and_that_over_defaults() {
        let given: Given<TimingArgs> = parse("x --clock-bound 2us --separate-clocks");
        let recorded = TimingOptions { clock_bound: Seconds(5e-6), calls: Some(9), ..TimingOptions::default() };
        let merged = TimingOptions { clock_bound: Seconds(2e-6), separate_clocks: true, ..recorded };
        assert_eq!(given.over(recorded), merged);
        assert_eq!(TimingOptions::from(given), TimingOptions { calls: None, ..merged });
        assert_eq!(parse::<Given<TimingArgs>>("x").over(recorded), recorded);
    }

    #[test]
    fn defaults_are_those_of_help() {
        assert_eq!(parse::<TuneArgs>("x").over(TuneOptions::default()), TuneOptions::default());
        assert_eq!(TuneOptions::from(parse::<Given<TuneArgs>>("x")), TuneOptions::default());
        let usual = parse::<Validate>("x rules.conf").resolve();
        assert_eq!(Validating::new(SystemOptions::default()), usual);
    }
}
