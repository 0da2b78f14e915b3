//! Synthetic campaigns: cost models with noise, written as a samples file.

use std::fmt::Write;

use collrules_record::findings::{CellFinding, Findings, Verdict};

use collrules_record::criteria::Criteria;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_report::reasons::describe_kept;
use collrules_report::remarks::remarks;
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Observations, analyze};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// The candidate of an algorithm without parameters.
pub(crate) fn plain(algorithm: u32) -> Candidate {
    Candidate::from_choice(Choice::plain(algorithm))
}

pub(crate) fn cell(collective: Collective, ranks: u32, bytes: u64) -> Cell {
    Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) }
}

/// Samples in the making. Without noise every timing is the true time.
pub(crate) struct Campaign {
    text: String,
    rng: ChaCha8Rng,
    /// Visits to each cell, alternating between launches.
    pub(crate) visits: u32,
    pub(crate) launches: u32,
    pub(crate) rounds_per_visit: u32,
    /// Standard deviation of the logarithm of each time.
    pub(crate) noise: f64,
    /// Standard deviation of the logarithm of a factor that all times of a round share.
    pub(crate) round_noise: f64,
    /// Standard deviation of the logarithm of a factor that is constant in a visit and acts on one candidate alone.
    pub(crate) visit_noise: f64,
    /// Standard deviation of the logarithm of a factor that is constant in a launch.
    pub(crate) launch_noise: f64,
    /// The mean of an exponential delay, as a share of the time.
    pub(crate) skew: f64,
    /// The share of times that are ten times as long.
    pub(crate) outliers: f64,
}

impl Campaign {
    pub(crate) fn new(seed: u64, noise: f64) -> Self {
        let header = collrules_record::sample::COLUMNS.join(",");
        Self {
            text: format!("# collrules samples 1.0\n{header}\n"),
            rng: ChaCha8Rng::seed_from_u64(seed),
            visits: 16,
            launches: 2,
            rounds_per_visit: 3,
            noise,
            round_noise: 3.0 * noise,
            visit_noise: 0.0,
            launch_noise: 0.0,
            skew: 0.0,
            outliers: 0.0,
        }
    }

    /// Times candidates whose true times are given in microseconds.
    pub(crate) fn time(&mut self, cell: Cell, candidates: &[(Candidate, f64)]) {
        let of_launch: Vec<Vec<f64>> =
            (0..self.launches).map(|_| candidates.iter().map(|_| self.drawn(self.launch_noise)).collect()).collect();
        for visit in 0..self.visits {
            let launch = visit % self.launches;
            let own = of_launch[launch as usize]
                .iter()
                .map(|launch| launch + self.normal() * self.visit_noise)
                .collect::<Vec<_>>();
            for round in 0..self.rounds_per_visit {
                let shared = self.normal() * self.round_noise;
                for ((candidate, micros), own) in candidates.iter().zip(&own) {
                    let mut seconds = micros * 1e-6 * (shared + own + self.normal() * self.noise).exp();
                    if self.skew > 0.0 {
                        seconds *= 1.0 - self.skew * (1.0 - self.rng.random::<f64>()).ln();
                    }
                    if self.outliers > 0.0 && self.rng.random::<f64>() < self.outliers {
                        seconds *= 10.0;
                    }
                    self.sample(cell, *candidate, (launch, visit / self.launches, round), seconds);
                }
            }
        }
    }

    /// Adds one timing in seconds, with launch, visit and round.
    pub(crate) fn sample(&mut self, cell: Cell, candidate: Candidate, turn: (u32, u32, u32), seconds: f64) {
        let (launch, visit, round) = turn;
        let Cell { collective, ranks, bytes } = cell;
        let bytes = bytes.0;
        let row = format!("{launch},{visit},{round},{collective},{ranks},{bytes},{candidate},{seconds:e},,,");
        writeln!(self.text, "{row}").unwrap();
    }

    /// Ends a point, with the text of the last column.
    pub(crate) fn end(&mut self, cell: Cell, candidate: Candidate, ended: &str) {
        let Cell { collective, ranks, bytes } = cell;
        let bytes = bytes.0;
        writeln!(self.text, "0,,,{collective},{ranks},{bytes},{candidate},,,,{ended}").unwrap();
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn observations(&self) -> Observations {
        Observations::from_samples(&self.text).expect("is a samples file")
    }

    pub(crate) fn analyze(&self) -> Findings {
        self.analyze_with(Release::V4_1, Criteria::default())
    }

    pub(crate) fn analyze_with(&self, release: Release, criteria: Criteria) -> Findings {
        let observations = Observations::from_samples(&self.text).unwrap();
        analyze(&observations, release, criteria, Default::default(), "a synthetic campaign").unwrap()
    }

    /// A normal number of so much deviation; nothing is drawn for none, so that older campaigns stay what they were.
    fn drawn(&mut self, deviation: f64) -> f64 {
        if deviation > 0.0 { deviation * self.normal() } else { 0.0 }
    }

    /// A standard normal number.
    pub(crate) fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }
}

/// The rules for one collective on so many ranks, as starts and choices over lookup bytes.
pub(crate) fn rules(findings: &Findings, collective: Collective, ranks: u64) -> Vec<(u64, Choice)> {
    let blocks = findings.table.collectives().find(|(other, _)| *other == collective);
    let steps = |(_, blocks): (_, &collrules_rules::table::RankSteps)| {
        blocks.get(ranks).iter().map(|(start, _, choice)| (start, *choice)).collect()
    };
    blocks.map(steps).unwrap_or_else(|| vec![(0, Choice::BUILTIN)])
}

pub(crate) fn finding(findings: &Findings, cell: Cell) -> &CellFinding {
    findings.cells.iter().find(|finding| finding.cell == cell).unwrap()
}

/// The candidate that replaces the builtin in a cell.
pub(crate) fn replacement(findings: &Findings, cell: Cell) -> Option<Candidate> {
    match finding(findings, cell).verdict {
        Verdict::Replace { candidate, .. } => Some(candidate),
        Verdict::Keep { .. } => None,
    }
}

/// Returns the reason why the builtin stays in a cell.
pub(crate) fn why_kept(findings: &Findings, cell: Cell) -> String {
    match &finding(findings, cell).verdict {
        Verdict::Replace { candidate, .. } => panic!("{cell} is run by {candidate}"),
        Verdict::Keep { why } => describe_kept(findings, why),
    }
}

/// Returns true if a remark contains the text.
pub(crate) fn remarked(findings: &Findings, text: &str) -> bool {
    remarks(findings).iter().any(|remark| remark.contains(text))
}
