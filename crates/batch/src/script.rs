//! The options of each batch system, and the script of a job.

use collrules_record::allocation::BatchSystem;
use collrules_rules::deploy::quoted;

use crate::job::{self, Dialect, Job, UnsupportedRequest};
use crate::{lsf, pbs, sge, slurm};

/// Returns the interface of this batch system.
pub fn dialect(system: BatchSystem) -> Dialect {
    match system {
        BatchSystem::Slurm => slurm::dialect(),
        BatchSystem::Pbs => pbs::dialect(),
        BatchSystem::Lsf => lsf::dialect(),
        BatchSystem::Sge => sge::dialect(),
    }
}

/// The script of a job: its directives, its modules, then these lines.
pub fn script(system: BatchSystem, job: &Job<'_>, lines: &[String]) -> Result<String, UnsupportedRequest> {
    job::check(job)?;
    let Dialect { mark, directives, .. } = dialect(system);
    // As a login shell, which knows `module`.
    let mut all = vec!["#!/bin/bash -l".to_owned()];
    let own = directives(job)?;
    refuse_contradictions(system, &own, &job.options.directive)?;
    let directives = own.into_iter().chain(job.options.directive.iter().cloned());
    all.extend(directives.map(|directive| format!("{mark} {directive}")));
    all.push(String::new());
    all.extend(job.options.module.iter().map(|module| format!("module load {}", quoted(module))));
    all.extend(lines.iter().cloned());
    Ok(all.join("\n") + "\n")
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
fn refuse_contradictions(system: BatchSystem, own: &[String], others: &[String]) -> Result<(), UnsupportedRequest> {
    let is_about = |directive: &String, subject: &String| subjects(system, directive).contains(subject);
    for other in others {
        let subjects = subjects(system, other);
        if let Some(own) = own.iter().find(|own| subjects.iter().any(|subject| is_about(own, subject))) {
            return Err(UnsupportedRequest(format!(
                "--directive {other:?} contradicts {own:?}, which other options of submit make: use these"
            )));
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
        Job { options, nodes: 8, log: Path::new("/home/u/run/job") }
    }

    fn head(system: BatchSystem) -> String {
        script(system, &job_with(&options()), &["exec collrules".to_owned()]).expect("can be asked for")
    }

    #[test]
    fn each_system_is_asked_in_its_own_words() {
        let end = "\nmodule load 'openmpi/5.0 x'\nexec collrules\n";
        assert_eq!(
            head(BatchSystem::Slurm),
            "#!/bin/bash -l\n#SBATCH --job-name=collrules\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=32\n\
             #SBATCH --time=00:30:00\n#SBATCH --partition=main\n#SBATCH --account=phys\n#SBATCH --exclusive\n\
             #SBATCH --array=1-3\n#SBATCH --output=/home/u/run/job-%A_%a.log\n#SBATCH --open-mode=append\n\
             #SBATCH --requeue\n#SBATCH --mem=0\n"
                .to_owned()
                + end,
        );
        assert_eq!(
            head(BatchSystem::Pbs),
            "#!/bin/bash -l\n#PBS -N collrules\n#PBS -l select=8:ncpus=32:mpiprocs=32\n#PBS -l walltime=00:30:00\n\
             #PBS -q main\n#PBS -A phys\n#PBS -l place=scatter:excl\n#PBS -J 1-3\n#PBS -j oe\n\
             #PBS -o /home/u/run/job-^array_index^.log\n#PBS -r y\n#PBS --mem=0\n"
                .to_owned()
                + end,
        );
        assert_eq!(
            head(BatchSystem::Lsf),
            "#!/bin/bash -l\n#BSUB -J collrules[1-3]\n#BSUB -n 256\n#BSUB -R \"span[ptile=32]\"\n#BSUB -W 30\n\
             #BSUB -q main\n#BSUB -P phys\n#BSUB -x\n#BSUB -o /home/u/run/job-%J_%I.log\n#BSUB -r\n#BSUB --mem=0\n"
                .to_owned()
                + end,
        );
        assert_eq!(
            head(BatchSystem::Sge),
            "#!/bin/bash -l\n#$ -S /bin/bash\n#$ -N collrules\n#$ -pe mpi 256\n#$ -l h_rt=00:30:00\n#$ -q main\n#$ -P phys\n\
             #$ -l exclusive=true\n#$ -t 1-3\n#$ -j y\n#$ -o /home/u/run/job-$JOB_ID_$TASK_ID.log\n#$ -r y\n#$ -cwd\n\
             #$ --mem=0\n"
                .to_owned()
                + end,
        );
    }

    #[test]
    fn directives_that_contradict_the_others_are_refused() {
        let with = |system, directive: &str| {
            let options = JobOptions { directive: vec![directive.to_owned()], ..options() };
            script(system, &job_with(&options), &[]).is_err()
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
        let job = Job { log: Path::new(hostile), ..job_with(&options) };
        for system in [BatchSystem::Slurm, BatchSystem::Pbs, BatchSystem::Lsf, BatchSystem::Sge] {
            for job in asked.iter().map(job_with).chain([job]) {
                let UnsupportedRequest(why) = script(system, &job, &[]).expect_err("a line break");
                assert!(why.contains("line break") && !why.contains('\n'), "{why}");
            }
        }
        let qos = JobOptions { qos: text(), ..options.clone() };
        assert!(script(BatchSystem::Slurm, &job_with(&qos), &[]).is_err());
        let words = JobOptions { partition: Some("main --exclusive".to_owned()), ..options };
        assert!(script(BatchSystem::Slurm, &job_with(&words), &[]).is_err());
    }

    #[test]
    fn the_log_lies_where_it_is_wanted() {
        let options = JobOptions { array: None, ..options() };
        let with = |log: &'static str| Job { log: Path::new(log), ..job_with(&options) };
        let slurm = script(BatchSystem::Slurm, &with("/home/u/my %j run/job"), &[]).expect("can be escaped");
        assert!(slurm.contains("\n#SBATCH --output=\"/home/u/my %%j run/job-%j.log\"\n"), "{slurm}");
        let pbs = script(BatchSystem::Pbs, &with("/home/u/my run/job"), &[]).expect("can be quoted");
        assert!(pbs.contains("\n#PBS -o \"/home/u/my run/job.log\"\n"), "{pbs}");
        for (system, log) in [
            (BatchSystem::Lsf, "/home/u/%J/job"),
            (BatchSystem::Sge, "/home/u/$HOME/job"),
            (BatchSystem::Pbs, "/home/u/^array_index^/job"),
            (BatchSystem::Slurm, "/home/u/\"x/job"),
        ] {
            assert!(script(system, &with(log), &[]).is_err(), "{log}");
        }
    }

    #[test]
    fn what_a_system_cannot_be_asked_for_is_refused() {
        let with = JobOptions { qos: Some("high".to_owned()), ..options() };
        let with = job_with(&with);
        for system in [BatchSystem::Pbs, BatchSystem::Lsf, BatchSystem::Sge] {
            let UnsupportedRequest(why) = script(system, &with, &[]).expect_err("no such thing");
            assert!(why.contains("--qos") && why.contains("--directive"), "{why}");
        }
        let slurm = script(BatchSystem::Slurm, &with, &[]).expect("Slurm has it");
        assert!(slurm.contains("\n#SBATCH --qos=high\n"));
        let without = JobOptions { parallel_environment: None, ..options() };
        assert!(script(BatchSystem::Sge, &job_with(&without), &[]).is_err(), "it has to be named");
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
