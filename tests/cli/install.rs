//! A tuning that is installed for an Open MPI, looked at, and taken back. The Open MPI is one that only says where it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use collrules_record::installed::{INSTALLED, Installed};

use crate::made_once::TUNED;
use crate::session::{Session, assert_said};
use crate::support::Ran;

struct Site {
    session: Session,
}

impl Site {
    /// A run that says it was measured, and an Open MPI with a parameter file that does not end in a line break.
    fn new() -> Self {
        let site = Self { session: Session::wide() };
        TUNED.at(&site.path("run"));
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        site.change("run/findings.json", |findings| {
            findings["simulated"] = false.into();
            // Where ranks were is not known.
            findings["placement"]["nodes"] = serde_json::json!({});
        });
        site.change("run/manifest.json", |manifest| {
            manifest["backend"] = "mpi".into();
            manifest["survey"]["version"] = "5.0.11".into();
            manifest["host"] = serde_json::json!({ "Host": host.trim() });
        });
        crate::reseal::reseal(&site.path("run"));
        crate::relabel(&site.path("run"), "5.0.11");
        site.openmpi("5.0.11");
        fs::write(site.parameters(), SITE).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.session.path(name)
    }

    /// Changes a file of JSON.
    fn change(&self, name: &str, change: impl FnOnce(&mut serde_json::Value)) {
        let path = self.path(name);
        let mut value: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
    }

    fn parameters(&self) -> PathBuf {
        self.path("ompi/etc/openmpi-mca-params.conf")
    }

    /// Programs that say of themselves what those of a version do.
    fn openmpi(&self, version: &str) {
        let prefix = self.path("ompi");
        for directory in ["bin", "etc"] {
            fs::create_dir_all(prefix.join(directory)).unwrap();
        }
        let prefix = prefix.display();
        let asked = format!(
            "case $3 in prefix) echo path:prefix:{prefix};; sysconfdir) echo path:sysconfdir:{prefix}/etc;; esac"
        );
        for (name, said) in [("mpirun", format!("echo 'mpirun (Open MPI) {version}'")), ("ompi_info", asked)] {
            let file = self.path("ompi/bin").join(name);
            fs::write(&file, format!("#!/bin/sh\n{said}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Makes the run another one, with the same rules.
    fn measured_on(&self, day: u32) {
        self.change("run/manifest.json", |manifest| manifest["started"] = format!("2026-01-0{day}T00:00:00Z").into());
    }

    /// `collrules` in the site's directory, with a home of its own.
    fn run(&self, arguments: &str) -> Ran {
        self.session.run(arguments)
    }

    /// Standing of what is installed: `none`, `holds` or `broken`.
    fn standing(&self, place: &str) -> String {
        let ran = Ran::from(self.session.command(&format!("installed {place} --json")).output().unwrap());
        let states: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        // Besides the installation's parameter file, there may be the user's.
        let mut standings = states.as_array().unwrap().iter().map(|state| state["standing"].as_str().unwrap());
        let standing = standings.rfind(|standing| *standing != "none").unwrap_or("none").to_owned();
        assert_eq!(ran.code, Some(i32::from(standing == "broken")), "{}", ran.stderr);
        standing
    }

    /// The directories with installed files.
    fn generations(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.path("ompi/etc/collrules")).into_iter().flatten();
        let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}

/// Content of a site's file before an install.
const SITE: &str = "# ours\nbtl = ^openib\ncoll_tuned_use_dynamic_rules = 0";

#[test]
fn what_is_installed_is_found_and_leaves_no_trace() {
    let site = Site::new();
    site.run("install run --for ompi --dry-run").exits(0);
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert_eq!(site.standing("ompi"), "none");

    site.run("install run --for ompi").exits(0);
    let text = fs::read_to_string(site.parameters()).unwrap();
    assert!(text.starts_with(SITE), "{text}");
    let now = site.generations();
    let named = format!("coll_tuned_dynamic_rules_filename = {}/rules.conf\n", now[0].display());
    assert!(text.contains(&named), "{text}");
    let kept: Installed = serde_json::from_str(&fs::read_to_string(now[0].join(INSTALLED)).unwrap()).unwrap();
    assert_eq!((kept.run, kept.version.unwrap().to_string()), (site.path("run"), "5.0.11".to_owned()));
    assert_eq!(fs::read(now[0].join("rules.conf")).unwrap(), fs::read(site.path("run/rules.conf")).unwrap());
    // A shell's pattern may name other things than installations.
    site.run("installed ompi/etc ompi ompi/etc/openmpi-mca-params.conf").exits(0);
    site.run("installed ompi/etc").exits(4);
    assert_eq!(site.standing("ompi"), "holds");
    // What is installed can be read as what it was made from.
    site.session.given(&format!("explain {}", now[0].display()));

    site.run("install run --for ompi/bin/mpirun").exits(0);
    assert_eq!(site.generations(), now, "the same tuning");
    for day in [1, 2] {
        site.measured_on(day);
        site.run("install run --for ompi/bin/mpirun").exits(0);
    }
    let generations = site.generations();
    assert_eq!(generations.len(), 2, "the one before may still be read");
    assert!(!generations.contains(&now[0]));
    let text = fs::read_to_string(site.parameters()).unwrap();
    assert_eq!(text.matches(">>> written").count(), 1, "{text}");

    let rules = site.rules(&site.parameters());
    site.run("install --undo --for ompi --dry-run").exits(0);
    site.run("install --undo --for ompi").exits(0);
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert_eq!(site.generations(), [rules.parent().unwrap()], "jobs that are starting may still read it");
    let etc = fs::read_dir(site.path("ompi/etc")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(etc.count(), 2, "no lock is left");
    site.run("install --undo --for ompi").exits(3);
    assert_said!(site.session);
}

#[test]
fn what_does_not_hold_any_more_is_said() {
    let site = Site::new();
    site.run("install run --for ompi --prefix site").exits(0);
    let kept = site.path("site/share/collrules");
    let kept = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path();
    let rules = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path().join("rules.conf");
    assert_eq!(site.standing("--prefix site"), "holds");

    let whole = fs::read(&rules).unwrap();
    fs::write(&rules, "0\n").unwrap();
    site.run("installed ompi").exits(1);
    fs::remove_file(&rules).unwrap();
    site.run("installed ompi").exits(1);
    fs::write(&rules, whole).unwrap();
    site.run("installed ompi").exits(0);

    let text = fs::read_to_string(site.parameters()).unwrap();
    fs::write(site.parameters(), format!("{text}coll_tuned_use_dynamic_rules = 0\n")).unwrap();
    site.run("installed ompi").exits(1);
    fs::write(site.parameters(), text.replace("use_dynamic_rules = 1", "use_dynamic_rules = true")).unwrap();
    site.run("installed ompi").exits(1);
    fs::write(site.parameters(), &text).unwrap();

    site.openmpi("5.0.12");
    site.run("installed ompi").exits(1);
    assert_eq!(site.standing("ompi"), "broken");
    fs::remove_dir_all(site.path("ompi/bin")).unwrap();
    site.run("installed --prefix site").exits(1);
    assert_said!(site.session);
}

#[test]
fn what_could_do_harm_is_not_installed() {
    let site = Site::new();
    site.openmpi("4.1.4");
    site.run("install run --for ompi").exits(3);
    site.openmpi("5.0.11");
    let strong = site.path("ompi/etc/openmpi-mca-params-override.conf");
    fs::write(&strong, "coll_tuned_use_dynamic_rules = 0\n").unwrap();
    site.run("install run --for ompi").exits(3);
    fs::remove_file(strong).unwrap();

    let rules = site.path("run/rules.conf");
    let whole = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, "0\n").unwrap();
    site.run("install run --for ompi").exits(3);
    fs::write(&rules, whole).unwrap();
    fs::write(site.parameters(), "# >>> written by `collrules install`; `collrules install --undo` removes it, with --user from a user's file >>>\n")
        .unwrap();
    site.run("install run --for ompi").exits(3);
    fs::write(site.parameters(), SITE).unwrap();
    TUNED.at(&site.path("simulated"));
    site.run("install simulated --for ompi").exits(3);
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert!(site.generations().is_empty());
    assert_said!(site.session);
}

/// A tuning that an upgrade leaves behind is named with the command that takes it along, which first says what the
/// rules mean there.
#[test]
fn an_upgrade_leaves_no_tuning_behind() {
    let site = Site::new();
    let path = site.path("run/manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["request"]["tune"]["system"]["jobs"] = serde_json::json!({ "mpi": {
        "mpirun": null, "arguments": "", "disable_han": false, "worker": null, "hang_timeout": 120.0
    } });
    fs::write(&path, manifest.to_string()).unwrap();
    site.run("install run --for ompi").exits(0);

    site.openmpi("5.0.12");
    site.run("installed ompi").exits(1);
    site.run("port run --to ompi --dry-run").exits(0);

    // Files that a new parameter file does not name.
    let text = fs::read_to_string(site.parameters()).unwrap();
    fs::write(site.parameters(), SITE).unwrap();
    site.run("installed ompi").exits(0);
    fs::write(site.parameters(), text).unwrap();
    site.openmpi("5.0.11rc2");
    site.run("installed ompi").exits(1);

    site.openmpi("5.0.2");
    site.run("port run --to ompi --dry-run").exits(0);

    site.openmpi("6.0.0");
    site.run("port run --to ompi --dry-run").exits(0);
    let ran = site.session.command("port run --to ompi --dry-run --json").output().unwrap();
    let outlook: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(outlook["to"], "6.0");
    assert!(outlook["rules"].as_array().unwrap().iter().all(|rule| rule["fate"] == "same"), "{outlook}");

    // In a directory of its own, beside the old one.
    fs::rename(site.path("ompi/bin"), site.path("bin")).unwrap();
    fs::create_dir_all(site.path("newer/etc")).unwrap();
    fs::rename(site.path("bin"), site.path("newer/bin")).unwrap();
    let tools = fs::read_to_string(site.path("newer/bin/ompi_info")).unwrap();
    let (old, new) = (site.path("ompi"), site.path("newer"));
    fs::write(site.path("newer/bin/ompi_info"), tools.replace(old.to_str().unwrap(), new.to_str().unwrap())).unwrap();
    site.run("installed newer").exits(0);
    site.run("port simulated --to newer").exits(3);
    TUNED.at(&site.path("simulated"));
    site.run("port simulated --to newer").exits(3);
    assert_said!(site.session);
}

#[test]
fn a_user_has_a_file_of_his_own() {
    let site = Site::new();
    site.run("install run --for ompi --user").exits(0);
    let file = site.path("home/.openmpi/mca-params.conf");
    assert!(fs::read_to_string(&file).unwrap().contains("home/.openmpi/collrules/"));
    assert_eq!(site.standing("ompi"), "holds");
    site.run("install --undo --user --for ompi").exits(0);
    assert!(!file.exists(), "there was none before");
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
}

impl Site {
    /// A second Open MPI, whose files are where `sysconfdir` says.
    fn other_openmpi(&self, prefix: &str, sysconfdir: &Path) {
        self.openmpi("5.0.11");
        let other = self.path(prefix);
        fs::create_dir_all(other.join("bin")).unwrap();
        for name in ["mpirun", "ompi_info"] {
            let from = self.path("ompi/bin").join(name);
            let text = fs::read_to_string(&from).unwrap();
            let ompi = self.path("ompi").display().to_string();
            let text = text.replace(&format!("{ompi}/etc"), &sysconfdir.display().to_string());
            fs::write(other.join("bin").join(name), text.replace(&ompi, &other.display().to_string())).unwrap();
            fs::set_permissions(other.join("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// The rules file that a parameter file names.
    fn rules(&self, parameters: &Path) -> PathBuf {
        let text = fs::read_to_string(parameters).unwrap();
        let named = text.lines().find_map(|line| line.strip_prefix("coll_tuned_dynamic_rules_filename = "));
        PathBuf::from(named.unwrap())
    }
}

#[test]
fn installations_with_similar_names_share_no_directory() {
    let site = Site::new();
    for prefix in ["opt/openmpi/5.0", "opt/openmpi-5.0"] {
        site.other_openmpi(prefix, &site.path(prefix).join("etc"));
        for _ in 0..3 {
            site.run(&format!("install run --for {prefix} --prefix shared")).exits(0);
        }
    }
    let parameters = |prefix: &str| site.path(prefix).join("etc/openmpi-mca-params.conf");
    let (one, other) = (site.rules(&parameters("opt/openmpi/5.0")), site.rules(&parameters("opt/openmpi-5.0")));
    assert!(one.is_file() && other.is_file() && one.parent().unwrap().parent() != other.parent().unwrap().parent());
    site.run("install --undo --for opt/openmpi-5.0 --prefix shared").exits(0);
    assert!(one.is_file() && other.is_file(), "jobs that are starting may still read it");
}

#[test]
fn a_copied_parameter_file_does_not_let_undo_remove_the_files_of_another_installation() {
    let site = Site::new();
    site.other_openmpi("other", &site.path("other/etc"));
    site.run("install run --for ompi").exits(0);
    let rules = site.rules(&site.parameters());
    fs::create_dir_all(site.path("other/etc")).unwrap();
    let copy = site.path("other/etc/openmpi-mca-params.conf");
    fs::copy(site.parameters(), &copy).unwrap();
    site.run("install --undo --for other").exits(0);
    assert!(rules.is_file());
    assert_eq!(fs::read_to_string(&copy).unwrap(), SITE);
    assert_eq!(site.standing("--for ompi"), "holds");
}

#[test]
fn a_linked_directory_does_not_let_an_install_remove_the_files_of_another_installation() {
    let site = Site::new();
    site.other_openmpi("other", &site.path("other/etc"));
    site.run("install run --for ompi").exits(0);
    let rules = site.rules(&site.parameters());
    fs::create_dir_all(site.path("other/etc")).unwrap();
    std::os::unix::fs::symlink(site.path("ompi/etc/collrules"), site.path("other/etc/collrules")).unwrap();
    for _ in 0..3 {
        site.run("install run --for other").exits(0);
    }
    assert!(rules.is_file());
    site.run("install --undo --for other").exits(0);
    assert!(rules.is_file());
    assert_eq!(site.standing("ompi"), "holds");
}

#[test]
fn only_unchanged_files_of_an_install_are_removed() {
    let site = Site::new();
    site.run("install run --for ompi").exits(0);
    let rules = site.rules(&site.parameters());
    fs::write(&rules, "# mine\n").unwrap();
    site.measured_on(1);
    site.run("install run --for ompi").exits(0);
    site.run("install --undo --for ompi").exits(0);
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    assert_eq!(fs::read_dir(rules.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn parallel_installs_and_undos_leave_a_parameter_file_that_names_existing_rules() {
    let site = Site::new();
    let start = |arguments: &str| site.session.command(arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    for day in 1..=3 {
        site.measured_on(day);
        let mut installs: Vec<_> = (0..6).map(|_| start("install run --for ompi")).collect();
        assert!(installs.iter_mut().all(|install| install.wait().unwrap().success()));
        assert_eq!(site.standing("ompi"), "holds");
        assert!(site.rules(&site.parameters()).is_file());
        assert!(site.generations().len() <= 2);
    }
    let mut undos: Vec<_> = (0..4).map(|_| start("install --undo --for ompi")).collect();
    assert_eq!(undos.iter_mut().filter_map(|undo| undo.wait().unwrap().code()).filter(|code| *code == 0).count(), 1);
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
}

#[test]
fn a_parameter_file_keeps_its_links() {
    let site = Site::new();
    // A link that leads nowhere.
    let target = site.path("ompi/etc/there.conf");
    fs::remove_file(site.parameters()).unwrap();
    std::os::unix::fs::symlink("there.conf", site.parameters()).unwrap();
    site.run("install run --for ompi").exits(0);
    assert!(site.parameters().is_symlink() && target.is_file());
    site.run("install --undo --for ompi").exits(0);
    assert!(site.parameters().is_symlink() && !target.exists());
    fs::remove_file(site.parameters()).unwrap();
    // Two names of one file.
    fs::write(&target, SITE).unwrap();
    fs::hard_link(&target, site.parameters()).unwrap();
    site.run("install run --for ompi").exits(0);
    assert_eq!(fs::read(&target).unwrap(), fs::read(site.parameters()).unwrap());
    assert!(fs::read_to_string(&target).unwrap().len() > SITE.len());
    site.run("install --undo --for ompi").exits(0);
    assert_eq!(fs::read_to_string(&target).unwrap(), SITE);
}

#[test]
fn an_install_that_fails_leaves_no_files() {
    let site = Site::new();
    fs::remove_file(site.parameters()).unwrap();
    std::os::unix::fs::symlink("/proc/nowhere/file", site.parameters()).unwrap();
    site.run("install run --for ompi --yes").exits(6);
    assert!(site.generations().is_empty());
}

#[test]
fn a_parameter_file_elsewhere_needs_a_yes() {
    let site = Site::new();
    let system = site.path("system-etc");
    fs::create_dir_all(&system).unwrap();
    site.other_openmpi("mine", &system);
    for command in
        ["install run --for mine", "install --undo --for mine", "install run --for mine/bin/mpirun --dry-run"]
    {
        site.run(command).exits(3);
    }
    assert_eq!(fs::read_dir(&system).unwrap().count(), 0);
    site.run("install run --for mine --yes").exits(0);
    site.run("install --undo --for mine --yes").exits(0);
    assert_said!(site.session);
}

#[test]
fn a_tuning_without_a_confirmation_is_installed_by_force_alone() {
    let site = Site::new();
    let state = fs::read_to_string(site.path("run/state.json")).unwrap();
    site.change("run/state.json", |state| state["steps"] = serde_json::json!([]));
    site.run("install run --for ompi").exits(3);
    site.run("install run --for ompi --force").exits(0);
    site.run("install --undo --for ompi").exits(0);

    fs::write(site.path("run/state.json"), &state).unwrap();
    site.change("run/state.json", |state| {
        for step in state["steps"].as_array_mut().unwrap().iter_mut().filter(|step| step["evidence"].is_object()) {
            let cells = step["evidence"]["found"]["round"]["cells"].as_array_mut().unwrap();
            cells.iter_mut().for_each(|cell| cell["verdict"] = "slower".into());
        }
    });
    site.run("install run --for ompi").exits(3);
    fs::write(site.path("run/state.json"), state).unwrap();

    assert_said!(site.session);

    // The refusal names the host of the test as well.
    site.change("run/manifest.json", |manifest| {
        manifest["host"] = serde_json::json!({"Host": "elsewhere", "Processor": "Another"});
        manifest["survey"]["hosts"] = serde_json::json!(["elsewhere"]);
    });
    site.run("install run --for ompi").exits(3);
    site.run("install run --for ompi --force").exits(0);
}
