//! The batch systems, and the script of a job from the template of each.

use collrules_record::Seconds;
use collrules_record::allocation::BatchSystem;
use collrules_rules::deploy::quoted;

use crate::job::{Dialect, Job};
use crate::{lsf, pbs, sge, slurm};

/// Returns the interface of this batch system.
pub fn dialect(system: BatchSystem) -> Dialect {
    match system {
        BatchSystem::Slurm => slurm::DIALECT,
        BatchSystem::Pbs => pbs::DIALECT,
        BatchSystem::Lsf => lsf::DIALECT,
        BatchSystem::Sge => sge::DIALECT,
    }
}

/// Beginning of the names of logs.
pub(crate) const LOG: &str = "job";

/// The script of a job: the template of its batch system, filled. Fails, in words, for what the system does not support.
pub fn script(system: BatchSystem, job: &Job<'_>) -> Result<String, String> {
    let Dialect { mark, template, .. } = dialect(system);
    let directory = check(system, job)?;
    let lines = fill(template, &values(system, job, directory));
    let directives: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(mark)?.strip_prefix(' ')).collect();
    // The template has those of the user last.
    let (own, others) = directives.split_at(directives.len() - job.options.directive.len());
    refuse_contradictions(system, own, others)?;
    Ok(lines.join("\n") + "\n")
}

/// Refuses what this batch system does not have, and values that would add lines to a script, or words to a line. Returns
/// the directory as text.
fn check<'j>(system: BatchSystem, job: &Job<'j>) -> Result<&'j str, String> {
    let Dialect { template, expanded, ends_constraint, .. } = dialect(system);
    let options = job.options;
    let refuse = Err;
    let Some(directory) = job.directory.to_str() else {
        return refuse(format!("{} is not UTF-8", job.directory.display()));
    };
    let name: fn(char) -> bool = |c| c.is_whitespace() || "\"'\\#".contains(c);
    let path: fn(char) -> bool = |c| "\"'\\".contains(c);
    let line: fn(char) -> bool = |_| false;
    let checks = [
        ("--partition", options.partition.as_slice(), name),
        ("--account", options.account.as_slice(), name),
        ("--qos", options.qos.as_slice(), name),
        ("--parallel-environment", options.parallel_environment.as_slice(), name),
        ("--constraint", options.constraint.as_slice(), ends_constraint),
        ("--out", &[directory.to_owned()], path),
        ("--directive", options.directive.as_slice(), line),
        ("--module", options.module.as_slice(), line),
    ];
    for (option, values, ends) in checks {
        for value in values {
            if value.contains(char::is_control) {
                return refuse(format!("{option} {value:?} holds a line break or another control character"));
            }
            if let Some(sign) = value.chars().find(|sign| ends(*sign)) {
                return refuse(format!("{option} {value:?} holds {sign:?}, which ends it in {system}"));
            }
        }
    }
    if let Some(sign) = directory.chars().find(|sign| expanded.contains(sign)) {
        return refuse(format!(
            "{system} expands {sign:?} in the names of logs, so it cannot write to {directory}: choose another --out"
        ));
    }
    if options.qos.is_some() && !template.contains("{qos}") {
        return refuse(format!("{system} has no equivalent of --qos; --directive adds any line to the script"));
    }
    if options.parallel_environment.is_none() && template.contains("{environment}") {
        return refuse(format!(
            "{system} gives several nodes to parallel environments only: name one of the site's (`qconf -spl` lists \
             them) with --parallel-environment; its allocation rule sets the number of ranks per node"
        ));
    }
    Ok(directory)
}

/// The values for a template, by name.
fn values(system: BatchSystem, job: &Job<'_>, directory: &str) -> Vec<(&'static str, Vec<String>)> {
    let Job { options, nodes, program, command, resumed, begun, .. } = *job;
    let Seconds(seconds) = options.time;
    let whole = seconds.ceil() as u64;
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./,:=@+%$^".contains(c));
    let mark = |text: &str| if is_plain(text) { "" } else { "\"" };
    // A percent sign begins what Slurm expands.
    let log = if system == BatchSystem::Slurm { directory.replace('%', "%%") } else { directory.to_owned() };
    let given = |option: &Option<String>| option.iter().cloned().collect();
    vec![
        ("nodes", vec![nodes.to_string()]),
        ("ppn", vec![options.ppn.to_string()]),
        ("ranks", vec![nodes.saturating_mul(options.ppn).to_string()]),
        ("hours", vec![format!("{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)]),
        ("minutes", vec![(seconds / 60.0).ceil().to_string()]),
        ("partition", given(&options.partition)),
        ("account", given(&options.account)),
        ("qos", given(&options.qos)),
        ("constraint", given(&options.constraint)),
        ("quoted_constraint", options.constraint.iter().map(|text| format!("{0}{text}{0}", mark(text))).collect()),
        ("exclusive", options.exclusive.then(String::new).into_iter().collect()),
        ("environment", given(&options.parallel_environment)),
        ("array", options.array.iter().map(u32::to_string).collect()),
        ("quote", vec![mark(directory).to_owned()]),
        ("log", vec![format!("{log}/{LOG}")]),
        ("directive", options.directive.clone()),
        ("module", options.module.iter().map(|module| quoted(module)).collect()),
        ("home", vec![quoted(directory)]),
        ("program", vec![quoted(&program.to_string_lossy())]),
        ("command", vec![command.to_owned()]),
        ("resumed", vec![resumed.to_owned()]),
        ("begun", vec![begun.to_owned()]),
    ]
}

/// Fills a template. `{name}` is a value; a line is repeated for each of several, and left out without any. `{?name}` leaves
/// a line out without a value, and `{!name}` with one.
fn fill(template: &str, values: &[(&str, Vec<String>)]) -> Vec<String> {
    let find = |name: &str| values.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, values)| values);
    let filled = |line: &str| {
        // Texts and names alternate.
        line.split(['{', '}']).enumerate().fold(vec![String::new()], |lines, (place, part)| {
            match part.split_at_checked(1) {
                _ if place % 2 == 0 => lines.into_iter().map(|line| line + part).collect(),
                Some(("?", name)) if find(name).is_empty() => Vec::new(),
                Some(("!", name)) if !find(name).is_empty() => Vec::new(),
                Some(("?" | "!", _)) => lines,
                _ => {
                    find(part).iter().flat_map(|value| lines.iter().map(move |line| format!("{line}{value}"))).collect()
                }
            }
        })
    };
    template.lines().flat_map(filled).collect()
}

/// Other names of what the directives of a job say.
const ALIASES: [(BatchSystem, &str, &str); 13] = [
    (BatchSystem::Slurm, "-N", "--nodes"),
    (BatchSystem::Slurm, "-n", "--ntasks-per-node"),
    (BatchSystem::Slurm, "--ntasks", "--ntasks-per-node"),
    (BatchSystem::Slurm, "--tasks-per-node", "--ntasks-per-node"),
    (BatchSystem::Slurm, "-t", "--time"),
    (BatchSystem::Slurm, "-p", "--partition"),
    (BatchSystem::Slurm, "-A", "--account"),
    (BatchSystem::Slurm, "-q", "--qos"),
    (BatchSystem::Slurm, "-C", "--constraint"),
    (BatchSystem::Slurm, "-J", "--job-name"),
    (BatchSystem::Slurm, "-a", "--array"),
    (BatchSystem::Slurm, "-o", "--output"),
    (BatchSystem::Pbs, "-l nodes", "-l select"),
];

/// Refuses directives about what the job's own directives say.
fn refuse_contradictions(system: BatchSystem, own: &[&str], others: &[&str]) -> Result<(), String> {
    for other in others {
        let subjects_of_other = subjects(system, other);
        let is_about = |own: &&&str| subjects(system, own).iter().any(|subject| subjects_of_other.contains(subject));
        if let Some(own) = own.iter().find(is_about) {
            return Err(format!(
                "--directive {other:?} contradicts {own:?}, which other options of submit make: use these"
            ));
        }
    }
    Ok(())
}

/// The subjects of a directive: its option, and for lists of resources each of these.
fn subjects(system: BatchSystem, directive: &str) -> Vec<String> {
    let directive = directive.trim_start();
    // `-N4` is `-N 4`.
    let is_glued = matches!(system, BatchSystem::Slurm | BatchSystem::Pbs) && !directive.starts_with("--");
    let (option, value) = match directive.split_at_checked(2) {
        Some((option, value)) if is_glued => (option, value),
        _ => directive.split_once([' ', '=']).unwrap_or((directive, "")),
    };
    let full = |subject: String| {
        let alias = ALIASES.iter().find(|(of, alias, _)| *of == system && *alias == subject);
        alias.map_or(subject, |(_, _, own)| (*own).to_owned())
    };
    if !matches!(option, "-l" | "-R") {
        return vec![full(option.to_owned())];
    }
    let resources = value.trim_matches([' ', '"']).split(',');
    let name = |resource: &str| resource.split(['=', '[', ':']).next().unwrap_or_default().trim().to_owned();
    resources.map(|resource| full(format!("{option} {}", name(resource)))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use collrules_record::Seconds;

    use super::*;
    use crate::here::made::Made;
    use crate::job::{JobOptions, Queue};

    fn options() -> JobOptions {
        JobOptions {
            ppn: 32,
            time: Seconds(1800.0),
            partition: Some("main".to_owned()),
            account: Some("phys".to_owned()),
            exclusive: true,
            array: Some(3),
            directive: vec!["--mem=0".to_owned()],
            module: vec!["openmpi/5.0 x".to_owned()],
            parallel_environment: Some("mpi".to_owned()),
            ..JobOptions::default()
        }
    }

    fn job_with(options: &JobOptions) -> Job<'_> {
        job_in("/home/u/run", options)
    }

    fn job_in<'o>(directory: &'o str, options: &'o JobOptions) -> Job<'o> {
        let (directory, program) = (Path::new(directory), Path::new("/opt/collrules"));
        let (command, begun) = ("tune --ops all", "\"$run\"/manifest.json");
        Job { options, nodes: 8, directory, program, command, resumed: "tune", begun }
    }

    fn head(system: BatchSystem) -> String {
        script(system, &job_with(&options())).expect("can be asked for")
    }

    #[test]
    fn each_system_is_asked_in_its_own_words() {
        let note = |system| {
            format!("# Written from the manual of {system}, not run on a real one: read it before you submit it.\n")
        };
        let end = |task: &str| {
            format!(
                "\nmodule load 'openmpi/5.0 x'\n\n\
                 # The log goes to /home/u/run, which has to be there before the job starts.\n\
                 run=/home/u/run/task-${task}\n\
                 # Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.\n\
                 if [ -n \"$(ls \"$run\"/manifest.json 2> /dev/null)\" ]; then\n    exec /opt/collrules tune --resume \"$run\"\nfi\n\
                 exec /opt/collrules tune --ops all --seed \"${task}\" --out \"$run\"\n"
            )
        };
        assert_eq!(
            head(BatchSystem::Slurm),
            "#!/bin/bash -l\n#SBATCH --job-name=collrules\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=32\n\
             #SBATCH --time=00:30:00\n#SBATCH --partition=main\n#SBATCH --account=phys\n#SBATCH --exclusive\n\
             #SBATCH --array=1-3\n#SBATCH --output=/home/u/run/job-%A_%a.log\n#SBATCH --open-mode=append\n\
             #SBATCH --requeue\n#SBATCH --mem=0\n"
                .to_owned()
                + &end("SLURM_ARRAY_TASK_ID"),
        );
        assert_eq!(
            head(BatchSystem::Pbs),
            "#!/bin/bash -l\n".to_owned()
                + &note(BatchSystem::Pbs)
                + "#PBS -N collrules\n#PBS -l select=8:ncpus=32:mpiprocs=32\n#PBS -l walltime=00:30:00\n\
             #PBS -q main\n#PBS -A phys\n#PBS -l place=scatter:excl\n#PBS -J 1-3\n#PBS -j oe\n\
             #PBS -o /home/u/run/job-^array_index^.log\n#PBS -r y\n#PBS --mem=0\n"
                + &end("PBS_ARRAY_INDEX"),
        );
        assert_eq!(
            head(BatchSystem::Lsf),
            "#!/bin/bash -l\n".to_owned()
                + &note(BatchSystem::Lsf)
                + "#BSUB -J collrules[1-3]\n#BSUB -n 256\n#BSUB -R \"span[ptile=32]\"\n#BSUB -W 30\n\
             #BSUB -q main\n#BSUB -P phys\n#BSUB -x\n#BSUB -o /home/u/run/job-%J_%I.log\n#BSUB -r\n#BSUB --mem=0\n"
                + &end("LSB_JOBINDEX"),
        );
        assert_eq!(
            head(BatchSystem::Sge),
            "#!/bin/bash -l\n".to_owned()
                + &note(BatchSystem::Sge)
                + "#$ -S /bin/bash\n#$ -N collrules\n#$ -pe mpi 256\n#$ -l h_rt=00:30:00\n#$ -q main\n#$ -P phys\n\
             #$ -l exclusive=true\n#$ -t 1-3\n#$ -j y\n#$ -o /home/u/run/job-$JOB_ID_$TASK_ID.log\n#$ -r y\n#$ -cwd\n\
             #$ --mem=0\n"
                + &end("SGE_TASK_ID"),
        );
    }

    #[test]
    fn directives_that_contradict_the_others_are_refused() {
        let with = |system, directive: &str| {
            let options = JobOptions { directive: vec![directive.to_owned()], ..options() };
            script(system, &job_with(&options)).is_err()
        };
        for (system, directive) in [
            (BatchSystem::Slurm, "--nodes=4"),
            (BatchSystem::Slurm, "-N 4"),
            (BatchSystem::Slurm, "-N4"),
            (BatchSystem::Slurm, "--ntasks 8"),
            (BatchSystem::Slurm, "-t 60"),
            (BatchSystem::Slurm, "--output=x"),
            (BatchSystem::Pbs, "-l nodes=8:ppn=32"),
            (BatchSystem::Pbs, "-l mem=4gb,walltime=01:00:00"),
            (BatchSystem::Pbs, "-qother"),
            (BatchSystem::Lsf, "-n 4"),
            (BatchSystem::Lsf, "-R \"span[ptile=4]\""),
            (BatchSystem::Slurm, "--tasks-per-node=4"),
            (BatchSystem::Sge, "-pe other 4"),
            (BatchSystem::Sge, "-l h_rt=60"),
        ] {
            assert!(with(system, directive), "{directive}");
        }
        for (system, directive) in [
            (BatchSystem::Slurm, "--mem=0"),
            (BatchSystem::Slurm, "--nodelist=n1"),
            (BatchSystem::Slurm, "--cpus-per-task=4"),
            (BatchSystem::Slurm, "-w n1"),
            (BatchSystem::Pbs, "-l mem=4gb"),
            (BatchSystem::Pbs, "-W depend=afterok:7"),
            (BatchSystem::Lsf, "-R \"select[mem>4]\""),
            (BatchSystem::Sge, "-hold_jid 7"),
        ] {
            assert!(!with(system, directive), "{directive}");
        }
    }

    #[test]
    fn no_option_becomes_a_line_of_the_script() {
        let hostile = "main\ntouch X";
        let text = || Some(hostile.to_owned());
        let asked = [
            JobOptions { partition: text(), ..options() },
            JobOptions { account: text(), ..options() },
            JobOptions { constraint: text(), ..options() },
            JobOptions { parallel_environment: text(), ..options() },
            JobOptions { directive: vec![hostile.to_owned()], ..options() },
            JobOptions { module: vec![hostile.to_owned()], ..options() },
        ];
        let options = options();
        let job = job_in(hostile, &options);
        for system in [BatchSystem::Slurm, BatchSystem::Pbs, BatchSystem::Lsf, BatchSystem::Sge] {
            for job in asked.iter().map(job_with).chain([job]) {
                let why = script(system, &job).expect_err("a line break");
                assert!(why.contains("line break") && !why.contains('\n'), "{why}");
            }
        }
        let qos = JobOptions { qos: text(), ..options.clone() };
        assert!(script(BatchSystem::Slurm, &job_with(&qos)).is_err());
        let words = JobOptions { partition: Some("main --exclusive".to_owned()), ..options };
        assert!(script(BatchSystem::Slurm, &job_with(&words)).is_err());
    }

    #[test]
    fn the_log_lies_where_it_is_wanted() {
        let options = JobOptions { array: None, ..options() };
        let with = |directory: &'static str| job_in(directory, &options);
        let slurm = script(BatchSystem::Slurm, &with("/home/u/my %j run")).expect("can be escaped");
        assert!(slurm.contains("\n#SBATCH --output=\"/home/u/my %%j run/job-%j.log\"\n"), "{slurm}");
        let pbs = script(BatchSystem::Pbs, &with("/home/u/my run")).expect("can be quoted");
        assert!(pbs.contains("\n#PBS -o \"/home/u/my run/job.log\"\n"), "{pbs}");
        for (system, directory) in [
            (BatchSystem::Lsf, "/home/u/%J"),
            (BatchSystem::Sge, "/home/u/$HOME"),
            (BatchSystem::Pbs, "/home/u/^array_index^"),
            (BatchSystem::Slurm, "/home/u/\"x"),
        ] {
            assert!(script(system, &with(directory)).is_err(), "{directory}");
        }
    }

    #[test]
    fn what_a_system_cannot_be_asked_for_is_refused() {
        let with = JobOptions { qos: Some("high".to_owned()), ..options() };
        let with = job_with(&with);
        for system in [BatchSystem::Pbs, BatchSystem::Lsf, BatchSystem::Sge] {
            let why = script(system, &with).expect_err("no such thing");
            assert!(why.contains("--qos") && why.contains("--directive"), "{why}");
        }
        let slurm = script(BatchSystem::Slurm, &with).expect("Slurm has it");
        assert!(slurm.contains("\n#SBATCH --qos=high\n"));
        let without = JobOptions { parallel_environment: None, ..options() };
        assert!(script(BatchSystem::Sge, &job_with(&without)).is_err(), "it has to be named");
    }

    #[test]
    fn a_job_that_is_over_is_told_from_a_batch_system_that_does_not_answer() {
        let queue = |system, command: &str, answer: &str| {
            (dialect(system).state)(&Made::from_facts(&[(command, answer)]), "17")
        };
        let squeue = "squeue --noheader --jobs 17 --format %T (%R), ends %e";
        let has = |text: &str| Queue::Has(text.to_owned());
        assert_eq!(queue(BatchSystem::Slurm, squeue, "RUNNING (n1), ends x\n"), has("RUNNING (n1), ends x"));
        let unknown = "!slurm_load_jobs error: Invalid job id specified";
        assert_eq!(queue(BatchSystem::Slurm, squeue, unknown), Queue::Gone);
        let down = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
        assert_eq!(queue(BatchSystem::Slurm, squeue, &format!("!{down}")), Queue::Silent(down.to_owned()));
        assert_eq!(queue(BatchSystem::Pbs, "qstat -f 17", "Job Id: 17\n    job_state = Q\n"), has("state Q"));
        assert_eq!(queue(BatchSystem::Pbs, "qstat -f 17", "!qstat: 17 Job has finished, use -x"), Queue::Gone);
        assert_eq!(queue(BatchSystem::Pbs, "qstat -f 17", "!qstat: Unknown Job Id 17"), Queue::Gone);
        let bjobs = "bjobs -noheader -o stat 17";
        assert_eq!(queue(BatchSystem::Lsf, bjobs, "PEND\n"), has("PEND"));
        assert_eq!(queue(BatchSystem::Lsf, bjobs, "DONE\n"), Queue::Gone);
        assert_eq!(queue(BatchSystem::Lsf, bjobs, "!Job <17> is not found"), Queue::Gone);
        assert_eq!(queue(BatchSystem::Sge, "qstat", "ID\n--\n 17 0.5 collrules me r 11/22/2026\n"), has("state r"));
        assert_eq!(queue(BatchSystem::Sge, "qstat", ""), Queue::Gone);
        let silent = Queue::Silent("error: unable to contact qmaster".to_owned());
        assert_eq!(queue(BatchSystem::Sge, "qstat", "!error: unable to contact qmaster"), silent);
    }

    #[test]
    fn numbers_of_jobs_are_found_in_what_is_said() {
        let number = |system, text| (dialect(system).job)(text);
        assert_eq!(number(BatchSystem::Slurm, "17;main\n").as_deref(), Some("17"));
        assert_eq!(number(BatchSystem::Pbs, "17.server\n").as_deref(), Some("17.server"));
        assert_eq!(number(BatchSystem::Lsf, "Job <17> is submitted to queue <main>.\n").as_deref(), Some("17"));
        assert_eq!(number(BatchSystem::Sge, "17.1-3:1\n").as_deref(), Some("17"));
        assert_eq!(number(BatchSystem::Slurm, "\n"), None);
    }
}
