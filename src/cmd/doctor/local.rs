//! Findings on this machine and its files, without starting anything.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use collrules_record::installed::is_installed;
use collrules_rules::deploy::params::{ParameterLine, lines};
use collrules_rules::settings::parameters::Parameters;

use super::finding::DoctorFinding;

/// Variables that let Open MPI run as root, which needs both; 5.0 and later read other names.
const ROOT_PERMISSIONS: [&str; 4] = [
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
];

pub(super) fn user() -> DoctorFinding {
    let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let missing: Vec<&str> = ROOT_PERMISSIONS.into_iter().filter(|name| env::var_os(name).is_none()).collect();
    if !root {
        return DoctorFinding::ok("user", "not root");
    }
    if missing.is_empty() {
        return DoctorFinding::ok("user", "root, and variables allow it for Open MPI");
    }
    let exports: Vec<String> = missing.iter().map(|name| format!("{name}=1")).collect();
    DoctorFinding::warning("user", "root, and Open MPI refuses to start as root unless two variables allow it")
        .remedy(format!("run as a user, or: export {}", exports.join(" ")))
}

/// Reports the source of mpirun's hosts.
pub(super) fn allocation() -> Option<DoctorFinding> {
    let job = collrules_batch::find_job(&collrules_batch::System);
    let hostfile = ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"]
        .into_iter()
        .find_map(|name| Some((name, env::var(name).ok()?)));
    let cores = env::var("SLURM_CPUS_PER_TASK").ok().filter(|cores| cores != "1");
    Some(match (job, hostfile) {
        (Some(job), _) if job.others.is_empty() => {
            let found = DoctorFinding::ok("allocation", job.allocation.to_string());
            match cores {
                Some(cores) => found.remedy(format!(
                    "ranks that mpirun starts have one core each, not {cores}: --mpirun-args '--map-by slot:pe={cores}'"
                )),
                None => found,
            }
        }
        (Some(job), _) => DoctorFinding::warning(
            "allocation",
            format!("{}, where other steps run: {}", job.allocation, job.others.join(", ")),
        )
        .remedy("measure when nothing else runs in the job"),
        (None, Some((name, file))) if !Path::new(&file).is_file() => {
            DoctorFinding::problem("allocation", format!("{name} names {file}, which does not exist"))
                .remedy("name a file that exists, or unset the variable")
        }
        (None, Some((name, file))) => DoctorFinding::ok("allocation", format!("hosts from {file} ({name})")),
        (None, None) => {
            DoctorFinding::note("allocation", "no job of a batch system and no default hostfile: this host alone")
                .remedy("run within an allocation, or name hosts: --mpirun-args '--hostfile FILE'")
        }
    })
}

/// Checks that no other programs use the processors now.
pub(super) fn load() -> DoctorFinding {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let Some(load) = text.split(' ').next().and_then(|load| load.parse::<f64>().ok()) else {
        return DoctorFinding::note("load", "unknown: /proc/loadavg cannot be read");
    };
    let what = format!("{load:.2} on {processors} processors of this host");
    if load > 0.5 * processors as f64 {
        DoctorFinding::warning("load", what)
            .remedy("measure when nothing else runs, on nodes of your own (Slurm: --exclusive)")
    } else {
        DoctorFinding::ok("load", what)
    }
}

/// Parameter files and variables that set parameters of the coll framework, and lines that Open MPI reads otherwise than
/// they seem.
pub(super) fn settings(mpirun: Option<&Path>, parameters: &Parameters) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for file in parameter_files(mpirun) {
        let Ok(text) = fs::read(&file) else { continue };
        match lines(&text) {
            Ok(lines) => findings.extend(lines.iter().flat_map(|line| judge(line, &file, parameters))),
            Err(damaged) => {
                findings.push(DoctorFinding::warning("settings", format!("{}: {damaged}", file.display())));
            }
        }
    }
    for (name, value) in env::vars_os() {
        let name = name.to_string_lossy();
        let Some(parameter) = name.strip_prefix("OMPI_MCA_").filter(|parameter| is_coll(parameter)) else { continue };
        findings.push(setting(parameter, &value.to_string_lossy(), "the environment"));
    }
    if findings.is_empty() {
        findings.push(DoctorFinding::ok("settings", "no parameter file and no variable sets anything of coll"));
    }
    findings
}

/// Findings about a line of a parameter file.
fn judge(line: &ParameterLine, file: &Path, parameters: &Parameters) -> Vec<DoctorFinding> {
    let odd = line.oddities(parameters).into_iter();
    let odd =
        odd.map(|odd| DoctorFinding::warning("settings", format!("line {} of {}: {odd}", line.number, file.display())));
    let set = is_coll(&line.name).then(|| setting(&line.name, &line.value, &file.display().to_string()));
    odd.chain(set).collect()
}

fn setting(name: &str, value: &str, place: &str) -> DoctorFinding {
    let what = format!("{place} sets {name} = {value}");
    let competes = name.starts_with("coll_tuned_") && (name.ends_with("_algorithm") || name.ends_with("_filename"));
    if name.ends_with("_filename") && is_installed(Path::new(value)) {
        DoctorFinding::ok("settings", format!("the tuning that collrules installed is active ({what})"))
    } else if competes {
        DoctorFinding::warning("settings", what).remedy(
            "it competes with a rules file (from 5.0 on a forced algorithm beats it); remove it if the rules should \
             decide",
        )
    } else {
        DoctorFinding::note("settings", what).remedy("measured times and rules are valid only with it")
    }
}

/// Parameter files of the user and of the installation; Debian keeps the latter's in /etc.
fn parameter_files(mpirun: Option<&Path>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        env::home_dir().map(|home| home.join(".openmpi/mca-params.conf")).into_iter().collect();
    let names = ["openmpi-mca-params.conf", "openmpi-mca-params-override.conf"];
    let prefix = mpirun.and_then(Path::parent).and_then(Path::parent).map(|prefix| prefix.join("etc"));
    for directory in prefix.into_iter().chain([PathBuf::from("/etc/openmpi")]) {
        files.extend(names.map(|name| directory.join(name)));
    }
    files
}

fn is_coll(name: &str) -> bool {
    name == "coll" || name.starts_with("coll_")
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[test]
    fn parameter_files_are_read_as_open_mpi_does() {
        let text = "# coll = no\n coll_tuned_bcast_algorithm = 3\nbtl=tcp\ncoll=^han,hcoll\ncollect = x\n";
        let found = lines(text.as_bytes()).expect("whole");
        let found = found.iter().flat_map(|line| judge(line, Path::new("x"), &Parameters::default()));
        assert_eq!(
            found.map(|finding| (finding.state, finding.what)).collect::<Vec<_>>(),
            [
                (FindingState::Warning, "x sets coll_tuned_bcast_algorithm = 3".to_owned()),
                (FindingState::Note, "x sets coll = ^han,hcoll".to_owned())
            ]
        );
        assert_eq!(setting("coll_tuned_bcast_algorithm", "3", "x").state, FindingState::Warning);
        assert_eq!(setting("coll_tuned_dynamic_rules_filename", "/x", "x").state, FindingState::Warning);
        assert_eq!(setting("coll_han_priority", "0", "x").state, FindingState::Note);
    }
}
