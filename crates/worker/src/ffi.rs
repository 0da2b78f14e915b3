//! The raw MPI calls whose return codes matter, and `MPI_T`. The only unsafe code of collrules.
//!
//! rsmpi drops the return codes of collectives; a candidate that fails must be seen to fail.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use collrules_runner::wire::Sent;
use mpi::ffi;
use mpi::raw::{AsRaw, FromRaw};
use mpi::topology::{Communicator, SimpleCommunicator};

/// The error class of a failed call.
pub(crate) type ErrorClass = i32;

/// Makes failing calls on this communicator return instead of ending the job.
pub(crate) fn return_errors(comm: &SimpleCommunicator) {
    // SAFETY: the communicator is valid while borrowed, and the handler is a predefined constant.
    let code = unsafe { ffi::MPI_Comm_set_errhandler(comm.as_raw(), ffi::RSMPI_ERRORS_RETURN) };
    debug_assert_eq!(code, ffi::MPI_SUCCESS as c_int);
}

/// `MPI_Comm_dup_with_info` with a preference for components of Open MPI's coll framework, or against them: the info key
/// that `coll_base_comm_select.c` reads in 4.1 and 5.0.
pub(crate) fn duplicate_with_preference(
    comm: &SimpleCommunicator,
    preference: &str,
) -> Result<SimpleCommunicator, ErrorClass> {
    let value = CString::new(preference).map_err(|_| ffi::MPI_ERR_ARG as ErrorClass)?;
    // SAFETY: a predefined constant.
    let mut info = unsafe { ffi::RSMPI_INFO_NULL };
    // SAFETY: `info` is a valid place for the one value written.
    classify(unsafe { ffi::MPI_Info_create(&raw mut info) })?;
    // SAFETY: a predefined constant.
    let mut made = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: the info object was created above, and both texts are zero-terminated and outlive the call.
    let code = unsafe { ffi::MPI_Info_set(info, c"ompi_comm_coll_preference".as_ptr(), value.as_ptr()) };
    let code = if code == ffi::MPI_SUCCESS as c_int {
        // SAFETY: communicator and info object are valid while borrowed, and `made` is a valid place.
        unsafe { ffi::MPI_Comm_dup_with_info(comm.as_raw(), info, &raw mut made) }
    } else {
        code
    };
    // SAFETY: created above and not used again.
    unsafe { ffi::MPI_Info_free(&raw mut info) };
    classify(code)?;
    // SAFETY: made by a call that succeeded, and owned by nobody else.
    Ok(unsafe { SimpleCommunicator::from_raw(made) })
}

/// `MPI_Bcast` of bytes from rank 0.
pub(crate) fn bcast(comm: &SimpleCommunicator, buffer: &mut [u8]) -> Result<(), ErrorClass> {
    let count = c_count(buffer.len());
    // SAFETY: the buffer holds `count` bytes and outlives the blocking call.
    classify(unsafe { ffi::MPI_Bcast(buffer.as_mut_ptr().cast(), count, ffi::RSMPI_UINT8_T, 0, comm.as_raw()) })
}

/// `MPI_Scatter` of one block of `receive.len()` bytes to each rank, from rank 0, whose `send` holds them all.
pub(crate) fn scatter(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || send.len() == receive.len() * comm.size() as usize, "one block per rank");
    let count = c_count(receive.len());
    // SAFETY: on rank 0 `send` holds a block of `count` bytes per rank, as asserted; elsewhere MPI does not look at
    // it. `receive` holds `count` bytes. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Scatter(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Gather` of the block in `send` from each rank to rank 0, whose `receive` takes them all.
pub(crate) fn gather(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || receive.len() == send.len() * ranks(comm), "one block per rank");
    let count = c_count(send.len());
    // SAFETY: `send` holds `count` bytes; on rank 0 `receive` has room for a block per rank, as asserted, elsewhere MPI
    // does not look at it. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Gather(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Allgather` of the block in `send` from each rank to all.
pub(crate) fn allgather(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len() * ranks(comm), "one block per rank");
    let count = c_count(send.len());
    // SAFETY: `send` holds `count` bytes, `receive` a block per rank, as asserted. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Allgather(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Alltoall`: a block from each rank to each.
pub(crate) fn alltoall(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    let block = send.len() / ranks(comm);
    assert!(send.len() == block * ranks(comm) && receive.len() == send.len(), "one block per rank");
    let count = c_count(block);
    // SAFETY: both buffers hold a block of `count` bytes per rank, as asserted, and outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Alltoall(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// How many elements belong to each rank, and where they begin.
pub(crate) struct Counts {
    counts: Vec<c_int>,
    firsts: Vec<c_int>,
    total: usize,
}

impl Counts {
    /// The blocks of the ranks, in rank order, without gaps.
    pub(crate) fn of(counts: impl Iterator<Item = usize>) -> Self {
        let mut result = Self { counts: Vec::new(), firsts: Vec::new(), total: 0 };
        for count in counts {
            result.counts.push(c_count(count));
            result.firsts.push(c_count(result.total));
            result.total += count;
        }
        result
    }

    /// Where the block of a rank begins.
    pub(crate) fn first(&self, rank: usize) -> usize {
        self.firsts[rank] as usize
    }

    /// Whether there is a block for each rank, and this buffer holds them all.
    fn fit(&self, comm: &SimpleCommunicator, len: usize) -> bool {
        self.counts.len() == ranks(comm) && len == self.total
    }
}

/// `MPI_Allgatherv` of the block in `send` from each rank to all.
pub(crate) fn allgatherv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, receive.len()), "the receive buffer holds all blocks");
    assert!(send.len() == counts.counts[comm.rank() as usize] as usize, "the send buffer is this rank's block");
    // SAFETY: counts and displacements are one per rank, as asserted, and describe blocks within `receive`; `send`
    // holds this rank's block. All of them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Allgatherv(
            send.as_ptr().cast(),
            c_count(send.len()),
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Alltoallv` with the same counts for sending and receiving.
pub(crate) fn alltoallv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()) && counts.fit(comm, receive.len()), "both buffers hold all blocks");
    // SAFETY: counts and displacements are one per rank, as asserted, and describe blocks within both buffers. All of
    // them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Alltoallv(
            send.as_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Allreduce`: the sum of all vectors, on all ranks.
pub(crate) fn allreduce(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Allreduce(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Reduce`: the sum of all vectors, on rank 0.
pub(crate) fn reduce(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: `send` holds `count` elements, and so does `receive` on rank 0, as asserted; elsewhere MPI does not look
    // at it. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, 0, comm.as_raw()) })
}

/// `MPI_Reduce_scatter`: of the sum of all vectors, each rank gets its block.
pub(crate) fn reduce_scatter(
    comm: &SimpleCommunicator,
    send: &[i32],
    receive: &mut [i32],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()), "the send buffer holds all blocks");
    assert!(receive.len() == counts.counts[comm.rank() as usize] as usize, "the receive buffer is this rank's block");
    let (from, to) = (send.as_ptr().cast(), receive.as_mut_ptr().cast());
    let blocks = counts.counts.as_ptr();
    // SAFETY: there is a count per rank, `send` holds as many elements as they sum up to, and `receive` this rank's, as
    // asserted. All of them outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce_scatter(from, to, blocks, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Reduce_scatter_block`: of the sum of all vectors, each rank gets a block as long as `receive`.
pub(crate) fn reduce_scatter_block(
    comm: &SimpleCommunicator,
    send: &[i32],
    receive: &mut [i32],
) -> Result<(), ErrorClass> {
    assert!(send.len() == receive.len() * ranks(comm), "one block per rank");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(receive.len()));
    // SAFETY: `send` holds a block of `count` elements per rank, as asserted, and `receive` one. Both outlive the
    // blocking call.
    classify(unsafe {
        ffi::MPI_Reduce_scatter_block(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw())
    })
}

/// `MPI_Scan`: on each rank the sum of the vectors up to its own.
pub(crate) fn scan(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Scan(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Exscan`: on each rank the sum of the vectors before its own; undefined on rank 0.
pub(crate) fn exscan(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Exscan(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Barrier`.
pub(crate) fn barrier(comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
    // SAFETY: the communicator is valid while borrowed.
    classify(unsafe { ffi::MPI_Barrier(comm.as_raw()) })
}

fn ranks(comm: &SimpleCommunicator) -> usize {
    comm.size() as usize
}

fn c_count(len: usize) -> c_int {
    c_int::try_from(len).expect("the grid admits no message above the range of a C int")
}

fn classify(code: c_int) -> Result<(), ErrorClass> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut class = code;
    // SAFETY: `class` is a valid place for the one value written.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    Err(class)
}

unsafe extern "C" {
    /// POSIX; in the C library that every Rust program on Linux is linked with.
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

/// What a preloaded library counts of Open MPI's messages.
pub(crate) struct Counter {
    sent: unsafe extern "C" fn(peer: c_int, messages: *mut u64, bytes: *mut u64),
}

impl Counter {
    /// The function: `void collrules_sent(int peer, uint64_t *messages, uint64_t *bytes)`.
    pub(crate) const NAME: &str = "collrules_sent";

    /// The counter, if there is one in this process.
    pub(crate) fn find() -> Option<Self> {
        let name = CString::new(Self::NAME).ok()?;
        // SAFETY: a null handle stands for the default search order (RTLD_DEFAULT), and the name ends with a zero.
        let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: nothing else has this name, and `NAME` says what the function takes.
        let sent = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(peer: c_int, messages: *mut u64, bytes: *mut u64)>(
                found,
            )
        };
        Some(Self { sent })
    }

    /// What this process has sent to a rank of the job inside of collectives.
    pub(crate) fn sent_to(&self, peer: u32) -> Sent {
        let mut sent = Sent::default();
        // SAFETY: both places are valid for one number each.
        unsafe { (self.sent)(peer as c_int, &raw mut sent.messages, &raw mut sent.bytes) };
        sent
    }
}

/// What can go wrong with a control variable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolsError {
    #[error("the MPI tool interface cannot be initialised (code {0}), and without it no algorithm can be switched")]
    Start(c_int),
    #[error("this Open MPI has no control variable `{0}`, so that the choice cannot be measured in one launch")]
    Missing(String),
    #[error("this Open MPI does not let `{name}` be set to {value} while it runs (code {code})")]
    Refused { name: String, value: i32, code: c_int },
    #[error("`{name}` cannot be set to {value}: it holds a C int")]
    TooLarge { name: String, value: u64 },
    #[error("the control variable `{0}` does not hold what it does in the Open MPI releases that are known")]
    OtherType(String),
    #[error("the control variable `{0}` cannot be read (code {1})")]
    Unreadable(String, c_int),
}

/// The `MPI_T` interface. Ends when dropped, which has to be before MPI itself ends: the other order crashes some
/// releases of Open MPI.
pub(crate) struct Tools(());

/// A control variable with the properties that matter here.
struct Variable {
    index: c_int,
    datatype: ffi::MPI_Datatype,
    enumeration: ffi::MPI_T_enum,
}

/// Linux gives a process no environment string above 128 KiB.
const LONGEST_TEXT: usize = 1 << 20;

impl Variable {
    /// Fails unless the variable is of the type with this name.
    fn expect(&self, datatype: &str, name: &str) -> Result<(), ToolsError> {
        let mut text = [0 as c_char; 256];
        let mut len = 0;
        // SAFETY: the array is longer than MPI_MAX_OBJECT_NAME, the most that is written, and the type was given by
        // MPI itself.
        let code = unsafe { ffi::MPI_Type_get_name(self.datatype, text.as_mut_ptr(), &raw mut len) };
        // SAFETY: MPI ends the name with a zero within the array, which was all zeros before.
        let found = unsafe { CStr::from_ptr(text.as_ptr()) };
        if code == ffi::MPI_SUCCESS as c_int && found.to_bytes() == datatype.as_bytes() {
            Ok(())
        } else {
            Err(ToolsError::OtherType(name.to_owned()))
        }
    }
}

impl Tools {
    /// Starts the interface, after MPI itself.
    pub(crate) fn start() -> Result<Self, ToolsError> {
        let mut provided = 0;
        // SAFETY: `provided` is a valid place for the one value written.
        let code = unsafe { ffi::MPI_T_init_thread(ffi::MPI_THREAD_SINGLE as c_int, &raw mut provided) };
        if code == ffi::MPI_SUCCESS as c_int { Ok(Self(())) } else { Err(ToolsError::Start(code)) }
    }

    /// The value of an integer variable; none if there is no such variable.
    pub(crate) fn int(&self, name: &str) -> Result<Option<i32>, ToolsError> {
        let Some(variable) = self.find(name) else { return Ok(None) };
        variable.expect("MPI_INT", name)?;
        let mut value: c_int = 0;
        // SAFETY: the variable is of type MPI_INT, and Open MPI has no variables of several numbers; the handle is live.
        self.with_handle(name, &variable, |handle, _| unsafe {
            ffi::MPI_T_cvar_read(handle, (&raw mut value).cast())
        })?;
        Ok(Some(value))
    }

    /// Sets an integer variable and reads it back.
    pub(crate) fn set_int(&self, name: &str, value: i32) -> Result<(), ToolsError> {
        let variable = self.find(name).ok_or_else(|| ToolsError::Missing(name.to_owned()))?;
        variable.expect("MPI_INT", name)?;
        let refused = |code| ToolsError::Refused { name: name.to_owned(), value, code };
        // SAFETY: as in `int`, one C int is read from a live place.
        self.with_handle(name, &variable, |handle, _| unsafe {
            ffi::MPI_T_cvar_write(handle, (&raw const value).cast())
        })
        .map_err(|error| match error {
            ToolsError::Unreadable(_, code) => refused(code),
            other => other,
        })?;
        if self.int(name)? == Some(value) { Ok(()) } else { Err(refused(ffi::MPI_SUCCESS as c_int)) }
    }

    /// The value of a text variable; none if there is no such variable or it is empty.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ToolsError> {
        let Some(variable) = self.find(name) else { return Ok(None) };
        variable.expect("MPI_CHAR", name)?;
        let mut text = Vec::new();
        self.with_handle(name, &variable, |handle, count| {
            // Open MPI announces 2048 characters for every text and copies whatever there is. No text of the
            // environment or of a parameter file is longer than this.
            text = vec![0u8; LONGEST_TEXT.max(count as usize) + 1];
            // SAFETY: the buffer is longer than any text that a process can be given.
            unsafe { ffi::MPI_T_cvar_read(handle, text.as_mut_ptr().cast()) }
        })?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Ok((end > 0).then(|| String::from_utf8_lossy(&text[..end]).into_owned()))
    }

    /// The names and values of an enumerated variable, in their order; none if it is not enumerated.
    pub(crate) fn enumeration(&self, name: &str) -> Option<Vec<(i32, String)>> {
        let variable = self.find(name)?;
        if variable.enumeration.is_null() {
            return None;
        }
        let mut items = 0;
        let mut name_len = 0;
        // SAFETY: the enumeration was given with the variable and lives as long as the interface; a name buffer of
        // length 0 asks for no text.
        let code = unsafe {
            ffi::MPI_T_enum_get_info(variable.enumeration, &raw mut items, ptr::null_mut(), &raw mut name_len)
        };
        if code != ffi::MPI_SUCCESS as c_int {
            return None;
        }
        let item = |index| {
            let mut value = 0;
            let mut text = [0 as c_char; 256];
            let mut len = text.len() as c_int;
            // SAFETY: `text` holds `len` characters, and MPI ends what it writes there with a zero.
            let code = unsafe {
                ffi::MPI_T_enum_get_item(variable.enumeration, index, &raw mut value, text.as_mut_ptr(), &raw mut len)
            };
            // SAFETY: as above, zero-terminated within the array.
            let text = unsafe { CStr::from_ptr(text.as_ptr()) };
            (code == ffi::MPI_SUCCESS as c_int).then(|| (value, text.to_string_lossy().into_owned()))
        };
        (0..items).map(item).collect()
    }

    fn find(&self, name: &str) -> Option<Variable> {
        let c_name = CString::new(name).ok()?;
        let mut index = 0;
        // SAFETY: the name is zero-terminated and outlives the call.
        let code = unsafe { ffi::MPI_T_cvar_get_index(c_name.as_ptr(), &raw mut index) };
        if code != ffi::MPI_SUCCESS as c_int {
            return None;
        }
        let (mut name_len, mut about_len, mut verbosity, mut bind, mut scope) = (0, 0, 0, 0, 0);
        // SAFETY: a predefined constant.
        let mut datatype = unsafe { ffi::RSMPI_DATATYPE_NULL };
        let mut enumeration = ptr::null_mut();
        // SAFETY: all places are valid; text buffers of length 0 ask for no text.
        let code = unsafe {
            ffi::MPI_T_cvar_get_info(
                index,
                ptr::null_mut(),
                &raw mut name_len,
                &raw mut verbosity,
                &raw mut datatype,
                &raw mut enumeration,
                ptr::null_mut(),
                &raw mut about_len,
                &raw mut bind,
                &raw mut scope,
            )
        };
        (code == ffi::MPI_SUCCESS as c_int).then_some(Variable { index, datatype, enumeration })
    }

    /// Runs `access` with a handle and the number of elements behind it.
    fn with_handle(
        &self,
        name: &str,
        variable: &Variable,
        access: impl FnOnce(ffi::MPI_T_cvar_handle, c_int) -> c_int,
    ) -> Result<(), ToolsError> {
        let unreadable = |code| ToolsError::Unreadable(name.to_owned(), code);
        let mut handle = ptr::null_mut();
        let mut count = 0;
        // SAFETY: the variable is bound to no object, so that none is passed; the places are valid.
        let code =
            unsafe { ffi::MPI_T_cvar_handle_alloc(variable.index, ptr::null_mut(), &raw mut handle, &raw mut count) };
        if code != ffi::MPI_SUCCESS as c_int {
            return Err(unreadable(code));
        }
        let code = access(handle, count);
        // SAFETY: the handle was allocated above and is not used again.
        unsafe { ffi::MPI_T_cvar_handle_free(&raw mut handle) };
        if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(unreadable(code)) }
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // SAFETY: started by `start`, ended once, and no handle is left.
        unsafe { ffi::MPI_T_finalize() };
    }
}
