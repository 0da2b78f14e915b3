//! Keeping others from a run without writing to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;

use super::{MANIFEST, RunDir, RunDirError, SAMPLES};

/// A run directory that is kept from other processes, as long as this lives. The system gives it free when the process
/// is gone, however it ended.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "the lock goes with the handle")] File);

impl RunDir {
    /// Keeps out whoever else wants to measure into the run, and makes no file: samples that are lost stay lost. The lock
    /// is that of [`Self::log`], or on the manifest where there are no samples. Some shared file systems have no locks;
    /// then nobody is kept out.
    pub fn hold(&self) -> Result<Held, RunDirError> {
        let open = |name: &str| OpenOptions::new().read(true).append(true).open(self.file(name));
        let (file, path) = match open(SAMPLES) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => (open(MANIFEST), self.file(MANIFEST)),
            opened => (opened, self.file(SAMPLES)),
        };
        let file = file.map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(RunDirError::Busy { path });
        }
        self.sweep();
        Ok(Held(file))
    }
}
