//! Locks that keep other processes out of a run without writing to it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{MANIFEST, RunDir, RunDirError, SAMPLES};

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

    /// Keeps other processes from measuring into the run while the file lives that is returned, without creating files, so that missing samples stay missing.
    /// The lock is that of [`Self::log`], or on the manifest if there are no samples. On file systems without locks,
    /// it has no effect.
    pub fn hold(&self) -> Result<File, RunDirError> {
        let open = |name: &str| OpenOptions::new().read(true).append(true).open(self.file(name));
        let (file, path) = match open(SAMPLES) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => (open(MANIFEST), self.file(MANIFEST)),
            opened => (opened, self.file(SAMPLES)),
        };
        let file = file.map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        lock(&file, &path, PATIENCE)?;
        self.sweep();
        Ok(file)
    }
}

/// A lock for changes that no run directory holds, such as those of a parameter file. Its file, next to what is changed,
/// is removed with it.
#[derive(Debug)]
pub struct LockBeside {
    path: PathBuf,
    _file: File,
}

impl LockBeside {
    /// Waits until no other process holds the lock of a path, for a minute at most. On file systems without locks, it has
    /// no effect.
    pub fn take(path: &Path) -> Result<Self, RunDirError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.collrules-lock"));
        let failed = |cause: io::Error| RunDirError::Write { path: beside.clone(), cause: cause.to_string() };
        loop {
            let mut options = OpenOptions::new();
            let file = options.read(true).append(true).create(true).open(&beside).map_err(failed)?;
            let locked = lock(&file, path, Duration::from_secs(60));
            locked.map_err(|_| RunDirError::Locked { path: path.to_owned() })?;
            // Its holder may have removed the file meanwhile, and another process may lock a new one.
            let locked = file.metadata().map_err(failed)?;
            if fs::metadata(&beside).is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino())) {
                return Ok(Self { path: beside, _file: file });
            }
        }
    }
}

impl Drop for LockBeside {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = fs::remove_file(&self.path);
    }
}

/// How long a lock may seem taken after its release: a process that is just being started holds the locks of its parent
/// for a moment.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// Locks a file; false if its file system has no locks.
pub(super) fn lock(file: &File, path: &Path, patience: Duration) -> Result<bool, RunDirError> {
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => return Err(RunDirError::Busy { path: path.to_owned() }),
        }
    }
}
