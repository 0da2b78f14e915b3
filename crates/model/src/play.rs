//! Messages played event by event, with links that transfers share.
//!
//! A rank handles one message at a time: it takes the node's fixed time and its time per byte to send one, and the same to
//! receive one. In between the message crosses the sender's link and the receiver's, which all transfers of the moment share
//! so that none can have more without one that has less losing some (max-min), and arrives after the latency of the pair.
//! Messages of a pair travel one after the other, as through a connection. Senders do not wait for receivers: what is sent is in a buffer.

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
    /// A message is there.
    Arrival(Message),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Message {
    from: usize,
    to: usize,
    bytes: u64,
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
    /// Lengths of messages that are there, by sender.
    arrived: Vec<VecDeque<u64>>,
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
}

/// Plays a program for each rank, all of which begin at 0, and returns when each was through.
pub fn play(platform: &Platform, programs: &[Vec<Action>]) -> Result<Vec<f64>, Stuck> {
    let count = programs.len();
    let ranks = (0..count).map(|_| Rank { arrived: vec![VecDeque::new(); count], ..Rank::default() }).collect();
    let mut stage = Stage {
        platform,
        programs,
        ranks,
        flows: Vec::new(),
        behind: BTreeMap::new(),
        events: BinaryHeap::new(),
        number: 0,
        now: 0.0,
    };
    (0..count).for_each(|rank| stage.proceed(rank));
    while stage.step() {}
    let waiting: Vec<usize> = (0..count).filter(|rank| stage.ranks[*rank].next < programs[*rank].len()).collect();
    if waiting.is_empty() { Ok(stage.ranks.iter().map(|rank| rank.done).collect()) } else { Err(Stuck(waiting)) }
}

impl Stage<'_> {
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
            Action::Receive { from } => match self.ranks[rank].arrived[from as usize].pop_front() {
                Some(bytes) => self.platform.handling(rank, bytes),
                None => return,
            },
        };
        self.ranks[rank].busy = true;
        self.plan(takes, End::Action(rank));
    }

    /// Goes on to the next time at which something ends.
    fn step(&mut self) -> bool {
        let planned = self.events.peek().map_or(f64::INFINITY, |event| event.at);
        let across = self.flows.iter().map(|flow| self.now + flow.left / flow.rate).fold(f64::INFINITY, f64::min);
        if planned.is_infinite() && across.is_infinite() {
            return false;
        }
        let then = planned.min(across);
        for flow in &mut self.flows {
            flow.left -= flow.rate * (then - self.now);
        }
        self.now = then;
        if across <= planned {
            let (over, on): (Vec<Flow>, Vec<Flow>) =
                std::mem::take(&mut self.flows).into_iter().partition(|flow| flow.left <= flow.rate * 1e-12);
            self.flows = on;
            for flow in over {
                let latency = self.platform.latency(flow.message.from, flow.message.to);
                self.plan(latency, End::Arrival(flow.message));
                self.next_of(flow.message);
            }
            self.share();
            return true;
        }
        let Some(event) = self.events.pop() else { return false };
        match event.end {
            End::Arrival(message) => {
                self.ranks[message.to].arrived[message.from].push_back(message.bytes);
                if !self.ranks[message.to].busy {
                    self.proceed(message.to);
                }
            }
            End::Action(rank) => {
                let at = self.ranks[rank].next;
                self.ranks[rank].next += 1;
                self.ranks[rank].busy = false;
                self.ranks[rank].done = self.now;
                if let Action::Send { to, bytes } = self.programs[rank][at] {
                    self.leave(Message { from: rank, to: to as usize, bytes });
                }
                self.proceed(rank);
            }
        }
        true
    }

    /// Puts a message on its way.
    fn leave(&mut self, message: Message) {
        let free = self.platform.cap(message.from, message.to).is_infinite()
            && self.platform.links(message.from, message.to).iter().flatten().next().is_none();
        let pair = (message.from, message.to);
        if self.flows.iter().any(|flow| (flow.message.from, flow.message.to) == pair) {
            self.behind.entry(pair).or_default().push_back(message);
        } else if message.bytes == 0 || free {
            self.plan(self.platform.latency(message.from, message.to), End::Arrival(message));
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
            let latency = self.platform.latency(next.from, next.to);
            self.number += 1;
            self.events.push(Event { at: self.now + latency, number: self.number, end: End::Arrival(next) });
        }
    }

    /// Shares the links among the messages on their way.
    fn share(&mut self) {
        let platform = self.platform;
        let links: Vec<[Option<usize>; 2]> =
            self.flows.iter().map(|flow| platform.links(flow.message.from, flow.message.to)).collect();
        let caps: Vec<f64> = self.flows.iter().map(|flow| platform.cap(flow.message.from, flow.message.to)).collect();
        for (flow, rate) in self.flows.iter_mut().zip(shares(&links, &caps, &platform.rates())) {
            flow.rate = rate;
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
}
