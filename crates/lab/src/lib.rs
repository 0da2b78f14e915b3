//! Experiments of researchers, each with its options, its analysis and its words, on the public interface of the other
//! crates.
//!
//! | module | job |
//! |---|---|
//! | [`instrument`] | one driver for all of them |
//! | [`guidelines`] | the default against other calls that do the same (Träff, Gropp, Thakur, *Self-consistent MPI performance guidelines*, IEEE TPDS 21(5), 2010) |
//! | [`study`] | chosen algorithms compared on a grid |
//! | [`model`] | communication models: fits, files, predictions |
//! | [`irregular`] | calls that stall: measurement, detection, remedies |

pub mod guidelines;
pub mod instrument;
pub mod irregular;
pub mod model;
pub mod study;
