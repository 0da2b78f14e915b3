//! Options that several commands share, and how arguments become what workflows take.

mod decisions;
mod grid;
mod layers;
mod session;
mod system;
mod timing;

use std::path::{Path, PathBuf};

use collrules_record::manifest;

pub(crate) use decisions::{AssumptionArgs, DecisionArgs, PolicyArgs};
pub(crate) use grid::{GridArgs, RefinementArgs, SearchArgs};
pub(crate) use layers::{Given, Layer, List, Named, layer, words};
pub(crate) use session::SessionArgs;
pub(crate) use system::{LaunchingArgs, SystemArgs};
pub(crate) use timing::{ConditionArgs, TimingArgs};

/// The named directory, or a new one; its name has the time, so that calls do not collide.
pub(crate) fn named_or_new(out: Option<&Path>, what: &str) -> PathBuf {
    out.map_or_else(|| PathBuf::from(format!("collrules-{what}-{}", manifest::stamp())), Path::to_owned)
}

/// Declares the arguments of a command that resolve to a type of the same fields, between arguments of the command alone.
macro_rules! arguments {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$before_about:meta])* $before:ident: $before_type:ty,)* } => $target:ident {
            $($(#[$about:meta])* $field:ident: $type:ty,)*
        } { $($(#[$after_about:meta])* $after:ident: $after_type:ty,)* }
    ) => {
        #[derive(Clone, Debug, clap::Args)]
        $(#[$meta])*
        pub(crate) struct $name {
            $($(#[$before_about])* pub(crate) $before: $before_type,)*
            $($(#[$about])* pub(crate) $field: $type,)*
            $($(#[$after_about])* pub(crate) $after: $after_type,)*
        }

        impl $name {
            /// What the arguments resolve to.
            pub(crate) fn resolve(&self) -> $target {
                $target { $($field: self.$field.clone().into(),)* }
            }
        }
    };
}

pub(crate) use arguments;
