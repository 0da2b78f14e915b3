//! Keeping others from a run without writing to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
        lock(&file, &path)?;
        self.sweep();
        Ok(Held(file))
    }
}

/// Locks a file, and says whether its file system has locks: some shared ones have none. A process that is just being
/// started holds the locks of the one that starts it for a moment, so that a lock that was given free may seem taken.
pub(super) fn lock(file: &File, path: &Path) -> Result<bool, RunDirError> {
    let until = Instant::now() + Duration::from_millis(500);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => return Err(RunDirError::Busy { path: path.to_owned() }),
        }
    }
}
