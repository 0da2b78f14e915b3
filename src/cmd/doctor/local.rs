//! Findings on this machine and its files, without starting anything.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use collrules_batch::JobFacts;
use collrules_record::installed::is_installed;
use collrules_rules::settings::parameters::Parameters;
use collrules_runner::mpi::given::GivenSetting;

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
pub(super) fn allocation(job: Option<&JobFacts>) -> Vec<DoctorFinding> {
    let hostfile = ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"]
        .into_iter()
        .find_map(|name| Some((name, env::var(name).ok()?)));
    let cores = env::var("SLURM_CPUS_PER_TASK").ok().filter(|cores| cores != "1");
    let unused = job.into_iter().flat_map(|job| job.unused.clone());
    let unused: Vec<_> = unused.map(|what| DoctorFinding::warning("allocation", what)).collect();
    let found = match (job, hostfile) {
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
    };
    std::iter::once(found).chain(unused).collect()
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

/// Settings of the coll framework, and settings that Open MPI reads otherwise than they seem.
pub(super) fn settings(
    (given, faults): (Vec<GivenSetting>, Vec<String>),
    parameters: &Parameters,
) -> Vec<DoctorFinding> {
    let mut findings: Vec<_> = faults.into_iter().map(|fault| DoctorFinding::warning("settings", fault)).collect();
    findings.extend(given.iter().flat_map(|setting| judge(setting, parameters)));
    if findings.is_empty() {
        let what = "no parameter file, variable or option of mpirun sets anything of coll";
        findings.push(DoctorFinding::ok("settings", what));
    }
    findings
}

fn judge(setting: &GivenSetting, parameters: &Parameters) -> Vec<DoctorFinding> {
    let GivenSetting { place, name, value } = setting;
    let odd = setting.describe_oddities(parameters).into_iter().map(|odd| DoctorFinding::warning("settings", odd));
    // What Open MPI does not know has no effect.
    let acts = is_coll(name) && (parameters.is_empty() || parameters.get(name).is_some());
    odd.chain(acts.then(|| describe_effect(place, name, value))).collect()
}

fn describe_effect(place: &str, name: &str, value: &str) -> DoctorFinding {
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

fn is_coll(name: &str) -> bool {
    name == "coll" || name.starts_with("coll_")
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[test]
    fn settings_are_judged_by_their_effect() {
        let listed = ["coll_tuned_bcast_algorithm", "coll_tuned_dynamic_rules_filename", "coll_han_priority", "coll"];
        let listed: String = listed.map(|name| format!("mca:coll:x:param:{name}:type:string\n")).concat()
            + "mca:coll:x:param:coll_tuned_use_dynamic_rules:type:bool\nmca:btl:x:param:btl:type:string\n";
        let parameters = Parameters::read(&listed, "");
        let states = |name: &str, value: &str| {
            let given = GivenSetting { place: "x".to_owned(), name: name.to_owned(), value: value.to_owned() };
            let judged = judge(&given, &parameters);
            judged.into_iter().map(|it| (it.state, it.remedy.is_some())).collect::<Vec<_>>()
        };
        let (warning, note) = (FindingState::Warning, FindingState::Note);
        for (name, value, expected) in [
            ("coll_tuned_bcast_algorithm", "3", vec![(warning, true)]),
            ("coll_tuned_dynamic_rules_filename", "/x", vec![(warning, true)]),
            ("coll_han_priority", "0", vec![(note, true)]),
            ("coll", "^han,hcoll", vec![(note, true)]),
            ("btl", "tcp", vec![]),
            ("collect", "x", vec![(warning, false)]),
            ("coll_tuned_use_dynamic_rule", "1", vec![(warning, false)]),
            ("coll_tuned_dynamic_rule_filename", "/x", vec![(warning, false)]),
            ("coll_tuned_use_dynamic_rules", "True", vec![(warning, false), (note, true)]),
        ] {
            assert_eq!(states(name, value), expected, "{name}");
        }
    }
}
