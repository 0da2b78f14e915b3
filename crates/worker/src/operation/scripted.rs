//! Reference algorithms, carried out on the buffers of a call.
//!
//! A script works on the whole vector. Where the receive buffer holds it, that is the vector; a rank that only sends does so
//! from its send buffer; other ranks get a vector of their own. So nothing is copied that a program would not copy.

use std::ops::Range;
use std::time::{Duration, Instant};

use collrules_record::Cell;
use collrules_reference::{Blocks, Buffer, Reference, Step};
use mpi::topology::SimpleCommunicator;

use super::memory::{TooLarge, buffer};
use crate::ffi::Called;
use crate::ffi::messages::{self, Element};

/// How steps reach other ranks.
pub(super) trait Messages<T> {
    fn send(&self, data: &[T], to: u32) -> Called;
    fn receive(&self, into: &mut [T], from: u32) -> Called;
    fn exchange(&self, data: &[T], to: u32, into: &mut [T], from: u32) -> Called;
    /// Adds what arrived.
    fn add(&self, arrived: &[T], sum: &mut [T]) -> Called;
}

/// The scripts of a rank, and the vectors that they need beside the buffers of the call.
pub(super) struct Stage<T> {
    pub(super) scripts: Vec<(Reference, Vec<Step>)>,
    blocks: Blocks,
    /// The place of this rank's block.
    own: Range<usize>,
    vector: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Element> Stage<T> {
    /// Without scripts.
    pub(super) fn empty() -> Self {
        let blocks = Blocks::of([]);
        Self { scripts: Vec::new(), blocks, own: 0..0, vector: Vec::new(), scratch: Vec::new() }
    }

    /// With the scripts of a cell for a rank whose buffers have these lengths.
    pub(super) fn new(cell: Cell, rank: usize, references: &[Reference], receive: usize) -> Result<Self, TooLarge> {
        let mut stage = Self::empty();
        for reference in references {
            let Some(script) = cell.script(*reference) else { continue };
            stage.scripts.push((*reference, script.steps(rank as u32).collect()));
            stage.blocks = script.blocks().clone();
        }
        stage.own = if stage.scripts.is_empty() {
            0..0
        } else {
            span(&stage.blocks, collrules_reference::Range::one(rank as u32))
        };
        let total = stage.blocks.total() as usize;
        let any = |wanted: &dyn Fn(&[Step]) -> bool| stage.scripts.iter().any(|(_, steps)| wanted(steps));
        let vector = receive != total && any(&|steps| !only_sends(steps));
        let scratch = any(&|steps| steps.iter().any(|step| matches!(step, Step::Reduce { .. })));
        stage.vector = buffer(T::default(), if vector { total } else { 0 })?;
        stage.scratch = buffer(T::default(), if scratch { total } else { 0 })?;
        Ok(stage)
    }

    /// Carries out a script: what is to be sent is in `send`, or in `receive` where there is nothing in it, and each holds
    /// the whole vector, this rank's block, or nothing.
    pub(super) fn carry_out(
        &mut self,
        reference: Reference,
        send: &[T],
        receive: &mut [T],
        messages: &impl Messages<T>,
    ) -> Called {
        let Some((_, steps)) = self.scripts.iter().find(|(known, _)| *known == reference) else { return Ok(()) };
        let total = self.blocks.total() as usize;
        let blocks = &self.blocks;
        let place = |range| span(blocks, range);
        // Where in the vector the send buffer begins.
        let first = if send.len() == total { 0 } else { self.own.start };
        if !send.is_empty() && only_sends(steps) {
            for (to, range) in steps.iter().filter_map(|step| step.sent()) {
                let Range { start, end } = place(range);
                messages.send(&send[start - first..end - first], to)?;
            }
            if !receive.is_empty() {
                receive.copy_from_slice(&send[self.own.start - first..self.own.end - first]);
            }
            return Ok(());
        }
        let whole = receive.len() == total;
        let vector: &mut [T] = if whole { &mut *receive } else { &mut self.vector };
        vector[first..first + send.len()].copy_from_slice(send);
        perform(steps, blocks, vector, &mut self.scratch, messages)?;
        if !whole && !receive.is_empty() {
            receive.copy_from_slice(&self.vector[self.own.clone()]);
        }
        Ok(())
    }
}

/// Carries out the steps of a rank, one after the other.
pub(super) fn perform<T: Element>(
    steps: &[Step],
    blocks: &Blocks,
    vector: &mut [T],
    scratch: &mut [T],
    messages: &impl Messages<T>,
) -> Called {
    let place = |range| span(blocks, range);
    for step in steps {
        match *step {
            Step::Send { to, blocks } => messages.send(&vector[place(blocks)], to)?,
            Step::Receive { from, blocks, into: Buffer::Vector } => {
                messages.receive(&mut vector[place(blocks)], from)?
            }
            Step::Receive { from, blocks, into: Buffer::Scratch } => {
                messages.receive(&mut scratch[place(blocks)], from)?;
            }
            Step::Exchange { to, send, from, receive, into: Buffer::Vector } => {
                let both = vector.get_disjoint_mut([place(send), place(receive)]);
                let [data, into] = both.expect("nobody receives what it sends meanwhile");
                messages.exchange(data, to, into, from)?;
            }
            Step::Exchange { to, send, from, receive, into: Buffer::Scratch } => {
                messages.exchange(&vector[place(send)], to, &mut scratch[place(receive)], from)?;
            }
            Step::Busy { nanoseconds } => busy(Duration::from_nanos(nanoseconds)),
            Step::Reduce { blocks } => messages.add(&scratch[place(blocks)], &mut vector[place(blocks)])?,
        }
    }
    Ok(())
}

/// Lets time pass without giving the processor away, as computing would.
fn busy(long: Duration) {
    let start = Instant::now();
    while start.elapsed() < long {
        std::hint::spin_loop();
    }
}

fn span(blocks: &Blocks, range: collrules_reference::Range) -> Range<usize> {
    let elements = blocks.elements(range);
    elements.start as usize..elements.end as usize
}

fn only_sends(steps: &[Step]) -> bool {
    steps.iter().all(|step| matches!(step, Step::Send { .. }))
}

impl<T: Element> Messages<T> for SimpleCommunicator {
    fn send(&self, data: &[T], to: u32) -> Called {
        messages::send(self, data, to)
    }

    fn receive(&self, into: &mut [T], from: u32) -> Called {
        messages::receive(self, into, from)
    }

    fn exchange(&self, data: &[T], to: u32, into: &mut [T], from: u32) -> Called {
        messages::exchange(self, data, to, into, from)
    }

    fn add(&self, arrived: &[T], sum: &mut [T]) -> Called {
        messages::reduce_local(arrived, sum)
    }
}
