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
struct Variable<'n> {
    name: &'n str,
    index: c_int,
    datatype: ffi::MPI_Datatype,
    enumeration: ffi::MPI_T_enum,
}

/// Linux gives a process no environment string above 128 KiB.
const LONGEST_TEXT: usize = 1 << 20;

fn is_success(code: c_int) -> bool {
    code == ffi::MPI_SUCCESS as c_int
}

/// The name that `fill` writes to an array of so many characters, ended by a zero; none if it fails.
fn read_name(fill: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> Option<String> {
    let mut text = [0 as c_char; 256];
    let mut len = text.len() as c_int;
    let code = fill(text.as_mut_ptr(), &raw mut len);
    // SAFETY: MPI ends the name with a zero within the array, which was all zeros before.
    let found = unsafe { CStr::from_ptr(text.as_ptr()) };
    is_success(code).then(|| found.to_string_lossy().into_owned())
}

impl Variable<'_> {
    /// Fails unless the variable is of the type with this name.
    fn expect(&self, datatype: &str) -> Result<(), ToolsError> {
        if self.type_name() == datatype { Ok(()) } else { Err(ToolsError::OtherType(self.name.to_owned())) }
    }

    /// The name of the variable's type; empty if MPI does not tell.
    fn type_name(&self) -> String {
        // SAFETY: the array is longer than MPI_MAX_OBJECT_NAME, the most that is written, and the type was given by
        // MPI itself.
        read_name(|text, len| unsafe { ffi::MPI_Type_get_name(self.datatype, text, len) }).unwrap_or_default()
    }

    /// The value of a variable of this MPI type.
    ///
    /// # Safety
    ///
    /// `T` is the C type of that MPI type, and any bytes are one.
    unsafe fn number<T: Default>(&self, kind: &str) -> Result<T, ToolsError> {
        self.expect(kind)?;
        let mut value = T::default();
        // SAFETY: the variable is of that type, and Open MPI has no variables of several numbers; the handle is live.
        self.with_handle(|handle, _| unsafe { ffi::MPI_T_cvar_read(handle, (&raw mut value).cast()) })?;
        Ok(value)
    }

    /// The value of a text variable; empty if it is not set.
    fn text(&self) -> Result<String, ToolsError> {
        self.expect("MPI_CHAR")?;
        let mut text = Vec::new();
        self.with_handle(|handle, count| {
            // Open MPI announces 2048 characters for every text and copies whatever there is. No text of the
            // environment or of a parameter file is longer than this.
            text = vec![0u8; LONGEST_TEXT.max(count as usize) + 1];
            // SAFETY: the buffer is longer than any text that a process can be given.
            unsafe { ffi::MPI_T_cvar_read(handle, text.as_mut_ptr().cast()) }
        })?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// The names and values of an enumerated variable, in their order; none if it is not enumerated.
    fn enumeration(&self) -> Option<Vec<(i32, String)>> {
        if self.enumeration.is_null() {
            return None;
        }
        let (mut items, mut name_len) = (0, 0);
        // SAFETY: the enumeration was given with the variable and lives as long as the interface; a name buffer of
        // length 0 asks for no text.
        let code =
            unsafe { ffi::MPI_T_enum_get_info(self.enumeration, &raw mut items, ptr::null_mut(), &raw mut name_len) };
        let item = |index| {
            let mut value = 0;
            // SAFETY: `text` holds `len` characters, and MPI ends what it writes there with a zero.
            let name = read_name(|text, len| unsafe {
                ffi::MPI_T_enum_get_item(self.enumeration, index, &raw mut value, text, len)
            });
            Some((value, name?))
        };
        if is_success(code) { (0..items).map(item).collect() } else { None }
    }

    /// Runs `access` with a handle and the number of elements behind it.
    fn with_handle(&self, access: impl FnOnce(ffi::MPI_T_cvar_handle, c_int) -> c_int) -> Result<(), ToolsError> {
        let (mut handle, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the variable is bound to no object, so that none is passed; the places are valid.
        let mut code =
            unsafe { ffi::MPI_T_cvar_handle_alloc(self.index, ptr::null_mut(), &raw mut handle, &raw mut count) };
        if is_success(code) {
            code = access(handle, count);
            // SAFETY: the handle was allocated above and is not used again.
            unsafe { ffi::MPI_T_cvar_handle_free(&raw mut handle) };
        }
        if is_success(code) { Ok(()) } else { Err(ToolsError::Unreadable(self.name.to_owned(), code)) }
    }
}

impl Tools {
    /// Starts the interface, after MPI itself.
    pub(crate) fn start() -> Result<Self, ToolsError> {
        let mut provided = 0;
        // SAFETY: `provided` is a valid place for the one value written.
        let code = unsafe { ffi::MPI_T_init_thread(ffi::MPI_THREAD_SINGLE as c_int, &raw mut provided) };
        if is_success(code) { Ok(Self(())) } else { Err(ToolsError::Start(code)) }
    }

    /// The value of an integer variable; none if there is no such variable.
    pub(crate) fn int(&self, name: &str) -> Result<Option<i32>, ToolsError> {
        // SAFETY: that is MPI_INT.
        self.find(name).map(|variable| unsafe { variable.number::<c_int>("MPI_INT") }).transpose()
    }

    /// The value of a variable that holds a size; none if there is no such variable.
    pub(crate) fn size(&self, name: &str) -> Result<Option<u64>, ToolsError> {
        // SAFETY: that is MPI_UNSIGNED_LONG.
        self.find(name).map(|variable| unsafe { variable.number::<c_ulong>("MPI_UNSIGNED_LONG") }).transpose()
    }

    /// The value of a variable that is on or off; none if there is no such variable.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ToolsError> {
        // SAFETY: MPI_C_BOOL is one byte.
        let byte = self.find(name).map(|variable| unsafe { variable.number::<u8>("MPI_C_BOOL") }).transpose()?;
        Ok(byte.map(|byte| byte != 0))
    }

    /// Sets an integer variable and reads it back.
    pub(crate) fn set_int(&self, name: &str, value: i32) -> Result<(), ToolsError> {
        let variable = self.find(name).ok_or_else(|| ToolsError::Missing(name.to_owned()))?;
        variable.expect("MPI_INT")?;
        let refused = |code| ToolsError::Refused { name: name.to_owned(), value, code };
        // SAFETY: as in `int`, one C int is read from a live place.
        let set = variable.with_handle(|handle, _| unsafe { ffi::MPI_T_cvar_write(handle, (&raw const value).cast()) });
        match set {
            Err(ToolsError::Unreadable(_, code)) => Err(refused(code)),
            Ok(()) if self.int(name)? != Some(value) => Err(refused(ffi::MPI_SUCCESS as c_int)),
            other => other,
        }
    }

    /// The value of a text variable; none if there is no such variable or it is empty.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ToolsError> {
        let text = self.find(name).map(|variable| variable.text()).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// The value of a variable of any type, as `ompi_info` shows it; none if there is no such variable. Text that is not set
    /// is empty.
    pub(crate) fn value(&self, name: &str) -> Result<Option<String>, ToolsError> {
        let Some(variable) = self.find(name) else { return Ok(None) };
        let kind = variable.type_name();
        // SAFETY: each time the C type of the MPI type, all bits of which are a value.
        let number = unsafe {
            match kind.as_str() {
                "MPI_CHAR" => return variable.text().map(Some),
                "MPI_C_BOOL" => return Ok(self.flag(name)?.map(|flag| flag.to_string())),
                "MPI_INT" | "MPI_INT32_T" => i128::from(variable.number::<i32>(&kind)?),
                "MPI_UNSIGNED" | "MPI_UINT32_T" => i128::from(variable.number::<u32>(&kind)?),
                "MPI_LONG" => i128::from(variable.number::<c_long>(&kind)?),
                "MPI_UNSIGNED_LONG" => i128::from(variable.number::<c_ulong>(&kind)?),
                "MPI_INT64_T" => i128::from(variable.number::<i64>(&kind)?),
                "MPI_UNSIGNED_LONG_LONG" | "MPI_UINT64_T" => i128::from(variable.number::<u64>(&kind)?),
                _ => return Err(ToolsError::OtherType(name.to_owned())),
            }
        };
        let items = variable.enumeration().unwrap_or_default();
        let word = items.into_iter().find(|(item, _)| i128::from(*item) == number).map(|(_, word)| word);
        Ok(Some(word.unwrap_or_else(|| number.to_string())))
    }

    /// The names and values of an enumerated variable, in their order; none if it is not enumerated.
    pub(crate) fn enumeration(&self, name: &str) -> Option<Vec<(i32, String)>> {
        self.find(name)?.enumeration()
    }

    fn find<'n>(&self, name: &'n str) -> Option<Variable<'n>> {
        let c_name = CString::new(name).ok()?;
        let mut index = 0;
        // SAFETY: the name is zero-terminated and outlives the call.
        let code = unsafe { ffi::MPI_T_cvar_get_index(c_name.as_ptr(), &raw mut index) };
        is_success(code).then_some(())?;
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
        is_success(code).then_some(Variable { name, index, datatype, enumeration })
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // SAFETY: started by `start`, ended once, and no handle is left.
        unsafe { ffi::MPI_T_finalize() };
    }
}
