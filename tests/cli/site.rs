//! The examples for sites: their own languages read them, and collrules knows the commands in them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, bounded, collrules, skip};

fn site(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/site").join(name)
}

/// Runs a program of the system; none where there is no such program.
fn run(program: &str, arguments: &[&str]) -> Option<Ran> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output.into()),
        Err(_) => {
            assert!(std::env::var_os("CI").is_none(), "there is no {program}");
            let _ = writeln!(std::io::stderr(), "skipped: there is no {program}");
            None
        }
    }
}

/// Fails unless these are words that collrules takes.
#[track_caller]
fn can_be_typed<'a>(words: impl IntoIterator<Item = &'a str>) {
    let ran: Ran = bounded().args(words).arg("--no-such-option").output().unwrap().into();
    ran.complains("unexpected argument '--no-such-option' found");
}

/// Stand-ins for the parts of Spack that the recipe uses, as far as it takes to read it.
const STAND_INS: &str = r#"
import sys, types
def module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(names)
nothing = lambda *of, **more: None
module("spack"); module("spack.package", MakefilePackage=object, license=nothing, version=nothing, variant=nothing,
                        depends_on=nothing)
"#;

fn python(script: &str) -> Option<Ran> {
    run("python3", &["-c", &format!("{STAND_INS}\n{script}")]).map(|ran| ran.exits(0))
}

/// A system on which ReFrame starts everything with srun, unless a check says otherwise.
const SYSTEM: &str = "site_configuration = {
    'systems': [{'name': 'here', 'hostnames': ['.*'], 'partitions': [
        {'name': 'nodes', 'scheduler': 'local', 'launcher': 'srun', 'environs': ['builtin']}]}],
    'environments': [{'name': 'builtin'}],
}
";

/// ReFrame, which `make test-all` installs, runs the check on a simulated run. It starts collrules once, by no launcher:
/// here there is no srun, and in a job there would be 256 of collrules.
#[test]
fn reframe_runs_the_check() {
    let reframe = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/reframe/bin/reframe");
    if !reframe.is_file() {
        return skip("there is no reframe");
    }
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name).display().to_string();
    collrules("tune --simulate --ops bcast --np 8 --refine 0 -q --out", scratch.path().join("tuned").as_path())
        .exits(0);
    fs::write(at("system.py"), SYSTEM).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_collrules")).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let check = site("reframe_drift.py").display().to_string();
    let tuned = format!("CollrulesDrift.tuned={}", at("tuned"));
    let ran = Command::new(reframe)
        .args(["-C", &at("system.py"), "-c", &check, "-r", "-S", &tuned, "--prefix", &at("reframe")])
        .env("PATH", path)
        .env("HOME", scratch.path())
        .current_dir(scratch.path())
        .output();
    Ran::from(ran.unwrap()).exits(0).says("Ran 1/1 test case(s) from 1 check(s) (0 failure(s)");
}

/// Names of targets of the Makefile that recipes make.
fn has_target(name: &str) -> bool {
    let makefile = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Makefile")).unwrap();
    makefile.lines().any(|line| line.starts_with(&format!("{name}:")))
}

#[test]
fn recipes_are_read_and_make_what_there_is() {
    let script = format!(
        "names = {{}}\nexec(open({:?}).read(), names)\nmade = names['Collrules']()\nmade.prefix = '/p'\n\
         print(made.build_targets[0], made.install_targets[0])",
        site("package.py"),
    );
    let Some(ran) = python(&script) else { return };
    assert_eq!(ran.stdout.split_whitespace().collect::<Vec<_>>(), ["release", "install"]);
    assert!(has_target("release") && has_target("install"));
}

/// The crates of EasyBuild's recipe, which it has to list one by one, and the version of each recipe.
#[test]
fn recipes_agree_with_the_lock_file() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/recipes");
    if let Some(ran) = run("python3", &[script.to_str().unwrap(), "--check"]) {
        ran.exits(0);
    }
}

#[test]
fn the_modulefile_switches_a_tuning_on() {
    let script = "proc module-whatis args {}; proc conflict args {}; proc prepend-path {name path} {puts \"$name $path\"}\n\
                  proc setenv {name value} {puts \"$name $value\"}\n";
    let text = fs::read_to_string(site("modulefile")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let tuned = scratch.path().join("tuned");
    collrules("tune --simulate --ops bcast --np 8 --refine 0 -q --out", &tuned).exits(0);
    let file = scratch.path().join("module.tcl");
    let text = text.replace("set tuning \"\"", &format!("set tuning {}", tuned.display()));
    fs::write(&file, format!("{script}{text}")).unwrap();
    let Some(ran) = run("tclsh", &[file.to_str().unwrap()]) else { return };
    let said = ran.exits(0).stdout;
    let exports = fs::read_to_string(tuned.join("env.sh")).unwrap();
    let exports = exports.lines().filter_map(|line| line.strip_prefix("export "));
    let mut expected: Vec<String> = exports.map(|set| set.replacen('=', " ", 1)).collect();
    assert!(!expected.is_empty());
    expected.extend(["PATH /opt/collrules/bin".to_owned(), "MANPATH /opt/collrules/share/man".to_owned()]);
    let mut found: Vec<&str> = said.lines().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn systemd_takes_the_units() {
    let scratch = tempfile::tempdir().unwrap();
    let service = fs::read_to_string(site("systemd/collrules-drift.service")).unwrap();
    let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=/opt/collrules/bin/collrules ")).unwrap();
    can_be_typed(line.split_whitespace());
    let here = scratch.path().join("collrules-drift.service");
    // Units name programs that are there.
    fs::write(&here, service.replace("/opt/collrules/bin/collrules", env!("CARGO_BIN_EXE_collrules"))).unwrap();
    let timer = scratch.path().join("collrules-drift.timer");
    fs::copy(site("systemd/collrules-drift.timer"), &timer).unwrap();
    for unit in [here, timer] {
        let Some(ran) = run("systemd-analyze", &["verify", "--man=no", unit.to_str().unwrap()]) else { return };
        // What else is wrong on this machine is not ours.
        let ours: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("collrules-drift")).collect();
        assert!(ours.is_empty(), "{ours:?}");
    }
}
