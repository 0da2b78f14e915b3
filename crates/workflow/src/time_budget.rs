//! Budget within a batch job: the command ends, with results and proof, before the job does.

use collrules_record::allocation::Allocation;
use collrules_record::options::Budget;
use collrules_record::units::Seconds;

use crate::error::WorkflowError;
use collrules_record::values::REST;

/// Seconds reserved for an orderly end, with any budget: ending jobs, writing files.
const LEAVE: f64 = 15.0;

/// Factor by which a budget may be exceeded.
const EXCESS: f64 = 1.1;

/// The budget in this job with a remark: the requested one, or the rest of the job if that is less.
pub fn within(budget: Budget, allocation: Option<&Allocation>) -> Result<(Budget, Option<String>), WorkflowError> {
    let asked = budget.filter(|budget| *budget != REST);
    let is_rest = budget == Some(REST);
    let Some(allocation) = allocation else {
        if is_rest {
            return Err(WorkflowError::Usage(
                "--budget rest is the time that a job of a batch system has left, and this runs in no such job; write \
                 a time"
                    .to_owned(),
            ));
        }
        return Ok((asked, None));
    };
    let Some(left) = allocation.left else {
        let system = allocation.system;
        let endless = || format!("{system} states no end of this job, so the budget has no limit");
        return Ok((asked, is_rest.then(endless)));
    };
    let most = Seconds(((left.0 - LEAVE) / EXCESS + 1e-6).floor().max(1.0));
    match asked {
        Some(asked) if asked <= most => Ok((Some(asked), None)),
        asked => {
            let instead = asked.map_or(String::new(), |asked| format!(" instead of {}", asked.rounded()));
            let said = format!("the job ends in {}: the budget is {}{instead}", left.rounded(), most.rounded());
            Ok((Some(most), Some(said)))
        }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::Ranks;
    use collrules_record::allocation::BatchSystem;

    use super::*;

    #[test]
    fn budgets_end_before_their_jobs() {
        let job = |left: Option<f64>| Allocation {
            system: BatchSystem::Slurm,
            job: "1".to_owned(),
            partition: None,
            nodes: 1,
            slots: Ranks(1),
            left: left.map(Seconds),
        };
        let within = |budget: Option<f64>, left| within(budget.map(Seconds), Some(&job(left))).expect("there is one").0;
        assert_eq!(within(Some(120.0), Some(600.0)), Some(Seconds(120.0)));
        assert_eq!(
            within(Some(120.0), Some(120.0)),
            Some(Seconds(95.0)),
            "a tenth more is 105, and it takes 15 to leave"
        );
        assert_eq!(within(None, Some(125.0)), Some(Seconds(100.0)));
        assert_eq!(within(Some(REST.0), Some(125.0)), Some(Seconds(100.0)));
        assert_eq!(within(Some(REST.0), None), None);
        assert_eq!(within(Some(5.0), Some(3.0)), Some(Seconds(1.0)));
        assert_eq!(super::within(Some(Seconds(9.0)), None).expect("as asked").0, Some(Seconds(9.0)));
        assert!(super::within(Some(REST), None).is_err());
    }
}
