//! Queries of MPI about communicators, datatypes and operations.

use std::ffi::{c_char, c_int, c_void};
use std::{mem, ptr};

use super::next::{constant, function};
use super::{Comm, Op, Type};
use crate::communicators::Described;

/// Longest name of a library (`MPI_MAX_LIBRARY_VERSION_STRING`), of a host, of a communicator, with room to spare.
const LONGEST: usize = 1024;

type CopyAttribute = unsafe extern "C" fn(Comm, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type DeleteAttribute = unsafe extern "C" fn(Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// Declares the queried functions, and looks them up.
macro_rules! asked {
    ($($field:ident $symbol:literal: ($($type:ty),*);)+) => {
        /// Open MPI's functions and constants.
        pub(super) struct Mpi {
            $($field: unsafe extern "C" fn($($type),*) -> c_int,)+
            world: Comm,
            no_communicator: Comm,
            no_type: Type,
            no_operation: Op,
        }

        impl Mpi {
            /// Those of the Open MPI in this process; none if it is another MPI.
            pub(super) fn find() -> Option<Self> {
                let known = |found: *mut c_void| Some(found).filter(|found| !found.is_null());
                Some(Self {
                    // SAFETY: functions with these names have this type in every Open MPI with this binary interface.
                    $($field: unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(known(function($symbol))?) },)+
                    world: known(constant(c"ompi_mpi_comm_world"))?,
                    no_communicator: known(constant(c"ompi_mpi_comm_null"))?,
                    no_type: known(constant(c"ompi_mpi_datatype_null"))?,
                    no_operation: known(constant(c"ompi_mpi_op_null"))?,
                })
            }
        }
    };
}

asked! {
    comm_size c"PMPI_Comm_size": (Comm, *mut c_int);
    comm_rank c"PMPI_Comm_rank": (Comm, *mut c_int);
    comm_test_inter c"PMPI_Comm_test_inter": (Comm, *mut c_int);
    comm_get_parent c"PMPI_Comm_get_parent": (*mut Comm);
    comm_get_name c"PMPI_Comm_get_name": (Comm, *mut c_char, *mut c_int);
    comm_group c"PMPI_Comm_group": (Comm, *mut *mut c_void);
    comm_create_keyval c"PMPI_Comm_create_keyval": (CopyAttribute, DeleteAttribute, *mut c_int, *mut c_void);
    comm_set_attr c"PMPI_Comm_set_attr": (Comm, c_int, *mut c_void);
    comm_get_attr c"PMPI_Comm_get_attr": (Comm, c_int, *mut c_void, *mut c_int);
    group_translate_ranks c"PMPI_Group_translate_ranks": (*mut c_void, c_int, *const c_int, *mut c_void, *mut c_int);
    group_free c"PMPI_Group_free": (*mut *mut c_void);
    type_size c"PMPI_Type_size": (Type, *mut c_int);
    type_get_envelope c"PMPI_Type_get_envelope": (Type, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
    op_commutative c"PMPI_Op_commutative": (Op, *mut c_int);
    barrier c"PMPI_Barrier": (Comm);
    library_version c"PMPI_Get_library_version": (*mut c_char, *mut c_int);
    processor_name c"PMPI_Get_processor_name": (*mut c_char, *mut c_int);
}

// SAFETY: addresses of functions and constants.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

/// Keeps our number from being copied to a duplicate.
unsafe extern "C" fn not_copied(
    _: Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives a place for the answer.
    unsafe { *copied = 0 };
    0
}

impl Mpi {
    /// `MPI_COMM_WORLD`.
    pub(super) fn world(&self) -> Comm {
        self.world
    }

    /// Returns true if a program started this process with `MPI_Comm_spawn`.
    pub(super) fn is_spawned(&self) -> bool {
        let mut parent = self.no_communicator;
        // SAFETY: a place for the answer.
        let code = unsafe { (self.comm_get_parent)(&raw mut parent) };
        code == 0 && self.is_communicator(parent)
    }

    /// Returns true if this is a valid communicator.
    #[inline]
    pub(super) fn is_communicator(&self, comm: Comm) -> bool {
        !comm.is_null() && comm != self.no_communicator
    }

    /// The number that an `MPI_*` function returns through a pointer.
    fn number(&self, ask: impl FnOnce(*mut c_int) -> c_int) -> Option<c_int> {
        let mut answer = 0;
        (ask(&raw mut answer) == 0).then_some(answer)
    }

    /// The text that an `MPI_*` function returns through a pointer.
    fn text(&self, ask: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> String {
        let mut text = [0 as c_char; LONGEST];
        let mut length = 0;
        if ask(text.as_mut_ptr(), &raw mut length) != 0 {
            return String::new();
        }
        let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The size of a communicator and the rank of this process.
    pub(super) fn size_and_rank(&self, comm: Comm) -> Option<(u32, i32)> {
        // SAFETY: a valid communicator, and a place for the answer.
        let size = self.number(|answer| unsafe { (self.comm_size)(comm, answer) })?;
        // SAFETY: as above.
        let rank = self.number(|answer| unsafe { (self.comm_rank)(comm, answer) })?;
        Some((u32::try_from(size).ok()?, rank))
    }

    /// Describes a communicator.
    pub(super) fn describe(&self, comm: Comm) -> Option<Described> {
        let (size, rank) = self.size_and_rank(comm)?;
        // SAFETY: a valid communicator, and a place for the answer.
        let between_groups = self.number(|answer| unsafe { (self.comm_test_inter)(comm, answer) })? != 0;
        // SAFETY: a valid communicator, and room for the longest name.
        let name = self.text(|text, length| unsafe { (self.comm_get_name)(comm, text, length) });
        Some(Described { size, rank, between_groups, name, members: self.members(comm, size)? })
    }

    /// The members of a communicator as ranks in `MPI_COMM_WORLD`.
    fn members(&self, comm: Comm, size: u32) -> Option<Vec<c_int>> {
        let own: Vec<c_int> = (0..size as c_int).collect();
        let mut members = own.clone();
        let (mut group, mut world) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: valid communicators, and places for the groups.
        let found = unsafe {
            (self.comm_group)(comm, &raw mut group) == 0 && (self.comm_group)(self.world, &raw mut world) == 0
        };
        let translated = found && {
            // SAFETY: both lists have `size` entries, and the group has as many members.
            let code = unsafe {
                (self.group_translate_ranks)(group, size as c_int, own.as_ptr(), world, members.as_mut_ptr())
            };
            code == 0
        };
        for mut group in [group, world] {
            if !group.is_null() {
                // SAFETY: made above, and not used again.
                unsafe { (self.group_free)(&raw mut group) };
            }
        }
        translated.then_some(members)
    }

    /// Creates an attribute key for numbers of communicators; MPI calls `deleted` when one is freed.
    pub(super) fn key(&self, deleted: DeleteAttribute) -> Option<c_int> {
        self.number(|answer| {
            // SAFETY: both functions are of the types that MPI asks for, and live as long as the process.
            unsafe { (self.comm_create_keyval)(not_copied, deleted, answer, ptr::null_mut()) }
        })
    }

    /// Stores a number with a communicator.
    pub(super) fn keep(&self, comm: Comm, key: c_int, number: u16) {
        // SAFETY: a valid communicator and key; the value is a number and never followed.
        unsafe { (self.comm_set_attr)(comm, key, ptr::without_provenance_mut(usize::from(number) + 1)) };
    }

    /// The number that is stored with a communicator.
    pub(super) fn stored_number(&self, comm: Comm, key: c_int) -> Option<u16> {
        let mut value: *mut c_void = ptr::null_mut();
        // SAFETY: a valid communicator and key, and places for both answers.
        let found =
            self.number(|answer| unsafe { (self.comm_get_attr)(comm, key, (&raw mut value).cast(), answer) })?;
        if found == 0 { None } else { number_of(value) }
    }

    /// The size of a datatype in bytes; true if it is not a predefined one.
    #[inline]
    pub(super) fn datatype(&self, datatype: Type) -> (u64, bool) {
        if datatype.is_null() || datatype == self.no_type {
            return (0, false);
        }
        // SAFETY: a datatype that is about to be used in a call, and a place for the answer.
        let size = self.number(|answer| unsafe { (self.type_size)(datatype, answer) });
        let mut numbers = [0; 3];
        let [integers, addresses, datatypes] = &mut numbers;
        let combiner = self.number(|answer| {
            // SAFETY: as above, with a place for each answer.
            unsafe { (self.type_get_envelope)(datatype, integers, addresses, datatypes, answer) }
        });
        // MPI_COMBINER_NAMED is the first of its enumeration.
        (size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0), combiner.is_some_and(|combiner| combiner != 0))
    }

    /// Returns true if an operation commutes.
    #[inline]
    pub(super) fn commutes(&self, operation: Op) -> bool {
        if operation.is_null() || operation == self.no_operation {
            return true;
        }
        // SAFETY: an operation that is about to be used in a call, and a place for the answer.
        self.number(|answer| unsafe { (self.op_commutative)(operation, answer) }) != Some(0)
    }

    /// Waits for all ranks of a communicator.
    pub(super) fn barrier(&self, comm: Comm) {
        // SAFETY: a communicator on which all ranks are about to make the same call.
        unsafe { (self.barrier)(comm) };
    }

    /// Returns MPI's version string.
    pub(super) fn library(&self) -> String {
        // SAFETY: room for the longest name.
        self.text(|text, length| unsafe { (self.library_version)(text, length) })
    }

    /// Returns the name of the host.
    pub(super) fn host(&self) -> String {
        // SAFETY: room for the longest name.
        self.text(|text, length| unsafe { (self.processor_name)(text, length) })
    }
}

/// The number in the value of an attribute.
pub(super) fn number_of(value: *mut c_void) -> Option<u16> {
    value.addr().checked_sub(1).and_then(|number| u16::try_from(number).ok())
}
