//! Findings of a run as large as they come, without measuring one.

use collrules_record::findings::{CellFinding, Findings, PointFinding, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::tree::{CollectiveBranch, Leaf, LeafEvidence, LeafGain, RankBranch, Tree};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective, Release};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const CANDIDATES: u32 = 15;

/// All collectives on 10 communicator sizes at 21 message sizes (barrier has one), each with 15 candidates whose times cross.
pub(crate) fn findings() -> Findings {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut cells = Vec::new();
    for collective in Collective::ALL {
        for ranks in (1..=10).map(|power| Ranks(1 << power)) {
            let sizes: Vec<u64> =
                if collective.has_sizes() { (0..=20).map(|power| 1 << power).collect() } else { vec![0] };
            for bytes in sizes.into_iter().map(Bytes) {
                cells.push(cell(Cell { collective, ranks, bytes }, &mut random));
            }
        }
    }
    let branches = cells.chunk_by(|a, b| a.cell.collective == b.cell.collective).map(branch);
    let tree = Tree { collectives: branches.collect(), gain: 1.3, ..Tree::default() };
    Findings { cells, tree, ..Findings::empty("a large run", Release::V5_0) }
}

fn candidate(number: u32) -> Candidate {
    match number {
        0 => Candidate::Builtin,
        _ => Candidate::Tuned(Choice::plain(1 + (number - 1) / 3).with_segsize(u64::from((number - 1) % 3) << 13)),
    }
}

fn cell(cell: Cell, random: &mut ChaCha8Rng) -> CellFinding {
    let (ranks, bytes) = (f64::from(cell.ranks.0), cell.bytes.0 as f64);
    let mut estimate = |point: f64| {
        let half = 1.0 + 0.05 * random.random::<f64>();
        Estimate { point, low: Some(point / half), high: Some(point * half), level: 0.95, samples: 150 }
    };
    let mut time = |number: u32| {
        let shape = f64::from((number * 7 + 3) % CANDIDATES) / f64::from(CANDIDATES);
        estimate(1e-6 * (1.0 + 3.0 * shape) * ranks.log2() + 1e-9 * bytes * (2.0 - shape) * ranks.powf(0.3))
    };
    let times: Vec<Estimate> = (0..CANDIDATES).map(&mut time).collect();
    let best = (0..CANDIDATES as usize).min_by(|a, b| times[*a].point.total_cmp(&times[*b].point)).unwrap();
    let points = times.iter().enumerate().map(|(number, time)| {
        let gain = Estimate { point: times[0].point / time.point, ..estimate(times[0].point / time.point) };
        let gain = (number > 0).then_some(gain);
        let (expected, q_value) = (gain.map(|gain| gain.point), gain.map(|_| 0.001));
        let candidate = candidate(number as u32);
        PointFinding { candidate, time: *time, gain, expected, p_value: q_value, q_value, stalls: None }
    });
    let points: Vec<PointFinding> = points.collect();
    let winner = points[best].clone();
    let verdict = match winner.gain {
        Some(gain) => Verdict::Replace { candidate: winner.candidate, gain },
        None => Verdict::Keep { why: KeepReason::NothingTimed },
    };
    let in_use = winner.candidate.choice().expect("is a choice");
    CellFinding { cell, points, disqualified: Vec::new(), verdict, in_use, unruled: Candidate::Builtin }
}

fn branch(cells: &[CellFinding]) -> CollectiveBranch {
    let collective = cells[0].cell.collective;
    let ranges = cells.chunk_by(|a, b| a.cell.ranks == b.cell.ranks).map(|cells| {
        let ranks = cells[0].cell.ranks;
        let leaves = cells.chunk_by(|a, b| a.in_use == b.in_use).map(leaf);
        let first = u64::from(ranks.0);
        let ranks = RankRange { first, end: Some(first + 1) };
        RankBranch { ranks, measured: vec![cells[0].cell.ranks], leaves: leaves.collect() }
    });
    CollectiveBranch { collective, ranges: ranges.collect() }
}

fn leaf(cells: &[CellFinding]) -> Leaf {
    let (first, last) = (&cells[0], &cells[cells.len() - 1]);
    let lookup = |cell: &CellFinding| cell.cell.lookup_bytes(Release::V5_0);
    let gain = LeafGain { mean: 1.3, interval: Some((1.2, 1.4)), least: 1.1, most: 1.5 };
    let messages = (first.cell.bytes, last.cell.bytes);
    Leaf {
        first: lookup(first),
        end: Some(2 * lookup(last)),
        choice: first.in_use,
        by: Candidate::from_choice(first.in_use),
        evidence: Some(LeafEvidence {
            messages,
            cells: cells.len(),
            proven: cells.len(),
            samples: 300 * cells.len(),
            gain,
            q_value: Some(0.001),
            regret: 0.0,
        }),
        kept: Vec::new(),
    }
}
