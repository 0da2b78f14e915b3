//! Reference algorithms on real buffers, with channels for MPI: right as they are, and found out where they are not.

use std::sync::mpsc::{Receiver, Sender, channel};

use collrules_guidelines::Seat;
use collrules_record::Cell;
use collrules_record::cell::type_size;
use collrules_record::units::{Bytes, Ranks};
use collrules_reference::{Range, Reference, Step};
use collrules_rules::Collective;

use super::super::data::{Buffers, Data, Known};
use super::super::scripted::Messages;
use super::SALT;
use crate::ffi::ErrorClass;
use crate::ffi::messages::Element;

/// One end of channels to and from every rank.
struct Mailbox<T> {
    to: Vec<Sender<Vec<T>>>,
    from: Vec<Receiver<Vec<T>>>,
}

/// The error class of a message of another length, or one that never came.
const TRUNCATED: ErrorClass = 15;

fn mailboxes<T>(ranks: usize) -> Vec<Mailbox<T>> {
    let mut all: Vec<Mailbox<T>> = (0..ranks).map(|_| Mailbox { to: Vec::new(), from: Vec::new() }).collect();
    for sender in 0..ranks {
        for receiver in 0..ranks {
            let (to, from) = channel();
            all[sender].to.push(to);
            all[receiver].from.push(from);
        }
    }
    all
}

impl<T: Element + std::ops::AddAssign> Messages<T> for Mailbox<T> {
    fn send(&self, data: &[T], to: u32) -> Result<(), ErrorClass> {
        self.to[to as usize].send(data.to_vec()).map_err(|_| TRUNCATED)
    }

    fn receive(&self, into: &mut [T], from: u32) -> Result<(), ErrorClass> {
        let data = self.from[from as usize].recv().map_err(|_| TRUNCATED)?;
        if data.len() != into.len() {
            return Err(TRUNCATED);
        }
        into.copy_from_slice(&data);
        Ok(())
    }

    fn exchange(&self, data: &[T], to: u32, into: &mut [T], from: u32) -> Result<(), ErrorClass> {
        self.send(data, to)?;
        self.receive(into, from)
    }

    fn add(&self, arrived: &[T], sum: &mut [T]) -> Result<(), ErrorClass> {
        sum.iter_mut().zip(arrived).for_each(|(sum, arrived)| *sum += *arrived);
        Ok(())
    }
}

/// What becomes of the steps of a rank before they are carried out.
type Planted<'a> = &'a (dyn Fn(usize, &mut Vec<Step>) + Sync);

/// Carries out a script on all ranks, and says on which of them the result is right.
fn outcome<T: Known + std::ops::AddAssign + Send>(cell: Cell, reference: Reference, planted: Planted<'_>) -> Vec<bool> {
    let data = |rank| Data::<T>::new(Seat::of(cell, rank, None)).expect("small");
    let all: Vec<Data<T>> = (0..cell.ranks.0 as usize).map(data).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = all
            .into_iter()
            .zip(mailboxes(cell.ranks.0 as usize))
            .enumerate()
            .map(|(rank, (mut data, mailbox))| {
                scope.spawn(move || {
                    data.rehearse(cell, &[reference]).expect("small");
                    data.fill(SALT);
                    data.stage.scripts.iter_mut().for_each(|(_, steps)| planted(rank, steps));
                    let done = data.stage.carry_out(reference, &data.send, &mut data.receive, &mailbox);
                    // The channels close only when the rank is through, so that nobody waits for ever.
                    drop(mailbox);
                    done.is_ok() && data.is_right(SALT)
                })
            })
            .collect();
        running.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

fn carried_out(cell: Cell, reference: Reference, planted: Planted<'_>) -> Vec<bool> {
    let carry_out = if type_size(cell.collective) == 1 { outcome::<u8> } else { outcome::<i32> };
    carry_out(cell, reference, planted)
}

fn cells(ranks: u32) -> impl Iterator<Item = Cell> {
    let with_reference = Collective::ALL.into_iter().filter(|it| Reference::Short.primitives(*it).is_some());
    with_reference.flat_map(move |collective| {
        // Fewer elements than ranks, a remainder, and an even division.
        [4, 28, 64].map(|bytes| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) })
    })
}

#[test]
fn scripts_give_what_the_library_promises() {
    for cell in [2, 3, 5, 8].into_iter().flat_map(cells) {
        for reference in Reference::ALL {
            let right = carried_out(cell, reference, &|_, _| ());
            assert!(right.iter().all(|right| *right), "{cell} {}: {right:?}", reference.name());
        }
    }
}

/// A rank that puts what it receives where something else belongs is found out by somebody.
#[test]
fn wrong_blocks_are_found_out() {
    for cell in cells(4).filter(|cell| cell.bytes.0 == 64) {
        for reference in Reference::ALL {
            let script = cell.script(reference).expect("there is one");
            for rank in (0..4).filter(|rank| script.steps(*rank).any(|step| step.received().is_some())) {
                let planted = |at: usize, steps: &mut Vec<Step>| {
                    // The last: what comes earlier may come again.
                    let mut received = steps.iter_mut().rev().filter(|step| step.received().is_some());
                    match received.next().filter(|_| at == rank as usize) {
                        Some(Step::Receive { blocks, .. }) => *blocks = shifted(*blocks),
                        Some(Step::Exchange { send, receive, .. }) => *receive = other(*send, *receive),
                        _ => {}
                    }
                };
                let right = carried_out(cell, reference, &planted);
                assert!(!right.iter().all(|it| *it), "{cell} {} rank {rank}: {right:?}", reference.name());
            }
        }
    }
}

/// As many blocks beside those; of the whole vector, not all.
fn shifted(range: Range) -> Range {
    match range {
        Range { first: 0, end: 4 } => Range { first: 0, end: 3 },
        Range { first, end: 4 } => Range { first: first - 1, end: 3 },
        Range { first, end } => Range { first: first + 1, end: end + 1 },
    }
}

/// A block that is neither of two.
fn other(one: Range, two: Range) -> Range {
    let free = (0..4).find(|rank| *rank != one.first && *rank != two.first);
    Range::one(free.unwrap_or(one.first))
}
