//! Locks that keep other processes out of a run without writing to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{MANIFEST, RunDir, RunDirError, SAMPLES};

/// A run directory that other processes cannot use while this value lives. The system releases the lock when the
/// process ends, however it ends.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "the lock goes with the handle")] File);

impl RunDir {
    /// Returns true if another process measures into the run, or continues a command on it; none if the file system has
    /// no locks.
    pub fn is_held(&self) -> Option<bool> {
        let file = File::open(self.file(SAMPLES)).ok()?;
        match file.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }

    /// Keeps other processes from measuring into the run, without creating files, so that missing samples stay missing.
    /// The lock is that of [`Self::log`], or on the manifest if there are no samples. On file systems without locks,
    /// it has no effect.
    pub fn hold(&self) -> Result<RunLock, RunDirError> {
        let open = |name: &str| OpenOptions::new().read(true).append(true).open(self.file(name));
        let (file, path) = match open(SAMPLES) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => (open(MANIFEST), self.file(MANIFEST)),
            opened => (opened, self.file(SAMPLES)),
        };
        let file = file.map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        lock(&file, &path)?;
        self.sweep();
        Ok(RunLock(file))
    }
}

/// Locks a file; false if its file system has no locks. A process that is just being started holds the locks of its
/// parent for a moment, so a released lock may seem taken.
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
