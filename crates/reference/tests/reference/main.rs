//! Reference algorithms, played in memory.

mod cost;
mod data;
