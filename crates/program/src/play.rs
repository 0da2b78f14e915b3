//! Plays programs of all ranks together, event by event, and finds when each rank is done.
//!
//! Messages travel in one of two ways.
//!
//! Without [`Costs::platform`], by Hockney's model: a message begins when both sides are ready, and takes a time that
//! depends on its length. A program that ends in this model does not rely on buffers.
//!
//! On a platform, a rank handles one message at a time: it takes the node's fixed time and its time per byte to send
//! one, and the same to receive one. In between, the message crosses the links of sender and receiver, which current
//! transfers share by max-min fairness, and arrives after the latency of the pair. An idle link lets a burst pass
//! before its rate limit applies, and refills it while it carries less than its rate. Messages of a pair travel one
//! after the other, as through a connection. Sends are buffered, and the sender goes on. Of a message above the eager
//! limit only that much travels at first; the rest waits until the receiver asks for it, and a sender in `Settle` waits
//! for that too.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::platform::Platform;
use crate::program::Programs;
use crate::step::{BufferPart, CollectiveCall, RankGroup, Step};

/// Times of steps, in a unit of the caller's; with times in seconds, those per byte are seconds per byte.
pub trait Costs {
    /// The platform that messages travel on; none if [`Self::message`] has their time.
    fn platform(&self) -> Option<&Platform> {
        None
    }
    /// The time of a message of this many bytes, from when both sides are ready.
    fn message(&self, bytes: u64) -> f64;
    /// The time of the operation on this many bytes.
    fn operation(&self, _bytes: u64) -> f64 {
        0.0
    }
    /// The time of a copy of this many bytes.
    fn copy(&self, _bytes: u64) -> f64 {
        0.0
    }
    /// The time of a call. Ranks finish it independently, so no rank waits here for others.
    fn call(&self, _on: RankGroup, _call: &CollectiveCall, _from: BufferPart, _to: BufferPart) -> f64 {
        0.0
    }
    /// The time of computing for this many nanoseconds.
    fn busy(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 * 1e-9
    }
}

/// Hockney's model, with one message at a time in each direction: a message of n bytes takes `latency + n * transfer`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    /// Start-up time of a message (alpha).
    pub latency: f64,
    /// Time to move a byte (beta).
    pub transfer: f64,
    /// Time to apply the operation to a byte (gamma).
    pub operation: f64,
}

impl Costs for Machine {
    fn message(&self, bytes: u64) -> f64 {
        self.latency + self.transfer * bytes as f64
    }

    fn operation(&self, bytes: u64) -> f64 {
        self.operation * bytes as f64
    }
}

impl Costs for Platform {
    fn platform(&self) -> Option<&Platform> {
        Some(self)
    }

    fn message(&self, _bytes: u64) -> f64 {
        0.0
    }
}

/// A change in the data of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A message arrived.
    Message {
        /// The sender.
        from: u32,
        /// The bytes that it sent.
        sent: BufferPart,
        /// The receiver.
        to: u32,
        /// The place for them, of the same length in every correct program.
        received: BufferPart,
    },
    /// A rank applied the operation.
    Reduced {
        /// The rank.
        rank: u32,
        /// The left operand.
        from: BufferPart,
        /// The right operand, and the result.
        to: BufferPart,
    },
    /// A rank copied bytes.
    Copied {
        /// The rank.
        rank: u32,
        /// The source.
        from: BufferPart,
        /// The destination.
        to: BufferPart,
    },
}

/// Ranks that wait for messages that no rank sends or receives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ranks {0:?} wait for messages that no rank sends or receives")]
pub struct Stuck(pub Vec<u32>);

/// The end of a step or a message. Messages are boxed, since most events have none.
#[derive(Clone, Debug, PartialEq)]
enum EventKind {
    /// A rank has finished its action.
    Action(usize),
    /// A part of a message has arrived.
    Arrival(Box<Message>),
    /// The sender has learned that the rest is requested.
    Wanted(Box<Message>),
    /// A message between two ready sides is over.
    Meeting(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Message {
    from: usize,
    to: usize,
    /// Of this part.
    bytes: u64,
    state: MessageState,
    /// Of the whole message.
    whole: BufferPart,
    number: u64,
}

/// State of a message at its receiver, or the part of it that is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    /// The first part, whose rest is not requested yet.
    Offered,
    /// The rest, which is requested.
    Asked,
    /// All of it.
    Here,
}

#[derive(Clone, Debug, PartialEq)]
struct PlayEvent {
    at: f64,
    /// Order of planning, which decides between events at the same time.
    number: u64,
    end: EventKind,
}

impl Eq for PlayEvent {}

impl Ord for PlayEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for PlayEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A message on its way.
struct Flow {
    message: Message,
    left: f64,
    rate: f64,
}

/// A rank in the play.
struct RankState<'a> {
    steps: Box<dyn Iterator<Item = Step> + 'a>,
    step: Option<Step>,
    /// Steps before the next one of the program: on a platform, an exchange is several steps.
    inserted: Vec<Step>,
    /// True if it has begun a step that is not over.
    busy: bool,
    /// Its side of a message whose other side is not ready, without a platform.
    sends: Option<(usize, BufferPart)>,
    receives: Option<(usize, BufferPart)>,
    /// Unfinished messages of the step, without a platform.
    open: usize,
    /// Messages from each sender, in the order in which they were sent.
    letters: BTreeMap<usize, VecDeque<Message>>,
    /// Messages that it is ready for, by sender, in addition to those that have arrived.
    expected: BTreeMap<usize, usize>,
    /// Messages whose rest is not requested yet.
    owed: usize,
    done: f64,
}

impl<'a> RankState<'a> {
    fn new(steps: Box<dyn Iterator<Item = Step> + 'a>) -> Self {
        let mut rank = Self {
            steps,
            step: None,
            inserted: Vec::new(),
            busy: false,
            sends: None,
            receives: None,
            open: 0,
            letters: BTreeMap::new(),
            expected: BTreeMap::new(),
            owed: 0,
            done: 0.0,
        };
        rank.advance();
        rank
    }

    /// Goes on to the next step.
    fn advance(&mut self) {
        self.step = self.inserted.pop().or_else(|| self.steps.next());
    }

    /// Restarts this rank with other steps; messages sent to it remain.
    fn restart(&mut self, steps: Box<dyn Iterator<Item = Step> + 'a>) {
        self.steps = steps;
        self.expected.clear();
        self.advance();
    }
}

/// A play with everything on its way.
struct PlayState<'a, P: ?Sized, C> {
    costs: &'a C,
    programs: &'a P,
    tell: &'a mut dyn FnMut(Happening),
    ranks: Vec<RankState<'a>>,
    flows: Vec<Flow>,
    /// Messages waiting behind others of their pair.
    behind: BTreeMap<(usize, usize), VecDeque<Message>>,
    events: BinaryHeap<PlayEvent>,
    number: u64,
    now: f64,
    /// Time at which the ranks began.
    began: f64,
    /// State of each link, by its place in the platform.
    links: Vec<Link>,
}

/// State of a link.
#[derive(Clone, Copy, Debug)]
struct Link {
    rate: f64,
    /// The most that it lets pass for free, and what is left of it.
    burst: f64,
    free: f64,
    /// Rate that is in use now.
    used: f64,
}

impl Link {
    /// Rests of fewer bytes are rounding errors.
    const LEAST: f64 = 1.0;

    /// Returns its present rate.
    fn capacity(self) -> f64 {
        if self.free > Self::LEAST { FREE } else { self.rate }
    }

    /// Time until nothing passes for free any more.
    fn empties_after(self) -> f64 {
        if self.free > Self::LEAST && self.used > self.rate {
            self.free / (self.used - self.rate)
        } else {
            f64::INFINITY
        }
    }

    fn spend(&mut self, seconds: f64) {
        if self.burst > 0.0 {
            self.free = (self.free + (self.rate - self.used) * seconds).clamp(0.0, self.burst);
        }
    }
}

/// Rate of an unlimited resource, in bytes per second.
const FREE: f64 = 1e12;

/// Plays a program for each rank, which all begin at 0, and returns when each is done.
pub fn play(programs: &(impl Programs + ?Sized), costs: &impl Costs) -> Result<Vec<f64>, Stuck> {
    stage(programs, costs, &mut |_| (), None)
}

/// Plays like `play`, and reports every change in the data of ranks, in a possible order.
pub fn play_and_tell(
    programs: &(impl Programs + ?Sized),
    costs: &impl Costs,
    tell: &mut dyn FnMut(Happening),
) -> Result<Vec<f64>, Stuck> {
    stage(programs, costs, tell, None)
}

/// Plays a call that follows another one like it after a pause; links keep their state.
pub fn play_again(programs: &(impl Programs + ?Sized), costs: &impl Costs, pause: f64) -> Result<Vec<f64>, Stuck> {
    stage(programs, costs, &mut |_| (), Some(pause))
}

fn stage<'a>(
    programs: &'a (impl Programs + ?Sized),
    costs: &'a impl Costs,
    tell: &'a mut dyn FnMut(Happening),
    pause: Option<f64>,
) -> Result<Vec<f64>, Stuck> {
    let links = |platform: &Platform| {
        let link = |(rate, burst)| Link { rate, burst, free: burst, used: 0.0 };
        platform.rates().into_iter().zip(platform.bursts()).map(link).collect()
    };
    let mut stage = PlayState {
        costs,
        programs,
        tell,
        ranks: (0..programs.ranks()).map(|rank| RankState::new(programs.steps(rank))).collect(),
        flows: Vec::new(),
        behind: BTreeMap::new(),
        events: BinaryHeap::new(),
        number: 0,
        now: 0.0,
        began: 0.0,
        links: costs.platform().map(links).unwrap_or_default(),
    };
    stage.run()?;
    if let Some(pause) = pause {
        stage.again(pause);
        stage.run()?;
    }
    Ok(stage.ranks.iter().map(|rank| rank.done - stage.began).collect())
}

impl<P: Programs + ?Sized, C: Costs> PlayState<'_, P, C> {
    /// Lets all ranks run their programs.
    fn run(&mut self) -> Result<(), Stuck> {
        self.ranks.iter_mut().for_each(|rank| rank.done = self.began);
        (0..self.ranks.len()).for_each(|rank| self.wake(rank));
        match self.costs.platform() {
            Some(platform) => while self.flow(platform) {},
            None => while self.end_next(None) {},
        }
        let waiting: Vec<u32> =
            (0..).zip(&self.ranks).filter(|(_, rank)| rank.step.is_some()).map(|(rank, _)| rank).collect();
        if waiting.is_empty() { Ok(()) } else { Err(Stuck(waiting)) }
    }

    /// Lets a pause pass, then lets all ranks begin again.
    fn again(&mut self, pause: f64) {
        self.links.iter_mut().for_each(|link| link.spend(pause));
        self.now += pause;
        self.began = self.now;
        for (rank, at) in (0..).zip(&mut self.ranks) {
            at.restart(self.programs.steps(rank));
        }
    }

    fn plan(&mut self, after: f64, end: EventKind) {
        self.number += 1;
        self.events.push(PlayEvent { at: self.now + after, number: self.number, end });
    }

    /// Lets a rank begin its next step, if it can.
    fn proceed(&mut self, rank: usize) {
        let Some(step) = &self.ranks[rank].step else { return };
        let costs = self.costs;
        let takes = match (step, costs.platform()) {
            (Step::Busy { nanoseconds }, _) => costs.busy(*nanoseconds),
            (Step::Copy { from, to }, _) => {
                let (rank, from, to) = (rank as u32, *from, *to);
                (self.tell)(Happening::Copied { rank, from, to });
                costs.copy(to.len as u64)
            }
            (Step::Reduce { from, to }, _) => {
                let (rank, from, to) = (rank as u32, *from, *to);
                (self.tell)(Happening::Reduced { rank, from, to });
                costs.operation(to.len as u64)
            }
            (Step::Call { on, call, from, to }, _) => costs.call(*on, call, *from, *to),
            (Step::Send { part, .. }, Some(platform)) => platform.handling(rank, part.len as u64),
            (&Step::Receive { from, part }, Some(platform)) => match self.take(platform, rank, from as usize, part) {
                Some(bytes) => platform.handling(rank, bytes),
                None => return,
            },
            (&Step::Exchange { to, send, from, receive }, Some(_)) => {
                let own = &mut self.ranks[rank];
                own.inserted.extend([Step::Settle, Step::Receive { from, part: receive }]);
                own.step = Some(Step::Send { to, part: send });
                return self.proceed(rank);
            }
            (&Step::Expect { from }, Some(platform)) => {
                self.expect(platform, rank, from as usize);
                0.0
            }
            (Step::Settle, Some(_)) if self.ranks[rank].owed > 0 => return,
            (Step::Settle, _) | (Step::Expect { .. }, None) => 0.0,
            (Step::Send { .. } | Step::Receive { .. } | Step::Exchange { .. }, None) => {
                let place = |(rank, part): (u32, BufferPart)| (rank as usize, part);
                let (sends, receives) = (step.sent().map(place), step.received().map(place));
                let own = &mut self.ranks[rank];
                (own.busy, own.sends, own.receives) = (true, sends, receives);
                own.open = usize::from(sends.is_some()) + usize::from(receives.is_some());
                if let Some((to, _)) = sends {
                    self.meet(rank, to);
                }
                if let Some((from, _)) = receives {
                    self.meet(from, rank);
                }
                return;
            }
        };
        self.ranks[rank].busy = true;
        self.plan(takes, EventKind::Action(rank));
    }

    /// Lets a message begin, without a platform, if both sides are ready.
    fn meet(&mut self, from: usize, to: usize) {
        let sides = self.ranks[from].sends.zip(self.ranks[to].receives);
        let Some(((receiver, sent), (sender, received))) = sides else { return };
        if (receiver, sender) != (to, from) {
            return;
        }
        (self.tell)(Happening::Message { from: from as u32, sent, to: to as u32, received });
        self.ranks[from].sends = None;
        self.ranks[to].receives = None;
        self.plan(self.costs.message(sent.len as u64), EventKind::Meeting(from, to));
    }

    /// Takes the next message of a sender, or asks for its rest.
    fn take(&mut self, platform: &Platform, rank: usize, from: usize, received: BufferPart) -> Option<u64> {
        let letters = self.ranks[rank].letters.get_mut(&from)?;
        match letters.front()?.state {
            MessageState::Here => {
                let sent = letters.pop_front()?.whole;
                (self.tell)(Happening::Message { from: from as u32, sent, to: rank as u32, received });
                return Some(sent.len as u64);
            }
            MessageState::Asked => {}
            MessageState::Offered => self.ask(platform, rank, from, 0),
        }
        None
    }

    /// Asks for the rest of a message from a sender.
    fn ask(&mut self, platform: &Platform, rank: usize, from: usize, place: usize) {
        let letters = self.ranks[rank].letters.get_mut(&from);
        let Some(letter) = letters.and_then(|letters| letters.get_mut(place)) else { return };
        letter.state = MessageState::Asked;
        let asked = Box::new(*letter);
        let back = platform.handling(rank, 0) + platform.latency[rank][from] + platform.handling(from, 0);
        self.plan(back, EventKind::Wanted(asked));
    }

    /// Asks for the rest of a sender's next message, now or once it arrives.
    fn expect(&mut self, platform: &Platform, rank: usize, from: usize) {
        let mut letters = self.ranks[rank].letters.get(&from).into_iter().flatten().enumerate();
        match letters.find(|(_, letter)| letter.state != MessageState::Asked) {
            Some((place, letter)) if letter.state == MessageState::Offered => self.ask(platform, rank, from, place),
            // It is there already.
            Some(_) => {}
            None => *self.ranks[rank].expected.entry(from).or_default() += 1,
        }
    }

    /// Advances to the next end of something on a platform.
    fn flow(&mut self, platform: &Platform) -> bool {
        let planned = self.events.peek().map_or(f64::INFINITY, |event| event.at);
        let across = self.flows.iter().map(|flow| self.now + flow.left / flow.rate).fold(f64::INFINITY, f64::min);
        if planned.is_infinite() && across.is_infinite() {
            return false;
        }
        let empty = self.links.iter().map(|link| self.now + link.empties_after()).fold(f64::INFINITY, f64::min);
        let then = planned.min(across).min(empty);
        for flow in &mut self.flows {
            flow.left -= flow.rate * (then - self.now);
        }
        for link in &mut self.links {
            let last = self.now + link.empties_after() <= then;
            link.spend(then - self.now);
            if last {
                link.free = 0.0;
            }
        }
        self.now = then;
        if empty < planned.min(across) {
            self.share(platform);
            return true;
        }
        if across <= planned {
            // What is left by rounding is nothing: so short a time would not move the clock.
            let moment = 1e-12_f64.max(self.now * 4.0 * f64::EPSILON);
            let (over, on): (Vec<Flow>, Vec<Flow>) =
                std::mem::take(&mut self.flows).into_iter().partition(|flow| flow.left <= flow.rate * moment);
            self.flows = on;
            for flow in over {
                let latency = platform.latency[flow.message.from][flow.message.to];
                self.plan(latency, EventKind::Arrival(Box::new(flow.message)));
                self.follow(platform, flow.message);
            }
            self.share(platform);
            return true;
        }
        self.end_next(Some(platform))
    }

    /// Ends the next planned event.
    fn end_next(&mut self, platform: Option<&Platform>) -> bool {
        let Some(event) = self.events.pop() else { return false };
        self.now = event.at;
        match (event.end, platform) {
            (EventKind::Action(rank), _) => self.finish(platform, rank),
            (EventKind::Meeting(from, to), _) => {
                for rank in [from, to] {
                    self.ranks[rank].open -= 1;
                    if self.ranks[rank].open == 0 {
                        self.finish(platform, rank);
                    }
                }
            }
            (EventKind::Arrival(message), Some(platform)) => {
                let receiver = &mut self.ranks[message.to];
                let letters = receiver.letters.entry(message.from).or_default();
                let expected = receiver.expected.entry(message.from).or_default();
                match message.state {
                    MessageState::Here => {
                        letters.push_back(*message);
                        *expected = expected.saturating_sub(1);
                    }
                    MessageState::Offered => {
                        letters.push_back(*message);
                        let place = letters.len() - 1;
                        if *expected > 0 {
                            *expected -= 1;
                            self.ask(platform, message.to, message.from, place);
                        }
                    }
                    MessageState::Asked => {
                        let own = letters.iter_mut().filter(|letter| letter.number == message.number);
                        own.for_each(|letter| letter.state = MessageState::Here);
                    }
                }
                self.wake(message.to);
            }
            (EventKind::Wanted(asked), Some(platform)) => {
                self.ranks[asked.from].owed -= 1;
                let whole = asked.whole.len as u64;
                let rest = whole - platform.at_first(asked.from, asked.to, whole);
                self.leave(platform, Message { bytes: rest, ..*asked });
                self.wake(asked.from);
            }
            // Nothing of the kind is planned without a platform.
            (EventKind::Arrival(_) | EventKind::Wanted(_), None) => {}
        }
        true
    }

    /// Ends the step of a rank, which goes on with the next.
    fn finish(&mut self, platform: Option<&Platform>, rank: usize) {
        let own = &mut self.ranks[rank];
        let step = own.step.take();
        (own.busy, own.done) = (false, self.now);
        own.advance();
        if let (Some(Step::Send { to, part: whole }), Some(platform)) = (step, platform) {
            let (to, number, bytes) = (to as usize, self.number, whole.len as u64);
            let first = platform.at_first(rank, to, bytes);
            let state = if first < bytes { MessageState::Offered } else { MessageState::Here };
            self.ranks[rank].owed += usize::from(state == MessageState::Offered);
            self.leave(platform, Message { from: rank, to, bytes: first, state, whole, number });
        }
        self.proceed(rank);
    }

    /// Lets a rank go on that may have waited for this.
    fn wake(&mut self, rank: usize) {
        if !self.ranks[rank].busy {
            self.proceed(rank);
        }
    }

    /// Sends a message off.
    fn leave(&mut self, platform: &Platform, message: Message) {
        let free = platform.cap[message.from][message.to].is_infinite()
            && platform.links(message.from, message.to).iter().flatten().next().is_none();
        let pair = (message.from, message.to);
        if self.flows.iter().any(|flow| (flow.message.from, flow.message.to) == pair) {
            self.behind.entry(pair).or_default().push_back(message);
        } else if message.bytes == 0 || free {
            self.plan(platform.latency[message.from][message.to], EventKind::Arrival(Box::new(message)));
        } else {
            self.flows.push(Flow { message, left: message.bytes as f64, rate: 0.0 });
            self.share(platform);
        }
    }

    /// Sends off messages that waited behind this one.
    fn follow(&mut self, platform: &Platform, message: Message) {
        let pair = (message.from, message.to);
        while let Some(next) = self.behind.get_mut(&pair).and_then(VecDeque::pop_front) {
            if next.bytes > 0 {
                self.flows.push(Flow { message: next, left: next.bytes as f64, rate: 0.0 });
                return;
            }
            self.plan(platform.latency[next.from][next.to], EventKind::Arrival(Box::new(next)));
        }
    }

    /// Shares the links among the messages on their way.
    fn share(&mut self, platform: &Platform) {
        let links: Vec<[Option<usize>; 2]> =
            self.flows.iter().map(|flow| platform.links(flow.message.from, flow.message.to)).collect();
        let caps: Vec<f64> = self.flows.iter().map(|flow| platform.cap[flow.message.from][flow.message.to]).collect();
        let capacities: Vec<f64> = self.links.iter().map(|link| link.capacity()).collect();
        self.links.iter_mut().for_each(|link| link.used = 0.0);
        for ((flow, on), rate) in self.flows.iter_mut().zip(&links).zip(shares(&links, &caps, &capacities)) {
            flow.rate = rate;
            on.iter().flatten().for_each(|link| self.links[*link].used += rate);
        }
    }
}

/// Max-min shares of flows over links with these rates, each flow limited by its cap.
fn shares(links: &[[Option<usize>; 2]], caps: &[f64], rates: &[f64]) -> Vec<f64> {
    let mut left = rates.to_vec();
    let mut users = vec![0usize; rates.len()];
    links.iter().flatten().flatten().for_each(|link| users[*link] += 1);
    let mut given = vec![None; links.len()];
    loop {
        let fair = |flow: usize| {
            let of_link = |link: &usize| left[*link].max(0.0) / users[*link] as f64;
            links[flow].iter().flatten().map(of_link).fold(caps[flow], f64::min)
        };
        let open = (0..links.len()).filter(|flow| given[*flow].is_none());
        let Some((_, least)) = open.map(|flow| (flow, fair(flow))).min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let fixed: Vec<usize> =
            (0..links.len()).filter(|flow| given[*flow].is_none() && fair(*flow) <= least * (1.0 + 1e-12)).collect();
        for flow in fixed {
            given[flow] = Some(least);
            for link in links[flow].iter().flatten() {
                left[*link] -= least;
                users[*link] -= 1;
            }
        }
    }
    given.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::step::{Buffer, NOTHING};

    fn send(to: u32, bytes: usize) -> Step {
        Step::Send { to, part: BufferPart { place: Buffer::Send, first: 0, len: bytes } }
    }

    fn receive(from: u32) -> Step {
        Step::Receive { from, part: NOTHING }
    }

    fn busy(seconds: f64) -> Step {
        Step::Busy { nanoseconds: (seconds * 1e9) as u64 }
    }

    fn programs(steps: Vec<Vec<Step>>) -> Vec<Program> {
        steps.into_iter().map(|steps| Program { extra: Vec::new(), steps }).collect()
    }

    #[test]
    fn shares_are_max_min() {
        // Three flows out of link 0, one of them into a narrow link 1, one capped.
        let links = [[Some(0), Some(1)], [Some(0), Some(2)], [Some(0), None]];
        let given = shares(&links, &[f64::INFINITY, f64::INFINITY, 1.5], &[9.0, 2.0, 100.0]);
        assert_eq!(given, [2.0, 5.5, 1.5]);
    }

    /// Late in a long play, the rest that rounding leaves of a message takes less time than the clock's resolution.
    #[test]
    fn long_plays_end() {
        let platform = Platform::shared_links(8, 3.0);
        let (before, bytes) = (100_000.1, |to: u32| 963 + 37 * u64::from(to));
        let mut root = vec![busy(before)];
        root.extend((1..8).map(|to| send(to, bytes(to) as usize)));
        let mut steps = vec![root];
        steps.extend((1..8).map(|_| vec![receive(0)]));
        let programs = programs(steps);
        let ends = play(programs.as_slice(), &platform).expect("it ends");
        let all: u64 = (1..8).map(bytes).sum();
        let last = ends.into_iter().fold(0.0, f64::max) - before;
        assert!((3.0 * last / all as f64 - 1.0).abs() < 1e-9, "{last} for {all}");
    }

    #[test]
    fn ranks_that_wait_for_nothing_are_named() {
        let platform = Platform::shared_links(2, 1.0);
        let programs = programs(vec![vec![receive(1)], vec![]]);
        assert_eq!(play(programs.as_slice(), &platform), Err(Stuck(vec![0])));
    }

    #[test]
    fn a_round_trip_takes_what_the_model_says() {
        let mut platform = Platform::shared_links(2, f64::INFINITY);
        platform.fixed = vec![2.0, 3.0];
        platform.per_byte = vec![0.1, 0.2];
        platform.latency = vec![vec![5.0; 2]; 2];
        platform.cap = vec![vec![4.0; 2]; 2];
        let programs = programs(vec![vec![send(1, 40), receive(1)], vec![receive(0), send(0, 40)]]);
        let ends = play(programs.as_slice(), &platform).expect("it ends");
        // Each way: 2 + 4 there, 40/4 across, 5 of latency, 3 + 8 on the other side.
        assert!((ends[0] - 2.0 * (6.0 + 10.0 + 5.0 + 11.0)).abs() < 1e-9, "{ends:?}");
    }

    #[test]
    fn a_burst_passes_free_and_is_earned_again() {
        let platform = Platform { burst: vec![40.0; 2], ..Platform::shared_links(2, 10.0) };
        let programs = programs(vec![vec![send(1, 100)], vec![receive(0)]]);
        let close = |ends: Result<Vec<f64>, Stuck>, expected: f64| {
            assert!(ends.as_ref().is_ok_and(|ends| (ends[1] - expected).abs() < 0.3), "{ends:?} instead of {expected}");
        };
        close(play(programs.as_slice(), &platform), 6.0);
        close(play_again(programs.as_slice(), &platform, 0.0), 10.0);
        close(play_again(programs.as_slice(), &platform, 2.0), 8.0);
        close(play_again(programs.as_slice(), &platform, 9.0), 6.0);
    }

    #[test]
    fn a_long_message_waits_until_its_receiver_asks() {
        let platform = Platform { eager: Some(74), ..Platform::shared_links(2, 10.0) };
        let long = vec![send(1, 100), Step::Settle];
        let programs = programs(vec![long, vec![busy(5.0), receive(0)]]);
        // What goes at once is there after a second; the sender is free when the rest is asked for.
        let ends = play(programs.as_slice(), &platform).expect("it ends");
        assert!((ends[0] - 5.0).abs() < 1e-6 && (ends[1] - 14.0).abs() < 1e-6, "{ends:?}");
    }
}
