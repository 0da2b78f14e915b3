//! The clock by which jobs take time.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// When the clock of the machine began.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The clock of this machine, or of a model, on which nothing but its own calls takes time. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub enum JobClock {
    /// The clock of this machine.
    #[default]
    Machine,
    /// The clock of a model: the bits of its seconds.
    Model(Arc<AtomicU64>),
}

impl JobClock {
    /// The clock of a model, which shows 0.
    pub fn of_model() -> Self {
        Self::Model(Arc::default())
    }

    /// Seconds since its beginning.
    pub fn now(&self) -> f64 {
        match self {
            Self::Machine => EPOCH.elapsed().as_secs_f64(),
            Self::Model(bits) => f64::from_bits(bits.load(Ordering::Relaxed)),
        }
    }

    /// Lets seconds pass for a model; the machine has its own time.
    pub fn pass(&self, seconds: f64) {
        if let Self::Model(bits) = self {
            bits.store((self.now() + seconds).to_bits(), Ordering::Relaxed);
        }
    }
}
