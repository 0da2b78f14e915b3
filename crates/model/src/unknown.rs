//! Parameters that the probes cannot determine.

use collrules_record::{Cell, Seconds};
use collrules_rules::Choice;
use serde::{Deserialize, Serialize};

use crate::place::Where;

/// A parameter of LogGP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogGpParameter {
    /// The sender's time.
    Send,
    /// The receiver's time.
    Receive,
    /// The time between them.
    Latency,
}

/// Parameters that are missing, by the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// Intervals of all parameters: there is one launch.
    Intervals,
    /// A line through round trips: there are fewer than two sizes.
    Line(Where),
    /// All parameters of LogGP: there are no trains.
    LogGp(Where),
    /// The sender's time: in no train it computes between messages.
    Send(Where),
    /// The receiver's time and the latency: no receiver computes before it receives.
    Receive(Where),
    /// A parameter that may be nothing.
    Small {
        /// The parameter.
        parameter: LogGpParameter,
        /// Location of the two ranks.
        place: Where,
    },
    /// A parameter whose estimate is above the time of an empty message, of which it is a part.
    Large {
        /// The parameter.
        parameter: LogGpParameter,
        /// Location of the two ranks.
        place: Where,
        /// The estimate.
        estimate: Seconds,
        /// The time of an empty message.
        whole: Seconds,
    },
    /// Parameters of algorithms: their calls have messages inside hosts and between them.
    MixedPlaces,
    /// The cost of sending to several ranks at once: no linear algorithm was measured.
    Concurrent,
    /// Parameters of nodes: there are fewer than three ranks.
    FewRanks(usize),
    /// Parameters of nodes: no empty message was sent to two ranks.
    OneToTwo,
    /// Times per byte of nodes: all messages to two ranks are empty.
    NodeBytes,
    /// Times per byte of nodes: two messages of a node share its link.
    SharedLinks,
    /// Pairs that were not timed.
    Pairs {
        /// Their number.
        untimed: usize,
        /// The number of all pairs.
        all: usize,
    },
    /// Latencies of pairs whose nodes take longer than the message is on its way.
    PairLatency {
        /// Their number.
        overlapping: usize,
        /// The number of timed pairs.
        timed: usize,
    },
    /// Rates of pairs whose time per byte is not separate from that of their nodes.
    PairRate {
        /// Their number.
        inseparable: usize,
        /// The number of timed pairs.
        timed: usize,
    },
    /// Slow nodes: there are fewer than three ranks or two launches.
    SlowNodes,
    /// Predictions of measured calls that have too many messages to simulate.
    Predictions {
        /// Their number.
        calls: usize,
        /// The first of them.
        cell: Cell,
        /// Its algorithm.
        choice: Choice,
        /// Its messages.
        messages: u64,
    },
}
