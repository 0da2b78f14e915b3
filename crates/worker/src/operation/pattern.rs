//! A pattern on buffers of its own, with known data and its check.

use collrules_program::{Buffer, BufferPart, Origin, Piece, Program, trace};
use collrules_record::{Cast, Pattern};
use mpi::topology::SimpleCommunicator;

use super::data::KnownElement;
use super::program::{Extra, PreparedProgram};
use crate::ffi::{CallResult, MpiErrorClass};

/// The part of one rank in each cast of a pattern.
pub(crate) struct PatternBuffers {
    /// Its role in each cast; none if it takes no part.
    roles: Vec<Option<PatternRole>>,
    extra: Extra,
    /// The bytes of an element.
    element: usize,
}

struct PatternRole {
    part: usize,
    prepared: PreparedProgram,
    /// The expected data in the first buffer.
    pieces: Vec<Piece>,
}

impl PatternBuffers {
    /// The buffers of a rank of the job. `place_of` returns the index of a rank in the communicator; none if the
    /// pattern has no programs, or not as many parts as a cast has ranks.
    pub(crate) fn new(
        pattern: Pattern,
        casts: &[&Cast],
        rank: u32,
        place_of: &dyn Fn(u32) -> u32,
    ) -> Result<Option<Self>, String> {
        let Some(programs) = pattern.programs() else { return Ok(None) };
        let element = pattern.type_size() as usize;
        let mut roles = Vec::with_capacity(casts.len());
        let mut lengths = &[][..];
        for cast in casts {
            if cast.ranks().len() != programs.len() {
                return Ok(None);
            }
            let Some(part) = cast.part(rank) else {
                roles.push(None);
                continue;
            };
            let Program { extra, steps } = programs[part].clone().rename(|part| place_of(cast.ranks()[part as usize]));
            lengths = &programs[part].extra;
            let first = BufferPart { place: Buffer::Extra(0), first: 0, len: extra.first().copied().unwrap_or(0) };
            let Ok(pieces) = trace(programs.as_slice(), part as u32, first) else { return Ok(None) };
            roles.push(Some(PatternRole { part, prepared: PreparedProgram::of_messages(steps, element), pieces }));
        }
        Ok(Some(Self { roles, extra: Extra::new(lengths)?, element }))
    }

    /// Runs this rank's part in a cast, if it has one.
    pub(crate) fn call(&mut self, cast: usize, comm: &SimpleCommunicator) -> CallResult {
        let Some(role) = &self.roles[cast] else { return Ok(()) };
        role.prepared.run(comm, (&[], &mut []), &mut self.extra, None)
    }

    /// Runs it on known data; returns true if this rank has the right result.
    pub(crate) fn checked_call(
        &mut self,
        cast: usize,
        comm: &SimpleCommunicator,
        salt: u64,
    ) -> Result<bool, MpiErrorClass> {
        match self.element {
            1 => self.checked(cast, comm, salt, u8::wrapping_add),
            _ => self.checked(cast, comm, salt, i32::wrapping_add),
        }
    }

    /// Like `checked_call`, on elements of this type, which reductions add up.
    fn checked<T: KnownElement>(
        &mut self,
        cast: usize,
        comm: &SimpleCommunicator,
        salt: u64,
        plus: fn(T, T) -> T,
    ) -> Result<bool, MpiErrorClass> {
        if let Some(role) = &self.roles[cast] {
            for number in [0, 1] {
                let salt = salt_of(Buffer::Extra(number), salt);
                let elements = self.extra.elements_mut::<T>(number).iter_mut().enumerate();
                elements.for_each(|(at, element)| *element = T::sent(salt, role.part, at));
            }
        }
        self.call(cast, comm)?;
        let Some(role) = &self.roles[cast] else { return Ok(true) };
        Ok(is_right(&role.pieces, self.extra.elements::<T>(0), salt, plus))
    }
}

/// The salt of the initial data of a buffer.
fn salt_of(place: Buffer, salt: u64) -> u64 {
    if place == Buffer::Extra(0) { salt } else { !salt }
}

/// Returns true if a buffer holds these pieces of the known data.
fn is_right<T: KnownElement>(pieces: &[Piece], found: &[T], salt: u64, plus: fn(T, T) -> T) -> bool {
    let mut found = found.iter();
    pieces.iter().all(|piece| {
        (0..piece.len / size_of::<T>()).all(|at| {
            let known = |origin: &Origin| {
                T::sent(salt_of(origin.place, salt), origin.rank as usize, origin.byte / size_of::<T>() + at)
            };
            piece.origins.iter().map(known).reduce(plus).as_ref() == found.next()
        })
    })
}
