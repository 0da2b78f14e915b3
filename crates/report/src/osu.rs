//! Benchmark tables with the columns of the OSU micro-benchmarks, version 7, or the same as CSV.

use std::fmt::Write;

use collrules_record::benchmark::{Benchmark, BenchmarkLine};
use collrules_record::cell::type_size;
use collrules_record::units::Ranks;
use collrules_rules::Collective;

/// Microseconds, as these tables have them.
const MICRO: f64 = 1e6;

/// A table that is written line by line.
#[derive(Clone, Copy, Debug)]
pub struct OsuTable<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// Description of the calls, such as the candidate.
    pub how: &'a str,
    /// True for comma-separated values with one line of column names, false for columns under a header that begins with `#`.
    pub csv: bool,
    /// True for columns with the least and the largest rank and the number of calls.
    pub full: bool,
}

/// Returns the lines above the first row of a table with only the average.
pub fn latency_head(collective: Collective, ranks: Ranks, how: &str) -> String {
    let mut name = collective.name().to_owned();
    name[..1].make_ascii_uppercase();
    let mut text =
        format!("\n# collrules MPI {name} Latency Test v{}\n# {ranks} ranks, {how}\n", env!("CARGO_PKG_VERSION"));
    let average = "Avg Latency(us)";
    // Writing to a string cannot fail.
    let _ = if collective.has_sizes() {
        let datatype = if type_size(collective) == 1 { "MPI_BYTE" } else { "MPI_INT" };
        writeln!(text, "# Datatype: {datatype}.\n{:<10}{average:>18}", "# Size")
    } else {
        writeln!(text, "# {average}")
    };
    text
}

impl OsuTable<'_> {
    /// Everything above the first line: program, call, and columns.
    pub fn header(&self) -> String {
        let Benchmark { collective, percentiles, validate, .. } = self.benchmark;
        let text = !self.csv;
        let mut heads: Vec<String> = Vec::new();
        if self.full {
            let named = [["min_us", "max_us", "iterations"], ["Min Latency(us)", "Max Latency(us)", "Iterations"]];
            heads.extend(named[usize::from(text)].map(str::to_owned));
        }
        let percentile = |percent| if text { format!("P{percent} Tail Lat(us)") } else { format!("p{percent}_us") };
        heads.extend(percentiles.iter().map(percentile));
        heads.extend(validate.then(|| if text { "Validation" } else { "validation" }.to_owned()));
        let first = match (self.csv, collective.has_sizes()) {
            (true, true) => "bytes,avg_us".to_owned(),
            (true, false) => "avg_us".to_owned(),
            (false, _) => latency_head(*collective, self.benchmark.ranks, self.how).trim_end().to_owned(),
        };
        self.row(first, &heads)
    }

    /// A line of the table.
    pub fn line(&self, line: &BenchmarkLine) -> String {
        let micros = |seconds: f64| match self.csv {
            true => (seconds * MICRO).to_string(),
            false => format!("{:.2}", seconds * MICRO),
        };
        let mut fields = Vec::new();
        if self.full {
            fields.extend([micros(line.least), micros(line.most), line.length.iterations.to_string()]);
        }
        fields.extend(line.percentiles.iter().map(|seconds| micros(*seconds)));
        fields.extend(line.valid.map(|valid| if valid { "Pass" } else { "Fail" }.to_owned()));
        let (size, average) = (self.benchmark.cell(line.length).osu_bytes().0, micros(line.average));
        let first = match (self.csv, self.benchmark.collective.has_sizes()) {
            (true, true) => format!("{size},{average}"),
            (true, false) => average,
            (false, true) => format!("{size:<10}{average:>18}"),
            (false, false) => format!("{average:>17}"),
        };
        self.row(first, &fields)
    }

    fn row(&self, first: String, others: &[String]) -> String {
        let columns = others.iter().enumerate().map(|(place, field)| match self.csv {
            true => format!(",{field}"),
            // The number of calls has fewer digits.
            false if self.full && place == 2 => format!("{field:>12}"),
            false => format!("{field:>18}"),
        });
        first + &columns.collect::<String>() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::Candidate;
    use collrules_record::benchmark::Length;
    use collrules_record::units::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    fn benchmark(collective: Collective, percentiles: &[f64], validate: bool) -> Benchmark {
        Benchmark {
            even: None,
            collective,
            ranks: Ranks(4),
            candidate: Candidate::Builtin,
            without: Vec::new(),
            lengths: Vec::new(),
            percentiles: percentiles.to_vec(),
            validate,
        }
    }

    fn line(percentiles: &[f64], valid: Option<bool>) -> BenchmarkLine {
        let length = Length { bytes: Bytes(1024), warmup: 10, iterations: 50 };
        BenchmarkLine {
            length,
            average: 1.4e-6,
            least: 1.3e-7,
            most: 4.96e-6,
            percentiles: percentiles.to_vec(),
            valid,
        }
    }

    #[test]
    fn text_has_the_columns_that_people_know() {
        let bcast = benchmark(Collective::Bcast, &[50.0, 99.9], true);
        let table = OsuTable { benchmark: &bcast, how: "builtin", csv: false, full: true };
        let header = table.header();
        let lines: Vec<&str> = header.lines().collect();
        assert!(lines[1].starts_with("# collrules MPI Bcast Latency Test v"), "{header}");
        assert_eq!(lines[2], "# 4 ranks, builtin");
        assert_eq!(lines[3], "# Datatype: MPI_BYTE.");
        assert_eq!(
            lines[4],
            "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations  P50 Tail Lat(us)\
             P99.9 Tail Lat(us)        Validation"
        );
        assert_eq!(
            table.line(&line(&[1.2e-7, 1.56e-6], Some(true))),
            "1024                    1.40              0.13              4.96          50              0.12\
             \x20             1.56              Pass\n"
        );
        let barrier = benchmark(Collective::Barrier, &[], false);
        let table = OsuTable { benchmark: &barrier, how: "builtin", csv: false, full: false };
        assert!(table.header().ends_with("\n# Avg Latency(us)\n"), "{}", table.header());
        assert_eq!(table.line(&line(&[], None)), "             1.40\n");
    }

    /// 1024 B for each of 4 ranks: OSU prints the vector.
    #[test]
    fn sizes_of_reduce_scatter_block_are_those_of_the_vector() {
        let block = benchmark(Collective::ReduceScatterBlock, &[], false);
        for (csv, begin) in [(false, "4096 "), (true, "4096,")] {
            let table = OsuTable { benchmark: &block, how: "builtin", csv, full: false };
            assert!(table.line(&line(&[], None)).starts_with(begin));
        }
    }

    #[test]
    fn csv_names_its_columns_and_keeps_all_digits() {
        let bcast = benchmark(Collective::Bcast, &[50.0], true);
        let table = OsuTable { benchmark: &bcast, how: "builtin", csv: true, full: true };
        assert_eq!(table.header(), "bytes,avg_us,min_us,max_us,iterations,p50_us,validation\n");
        let expected = "1024,1.4,0.13,4.96,50,0.12,Fail\n";
        assert_eq!(table.line(&line(&[1.2e-7], Some(false))), expected);
    }
}
