//! All ranks of a script together, event by event.

use crate::blocks::Range;
use crate::script::Script;
use crate::step::{Buffer, Step};

/// What messages and operations take, by Hockney's model with one message at a time in each direction: a message of n
/// elements takes `latency + n * transfer` from when both sides are there. Units are the caller's; with elements in
/// bytes and times in seconds the latter two are seconds per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// Start-up time of a message (alpha).
    pub latency: f64,
    /// Time to move an element (beta).
    pub transfer: f64,
    /// Time to apply the operation to an element (gamma).
    pub operation: f64,
}

/// What messages and operations take, whatever it depends on.
pub trait Costs {
    /// The time of a message of so many elements, from when both sides are there.
    fn message(&self, elements: u64) -> f64;
    /// The time of the operation on so many elements.
    fn operation(&self, elements: u64) -> f64;
    /// So many nanoseconds. Where units of time are not seconds, no script may have any.
    fn busy(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 * 1e-9
    }
}

impl Costs for Machine {
    fn message(&self, elements: u64) -> f64 {
        self.latency + self.transfer * elements as f64
    }

    fn operation(&self, elements: u64) -> f64 {
        self.operation * elements as f64
    }
}

/// What happened: data moved, or was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A message arrived.
    Message {
        /// Who sent it.
        from: u32,
        /// Who has it now.
        to: u32,
        /// What the sender sent.
        blocks: Range,
        /// What the receiver expected; the same in every right script.
        expected: Range,
        /// Where it went.
        into: Buffer,
    },
    /// A rank applied the operation.
    Reduced {
        /// Who did.
        rank: u32,
        /// To which blocks.
        blocks: Range,
    },
}

/// Ranks that wait for each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Those who wait.
    pub ranks: Vec<u32>,
}

/// A rank in the play.
struct Actor<I> {
    steps: I,
    /// When the present step began.
    clock: f64,
    /// When what is done of it ended.
    done: f64,
    send: Option<(u32, Range)>,
    receive: Option<(u32, Range, Buffer)>,
}

/// Plays a script and returns when each rank was through, all having begun at 0. Nobody gets rid of a message before its
/// receiver waits for it, so that a script that comes to its end here does not rely on buffers. `tell` learns of
/// everything that happens, in an order in which it can happen.
pub fn play(script: &Script, costs: impl Costs, tell: &mut dyn FnMut(Happening)) -> Result<Vec<f64>, Stuck> {
    let sizes = script.blocks();
    let mut actors: Vec<_> = (0..sizes.ranks())
        .map(|rank| Actor { steps: script.steps(rank), clock: 0.0, done: 0.0, send: None, receive: None })
        .collect();
    // Who may be able to go on.
    let mut ready: Vec<u32> = (0..sizes.ranks()).rev().collect();
    while let Some(rank) = ready.pop() {
        let actor = &mut actors[rank as usize];
        while actor.send.is_none() && actor.receive.is_none() {
            actor.clock = actor.done;
            match actor.steps.next() {
                Some(Step::Reduce { blocks }) => {
                    actor.done += costs.operation(sizes.len(blocks));
                    tell(Happening::Reduced { rank, blocks });
                }
                Some(Step::Busy { nanoseconds }) => actor.done += costs.busy(nanoseconds),
                Some(step) => (actor.send, actor.receive) = (step.sent(), step.received()),
                None => break,
            }
        }
        let sends_to = actor.send.map(|(to, _)| (rank, to));
        let receives_from = actor.receive.map(|(from, _, _)| (from, rank));
        for (from, to) in [sends_to, receives_from].into_iter().flatten() {
            let (sender, receiver) = (&actors[from as usize], &actors[to as usize]);
            let (Some((whom, blocks)), Some((whose, expected, into))) = (sender.send, receiver.receive) else {
                continue;
            };
            if whom != to || whose != from {
                continue;
            }
            let start = sender.clock.max(receiver.clock);
            let end = start + costs.message(sizes.len(blocks));
            tell(Happening::Message { from, to, blocks, expected, into });
            actors[from as usize].send = None;
            actors[to as usize].receive = None;
            for other in [from, to] {
                let actor = &mut actors[other as usize];
                actor.done = actor.done.max(end);
                if actor.send.is_none() && actor.receive.is_none() {
                    ready.push(other);
                }
            }
        }
    }
    let waits = |actor: &Actor<_>| actor.send.is_some() || actor.receive.is_some();
    let ranks: Vec<u32> = (0..).zip(&actors).filter(|(_, actor)| waits(actor)).map(|(rank, _)| rank).collect();
    if ranks.is_empty() { Ok(actors.iter().map(|actor| actor.done).collect()) } else { Err(Stuck { ranks }) }
}
