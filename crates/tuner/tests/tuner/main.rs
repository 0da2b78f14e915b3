//! The tuner against synthetic campaigns whose truth is known, and against real tables.

#![allow(clippy::unwrap_used)]

mod campaign;
mod common;
mod components;
mod constraints;
mod coverage;
mod crossovers;
mod curse;
mod errors;
mod han;
mod layouts;
mod noise;
mod policy;
mod properties;
mod refine;
mod stalls;
mod tables;
mod validation;
mod weights;
