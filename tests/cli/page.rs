//! The report as a page, as a real browser shows it, and in the other formats.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use collrules_record::comparison::Stage;
use collrules_record::findings::CellFinding;
use collrules_record::proof::ShownProof;
use collrules_record::remark::Remark;
use collrules_record::state::{Evidence, Step, StepRecord, TuningState};
use collrules_record::units::{Bytes, Seconds};
use collrules_record::validation::{
    FORMAT, FailedCell, Outcome, RevertedRange, Round, ValidatedCell, Validation, ValidationCriteria,
};
use collrules_record::{Candidate, Estimate, HanRule, RunDir};
use collrules_rules::Choice;
use collrules_rules::hazard::RankRange;

use crate::large;
use crate::made_once::TUNED;
use crate::support::{Ran, bounded, collrules, data, findings, skip};

/// A browser that shows pages without a screen; says so where there is none, which continuous integration does not accept.
pub(crate) fn browser() -> Option<PathBuf> {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let found = names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "a browser is to be tested with: scripts/setup-browser.sh installs one"
        );
        skip("no Chromium found to open pages with");
    }
    found.map(PathBuf::from)
}

/// A page opened in the browser.
pub(crate) struct Shown {
    /// Content of the page after its scripts ran; empty for pictures.
    dom: String,
    /// Whatever the browser said, the page's console included.
    said: String,
    /// Every request that the browser made.
    requests: Vec<String>,
}

pub(crate) fn show(browser: &Path, page: &Path, options: &[&str]) -> Shown {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("net.json");
    let mut command = Command::new("timeout");
    command.arg("120").arg(browser).args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--enable-logging=stderr", "--log-level=0", "--disable-background-networking", "--no-first-run"]);
    command.arg(format!("--user-data-dir={}", scratch.path().join("profile").display()));
    command.arg(format!("--log-net-log={}", log.display())).args(options);
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log).unwrap();
    let urls = log.split("\"url\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    Shown {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
        requests: urls
            .filter(|url| !url.starts_with("data:") && !url.starts_with("file:"))
            .map(str::to_owned)
            .collect(),
    }
}

impl Shown {
    /// Fails if the page had anything to complain about or requested anything.
    #[track_caller]
    pub(crate) fn is_clean(&self) -> &Self {
        assert!(!self.said.contains("CONSOLE"), "{}", self.said);
        assert!(self.requests.is_empty(), "{:?}", self.requests);
        self
    }
}

/// A copy of a page with a script at its end.
fn with_script(page: &Path, script: &str) -> PathBuf {
    let text = fs::read_to_string(page).unwrap();
    let changed = page.with_extension("probe.html");
    fs::write(&changed, text.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    changed
}

fn tuned(scratch: &Path) -> PathBuf {
    let out = scratch.join("run");
    TUNED.at(&out);
    out
}

/// The checks of a page are worth nothing if the browser keeps its complaints and requests to itself.
#[test]
fn complaints_and_requests_are_heard() {
    let Some(browser) = browser() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let page = scratch.path().join("page.html");
    let script = "console.error('wrong');fetch('http://collrules.invalid/asked').catch(function(){})";
    fs::write(&page, format!("<!doctype html><script>{script}</script>")).unwrap();
    // The page is left only when its requests have ended.
    let shown = show(&browser, &page, &["--virtual-time-budget=1000", "--dump-dom"]);
    assert!(shown.said.contains("CONSOLE") && shown.said.contains("wrong"), "{}", shown.said);
    assert!(shown.requests.iter().any(|url| url.contains("collrules.invalid")), "{:?}", shown.requests);
}

#[test]
fn a_browser_shows_the_page_without_a_complaint_and_without_a_network() {
    let Some(browser) = browser() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path());
    let page = run.join("report.html");
    let shown = show(&browser, &page, &["--dump-dom"]);
    shown.is_clean();
    for section in ["next", "on", "know", "method", "origin", "c-bcast", "c-scatter", "c-barrier"] {
        assert!(shown.dom.contains(&format!("id=\"{section}\"")), "{section}");
    }
    for part in [
        "SIMULATED: a cost model",
        "it won at this size",
        "Algorithms with the rules",
        "Speedup with the tuning",
        "Over message size",
        "Over communicator size",
        "Crossovers",
    ] {
        assert!(shown.dom.contains(part), "{part}");
    }
    for part in ["Decisions", "Assumptions", "Excluded algorithms", "Origin of the numbers"] {
        assert!(shown.dom.contains(part), "{part}");
    }

    let picture = |name: &str, options: &[&str]| {
        let file = scratch.path().join(name);
        let mut all = vec![format!("--screenshot={}", file.display()), "--window-size=1200,2400".to_owned()];
        all.extend(options.iter().map(|option| (*option).to_owned()));
        show(&browser, &page, &all.iter().map(String::as_str).collect::<Vec<_>>()).is_clean();
        fs::read(file).unwrap()
    };
    let light = picture("light.png", &[]);
    let dark = picture("dark.png", &["--blink-settings=preferredColorScheme=0"]);
    let narrow = picture("narrow.png", &["--window-size=400,2400"]);
    for picture in [&light, &dark, &narrow] {
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 50_000, "{} bytes", picture.len());
    }
    assert_ne!(light, dark);

    // Folded parts are printed as well.
    let pdf = scratch.path().join("page.pdf");
    show(&browser, &page, &[&format!("--print-to-pdf={}", pdf.display())]).is_clean();
    let text = fs::read(pdf).unwrap();
    let pages =
        text.windows(11).filter(|window| window.starts_with(b"/Type /Page") && window != b"/Type /Pages").count();
    assert!(pages > 5, "{pages} pages");
}

/// The script shows the measured numbers at a point, although it reads them from the drawing.
#[test]
fn the_numbers_at_the_pointer_are_those_of_the_findings() {
    let Some(browser) = browser() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path());
    // The first step chooses the builtin's first point, the second goes one size on.
    let script = "var svg=document.querySelector('#c-bcast svg[data-kind=bytes]');\
        for(var i=0;i<4;i++)svg.dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowRight'}));";
    let shown = show(&browser, &with_script(&run.join("report.html"), script), &["--dump-dom"]);
    shown.is_clean();
    let tip = shown.dom.split("id=\"tip\"").nth(1).unwrap();
    let findings = findings(&run);
    let is_wanted = |cell: &&CellFinding| {
        cell.cell.collective.name() == "bcast" && cell.cell.ranks.0 == 2 && cell.cell.bytes == Bytes(8)
    };
    let time = findings.cells.iter().find(is_wanted).unwrap().point(Candidate::Builtin).unwrap().time;
    let said = tip.split("8\u{202f}B: ").nth(1).unwrap_or_else(|| panic!("{}", &tip[..400]));
    let read: Vec<Seconds> = said
        .split(['(', ')', '<'])
        .next()
        .into_iter()
        .chain(
            said.split('(')
                .nth(1)
                .and_then(|rest| rest.split(')').next())
                .into_iter()
                .flat_map(|rest| rest.split(" to ")),
        )
        .map(|text| text.replace('\u{202f}', "").trim().parse().unwrap())
        .collect();
    for (read, real) in read.iter().zip([Some(time.point), time.low, time.high]) {
        let real = real.unwrap();
        assert!((read.0 / real - 1.0).abs() < 6e-3, "{read} instead of {}", Seconds(real));
    }
    assert_eq!(read.len(), 3, "{said}");
}

/// Names of files and messages of failures come from outside; none of them becomes markup.
#[test]
fn hostile_text_stays_text() {
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path());
    let hostile = "<img src=x onerror=alert(1)>\"'&`|";
    let mut findings = findings(&run);
    findings.source = hostile.to_owned();
    findings.remarks.push(Remark::Preset { name: hostile.to_owned(), value: String::new() });
    findings.cells[0].disqualified.push((Candidate::Builtin, hostile.to_owned()));
    let place = scratch.path().join("findings.json");
    fs::write(&place, serde_json::to_string(&findings).unwrap()).unwrap();
    let page = scratch.path().join("page.html");
    let mut command = bounded();
    command.arg("report").arg(&place).arg("--out").arg(&page);
    Ran::from(command.output().unwrap()).exits(0);
    let text = fs::read_to_string(&page).unwrap();
    assert!(!text.contains("<img"), "escaped");
    assert!(text.contains("&lt;img src=x") || text.contains("&#60;img src=x"), "and there");
    let markdown = collrules("report --format md", &place).exits(0).stdout;
    assert!(!markdown.lines().any(|line| line.starts_with('|') && line.contains("<img")), "tables hold no markup");
    if let Some(browser) = browser() {
        let shown = show(&browser, &page, &["--dump-dom"]);
        assert!(!shown.is_clean().dom.contains("<img"));
    }
}

/// A file with a cell that got slower and one that failed, whose rules were removed.
#[test]
fn a_validation_is_shown_with_what_was_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path());
    let findings = findings(&run);
    let estimate =
        |point| Estimate { point, low: Some(0.97 * point), high: Some(1.04 * point), level: 0.95, samples: 4 };
    let mut defaults = findings.cells.iter().filter(|found| found.in_use.is_builtin()).map(|found| found.cell);
    let [slower, failing] = [defaults.next().unwrap(), defaults.next().unwrap()];
    let cells = || -> Vec<ValidatedCell> {
        let cell = |(place, cell): (usize, &CellFinding)| {
            let (speedup, verdict) = match place {
                _ if cell.cell == slower => (0.8, Outcome::Slower),
                place if place % 3 == 0 && !cell.in_use.is_builtin() => (1.5, Outcome::Faster),
                _ => (1.01, Outcome::Same),
            };
            ValidatedCell {
                cell: cell.cell,
                tuned: place % 5 > 0,
                // Its rule is gone.
                in_use: if cell.cell == slower { Choice::plain(1) } else { cell.in_use },
                control: cell.in_use.is_builtin() && cell.cell != slower,
                han: HanRule::Default,
                without: estimate(1e-5 * speedup),
                with: estimate(1e-5),
                speedup: estimate(speedup),
                q_value: Some(0.01),
                verdict,
            }
        };
        findings.cells.iter().enumerate().filter(|(_, found)| found.cell != failing).map(cell).collect()
    };
    let failed = FailedCell { cell: failing, with: true, why: "a <crash".to_owned() };
    let proof: ShownProof = serde_json::from_slice(&fs::read(run.join("proof.json")).unwrap()).unwrap();
    let validation = Validation {
        format: FORMAT,
        rules: "rules.conf".to_owned(),
        version: "5.0.0".parse().unwrap(),
        settings: Default::default(),
        digests: proof.digests,
        criteria: ValidationCriteria::default(),
        reverted: Vec::new(),
        withdrawn: Vec::new(),
        checks: Vec::new(),
        round: Round { pairs: 4, cells: cells(), failed: vec![failed], ..Round::default() },
    };
    let evidence = Some(Evidence { at: String::new(), base: Default::default(), found: validation });
    let step = StepRecord { evidence, ..Step::Compare(Stage::Rules, None).into() };
    let first = u64::from(slower.ranks.0);
    let ranks = RankRange { first, end: Some(first + 1) };
    let reverted = vec![RevertedRange { collective: slower.collective, ranks, lookup: (0, None) }];
    let state = TuningState { steps: vec![step], reverted, ..TuningState::default() };
    RunDir::open(&run).unwrap().write_state(&state).unwrap();
    let markdown = collrules("report --format md", &run).exits(0).stdout;
    let count = findings.cells.len() - 1;
    for part in [
        "## Validation in fresh launches",
        "Rules for 2 sizes were tried and dropped: 2 slower.",
        "failed with the file: a &lt;crash; rule removed: slower in fresh launches |",
        "| pairs of fresh launches, without and with the rules file | 4 |",
        &format!("| sizes compared | {count} |"),
        "0.80x (0.78 to 0.83) | slower; rule removed: slower in fresh launches |",
    ] {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
    let page = collrules("report --format html", &run).exits(0).stdout;
    assert!(page.contains("id=\"validation\"") && page.contains("pairs of fresh launches"));
    assert!(
        page.contains("<h1 class=\"faster\">Faster: ") && !page.contains("NOT CONFIRMED"),
        "what was removed does not count"
    );
    let json: serde_json::Value =
        serde_json::from_str(&collrules("report --format json", &run).exits(0).stdout).unwrap();
    assert_eq!(json["validation"]["round"]["repaired"].as_array().unwrap().len(), 2);
}

#[test]
fn every_format_has_every_point() {
    let scratch = tempfile::tempdir().unwrap();
    // Not a copy: what is written again is to name the same files.
    let run = scratch.path().join("run");
    collrules("tune --simulate --np 2,8 --ops bcast,barrier --sizes 1K:64K --refine 0 --out", &run).exits(0);
    let findings = findings(&run);
    let points: usize = findings.cells.iter().map(|cell| cell.points.len()).sum();
    let csv = collrules("report --format csv", &run).exits(0).stdout;
    assert_eq!(csv.lines().count(), points + 1);
    let head = csv.lines().next().unwrap();
    assert!(head.starts_with("collective,comm_size,message_bytes,lookup_bytes,candidate,name,time_s,"), "{head}");
    let json: serde_json::Value =
        serde_json::from_str(&collrules("report --format json", &run).exits(0).stdout).unwrap();
    assert_eq!(json["points"].as_array().unwrap().len(), points);
    assert_eq!(json["gain"].as_f64().unwrap(), findings.tree.gain);
    assert_eq!(json["rules"].as_u64().unwrap() as usize, findings.table.rules());
    assert_eq!(json["format"]["major"], 2);
    let in_use = json["points"].as_array().unwrap().iter().filter(|point| point["in_use"] == true).count();
    assert_eq!(in_use, findings.cells.len(), "one candidate for each cell");

    // What tune wrote can be written again, whole.
    let again = scratch.path().join("again.html");
    let mut command = bounded();
    command.arg("report").arg(&run).arg("--out").arg(&again);
    Ran::from(command.output().unwrap()).exits(0);
    let same = fs::read(&again).unwrap() == fs::read(run.join("report.html")).unwrap();
    assert!(same, "another page");
    let markdown = collrules("report --format md", &run).exits(0).stdout;
    assert_eq!(markdown, fs::read_to_string(run.join("report.md")).unwrap());
    collrules("report", &run).exits(0);

    // A browser gets the page; where there is none, its place is told.
    let open = |browser: &str| {
        let mut command = bounded();
        command.arg("report").arg(&run).arg("--open").env("BROWSER", browser);
        Ran::from(command.output().unwrap())
    };
    fs::remove_file(run.join("report.html")).unwrap();
    open("/bin/true").exits(0);
    assert_eq!(fs::read_to_string(run.join("report.html")).unwrap(), fs::read_to_string(&again).unwrap());
    open("/bin/false").exits(3).complains("report.html");
    collrules("report", scratch.path()).exits(3);
}

/// 14 collectives, 10 communicator sizes, 21 message sizes and 15 candidates.
#[test]
#[ignore = "part of `make test-all`"]
fn a_large_run_makes_a_page_of_a_few_megabytes() {
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path().join("findings.json");
    let findings = large::findings();
    let points: usize = findings.cells.iter().map(|cell| cell.points.len()).sum();
    assert_eq!((findings.cells.len(), points), (13 * 210 + 10, (13 * 210 + 10) * 15));
    fs::write(&place, serde_json::to_string(&findings).unwrap()).unwrap();
    let page = scratch.path().join("large.html");
    let mut command = bounded();
    command.arg("report").arg(&place).arg("--out").arg(&page);
    Ran::from(command.output().unwrap()).exits(0);
    let size = fs::metadata(&page).unwrap().len();
    assert!((1_000_000..5_000_000).contains(&size), "{size} bytes");
    let Some(browser) = browser() else { return };
    // How long it takes is printed and decides nothing: machines differ, and this one does other things as well.
    let script = "addEventListener('load',function(){requestAnimationFrame(function(){setTimeout(function(){\
        document.documentElement.dataset.opened=Math.round(performance.now())},0)})})";
    let shown = show(&browser, &with_script(&page, script), &["--dump-dom", "--virtual-time-budget=20000"]);
    shown.is_clean();
    let opened = shown.dom.split("data-opened=\"").nth(1).and_then(|rest| rest.split('"').next());
    let _ = writeln!(std::io::stderr(), "{size} bytes, painted after {} ms", opened.unwrap_or("?"));
    assert_eq!(shown.dom.matches("class=\"collective\"").count(), 14);
}

/// 8 KiB from each of 2047 ranks in 7 us are 2.4 TB/s.
#[test]
fn times_that_nobody_believes_are_in_no_headline() {
    let scratch = tempfile::tempdir().unwrap();
    let table = scratch.path().join("made.csv");
    let mut text = "collective,algorithm_id,comm_size,message_bytes,avg_latency_us\n".to_owned();
    for bytes in [1024, 2048, 4096, 8192] {
        text += &format!("gather,0,2048,{bytes},10000\ngather,1,2048,{bytes},7\n");
        text += &format!("bcast,0,64,{bytes},100\nbcast,6,64,{bytes},50\n");
    }
    fs::write(&table, text).unwrap();
    let out = scratch.path().join("made");
    let mut command = bounded();
    command
        .arg("analyze")
        .arg(&table)
        .args(["--release", "4.1", "--assume", "consistent-arguments", "--out"])
        .arg(&out);
    let said = Ran::from(command.output().unwrap()).exits(0);
    let findings = findings(&out);
    let ruled = |cell: &&CellFinding| cell.cell.collective.name() == "gather" && !cell.in_use.is_builtin();
    assert!(
        findings.cells.iter().filter(ruled).count() == 4,
        "the rules apply to what seems so fast: {:?}",
        findings.table
    );
    assert_eq!(findings.doubted.len(), 4, "{:?}", findings.doubted);
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let page = read("report.html");
    let opening = page.split("<header>").nth(1).unwrap().split("</header>").next().unwrap();
    assert!(opening.contains("2.00x"), "{opening}");
    let gains = page.split("<main>").nth(1).unwrap().split("<table").next().unwrap();
    let decided = read("report.md").split("## Decisions").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    for text in [opening, gains, &decided, &read("rules.conf")] {
        assert!(!text.contains("1429") && !text.contains("1428"), "{text}");
    }
    let implausible = |line: &str| line.split_whitespace().take(5).eq(["gather", "4", "0", "0", "4"]);
    assert!(said.stdout.lines().any(implausible), "{}", said.stdout);
}

/// Names come from outside: terminals obey none of them.
#[test]
fn escape_codes_in_names_stay_away_from_terminals_and_files() {
    let scratch = tempfile::tempdir().unwrap();
    let run = tuned(scratch.path());
    let mut findings = findings(&run);
    findings.source = "\u{1b}]0;evil\u{7}\u{1b}[2Jx".to_owned();
    findings.remarks.push(Remark::Preset { name: "\u{1b}[31mred".to_owned(), value: String::new() });
    let place = scratch.path().join("findings.json");
    fs::write(&place, serde_json::to_string(&findings).unwrap()).unwrap();
    for command in ["report", "report --format md", "report --format html"] {
        let text = collrules(command, &place).exits(0).stdout;
        let control = |char: char| char.is_control() && char != '\n';
        assert!(!text.contains(control), "{command}: {:?}", text.lines().find(|line| line.contains(control)));
    }
}

#[test]
fn a_table_gets_a_page_as_well() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("epyc");
    let mut command = bounded();
    command.arg("analyze").arg(data("epyc-two-nodes-osu.csv")).args(["--release", "4.1", "--quiet", "--out"]).arg(&out);
    Ran::from(command.output().unwrap()).exits(0);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("mean over calls and ranks") && page.contains("too few for intervals"),
        "says what a time is"
    );
    assert!(page.contains("collrules did not take these timings") && !page.contains("SIMULATED"));
    let again = collrules("report --format html", &out).exits(0).stdout;
    assert_eq!(again, page);
    if let Some(browser) = browser() {
        show(&browser, &out.join("report.html"), &["--dump-dom"]).is_clean();
    }
}
