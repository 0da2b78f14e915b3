//! Allocation of buffers, with an error if memory is short, before the system kills a process.

use collrules_record::rundir::available_memory;

/// Buffers larger than the free memory of the host.
#[derive(Debug, thiserror::Error)]
#[error(
    "its buffers take {wanted} MiB on each rank, and this host has {left} MiB of memory left; measure smaller messages \
     or fewer ranks"
)]
pub(crate) struct TooLarge {
    wanted: u64,
    left: u64,
}

/// Size below which the free memory is not checked: reading it takes longer than filling the buffers.
const SMALL: u64 = 8 << 20;

/// A buffer of these elements, with every page touched.
pub(super) fn buffer<T: Clone>(value: T, len: usize) -> Result<Vec<T>, TooLarge> {
    let wanted = len as u64 * size_of::<T>() as u64;
    let refused = || TooLarge { wanted: wanted >> 20, left: available_memory().unwrap_or(0) >> 20 };
    if wanted > SMALL && available_memory().is_some_and(|left| wanted > left) {
        return Err(refused());
    }
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| refused())?;
    buffer.resize(len, value);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let error = buffer(0u8, usize::MAX / 2).expect_err("no machine has this").to_string();
        assert!(error.contains("MiB of memory left"), "{error}");
        assert_eq!(buffer(7u8, 3).expect("three bytes"), [7, 7, 7]);
    }
}
