//! `MPI_T`: reading and setting control variables.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong};
use std::ptr;

use mpi::ffi;

/// Error of reading or setting a control variable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolsError {
    #[error("the MPI tool interface cannot be initialised (code {0}), and without it no algorithm can be switched")]
    Start(c_int),
    #[error("this Open MPI has no control variable `{0}`, so the choice cannot be measured in one launch")]
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

/// The `MPI_T` interface. Ends when dropped, which must be before MPI itself ends: the other order crashes some
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
        if self.type_name() == datatype { Ok(()) } else { Err(ToolsError::OtherType(name.to_owned())) }
    }

    /// The name of the variable's type; empty if MPI does not tell.
    fn type_name(&self) -> String {
        let mut text = [0 as c_char; 256];
        let mut len = 0;
        // SAFETY: the array is longer than MPI_MAX_OBJECT_NAME, the most that is written, and the type was given by
        // MPI itself.
        let code = unsafe { ffi::MPI_Type_get_name(self.datatype, text.as_mut_ptr(), &raw mut len) };
        // SAFETY: MPI ends the name with a zero within the array, which was all zeros before.
        let found = unsafe { CStr::from_ptr(text.as_ptr()) };
        if code == ffi::MPI_SUCCESS as c_int { found.to_string_lossy().into_owned() } else { String::new() }
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
        // SAFETY: that is MPI_INT.
        unsafe { self.number::<c_int>(name, "MPI_INT") }
    }

    /// The value of a variable that holds a size; none if there is no such variable.
    pub(crate) fn size(&self, name: &str) -> Result<Option<u64>, ToolsError> {
        // SAFETY: that is MPI_UNSIGNED_LONG.
        unsafe { self.number::<c_ulong>(name, "MPI_UNSIGNED_LONG") }
    }

    /// The value of a variable that is on or off; none if there is no such variable.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ToolsError> {
        // SAFETY: MPI_C_BOOL is one byte.
        let byte = unsafe { self.number::<u8>(name, "MPI_C_BOOL") }?;
        Ok(byte.map(|byte| byte != 0))
    }

    /// The value of a variable of this MPI type; none if there is no such variable.
    ///
    /// # Safety
    ///
    /// `T` is the C type of that MPI type, and any bytes are one.
    unsafe fn number<T: Default>(&self, name: &str, kind: &str) -> Result<Option<T>, ToolsError> {
        let Some(variable) = self.find(name) else { return Ok(None) };
        variable.expect(kind, name)?;
        let mut value = T::default();
        // SAFETY: the variable is of that type, and Open MPI has no variables of several numbers; the handle is live.
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

    /// The value of a variable of any type, as `ompi_info` shows it; none if there is no such variable. Text that is not set
    /// is empty.
    pub(crate) fn value(&self, name: &str) -> Result<Option<String>, ToolsError> {
        let Some(variable) = self.find(name) else { return Ok(None) };
        let kind = variable.type_name();
        // SAFETY: each time the C type of the MPI type, all bits of which are a value.
        let number = unsafe {
            match kind.as_str() {
                "MPI_CHAR" => return Ok(Some(self.text(name)?.unwrap_or_default())),
                "MPI_C_BOOL" => return Ok(self.flag(name)?.map(|flag| flag.to_string())),
                "MPI_INT" | "MPI_INT32_T" => self.number::<i32>(name, &kind)?.map(i128::from),
                "MPI_UNSIGNED" | "MPI_UINT32_T" => self.number::<u32>(name, &kind)?.map(i128::from),
                "MPI_LONG" => self.number::<c_long>(name, &kind)?.map(i128::from),
                "MPI_UNSIGNED_LONG" => self.number::<c_ulong>(name, &kind)?.map(i128::from),
                "MPI_INT64_T" => self.number::<i64>(name, &kind)?.map(i128::from),
                "MPI_UNSIGNED_LONG_LONG" | "MPI_UINT64_T" => self.number::<u64>(name, &kind)?.map(i128::from),
                _ => return Err(ToolsError::OtherType(name.to_owned())),
            }
        };
        let items = self.enumeration(name).unwrap_or_default();
        let item = |number: i128| items.iter().find(|(item, _)| i128::from(*item) == number);
        Ok(number.map(|number| item(number).map_or_else(|| number.to_string(), |(_, word)| word.clone())))
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
