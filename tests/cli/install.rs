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
        for (name, word) in [("findings.json", "\"simulated\": true"), ("manifest.json", "\"5.0.0\"")] {
            let path = site.path("run").join(name);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(word), "{name}");
            let other = if word.ends_with("true") { "\"simulated\": false" } else { "\"5.0.11\"" };
            fs::write(path, text.replace(word, other)).unwrap();
        }
        site.openmpi("5.0.11");
        fs::write(site.parameters(), SITE).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
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

/// What a site's file says before.
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

    for _ in 0..2 {
        site.run("install run --for ompi/bin/mpirun").exits(0);
    }
    let generations = site.generations();
    assert_eq!(generations.len(), 2, "the one before may still be read");
    let text = fs::read_to_string(site.parameters()).unwrap();
    assert_eq!(text.matches(">>> written").count(), 1, "{text}");

    site.run("install --undo --for ompi --dry-run").exits(0);
    site.run("install --undo --for ompi").exits(0);
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert!(!site.path("ompi/etc/collrules").exists());
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
    site.run("installed ompi").exits(1).says("Open MPI ignores it without a word");
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
    assert!(states[0]["notes"][0].as_str().unwrap().contains("this is 5.0.12 by now"), "{states}");
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
    fs::write(site.parameters(), "# >>> written by `collrules install`; `collrules install --undo` removes it >>>\n")
        .unwrap();
    site.run("install run --for ompi").exits(3).complains("mend or remove it by hand");
    fs::write(site.parameters(), SITE).unwrap();
    TUNED.at(&site.path("simulated"));
    site.run("install simulated --for ompi").exits(3).complains("are simulated");
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
    assert!(site.generations().is_empty());
}

#[test]
fn a_user_has_a_file_of_his_own() {
    let site = Site::new();
    site.run("install run --for ompi --user").exits(0);
    let file = site.path("home/.openmpi/mca-params.conf");
    assert!(fs::read_to_string(&file).unwrap().contains("home/.openmpi/collrules/"));
    site.run("installed ompi").exits(0).says("mca-params.conf: tuned");
    site.run("install --undo --user --for ompi").exits(0).says("there was none before");
    assert!(!file.exists() && !Path::new(&site.path("home/.openmpi/collrules")).exists());
    assert_eq!(fs::read_to_string(site.parameters()).unwrap(), SITE);
}
