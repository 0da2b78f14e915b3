//! Rank tests and the correction for many of them. Pure functions of numbers: nothing here knows about collectives.

mod false_discovery;
mod mann_whitney;
mod ranks;
mod signed_rank;
mod spread;
mod stratified;

pub(crate) use false_discovery::adjust;
pub(crate) use mann_whitney::{mann_whitney, mann_whitney_score};
pub(crate) use signed_rank::{signed_rank, signed_rank_score};
pub(crate) use spread::{Variance, mean, over_launches, student_interval};
pub(crate) use spread::{standard_error, student_p, student_quantile};
pub(crate) use stratified::{Score, stratified};

use statrs::distribution::{ContinuousCDF, Normal};

/// `P(Z <= z)` of the standard normal distribution; 1 where z is not a number because nothing varies.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    if z.is_nan() { 1.0 } else { Normal::standard().cdf(z) }
}
