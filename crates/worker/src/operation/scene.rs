//! A pattern on buffers of its own, with known data and its check.

use collrules_record::{Cast, Pattern};
use collrules_reference::{Blocks, Buffer, Contribution, Ending, Step, ending};
use mpi::topology::SimpleCommunicator;

use super::data::Known;
use super::memory::{TooLarge, buffer};
use super::scripted::perform;
use crate::ffi::{Called, ErrorClass};

/// A pattern as one rank carries it out in each of its casts.
pub(crate) struct Scene {
    acts: Box<dyn Acts>,
}

/// What does not depend on the type of the elements.
trait Acts {
    fn call(&mut self, cast: usize, comm: &SimpleCommunicator) -> Called;
    fn fill(&mut self, cast: usize, salt: u64);
    fn is_right(&self, cast: usize, salt: u64) -> bool;
}

/// Elements of which the sum is known as well.
trait Summed: Known {
    /// The sum, as the operation of reductions has it.
    fn plus(self, other: Self) -> Self;
}

impl Summed for u8 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Summed for i32 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// A cast as this rank sees it; nothing where it has no part.
struct Role {
    part: usize,
    steps: Vec<Step>,
    ending: Ending,
}

struct Acting<T> {
    roles: Vec<Option<Role>>,
    blocks: Blocks,
    vector: Vec<T>,
    scratch: Vec<T>,
}

impl Scene {
    /// The buffers of a rank of the job. `place_of` says where in the communicator a rank of the job is; there is no scene
    /// where the pattern has no script, or not as many parts as a cast has ranks.
    pub(crate) fn new(
        pattern: Pattern,
        casts: &[&Cast],
        rank: u32,
        place_of: &dyn Fn(u32) -> u32,
    ) -> Result<Option<Self>, TooLarge> {
        let Some(script) = pattern.script() else { return Ok(None) };
        let mut roles = Vec::with_capacity(casts.len());
        for cast in casts {
            if cast.ranks().len() != script.blocks().ranks() as usize {
                return Ok(None);
            }
            let Some(part) = cast.part(rank) else {
                roles.push(None);
                continue;
            };
            let Ok(ending) = ending(&script, part as u32) else { return Ok(None) };
            let steps = script.steps(part as u32).map(|step| step.among(|part| place_of(cast.ranks()[part as usize])));
            roles.push(Some(Role { part, steps: steps.collect(), ending }));
        }
        let blocks = script.blocks().clone();
        let acts: Box<dyn Acts> = if pattern.type_size() == 1 {
            Box::new(Acting::<u8>::new(roles, blocks)?)
        } else {
            Box::new(Acting::<i32>::new(roles, blocks)?)
        };
        Ok(Some(Self { acts }))
    }

    /// Plays this rank's part in a cast, if it has one.
    pub(crate) fn call(&mut self, cast: usize, comm: &SimpleCommunicator) -> Called {
        self.acts.call(cast, comm)
    }

    /// The same on known data, and whether this rank has what it should have afterwards.
    pub(crate) fn checked_call(
        &mut self,
        cast: usize,
        comm: &SimpleCommunicator,
        salt: u64,
    ) -> Result<bool, ErrorClass> {
        self.acts.fill(cast, salt);
        self.acts.call(cast, comm)?;
        Ok(self.acts.is_right(cast, salt))
    }
}

impl<T: Summed> Acting<T> {
    fn new(roles: Vec<Option<Role>>, blocks: Blocks) -> Result<Self, TooLarge> {
        let takes_part = roles.iter().any(Option::is_some);
        let uses_scratch = |step: &Step| {
            matches!(step, Step::Reduce { .. }) || step.received().is_some_and(|(_, _, into)| into == Buffer::Scratch)
        };
        let has_scratch = roles.iter().flatten().any(|role| role.steps.iter().any(uses_scratch));
        let total = blocks.total() as usize;
        Ok(Self {
            roles,
            blocks,
            vector: buffer(T::default(), if takes_part { total } else { 0 })?,
            scratch: buffer(T::default(), if has_scratch { total } else { 0 })?,
        })
    }
}

/// The salt of the data that a vector begins with.
fn salt_of(place: Buffer, salt: u64) -> u64 {
    match place {
        Buffer::Vector => salt,
        Buffer::Scratch => !salt,
    }
}

impl<T: Summed> Acts for Acting<T> {
    fn call(&mut self, cast: usize, comm: &SimpleCommunicator) -> Called {
        let Some(role) = &self.roles[cast] else { return Ok(()) };
        perform(&role.steps, &self.blocks, &mut self.vector, &mut self.scratch, comm)
    }

    fn fill(&mut self, cast: usize, salt: u64) {
        let Some(role) = &self.roles[cast] else { return };
        for (vector, place) in [(&mut self.vector, Buffer::Vector), (&mut self.scratch, Buffer::Scratch)] {
            let salt = salt_of(place, salt);
            vector.iter_mut().enumerate().for_each(|(at, element)| *element = T::sent(salt, role.part, at));
        }
    }

    fn is_right(&self, cast: usize, salt: u64) -> bool {
        let Some(role) = &self.roles[cast] else { return true };
        (0..).zip(&role.ending).all(|(block, origins)| {
            self.blocks.elements(collrules_reference::Range::one(block)).all(|at| {
                let at = at as usize;
                let known = |origin: &Contribution| T::sent(salt_of(origin.place, salt), origin.rank as usize, at);
                let sum = origins.iter().map(known).reduce(T::plus);
                sum == Some(self.vector[at])
            })
        })
    }
}
