//! How far the jobs and runs of a directory are, in lines.

use collrules_record::status::{RunStatus, Stage, Status};

use crate::words::counted;

/// A sentence for the job, and one for each run.
pub fn sentences(status: &Status) -> Vec<String> {
    let job = status.submission.as_ref().and_then(|submission| Some((submission.system, submission.jobs.last()?)));
    let job = job.map(|(system, handed)| match &status.queue {
        Some(state) => format!("{system} job {}: {state}", handed.job),
        None => format!("{system} job {}: it is not in the queue any more", handed.job),
    });
    job.into_iter().chain(status.runs.iter().map(|run| of_run(run, status))).collect()
}

fn of_run(run: &RunStatus, status: &Status) -> String {
    let stage = match run.stage {
        Stage::Waiting => return format!("{}: nothing yet", run.directory),
        Stage::Planned => "planned",
        Stage::Measured => "measured",
        Stage::Decided => "rules decided, not yet shown to be obeyed",
        Stage::Proven => "rules proven and in place",
        Stage::Validated => "rules proven, in place, and compared with the builtin",
    };
    let mut text = format!(
        "{}: {stage}; {} of {} complete, {} in {} of {}, {} of measuring",
        run.directory,
        run.complete,
        counted(run.launches as usize, "launch"),
        counted(run.samples, "sample"),
        run.measured,
        counted(run.cells, "cell"),
        run.spent.rounded(),
    );
    if let Some(why) = &run.why {
        text += &format!("; {} ended early, the last one: {}", counted(run.failed as usize, "launch"), first_line(why));
    }
    if let Some(silent) = run.silent.filter(|_| run.stage < Stage::Proven) {
        text += &format!("; last written {} ago", silent.rounded());
    }
    let is_stuck = status.submission.is_some() && status.queue.is_none() && run.stage < Stage::Proven;
    if is_stuck {
        text += "; submit the script in it again to go on";
    }
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use collrules_record::Seconds;
    use collrules_record::allocation::BatchSystem;
    use collrules_record::submission::{Handed, Submission};

    use super::*;

    #[test]
    fn job_and_run_have_a_sentence_each() {
        let run = RunStatus {
            directory: "/r".to_owned(),
            stage: Stage::Measured,
            launches: 3,
            complete: 1,
            failed: 1,
            why: Some("a node died\n  more".to_owned()),
            cells: 8,
            measured: 5,
            samples: 120,
            spent: Seconds(12.0),
            silent: Some(Seconds(2.0)),
        };
        let mut submission = Submission::of(BatchSystem::Slurm, None);
        submission.jobs.push(Handed { job: "7".to_owned(), at: "2026-11-22T06:00:00Z".to_owned() });
        let mut status =
            Status { submission: Some(submission), queue: Some("RUNNING, 4:00 left".to_owned()), runs: vec![run] };
        let said = sentences(&status);
        assert_eq!(said[0], "Slurm job 7: RUNNING, 4:00 left");
        assert_eq!(
            said[1],
            "/r: measured; 1 of 3 launches complete, 120 samples in 5 of 8 cells, 12s of measuring; 1 launch ended early, \
             the last one: a node died; last written 2s ago",
        );
        assert!(!status.is_over());
        status.queue = None;
        assert!(status.is_over());
        assert!(sentences(&status)[1].ends_with("submit the script in it again to go on"));
    }
}
