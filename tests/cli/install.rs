//! A tuning that is installed for an Open MPI, looked at, and taken back. The Open MPI is one that only says where it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use collrules_record::installed::{INSTALLED, Installed};

use crate::made_once::TUNED;
use crate::support::{Ran, bounded};

struct Site {
    directory: tempfile::TempDir,
}

impl Site {
    /// A run that says it was measured, and an Open MPI with a parameter file that does not end in a line break.
    fn new() -> Self {
        let site = Self { directory: tempfile::tempdir().unwrap() };
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
        crate::hostile::reseal(&site.path("run"));
        site.openmpi("5.0.11");
        fs::write(site.parameters(), SITE).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
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
        let mut command = bounded();
        command.current_dir(self.directory.path()).env("HOME", self.path("home")).args(arguments.split_whitespace());
        command.output().unwrap().into()
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
    site.run("install run --for ompi --dry-run").exits(0).says("would get these lines");
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    site.run("installed ompi").exits(0).says("no tuning is installed");

    let ran = site.run("install run --for ompi").exits(0);
    ran.says("sets coll_tuned_use_dynamic_rules = 0; the new line coll_tuned_use_dynamic_rules = 1 stands below it");
    let text = fs::read_to_string(site.parameters()).unwrap();
    assert!(text.starts_with(SITE), "{text}");
    let now = site.generations();
    let named = format!("coll_tuned_dynamic_rules_filename = {}/rules.conf\n", now[0].display());
    assert!(text.contains(&named), "{text}");
    let kept: Installed = serde_json::from_str(&fs::read_to_string(now[0].join(INSTALLED)).unwrap()).unwrap();
    assert_eq!((kept.run, kept.version.unwrap().to_string()), (site.path("run"), "5.0.11".to_owned()));
    assert_eq!(fs::read(now[0].join("rules.conf")).unwrap(), fs::read(site.path("run/rules.conf")).unwrap());
    site.run("installed ompi").exits(0).says("tuned From");
    // What is installed can be read as what it was made from.
    site.run(&format!("explain {}", now[0].display())).exits(0);

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
    site.run("install --undo --for ompi").exits(3).complains("nothing of collrules is installed");
}

#[test]
fn what_does_not_hold_any_more_is_said() {
    let site = Site::new();
    site.run("install run --for ompi --prefix site").exits(0);
    let kept = site.path("site/share/collrules");
    let kept = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path();
    let rules = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path().join("rules.conf");
    site.run("installed --prefix site").exits(0).says("tuned");

    let whole = fs::read(&rules).unwrap();
    fs::write(&rules, "0\n").unwrap();
    site.run("installed ompi").exits(1).says("rules.conf was changed since it was installed");
    fs::remove_file(&rules).unwrap();
    site.run("installed ompi").exits(1).says("Open MPI silently ignores it");
    fs::write(&rules, whole).unwrap();
    site.run("installed ompi").exits(0);

    let text = fs::read_to_string(site.parameters()).unwrap();
    fs::write(site.parameters(), format!("{text}coll_tuned_use_dynamic_rules = 0\n")).unwrap();
    site.run("installed ompi").exits(1).says("below the installed lines, and wins");
    fs::write(site.parameters(), text.replace("use_dynamic_rules = 1", "use_dynamic_rules = true")).unwrap();
    site.run("installed ompi").exits(1).says("are not those that were installed");
    fs::write(site.parameters(), &text).unwrap();

    site.openmpi("5.0.12");
    let ran = site.run("installed ompi --json").exits(1);
    let states: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(states[0]["standing"], "broken");
    assert!(states[0]["notes"][0].as_str().unwrap().contains("but this is 5.0.12"), "{states}");
    fs::remove_dir_all(site.path("ompi/bin")).unwrap();
    site.run("installed --prefix site").exits(1).says("is not there any more");
}

#[test]
fn what_could_do_harm_is_not_installed() {
    let site = Site::new();
    site.openmpi("4.1.4");
    site.run("install run --for ompi").exits(3).complains("was made for Open MPI 5.0");
    site.openmpi("5.0.11");
    let strong = site.path("ompi/etc/openmpi-mca-params-override.conf");
    fs::write(&strong, "coll_tuned_use_dynamic_rules = 0\n").unwrap();
    site.run("install run --for ompi").exits(3).complains("nothing overrides that file");
    fs::remove_file(strong).unwrap();

    let rules = site.path("run/rules.conf");
    let whole = fs::read_to_string(&rules).unwrap();
    fs::write(&rules, "0\n").unwrap();
    site.run("install run --for ompi").exits(3).complains("is not what the run decided");
    fs::write(&rules, whole).unwrap();
    fs::write(site.parameters(), "# >>> written by `collrules install`; `collrules install --undo` removes it, with --user from a user's file >>>\n")
        .unwrap();
    site.run("install run --for ompi").exits(3).complains("mend or remove it by hand");
    fs::write(site.parameters(), SITE).unwrap();
    TUNED.at(&site.path("simulated"));
    site.run("install simulated --for ompi").exits(3).complains("are simulated");
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert!(site.generations().is_empty());
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
    let command = format!("collrules port {} --to {}", site.path("run").display(), site.path("ompi").display());

    site.openmpi("5.0.12");
    site.run("installed ompi").exits(1).says(&command);
    let ran = site.run("port run --to ompi --dry-run").exits(0);
    ran.says("choices mean the same under Open MPI 5.0.12");
    ran.says("Nothing has to be measured again. To do: compare the rules with the default there, for up to 60 s.");

    // Files that a new parameter file does not name.
    let text = fs::read_to_string(site.parameters()).unwrap();
    fs::write(site.parameters(), SITE).unwrap();
    let ran = site.run("installed ompi").exits(0);
    ran.says("no tuning is installed");
    ran.says("does not name it any more");
    ran.says(&command);
    fs::write(site.parameters(), text).unwrap();
    site.openmpi("5.0.11rc2");
    site.run("installed ompi").exits(1).says("but this is 5.0.11rc2");

    site.openmpi("5.0.2");
    let ran = site.run("port run --to ompi --dry-run").exits(0);
    ran.says("Then compare: these rules and all others with the default there, for up to 60 s.");
    ran.says("To measure: scatter again, for up to 5 min.");
    ran.says("MPI_T can switch rules files on (5.0.6, dd5ccb32e6).");

    site.openmpi("6.0.0");
    let ran = site.run("port run --to ompi --dry-run").exits(0);
    ran.says("algorithms and default decisions were changed between 5.0 and 6.0.");
    ran.says("To measure: barrier, bcast, scatter again, for up to 5 min.");
    let ran = site.run("port run --to ompi --dry-run --json").exits(0);
    let outlook: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outlook["to"], "6.0");
    assert!(outlook["rules"].as_array().unwrap().iter().all(|rule| rule["fate"] == "same"), "{outlook}");

    // In a directory of its own, beside the old one.
    fs::rename(site.path("ompi/bin"), site.path("bin")).unwrap();
    fs::create_dir_all(site.path("newer/etc")).unwrap();
    fs::rename(site.path("bin"), site.path("newer/bin")).unwrap();
    let tools = fs::read_to_string(site.path("newer/bin/ompi_info")).unwrap();
    let (old, new) = (site.path("ompi"), site.path("newer"));
    fs::write(site.path("newer/bin/ompi_info"), tools.replace(old.to_str().unwrap(), new.to_str().unwrap())).unwrap();
    let ran = site.run("installed newer").exits(0);
    ran.says("no tuning is installed");
    ran.says(&format!("Open MPI 5.0.11 in {} has a tuning, and this one has none", old.display()));
    site.run("port simulated --to newer").exits(3);
    TUNED.at(&site.path("simulated"));
    site.run("port simulated --to newer").exits(3).complains("was not measured by collrules on an Open MPI");
}

#[test]
fn a_user_has_a_file_of_his_own() {
    let site = Site::new();
    site.run("install run --for ompi --user").exits(0);
    let file = site.path("home/.openmpi/mca-params.conf");
    assert!(fs::read_to_string(&file).unwrap().contains("home/.openmpi/collrules/"));
    site.run("installed ompi").exits(0).says("mca-params.conf: tuned");
    site.run("install --undo --user --for ompi").exits(0).says("there was none before");
    assert!(!file.exists());
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
    site.run("install --undo --for other").exits(0).says("stays: it was installed for");
    assert!(rules.is_file());
    assert_eq!(fs::read_to_string(&copy).unwrap(), SITE);
    site.run("installed --for ompi").exits(0).says("tuned");
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
        site.run("install run --for other").exits(0).says("stays: it was installed for");
    }
    assert!(rules.is_file());
    site.run("install --undo --for other").exits(0);
    assert!(rules.is_file());
    site.run("installed ompi").exits(0).says("tuned");
}

#[test]
fn only_unchanged_files_of_an_install_are_removed() {
    let site = Site::new();
    site.run("install run --for ompi").exits(0);
    let rules = site.rules(&site.parameters());
    fs::write(&rules, "# mine\n").unwrap();
    site.measured_on(1);
    site.run("install run --for ompi").exits(0);
    site.run("install --undo --for ompi").exits(0).says("rules.conf stays: it was changed since it was installed");
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# mine\n");
    assert_eq!(fs::read_dir(rules.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn parallel_installs_and_undos_leave_a_parameter_file_that_names_existing_rules() {
    let site = Site::new();
    let start = |arguments: &str| {
        let mut command = bounded();
        command.current_dir(site.directory.path()).env("HOME", site.path("home")).args(arguments.split_whitespace());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    for day in 1..=3 {
        site.measured_on(day);
        let mut installs: Vec<_> = (0..6).map(|_| start("install run --for ompi")).collect();
        assert!(installs.iter_mut().all(|install| install.wait().unwrap().success()));
        site.run("installed ompi").exits(0).says("tuned");
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
    site.run("install --undo --for ompi").exits(0).says("there was none before");
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
        let ran = site.run(command).exits(3);
        ran.complains("which is not below");
        ran.complains("system-etc/openmpi-mca-params.conf");
    }
    assert_eq!(fs::read_dir(&system).unwrap().count(), 0);
    site.run("install run --for mine --yes").exits(0);
    site.run("install --undo --for mine --yes").exits(0);
}

#[test]
fn a_tuning_without_a_confirmation_is_installed_by_force_alone() {
    let site = Site::new();
    let validation = fs::read_to_string(site.path("run/validation.json")).unwrap();
    fs::remove_file(site.path("run/validation.json")).unwrap();
    site.run("install run --for ompi").exits(3).complains("is NOT CONFIRMED");
    site.run("install run --for ompi --force").exits(0).says("is NOT CONFIRMED");
    site.run("install --undo --for ompi").exits(0);

    fs::write(site.path("run/validation.json"), &validation).unwrap();
    site.change("run/validation.json", |validation| {
        let last = &mut validation["round"];
        last["repaired"] = serde_json::json!([]);
        let cells = last["cells"].as_array_mut().unwrap();
        cells.iter_mut().find(|cell| cell["control"] != true).unwrap()["verdict"] = "slower".into();
    });
    site.run("install run --for ompi").exits(3).complains("makes calls slower, as fresh launches showed");
    fs::write(site.path("run/validation.json"), validation).unwrap();

    site.change("run/manifest.json", |manifest| {
        manifest["host"] = serde_json::json!({"Host": "elsewhere", "Processor": "Another"});
        manifest["survey"]["hosts"] = serde_json::json!(["elsewhere"]);
    });
    site.run("install run --for ompi").exits(3).complains("measured on another machine: elsewhere");
    site.run("install run --for ompi --force").exits(0);
}
