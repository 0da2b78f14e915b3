//! Programs carried out without MPI, all ranks together: tests of results, memory, and agreement of the ranks' calls.

use collrules_rules::Collective;
use collrules_rules::units::Bytes;

use super::parts::own;
use super::*;
use crate::mockup::MockupPattern;
use crate::seat::{Arguments, Even, type_size};
use crate::step::{Buffer, BufferPart, CollectiveCall as Call, RankGroup, Reducing, Step};

/// The buffers of a rank: sent, received, and extra ones.
struct TestRank {
    send: Vec<u8>,
    receive: Vec<u8>,
    extra: Vec<Vec<u8>>,
    steps: std::vec::IntoIter<Step>,
}

impl TestRank {
    fn new(seat: Seat, program: &Program) -> Self {
        let known = |place: usize| if seat.element() == 1 { (seat.rank * 41 + place * 7 + 1) as u8 } else { 0 };
        let mut send: Vec<u8> = (0..seat.send().len).map(known).collect();
        if seat.element() == 4 {
            for (place, element) in send.chunks_mut(4).enumerate() {
                element.copy_from_slice(&(((seat.rank + 1) * 1000 + place * 3) as i32).to_ne_bytes());
            }
        }
        let mut receive = vec![0xee; seat.receive().len];
        if seat.collective == Collective::Bcast && seat.is_root() {
            receive = (0..seat.bytes).map(|place| (place * 7 + 1) as u8).collect();
        }
        let extra = program.extra.iter().map(|len| vec![0; *len]).collect();
        Self { send, receive, extra, steps: program.steps.clone().into_iter() }
    }

    fn read(&self, part: BufferPart) -> Vec<u8> {
        let buffer = match part.place {
            Buffer::Send => &self.send,
            Buffer::Receive => &self.receive,
            Buffer::Extra(at) => &self.extra[at],
        };
        buffer[part.first..part.first + part.len].to_vec()
    }

    fn write(&mut self, part: BufferPart, bytes: &[u8]) {
        assert_eq!(part.len, bytes.len(), "a result fits");
        if bytes.is_empty() {
            return;
        }
        let buffer = match part.place {
            Buffer::Send => panic!("what the caller sends is not written to"),
            Buffer::Receive => &mut self.receive,
            Buffer::Extra(at) => &mut self.extra[at],
        };
        buffer[part.first..part.first + part.len].copy_from_slice(bytes);
    }

    /// Carries out steps up to the next call.
    fn next(&mut self) -> Option<(RankGroup, Call, BufferPart, BufferPart)> {
        while let Some(step) = self.steps.next() {
            match step {
                Step::Copy { from, to } => {
                    let bytes = self.read(from);
                    self.write(to, &bytes);
                }
                Step::Reduce { from, to } => {
                    let sum = combined(&[self.read(from), self.read(to)], Reducing::Sum);
                    self.write(to, &sum);
                }
                Step::Call { on, call, from, to } => return Some((on, call, from, to)),
                step => panic!("mock-ups send nothing by themselves: {step:?}"),
            }
        }
        None
    }
}

fn combined(all: &[Vec<u8>], how: Reducing) -> Vec<u8> {
    let mut result = all[0].clone();
    for other in &all[1..] {
        assert_eq!(other.len(), result.len(), "operands are alike");
        match how {
            Reducing::Or => result.iter_mut().zip(other).for_each(|(to, from)| *to |= from),
            Reducing::Sum => {
                for (to, from) in result.chunks_mut(4).zip(other.chunks(4)) {
                    let int = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().expect("whole elements"));
                    to.copy_from_slice(&(int(to) + int(from)).to_ne_bytes());
                }
            }
        }
    }
    result
}

/// One call of all ranks of a communicator, as MPI defines it.
fn carry_out(ranks: &mut [&mut TestRank], calls: &[(Call, BufferPart, BufferPart)]) {
    let p = ranks.len();
    let sent: Vec<Vec<u8>> = ranks.iter().zip(calls).map(|(rank, (_, from, _))| rank.read(*from)).collect();
    let root = |rank: usize, bytes: Vec<u8>| (rank == 0).then_some(bytes);
    let block = |bytes: &[u8], rank: usize| bytes[rank * bytes.len() / p..(rank + 1) * bytes.len() / p].to_vec();
    let placed = |bytes: &[u8], counts: &[usize], rank: usize| {
        bytes[first(counts, rank)..first(counts, rank) + counts[rank]].to_vec()
    };
    let held: Vec<Vec<u8>> = ranks.iter().zip(calls).map(|(rank, (.., to))| rank.read(*to)).collect();
    for rank in 0..p {
        let (call, _, to) = &calls[rank];
        assert_eq!(call, &calls[0].0, "all ranks make the same call");
        let result = match call {
            Call::Barrier => None,
            Call::Allgather | Call::Allgatherv(_) => Some(sent.concat()),
            Call::AllgathervInPlace(counts) => {
                let blocks: Vec<_> = (0..p).map(|other| placed(&held[other], counts, other)).collect();
                Some(blocks.concat())
            }
            Call::Allreduce(how) => Some(combined(&sent, *how)),
            Call::Alltoall | Call::Alltoallv(_) | Call::Alltoallw(_) => {
                let blocks: Vec<_> = sent.iter().map(|bytes| block(bytes, rank)).collect();
                Some(blocks.concat())
            }
            Call::Bcast => (rank > 0).then(|| sent[0].clone()),
            Call::Exscan => (rank > 0).then(|| combined(&sent[..rank], Reducing::Sum)),
            Call::Scan => Some(combined(&sent[..=rank], Reducing::Sum)),
            Call::Gather | Call::Gatherv(_) => root(rank, sent.concat()),
            Call::Reduce(how) => root(rank, combined(&sent, *how)),
            Call::ReduceScatter(counts) => Some(placed(&combined(&sent, Reducing::Sum), counts, rank)),
            Call::ReduceScatterBlock => Some(block(&combined(&sent, Reducing::Sum), rank)),
            Call::Scatter => Some(block(&sent[0], rank)),
            Call::Scatterv(counts) => Some(placed(&sent[0], counts, rank)),
            Call::ScattervInPlace(counts) => {
                let mine = placed(&held[0], counts, rank);
                let begin = first(counts, rank);
                let mut whole = held[rank].clone();
                whole[begin..begin + mine.len()].copy_from_slice(&mine);
                Some(whole)
            }
            Call::Shift => (rank > 0).then(|| sent[rank - 1].clone()),
        };
        if let Some(result) = result {
            ranks[rank].write(*to, &result);
        }
    }
}

/// Number of the communicator in which a rank makes a call.
fn circle(seat: Seat, on: RankGroup) -> usize {
    let (node, place) = seat.place();
    match on {
        RankGroup::All => 0,
        RankGroup::Node | RankGroup::FirstNode => node,
        RankGroup::Lane | RankGroup::Leaders => place,
    }
}

/// Runs the programs and returns the final result of all ranks.
fn outcome(root: Seat, program: impl Fn(Seat) -> Program) -> Vec<Vec<u8>> {
    let seats: Vec<Seat> = (0..root.ranks).map(|rank| Seat { rank, ..root }).collect();
    let mut ranks: Vec<TestRank> = seats.iter().map(|seat| TestRank::new(*seat, &program(*seat))).collect();
    loop {
        let calls: Vec<_> = ranks.iter_mut().filter_map(TestRank::next).collect();
        if calls.is_empty() {
            break;
        }
        assert_eq!(calls.len(), ranks.len(), "all ranks have as many calls");
        let on = calls[0].0;
        assert!(calls.iter().all(|call| call.0 == on), "all ranks make them among the same");
        for wanted in seats.iter().map(|seat| circle(*seat, on)).collect::<std::collections::BTreeSet<_>>() {
            let takes_part = |rank: usize| seats[rank].seat_in(on).is_some() && circle(seats[rank], on) == wanted;
            let (mut members, mut theirs) = (Vec::new(), Vec::new());
            for (number, (rank, (_, call, from, to))) in ranks.iter_mut().zip(&calls).enumerate() {
                if takes_part(number) {
                    assert_eq!(seats[number].seat_in(on).map(|it| it.1), Some(members.len()), "in rank order");
                    members.push(rank);
                    theirs.push((call.clone(), *from, *to));
                }
            }
            if !members.is_empty() {
                carry_out(&mut members, &theirs);
            }
        }
    }
    // Undefined.
    if root.collective == Collective::Exscan {
        ranks[0].receive.clear();
    }
    ranks.into_iter().map(|rank| rank.receive).collect()
}

fn itself(seat: Seat) -> Program {
    let mut made = Program::default();
    let (call, from, to) = own(seat, seat.send(), seat.receive());
    made.call(call, from, to);
    made
}

/// Every mock-up of a call.
fn all(root: Seat) -> Vec<Mockup> {
    let patterns = MockupPattern::ALL.iter().copied().map(Mockup::Pattern);
    let split = |pieces| [false, true].map(|barrier| Mockup::Split { pieces, barrier });
    let pads = [root.bytes + 4, root.bytes * 2 + 4].map(|size| Mockup::Pad(Bytes(size as u64 / 4 * 4)));
    let all = patterns.chain([2, 3, 5].into_iter().flat_map(split)).chain(pads);
    all.filter(|mockup| mockup.program(root).is_some()).collect()
}

/// All distributions of this many ranks over nodes.
fn nodes(ranks: u32) -> Vec<Option<Even>> {
    let even = (2..ranks).filter(|each| ranks.is_multiple_of(*each)).map(|each| Even { nodes: ranks / each, each });
    std::iter::once(None).chain(even.map(Some)).collect()
}

#[test]
fn every_mockup_gives_what_its_collective_gives() {
    let mut tried = std::collections::BTreeSet::new();
    for collective in Collective::ALL {
        for ranks in 2..=12 {
            for elements in [1, 2, 3, 5, 7, 16, 37] {
                let bytes = if collective.has_sizes() { elements * type_size(collective) as usize } else { 0 };
                for even in nodes(ranks) {
                    let root = Seat {
                        collective,
                        rank: 0,
                        ranks: ranks as usize,
                        bytes,
                        even,
                        arguments: Arguments::default(),
                    };
                    let right = outcome(root, itself);
                    for mockup in all(root) {
                        let made = outcome(root, |seat| mockup.program(seat).expect("the root has one"));
                        assert_eq!(made, right, "{mockup} of {root:?}");
                        let kind = if mockup.needs_nodes() { mockup.to_string() } else { "other".to_owned() };
                        tried.insert((collective, kind));
                        tried.insert((collective, mockup.to_string().split(':').next().unwrap_or_default().to_owned()));
                    }
                }
            }
        }
    }
    // Patterns of all 14, others than those of nodes in all; splits and pads of all but barrier; hier of 9, lane of 8.
    assert_eq!(tried.len(), 4 * 14 - 2 + 9 + 8);
}
