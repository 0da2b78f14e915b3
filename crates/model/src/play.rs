//! Messages played event by event, with links that transfers share.
//!
//! A rank handles one message at a time: it takes the node's fixed time and its time per byte to send one, and the same to
//! receive one. In between the message crosses the sender's link and the receiver's, which all transfers of the moment share
//! so that none can have more without one that has less losing some (max-min), and arrives after the latency of the pair.
//! A link that was idle lets a burst pass before its rate holds, and earns it again while it carries less than its rate.
//! Messages of a pair travel one after the other, as through a connection. What is sent is in a buffer, and its sender goes on.
//! Of a message beyond the eager limit only so much travels at first; the rest waits until the receiver asks for it, and a
//! sender that settles waits for that as well.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::platform::Platform;

/// What a rank does at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Hands a message over.
    Send {
        /// The rank that receives it.
        to: u32,
        /// Its length.
        bytes: u64,
    },
    /// Waits for the next message of a rank, and takes it.
    Receive {
        /// The rank that sends it.
        from: u32,
    },
    /// Is ready for the next message of a rank, so that nobody waits for its asking; it is taken later.
    Expect {
        /// The rank that sends it.
        from: u32,
    },
    /// Waits until the receivers of all that it sent have asked for the rest: what a blocking send ends with.
    Settle,
    /// Does something else for so many seconds.
    Busy(f64),
}

/// Ranks that wait for messages that nobody sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ranks {0:?} wait for messages that nobody sends")]
pub struct Stuck(pub Vec<usize>);

/// What ends at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// A rank is through with its action.
    Action(usize),
    /// A part of a message is there.
    Arrival(Message),
    /// The sender of this first part knows that the rest is wanted.
    Wanted(Message),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Message {
    from: usize,
    to: usize,
    /// Of this part.
    bytes: u64,
    part: Part,
    /// Of the whole message.
    whole: u64,
    number: u64,
}

/// What of a message is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of it.
    All,
    /// What may go before the receiver asks for it.
    First,
    Rest,
}

/// A message at its receiver.
struct Letter {
    number: u64,
    whole: u64,
    state: State,
}

/// What of it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first part, and nobody has asked for the rest.
    Offered,
    Asked,
    Here,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    at: f64,
    /// Of events at the same time the first planned comes first.
    number: u64,
    end: End,
}

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
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

#[derive(Default)]
struct Rank {
    next: usize,
    /// What it has begun and is not through with.
    busy: bool,
    /// By sender, in the order in which they were sent.
    letters: Vec<VecDeque<Letter>>,
    /// Messages that it is ready for, by sender, beyond those that are there.
    expected: Vec<usize>,
    /// Messages whose rest nobody has asked for.
    owed: usize,
    done: f64,
}

/// All of a play.
struct Stage<'a> {
    platform: &'a Platform,
    programs: &'a [Vec<Action>],
    ranks: Vec<Rank>,
    flows: Vec<Flow>,
    /// Messages behind others of their pair.
    behind: BTreeMap<(usize, usize), VecDeque<Message>>,
    events: BinaryHeap<Event>,
    number: u64,
    now: f64,
    /// When the ranks began.
    began: f64,
    /// What each link lets pass, by its place in the platform.
    links: Vec<Link>,
}

/// Where a link stands.
#[derive(Clone, Copy, Debug)]
struct Link {
    rate: f64,
    /// The most that it lets pass for free, and what is left of that.
    burst: f64,
    free: f64,
    /// What passes it now.
    used: f64,
}

impl Link {
    /// What is less is rounding.
    const LEAST: f64 = 1.0;

    /// What it carries at the moment.
    fn capacity(self) -> f64 {
        if self.free > Self::LEAST { FREE } else { self.rate }
    }

    /// When nothing passes for free any more.
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

/// Bytes per second of what nothing limits.
const FREE: f64 = 1e12;

/// Plays a program for each rank, all of which begin at 0, and returns when each was through.
pub fn play(platform: &Platform, programs: &[Vec<Action>]) -> Result<Vec<f64>, Stuck> {
    staged(platform, programs, None)
}

/// The same for a call that follows another one like it, so many seconds after the last rank was through with that: links
/// have not forgotten it.
pub(crate) fn play_again(platform: &Platform, programs: &[Vec<Action>], pause: f64) -> Result<Vec<f64>, Stuck> {
    staged(platform, programs, Some(pause))
}

fn staged(platform: &Platform, programs: &[Vec<Action>], pause: Option<f64>) -> Result<Vec<f64>, Stuck> {
    let count = programs.len();
    let ranks = (0..count)
        .map(|_| Rank {
            letters: (0..count).map(|_| VecDeque::new()).collect(),
            expected: vec![0; count],
            ..Rank::default()
        })
        .collect();
    let mut stage = Stage {
        platform,
        programs,
        ranks,
        flows: Vec::new(),
        behind: BTreeMap::new(),
        events: BinaryHeap::new(),
        number: 0,
        now: 0.0,
        began: 0.0,
        links: platform
            .rates()
            .into_iter()
            .zip(platform.bursts())
            .map(|(rate, burst)| Link { rate, burst, free: burst, used: 0.0 })
            .collect(),
    };
    stage.run()?;
    if let Some(pause) = pause {
        stage.again(pause);
        stage.run()?;
    }
    Ok(stage.ranks.iter().map(|rank| rank.done - stage.began).collect())
}

impl Stage<'_> {
    /// Lets all ranks go through their programs.
    fn run(&mut self) -> Result<(), Stuck> {
        self.ranks.iter_mut().for_each(|rank| rank.done = self.began);
        (0..self.ranks.len()).for_each(|rank| self.wake(rank));
        while self.step() {}
        let open = |(rank, at): (usize, &Rank)| (at.next < self.programs[rank].len()).then_some(rank);
        let waiting: Vec<usize> = self.ranks.iter().enumerate().filter_map(open).collect();
        if waiting.is_empty() { Ok(()) } else { Err(Stuck(waiting)) }
    }

    /// Lets time pass while nobody sends, and all ranks begin anew.
    fn again(&mut self, pause: f64) {
        self.links.iter_mut().for_each(|link| link.spend(pause));
        self.now += pause;
        self.began = self.now;
        self.ranks.iter_mut().for_each(|rank| {
            rank.next = 0;
            rank.expected.fill(0);
        });
    }

    fn plan(&mut self, after: f64, end: End) {
        self.number += 1;
        self.events.push(Event { at: self.now + after, number: self.number, end });
    }

    /// Lets a rank begin its next action, if it can.
    fn proceed(&mut self, rank: usize) {
        let Some(action) = self.programs[rank].get(self.ranks[rank].next).copied() else { return };
        let takes = match action {
            Action::Busy(seconds) => seconds,
            Action::Send { bytes, .. } => self.platform.handling(rank, bytes),
            Action::Receive { from } => match self.take(rank, from as usize) {
                Some(bytes) => self.platform.handling(rank, bytes),
                None => return,
            },
            Action::Expect { from } => {
                self.expect(rank, from as usize);
                0.0
            }
            Action::Settle if self.ranks[rank].owed > 0 => return,
            Action::Settle => 0.0,
        };
        self.ranks[rank].busy = true;
        self.plan(takes, End::Action(rank));
    }

    /// Takes the next message of a sender, or asks for its rest.
    fn take(&mut self, rank: usize, from: usize) -> Option<u64> {
        let letters = &mut self.ranks[rank].letters[from];
        match letters.front()?.state {
            State::Here => return letters.pop_front().map(|letter| letter.whole),
            State::Asked => {}
            State::Offered => self.ask(rank, from, 0),
        }
        None
    }

    /// Asks for the rest of a letter of a sender.
    fn ask(&mut self, rank: usize, from: usize, place: usize) {
        let Some(letter) = self.ranks[rank].letters[from].get_mut(place) else { return };
        letter.state = State::Asked;
        let (number, whole) = (letter.number, letter.whole);
        let platform = self.platform;
        let back = platform.handling(rank, 0) + platform.latency[rank][from] + platform.handling(from, 0);
        self.plan(back, End::Wanted(Message { from, to: rank, bytes: 0, part: Part::First, whole, number }));
    }

    /// Asks for the next message of a sender that was offered, or for one that will be.
    fn expect(&mut self, rank: usize, from: usize) {
        let letters = &self.ranks[rank].letters[from];
        match letters.iter().position(|letter| letter.state != State::Asked) {
            Some(place) if letters[place].state == State::Offered => self.ask(rank, from, place),
            // It is there already.
            Some(_) => {}
            None => self.ranks[rank].expected[from] += 1,
        }
    }

    /// Goes on to the next time at which something ends.
    fn step(&mut self) -> bool {
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
            self.share();
            return true;
        }
        if across <= planned {
            // What is left by rounding is nothing: so short a time would not move the clock.
            let moment = 1e-12_f64.max(self.now * 4.0 * f64::EPSILON);
            let (over, on): (Vec<Flow>, Vec<Flow>) =
                std::mem::take(&mut self.flows).into_iter().partition(|flow| flow.left <= flow.rate * moment);
            self.flows = on;
            for flow in over {
                let latency = self.platform.latency[flow.message.from][flow.message.to];
                self.plan(latency, End::Arrival(flow.message));
                self.next_of(flow.message);
            }
            self.share();
            return true;
        }
        let Some(event) = self.events.pop() else { return false };
        match event.end {
            End::Arrival(message) => {
                let letters = &mut self.ranks[message.to].letters[message.from];
                let (number, whole) = (message.number, message.whole);
                match message.part {
                    Part::All => {
                        letters.push_back(Letter { number, whole, state: State::Here });
                        let expected = &mut self.ranks[message.to].expected[message.from];
                        *expected = expected.saturating_sub(1);
                    }
                    Part::First => {
                        letters.push_back(Letter { number, whole, state: State::Offered });
                        let place = letters.len() - 1;
                        let expected = &mut self.ranks[message.to].expected[message.from];
                        if *expected > 0 {
                            *expected -= 1;
                            self.ask(message.to, message.from, place);
                        }
                    }
                    Part::Rest => {
                        letters
                            .iter_mut()
                            .filter(|letter| letter.number == number)
                            .for_each(|it| it.state = State::Here);
                    }
                }
                self.wake(message.to);
            }
            End::Wanted(first) => {
                self.ranks[first.from].owed -= 1;
                let rest = first.whole - self.platform.at_first(first.from, first.to, first.whole);
                self.leave(Message { bytes: rest, part: Part::Rest, ..first });
                self.wake(first.from);
            }
            End::Action(rank) => {
                let at = self.ranks[rank].next;
                self.ranks[rank].next += 1;
                self.ranks[rank].busy = false;
                self.ranks[rank].done = self.now;
                if let Action::Send { to, bytes } = self.programs[rank][at] {
                    let (to, number) = (to as usize, self.number);
                    let first = self.platform.at_first(rank, to, bytes);
                    let part = if first < bytes { Part::First } else { Part::All };
                    self.ranks[rank].owed += usize::from(part == Part::First);
                    self.leave(Message { from: rank, to, bytes: first, part, whole: bytes, number });
                }
                self.proceed(rank);
            }
        }
        true
    }

    /// Lets a rank go on that may have waited for what there is now.
    fn wake(&mut self, rank: usize) {
        if !self.ranks[rank].busy {
            self.proceed(rank);
        }
    }

    /// Puts a message on its way.
    fn leave(&mut self, message: Message) {
        let free = self.platform.cap[message.from][message.to].is_infinite()
            && self.platform.links(message.from, message.to).iter().flatten().next().is_none();
        let pair = (message.from, message.to);
        if self.flows.iter().any(|flow| (flow.message.from, flow.message.to) == pair) {
            self.behind.entry(pair).or_default().push_back(message);
        } else if message.bytes == 0 || free {
            self.plan(self.platform.latency[message.from][message.to], End::Arrival(message));
        } else {
            self.flows.push(Flow { message, left: message.bytes as f64, rate: 0.0 });
            self.share();
        }
    }

    /// Puts those on their way that were behind this message.
    fn next_of(&mut self, message: Message) {
        let Some(behind) = self.behind.get_mut(&(message.from, message.to)) else { return };
        while let Some(next) = behind.pop_front() {
            if next.bytes > 0 {
                self.flows.push(Flow { message: next, left: next.bytes as f64, rate: 0.0 });
                return;
            }
            let latency = self.platform.latency[next.from][next.to];
            self.number += 1;
            self.events.push(Event { at: self.now + latency, number: self.number, end: End::Arrival(next) });
        }
    }

    /// Shares the links among the messages on their way.
    fn share(&mut self) {
        let platform = self.platform;
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

/// Max-min shares: of flows over links with these rates, each at most at its own cap.
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

    #[test]
    fn shares_are_max_min() {
        // Three flows out of link 0, one of them into a narrow link 1, one capped.
        let links = [[Some(0), Some(1)], [Some(0), Some(2)], [Some(0), None]];
        let given = shares(&links, &[f64::INFINITY, f64::INFINITY, 1.5], &[9.0, 2.0, 100.0]);
        assert_eq!(given, [2.0, 5.5, 1.5]);
    }

    /// Late in a long play, what rounding leaves of a message takes less time than the clock can tell.
    #[test]
    fn long_plays_end() {
        let platform = Platform::shared_links(8, 3.0);
        let (before, bytes) = (100_000.1, |to: u32| 963 + 37 * u64::from(to));
        let mut root = vec![Action::Busy(before)];
        root.extend((1..8).map(|to| Action::Send { to, bytes: bytes(to) }));
        let mut programs = vec![root];
        programs.extend((1..8).map(|_| vec![Action::Receive { from: 0 }]));
        let ends = play(&platform, &programs).expect("it ends");
        let all: u64 = (1..8).map(bytes).sum();
        let last = ends.into_iter().fold(0.0, f64::max) - before;
        assert!((3.0 * last / all as f64 - 1.0).abs() < 1e-9, "{last} for {all}");
    }

    #[test]
    fn ranks_that_wait_for_nothing_are_named() {
        let platform = Platform::shared_links(2, 1.0);
        let programs = vec![vec![Action::Receive { from: 1 }], vec![]];
        assert_eq!(play(&platform, &programs), Err(Stuck(vec![0])));
    }

    #[test]
    fn a_round_trip_takes_what_the_model_says() {
        let mut platform = Platform::shared_links(2, f64::INFINITY);
        platform.fixed = vec![2.0, 3.0];
        platform.per_byte = vec![0.1, 0.2];
        platform.latency = vec![vec![5.0; 2]; 2];
        platform.cap = vec![vec![4.0; 2]; 2];
        let programs = vec![
            vec![Action::Send { to: 1, bytes: 40 }, Action::Receive { from: 1 }],
            vec![Action::Receive { from: 0 }, Action::Send { to: 0, bytes: 40 }],
        ];
        let ends = play(&platform, &programs).expect("it ends");
        // Each way: 2 + 4 there, 40/4 across, 5 of latency, 3 + 8 on the other side.
        assert!((ends[0] - 2.0 * (6.0 + 10.0 + 5.0 + 11.0)).abs() < 1e-9, "{ends:?}");
    }

    #[test]
    fn a_burst_passes_free_and_is_earned_again() {
        let platform = Platform { burst: vec![40.0; 2], ..Platform::shared_links(2, 10.0) };
        let programs = vec![vec![Action::Send { to: 1, bytes: 100 }], vec![Action::Receive { from: 0 }]];
        let close = |ends: Result<Vec<f64>, Stuck>, expected: f64| {
            assert!(ends.as_ref().is_ok_and(|ends| (ends[1] - expected).abs() < 0.3), "{ends:?} instead of {expected}");
        };
        close(play(&platform, &programs), 6.0);
        close(play_again(&platform, &programs, 0.0), 10.0);
        close(play_again(&platform, &programs, 2.0), 8.0);
        close(play_again(&platform, &programs, 9.0), 6.0);
    }

    #[test]
    fn a_long_message_waits_until_its_receiver_asks() {
        let platform = Platform { eager: Some(74), ..Platform::shared_links(2, 10.0) };
        let long = vec![Action::Send { to: 1, bytes: 100 }, Action::Settle];
        let programs = vec![long, vec![Action::Busy(5.0), Action::Receive { from: 0 }]];
        // What goes at once is there after a second; the sender is free when the rest is asked for.
        let ends = play(&platform, &programs).expect("it ends");
        assert!((ends[0] - 5.0).abs() < 1e-6 && (ends[1] - 14.0).abs() < 1e-6, "{ends:?}");
    }
}
