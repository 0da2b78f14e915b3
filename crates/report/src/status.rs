//! Progress of the jobs and runs of a directory, in lines.

use collrules_batch::status::{RunStage, RunStatus, Status};
use collrules_record::rundir::Progress;
use collrules_rules::words::counted;

/// Usual delay of files on a shared file system, in seconds: NFS refreshes directories once a minute.
const LATE: f64 = 60.0;

/// A sentence for the job, and one for each run.
pub fn sentences(status: &Status) -> Vec<String> {
    let job = status.submission.as_ref().and_then(|submission| Some((submission.system, submission.jobs.last()?)));
    let job = job.map(|(system, handed)| match (&status.queue, &status.unanswered) {
        (Some(state), _) => format!("{system} job {}: {state}", handed.job),
        (None, Some(why)) => {
            format!("{system} job {}: the batch system cannot be asked ({})", handed.job, first_line(why))
        }
        (None, None) => format!("{system} job {}: it is not in the queue any more", handed.job),
    });
    job.into_iter().chain(status.runs.iter().map(|run| of_run(run, status))).collect()
}

fn of_run(run: &RunStatus, status: &Status) -> String {
    let stage = match run.stage {
        RunStage::Waiting => return format!("{}: nothing yet", run.directory),
        RunStage::Planned => "planned",
        RunStage::Measured => "measured",
        RunStage::Comparing => "measured, and the comparison with the default is not complete",
        RunStage::Decided => "rules decided, not yet checked with Open MPI",
        RunStage::Proven => "rules checked and written",
        RunStage::Validated => "rules checked, written, and compared with the default",
    };
    let Progress { complete, failed, why, spent, samples, measured, silent, ahead, .. } = &run.progress;
    let mut text = format!(
        "{}: {stage}; {complete} of {} complete, {} in {measured} of {}, {} of measuring",
        run.directory,
        counted(run.launches as usize, "launch"),
        counted(*samples, "sample"),
        counted(run.cells, "size"),
        spent.rounded(),
    );
    if let Some(why) = why {
        text += &format!("; {} ended early, the last one: {}", counted(*failed as usize, "launch"), first_line(why));
    }
    if let Some(silent) = silent.filter(|_| run.stage < RunStage::Proven) {
        text += &match ahead {
            // Clocks of hosts differ by less than that as a rule, and times of files are rounded.
            Some(ahead) if ahead.0 >= 1.0 => {
                format!("; last written just now, by a clock that is {} ahead of this one", ahead.rounded())
            }
            _ => format!("; last written {} ago", silent.rounded()),
        };
    }
    if let Some(resume) =
        run.resume.as_ref().filter(|_| status.submission.is_none() && status.is_left() && run.stage < RunStage::Proven)
    {
        text += &format!("; {resume} goes on");
    } else if status.is_over() && run.stage < RunStage::Proven {
        let is_fresh = silent.is_some_and(|silent| silent.0 < LATE);
        text += if is_fresh { "; if no more files come within a minute, submit" } else { "; submit" };
        text += " the script in it again to resume the run";
    }
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use collrules_batch::submission::{Submission, SubmittedJob};
    use collrules_record::Seconds;
    use collrules_record::allocation::BatchSystem;

    use super::*;

    #[test]
    fn job_and_run_have_a_sentence_each() {
        let run = RunStatus {
            directory: "/r".to_owned(),
            stage: RunStage::Measured,
            resume: Some("`command`".to_owned()),
            launches: 3,
            cells: 8,
            progress: Progress {
                complete: 1,
                failed: 1,
                why: Some("a node died\n  more".to_owned()),
                measured: 5,
                samples: 120,
                spent: Seconds(12.0),
                silent: Some(Seconds(2.0)),
                ..Progress::default()
            },
            held: None,
        };
        let mut submission = Submission::new(BatchSystem::Slurm, None);
        submission.jobs.push(SubmittedJob { job: "7".to_owned(), at: "2026-11-22T06:00:00Z".to_owned() });
        let mut status = Status {
            submission: Some(submission),
            queue: Some("RUNNING, 4:00 left".to_owned()),
            unanswered: None,
            log: None,
            runs: vec![run],
        };
        let said = sentences(&status);
        assert_eq!(said[0], "Slurm job 7: RUNNING, 4:00 left");
        assert_eq!(
            said[1],
            "/r: measured; 1 of 3 launches complete, 120 samples in 5 of 8 sizes, 12 s of measuring; 1 launch ended \
             early, the last one: a node died; last written 2 s ago",
        );
        assert!(!status.is_over());
        (status.queue, status.unanswered) = (None, Some("Unable to contact slurm controller\n".to_owned()));
        status.runs[0].progress.ahead = Some(Seconds(7.0));
        let said = sentences(&status);
        assert_eq!(said[0], "Slurm job 7: the batch system cannot be asked (Unable to contact slurm controller)");
        assert!(said[1].ends_with("; last written just now, by a clock that is 7 s ahead of this one"), "{}", said[1]);
        assert!(!status.is_over(), "nobody said that the job has left");
        status.unanswered = None;
        assert!(status.is_over());
        assert!(
            sentences(&status)[1]
                .ends_with("; if no more files come within a minute, submit the script in it again to resume the run")
        );
        status.runs[0].progress.silent = Some(Seconds(300.0));
        assert!(sentences(&status)[1].ends_with("; submit the script in it again to resume the run"));
        status.submission = None;
        assert!(sentences(&status)[0].ends_with("; `command` goes on"));
    }
}
