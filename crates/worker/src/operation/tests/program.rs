//! Programs of reference algorithms on real buffers, with channels for MPI: right as they are, and found out where they are not.

use std::sync::mpsc::{Receiver, Sender, channel};

use collrules_program::{BufferPart, Program, Programs, Reference, Step};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Arguments, Cell, DataType};
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::super::data::{Buffers, Data, KnownElement};
use super::super::program::{Extra, PreparedProgram};
use super::SALT;
use crate::ffi::messages::Peers;
use crate::ffi::{CallResult, MpiErrorClass};

/// One end of channels to and from every rank.
struct Mailbox {
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// The error class of a message of another length, or one that never came.
const TRUNCATED: MpiErrorClass = 15;

fn mailboxes(ranks: usize) -> Vec<Mailbox> {
    let mut all: Vec<Mailbox> = (0..ranks).map(|_| Mailbox { to: Vec::new(), from: Vec::new() }).collect();
    for sender in 0..ranks {
        for receiver in 0..ranks {
            let (to, from) = channel();
            all[sender].to.push(to);
            all[receiver].from.push(from);
        }
    }
    all
}

impl Peers for Mailbox {
    fn send(&self, data: &[u8], _element: usize, to: u32) -> CallResult {
        self.to[to as usize].send(data.to_vec()).map_err(|_| TRUNCATED)
    }

    fn receive(&self, into: &mut [u8], _element: usize, from: u32) -> CallResult {
        let data = self.from[from as usize].recv().map_err(|_| TRUNCATED)?;
        if data.len() != into.len() {
            return Err(TRUNCATED);
        }
        into.copy_from_slice(&data);
        Ok(())
    }

    fn exchange(&self, data: &[u8], to: u32, into: &mut [u8], from: u32, element: usize) -> CallResult {
        self.send(data, element, to)?;
        self.receive(into, element, from)
    }

    fn add(&self, from: &[u8], to: &mut [u8], data: DataType) -> CallResult {
        fn sum<T: bytemuck::Pod + std::ops::Add<Output = T>>(from: &[u8], to: &mut [u8]) {
            let (from, to): (&[T], &mut [T]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *to + *from);
        }
        match data {
            _ if to.is_empty() => {}
            DataType::Int => sum::<i32>(from, to),
            DataType::Float => sum::<f32>(from, to),
            DataType::Double => sum::<f64>(from, to),
        }
        Ok(())
    }

    fn communicator(&self) -> Option<&SimpleCommunicator> {
        None
    }
}

/// Change to the steps of a rank before they are carried out.
type StepChange<'a> = &'a (dyn Fn(usize, &mut Vec<Step>) + Sync);

/// Carries out a program on all ranks, and says on which of them the result is right.
fn outcome<T: KnownElement + Send>(
    cell: Cell,
    reference: Reference,
    arguments: Arguments,
    planted: StepChange<'_>,
) -> Vec<bool> {
    let data = |rank| Data::<T>::new(cell.seat_with(rank, None, arguments)).expect("small");
    let algorithm = &cell.reference_with(reference, arguments).expect("there is one");
    let all: Vec<Data<T>> = (0..cell.ranks.0 as usize).map(data).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = all
            .into_iter()
            .zip(mailboxes(cell.ranks.0 as usize))
            .enumerate()
            .map(|(rank, (mut data, mailbox))| {
                scope.spawn(move || {
                    let Program { extra, mut steps } = algorithm.program(rank as u32);
                    let mut extra = Extra::new(&extra).expect("small");
                    data.fill(SALT);
                    planted(rank, &mut steps);
                    let prepared = PreparedProgram::of_call(steps, data.seat, None);
                    let done = prepared.run(&mailbox, data.as_bytes(), &mut extra, None);
                    // The channels close only when the rank is through, so that no rank waits for ever.
                    drop(mailbox);
                    done.is_ok() && data.is_right(SALT)
                })
            })
            .collect();
        running.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

fn carried_out(cell: Cell, reference: Reference, planted: StepChange<'_>) -> Vec<bool> {
    carried_out_with(cell, reference, Arguments::default(), planted)
}

fn carried_out_with(cell: Cell, reference: Reference, arguments: Arguments, planted: StepChange<'_>) -> Vec<bool> {
    let carry_out = match arguments.data {
        _ if !cell.collective.reduces() => outcome::<u8>,
        DataType::Int => outcome::<i32>,
        DataType::Float => outcome::<f32>,
        DataType::Double => outcome::<f64>,
    };
    carry_out(cell, reference, arguments, planted)
}

fn cells(ranks: u32) -> impl Iterator<Item = Cell> {
    let with_reference = Collective::ALL.into_iter().filter(|it| Reference::Short.primitives(*it).is_some());
    with_reference.flat_map(move |collective| {
        // Fewer elements than ranks, a remainder, and an even division.
        [4, 28, 64].map(|bytes| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) })
    })
}

#[test]
fn programs_give_what_the_library_promises() {
    for cell in [2, 3, 5, 8].into_iter().flat_map(cells) {
        for reference in Reference::ALL {
            let right = carried_out(cell, reference, &|_, _| ());
            assert!(right.iter().all(|right| *right), "{cell} {}: {right:?}", reference.name());
        }
    }
}

/// From and to every root, and with every datatype.
#[test]
fn programs_are_right_for_every_root_and_datatype() {
    for cell in [2, 3, 5].into_iter().flat_map(cells).filter(|cell| cell.bytes.0.is_multiple_of(8)) {
        let roots = if cell.collective.is_rooted() { cell.ranks.0 } else { 1 };
        for (reference, root, data) in Reference::ALL
            .into_iter()
            .flat_map(|reference| (0..roots).map(move |root| (reference, root)))
            .flat_map(|(reference, root)| DataType::ALL.map(|data| (reference, root, data)))
        {
            let right = carried_out_with(cell, reference, Arguments { root, data }, &|_, _| ());
            assert!(
                right.iter().all(|right| *right),
                "{cell} {} root {root} {}: {right:?}",
                reference.name(),
                data.mpi()
            );
        }
    }
}

/// If a rank puts what it receives in a wrong place, at least one rank notices.
#[test]
fn wrong_blocks_are_found_out() {
    for cell in cells(4).filter(|cell| cell.bytes.0 == 64) {
        for reference in Reference::ALL {
            let algorithm = cell.reference(reference).expect("there is one");
            let whole = cell.vector().0 as usize;
            for rank in (0..4).filter(|rank| algorithm.steps(*rank).any(|step| step.received().is_some())) {
                let planted = |at: usize, steps: &mut Vec<Step>| {
                    // The last: what comes earlier may come again.
                    let mut received = steps.iter_mut().rev().filter(|step| step.received().is_some());
                    match received.next().filter(|_| at == rank as usize) {
                        Some(Step::Receive { part, .. }) => *part = shift(*part, whole),
                        Some(Step::Exchange { send, receive, .. }) => *receive = avoid(*send, *receive),
                        _ => {}
                    }
                };
                let right = carried_out(cell, reference, &planted);
                assert!(!right.iter().all(|it| *it), "{cell} {} rank {rank}: {right:?}", reference.name());
            }
        }
    }
}

/// As many bytes next to those; of the whole vector, not all.
fn shift(part: BufferPart, whole: usize) -> BufferPart {
    let block = whole / 4;
    match (part.first, part.first + part.len) {
        (0, end) if end == whole => BufferPart { len: whole - block, ..part },
        (first, end) if end == whole => BufferPart { first: first - block, ..part },
        (first, _) => BufferPart { first: first + block, ..part },
    }
}

/// A block that is neither of two.
fn avoid(one: BufferPart, two: BufferPart) -> BufferPart {
    let free = (0..4).map(|rank| rank * one.len).find(|first| *first != one.first && *first != two.first);
    BufferPart { first: free.unwrap_or(one.first), ..two }
}
