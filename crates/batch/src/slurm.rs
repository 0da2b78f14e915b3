//! Slurm.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::{Ranks, Seconds};

use crate::here::Here;
use crate::job::{Dialect, Queue};
use crate::times::clock;
use crate::{BatchLauncher, JobFacts, describe_uneven};

/// The variable with the cores of each rank that `srun` starts.
const CORES: &str = "SRUN_CPUS_PER_TASK";

/// Most nodes of a job that are believed.
const MOST_NODES: usize = 1 << 20;

/// Steps that every job has and that do not compute.
const OWN_STEPS: [&str; 3] = ["batch", "extern", "interactive"];

pub(crate) fn find_job(here: &dyn Here) -> Option<JobFacts> {
    let id = here.variable("SLURM_JOB_ID")?;
    let job = match (here.variable("SLURM_ARRAY_JOB_ID"), here.variable("SLURM_ARRAY_TASK_ID")) {
        (Some(array), Some(task)) => format!("{array}_{task}"),
        _ => id.clone(),
    };
    let slots = here
        .number("SLURM_NTASKS")
        .or_else(|| total(&here.variable("SLURM_TASKS_PER_NODE")?))
        .or_else(|| total(&here.variable("SLURM_JOB_CPUS_PER_NODE")?));
    let uneven = here.variable("SLURM_TASKS_PER_NODE").and_then(|text| describe_uneven(&by_node(&text)?));
    let allocation = Allocation {
        system: BatchSystem::Slurm,
        job,
        partition: here.variable("SLURM_JOB_PARTITION"),
        nodes: here.number("SLURM_JOB_NUM_NODES").or_else(|| here.number("SLURM_NNODES")).unwrap_or(0),
        slots: Ranks(slots.unwrap_or(0)),
        left: left(here, &id),
    };
    // A step takes its processors for itself otherwise, so that ours would wait: for each other, and forever inside of
    // `srun --pty bash`.
    // And `sbatch --export` is not to keep settings from the ranks.
    let environment = [("SLURM_OVERLAP", "1"), ("SLURM_EXPORT_ENV", "ALL")];
    let mut environment: BTreeMap<String, String> =
        environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    // From 22.05 on `srun` does not take the job's --cpus-per-task for its steps.
    let cores = here.variable("SLURM_CPUS_PER_TASK").filter(|_| here.variable(CORES).is_none());
    environment.extend(cores.map(|cores| (CORES.to_owned(), cores)));
    let unused = describe_components(here).into_iter().chain(uneven).collect();
    Some(JobFacts { environment, own: srun(here, slots), others: others(here, &id), unused, allocation })
}

/// A sentence about the other components of a heterogeneous job: mpirun and srun start jobs in the first one, whose
/// variables have no suffix. Slurm before 20.02 names them packs. `srun --het-group=0,1` is no remedy: of Slurm 22.05.8 it
/// passes its input to rank 0 in some launches only, so that jobs hang.
fn describe_components(here: &dyn Here) -> Option<String> {
    let count = |kind: &str| here.number(&format!("SLURM_{kind}_SIZE")).filter(|count| *count > 1);
    let (kind, count) = ["HET", "PACK"].into_iter().find_map(|kind| Some((kind, count(kind)?)))?;
    let nodes = |component: u32| here.number(&format!("SLURM_JOB_NUM_NODES_{kind}_GROUP_{component}"));
    let described = |component| nodes(component).map_or("?".to_owned(), |nodes| nodes.to_string());
    let described: Vec<String> = (0..count).map(described).collect();
    Some(format!(
        "the job has {count} components, of {} nodes, and jobs start in the first one alone; --mpirun-args '--host \
         NODE:SLOTS,... --mca plm rsh --mca ras ^slurm' starts them on the named nodes over ssh (Open MPI 5: --prtemca \
         plm ssh --prtemca ras ^slurm)",
        described.join(" and "),
    ))
}

/// The ranks in `2(x3),1`: ranks per node, each with a repeat count.
fn by_node(text: &str) -> Option<Vec<u32>> {
    let each = |part: &str| {
        let (count, times) = part
            .split_once("(x")
            .map_or(Some((part, "1")), |(count, times)| Some((count, times.strip_suffix(')')?)))?;
        Some((count.parse().ok()?, times.parse().ok().filter(|times| *times <= MOST_NODES)?))
    };
    let parts = text.split(',').map(each).collect::<Option<Vec<(u32, usize)>>>()?;
    Some(parts.into_iter().flat_map(|(count, times)| std::iter::repeat_n(count, times)).collect())
}

fn total(text: &str) -> Option<u32> {
    by_node(text)?.into_iter().try_fold(0, u32::checked_add)
}

/// The rest of the job's time, according to the controller; if it does not answer, according to a variable of Slurm
/// 23.02 and later.
fn left(here: &dyn Here, id: &str) -> Option<Seconds> {
    if let Some(said) = here.answer(&["squeue", "--noheader", "--jobs", id, "--format", "%L"]) {
        return clock(said.lines().next()?);
    }
    let end: f64 = here.variable("SLURM_JOB_END_TIME")?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    Some(Seconds((end - now).max(0.0)))
}

fn srun(here: &dyn Here, slots: Option<u32>) -> Option<BatchLauncher> {
    let kinds = here.answer(&["srun", "--mpi=list"])?;
    let knows = |kind: &str| kinds.split_whitespace().any(|word| word == kind);
    let is_mpi = |kind: &str| kind.starts_with("pmix") || kind == "pmi2";
    let asked = here.variable("SLURM_MPI_TYPE").filter(|kind| is_mpi(kind));
    let configuration = || here.answer(&["scontrol", "show", "config"]);
    let site = || {
        let text = configuration()?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("MpiDefault"))?;
        Some(line.trim_start_matches([' ', '=']).trim().to_owned()).filter(|kind| is_mpi(kind))
    };
    let (kind, preferred) = match asked {
        Some(kind) => (kind.clone(), Some(format!("SLURM_MPI_TYPE is {kind}"))),
        None => match site() {
            Some(kind) => (kind.clone(), Some(format!("this Slurm's MpiDefault is {kind}"))),
            None if knows("pmix") => ("pmix".to_owned(), None),
            None if knows("pmi2") => ("pmi2".to_owned(), None),
            None => return None,
        },
    };
    // Ranks in the order of nodes, as mpirun has them; the task goes to rank 0 alone; one rank that fails ends all.
    let mut words: Vec<String> =
        ["srun", "--distribution=block", "--input=0", "--unbuffered", "--kill-on-bad-exit=1"].map(str::to_owned).into();
    // Jobs that take turns are steps at the same time.
    words.extend(shares_steps(here).then(|| "--overlap".to_owned()));
    words.push(format!("--mpi={kind}"));
    if let Some(slots) = slots.filter(|_| here.variable("SLURM_NTASKS").is_none()) {
        words.push(format!("--ntasks={slots}"));
    }
    Some(BatchLauncher { words, preferred })
}

/// Returns true if steps share processors only if they ask for it: since Slurm 20.11.
fn shares_steps(here: &dyn Here) -> bool {
    let said = here.answer(&["srun", "--version"]).unwrap_or_default();
    let mut numbers = said.trim().trim_start_matches("slurm ").split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    version >= (20, 11)
}

/// Steps of the job other than the one in which this process runs.
fn others(here: &dyn Here, id: &str) -> Vec<String> {
    let steps =
        here.answer(&["squeue", "--noheader", "--steps", "--jobs", id, "--format", "%i %j"]).unwrap_or_default();
    let own = here.variable("SLURM_STEP_ID");
    let is_other = |step: &&str| {
        let number =
            step.split_whitespace().next().and_then(|step| step.rsplit_once('.')).map_or("", |(_, number)| number);
        !OWN_STEPS.contains(&number) && own.as_deref() != Some(number)
    };
    steps.lines().map(str::trim).filter(|step| !step.is_empty()).filter(is_other).map(str::to_owned).collect()
}

pub(crate) const DIALECT: Dialect = Dialect {
    mark: "#SBATCH",
    template: include_str!("templates/slurm.sh"),
    // Only percent signs, which can be doubled.
    expanded: &[],
    ends_constraint: |sign| matches!(sign, '"' | '\\'),
    submit: &["sbatch", "--parsable"],
    by_input: false,
    job: |said| said.trim().split(';').next().filter(|job| !job.is_empty()).map(str::to_owned),
    state: |here, job| {
        let asked = here.asked(&["squeue", "--noheader", "--jobs", job, "--format", "%T (%R), ends %e"]);
        let states =
            |answer: &str| answer.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        Queue::from_answer(asked, states, &["Invalid job id"])
    },
    follow: &["squeue", "--jobs"],
    cancel: "scancel",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::made::Made;

    const BATCH: [(&str, &str); 8] = [
        ("srun --version", "slurm 22.05.8\n"),
        ("SLURM_JOB_ID", "12"),
        ("SLURM_JOB_PARTITION", "main"),
        ("SLURM_JOB_NUM_NODES", "3"),
        ("SLURM_NTASKS", "6"),
        ("squeue --noheader --jobs 12 --format %L", "4:50\n"),
        ("squeue --noheader --steps --jobs 12 --format %i %j", "12.batch batch\n12.3 stress\n"),
        (
            "srun --mpi=list",
            "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions: pmix_v4\n",
        ),
    ];

    #[test]
    fn a_batch_job_says_what_it_has() {
        let found = find_job(&Made::from_facts(&BATCH)).expect("is a job");
        assert_eq!(found.allocation.to_string(), "Slurm job 12 in main: 3 nodes, 6 slots, 4.8 min left");
        let own = found.own.expect("srun starts MPI jobs");
        assert_eq!((own.words.last().map(String::as_str), own.preferred), (Some("--mpi=pmix"), None));
        assert!(own.words.contains(&"--overlap".to_owned()), "steps at the same time: {:?}", own.words);
        assert_eq!(found.others, ["12.3 stress"]);
    }

    #[test]
    fn srun_gets_the_cores_of_the_job_s_ranks() {
        let cores = |more: &[(&str, &str)]| {
            let facts: Vec<_> = BATCH.into_iter().chain(more.iter().copied()).collect();
            find_job(&Made::from_facts(&facts)).expect("is a job").environment.get(CORES).cloned()
        };
        assert_eq!(cores(&[]), None);
        assert_eq!(cores(&[("SLURM_CPUS_PER_TASK", "4")]).as_deref(), Some("4"));
        assert_eq!(cores(&[("SLURM_CPUS_PER_TASK", "4"), (CORES, "2")]), None, "the user's own stays");
    }

    #[test]
    fn a_task_of_an_array_and_an_allocation_without_tasks() {
        let more = [
            ("SLURM_ARRAY_JOB_ID", "10"),
            ("SLURM_ARRAY_TASK_ID", "2"),
            ("SLURM_TASKS_PER_NODE", "4(x2),3"),
            ("squeue --noheader --jobs 12 --format %L", "UNLIMITED"),
            ("scontrol show config", "Foo = 1\nMpiDefault              = pmi2\nMpiParams = x\n"),
            ("SLURM_STEP_ID", "3"),
        ];
        let facts: Vec<_> = BATCH.into_iter().filter(|(name, _)| *name != "SLURM_NTASKS").chain(more).collect();
        let found = find_job(&Made::from_facts(&facts)).expect("is a job");
        assert_eq!(found.allocation.to_string(), "Slurm job 10_2 in main: 3 nodes, 11 slots");
        let own = found.own.expect("srun starts MPI jobs");
        assert!(own.words.ends_with(&["--mpi=pmi2".to_owned(), "--ntasks=11".to_owned()]), "{:?}", own.words);
        assert_eq!(own.preferred.as_deref(), Some("this Slurm's MpiDefault is pmi2"));
        assert!(found.others.is_empty(), "the step is our own");
    }

    #[test]
    fn other_components_of_a_job_are_named() {
        let unused = |more: &[(&str, &str)]| {
            let facts: Vec<_> = BATCH.into_iter().chain(more.iter().copied()).collect();
            find_job(&Made::from_facts(&facts)).expect("is a job").unused
        };
        assert!(unused(&[]).is_empty());
        assert!(unused(&[("SLURM_HET_SIZE", "1")]).is_empty());
        for kind in ["HET", "PACK"] {
            let name = |what: &str| format!("SLURM_{what}");
            let names = [format!("{kind}_SIZE"), format!("JOB_NUM_NODES_{kind}_GROUP_0")].map(|it| name(&it));
            let second = name(&format!("JOB_NUM_NODES_{kind}_GROUP_1"));
            let said = unused(&[(&names[0], "2"), (&names[1], "3"), (&second, "1")]);
            assert!(said.len() == 1 && said[0].contains("2 components, of 3 and 1 nodes"), "{said:?}");
        }
    }

    #[test]
    fn a_controller_that_does_not_answer_is_no_endless_job() {
        let soon = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() + 600;
        let soon = soon.to_string();
        let facts = [("SLURM_JOB_ID", "12"), ("SLURM_JOB_END_TIME", soon.as_str())];
        let left = find_job(&Made::from_facts(&facts)).and_then(|found| found.allocation.left).expect("is known");
        assert!((590.0..=600.0).contains(&left.0), "{left}");
        assert_eq!(find_job(&Made::from_facts(&facts[..1])).expect("is a job").allocation.left, None);
    }

    #[test]
    fn outside_of_jobs_there_is_nothing() {
        assert_eq!(find_job(&Made::default()), None);
        assert_eq!(total("2(x3),1"), Some(7));
        assert_eq!(total("2(3)"), None);
    }
}
