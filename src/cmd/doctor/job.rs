//! Findings from a trial job on all slots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::Survey;
use collrules_record::allocation::Allocation;
use collrules_record::installed::is_installed;
use collrules_record::manifest::Binding;
use collrules_rules::words::{counted, some};

use super::finding::DoctorFinding;

pub(super) fn examine(survey: &Survey) -> Vec<DoctorFinding> {
    let mut findings = vec![slots(survey)];
    findings.extend(binding(survey));
    findings.extend(memory(survey));
    findings.extend(governor(survey));
    let foreign = survey.preset.iter().filter(|(_, value)| !is_installed(Path::new(value)));
    findings.extend(foreign.map(|(name, value)| {
        DoctorFinding::warning("settings", format!("{name} is {value} in a job, before collrules sets anything"))
            .remedy("it competes with a rules file; remove it if the rules should decide")
    }));
    let mut components: Vec<_> = survey.components.iter().collect();
    components.sort_by_key(|(_, priority)| std::cmp::Reverse(**priority));
    let components: Vec<String> = components.into_iter().map(|(name, priority)| format!("{name} {priority}")).collect();
    findings.push(match &survey.transport {
        Some(transport) => DoctorFinding::ok("transport", transport.to_string()),
        None => DoctorFinding::note("transport", "unknown: the job's log does not name its pml"),
    });
    findings.push(DoctorFinding::ok("components", format!("by priority: {}", components.join(", "))));
    findings
}

fn slots(survey: &Survey) -> DoctorFinding {
    let hosts = per_host(survey);
    let what = format!("{} on {}", counted(survey.hosts.len(), "slot"), counted(hosts.len(), "host"));
    if survey.slots().0 < 2 {
        return DoctorFinding::problem("slots", format!("{what}; a collective needs 2"))
            .remedy("give mpirun more (--mpirun-args '--hostfile FILE', or --host NAME:4), or pass --oversubscribe");
    }
    let crowded: Vec<String> = hosts
        .iter()
        .filter(|(_, ranks)| {
            let union: BTreeSet<u32> = ranks.iter().flat_map(|place| processors(&place.processors)).collect();
            !union.is_empty() && union.len() < ranks.len()
        })
        .map(|(host, _)| (*host).to_owned())
        .collect();
    if crowded.is_empty() {
        match survey.uneven_nodes() {
            None => DoctorFinding::ok("slots", what),
            Some(uneven) => DoctorFinding::note("slots", format!("{what}, which have different numbers: {uneven}"))
                .remedy("give each host equally many, if your programs run so"),
        }
    } else {
        DoctorFinding::warning("slots", format!("{what}; more ranks than processors on {}", some(&crowded, 1)))
            .remedy("lower the slots of these hosts: times would include the operating system's scheduler")
    }
}

/// A problem if mpirun starts ranks on fewer hosts than the job has.
pub(super) fn compare_allocation(survey: &Survey, allocation: &Allocation) -> Option<DoctorFinding> {
    let hosts = per_host(survey).len();
    let what = format!(
        "the job has {}, but mpirun starts {} on {}",
        counted(allocation.nodes as usize, "node"),
        counted(survey.hosts.len(), "rank"),
        counted(hosts, "host"),
    );
    let remedy = "this mpirun does not see the job: use one with support for the batch system, or name the hosts \
                  (--mpirun-args '--hostfile FILE')";
    (hosts < allocation.nodes as usize).then(|| DoctorFinding::problem("allocation", what).remedy(remedy))
}

/// Checks that ranks are bound, and not to the same processors.
fn binding(survey: &Survey) -> Option<DoctorFinding> {
    let hosts = per_host(survey);
    if survey.places.is_empty() {
        return Some(DoctorFinding::note("binding", "unknown: the worker does not report it"));
    }
    let shared: Vec<String> = hosts
        .iter()
        .filter(|(_, ranks)| {
            let mut seen = BTreeSet::new();
            let bound = ranks.iter().map(|place| processors(&place.processors)).filter(|set| set.len() == 1);
            bound.flatten().any(|processor| !seen.insert(processor))
        })
        .map(|(host, _)| (*host).to_owned())
        .collect();
    if !shared.is_empty() {
        return Some(
            DoctorFinding::warning(
                "binding",
                format!("several ranks are bound to one processor on {}", some(&shared, 1)),
            )
            .remedy("--mpirun-args '--bind-to core', or fewer slots"),
        );
    }
    let free = survey.places.iter().filter(|place| processors(&place.processors).len() as u32 >= place.online).count();
    Some(if free == 0 {
        DoctorFinding::ok("binding", "every rank is bound to a part of its host")
    } else if survey.places.iter().all(|place| place.online == 1) {
        DoctorFinding::ok("binding", "hosts have one processor")
    } else {
        DoctorFinding::note(
            "binding",
            format!("{free} of {} ranks may run anywhere on their host", survey.places.len()),
        )
        .remedy("bind them as your programs are: --mpirun-args '--bind-to core'")
    })
}

/// Networks that register memory need it unlimited.
fn memory(survey: &Survey) -> Option<DoctorFinding> {
    let least = survey.places.iter().filter_map(|place| place.lockable).min()?;
    let what = format!("some ranks may lock only {} KiB of memory", least / 1024);
    (per_host(survey).len() > 1).then(|| {
        DoctorFinding::note("memory", what).remedy(
            "InfiniBand and similar networks need it unlimited: `ulimit -l unlimited`, or memlock in \
             /etc/security/limits.conf; over TCP it does not matter",
        )
    })
}

/// Processors that change their speed change the times.
fn governor(survey: &Survey) -> Option<DoctorFinding> {
    let named: BTreeSet<&str> = survey.places.iter().filter_map(|place| place.governor.as_deref()).collect();
    let others: Vec<&str> = named.iter().copied().filter(|name| *name != "performance").collect();
    if named.is_empty() {
        return None;
    }
    Some(if others.is_empty() {
        DoctorFinding::ok("frequency", "the governor of every processor is performance")
    } else {
        DoctorFinding::note("frequency", format!("processors are governed by {}", others.join(", ")))
            .remedy("cpupower frequency-set -g performance (as root), for times that repeat better")
    })
}

/// The ranks of each host.
fn per_host(survey: &Survey) -> BTreeMap<&str, Vec<&Binding>> {
    let mut hosts: BTreeMap<&str, Vec<&Binding>> = BTreeMap::new();
    for (rank, host) in survey.hosts.iter().enumerate() {
        hosts.entry(host).or_default().extend(survey.places.get(rank));
    }
    hosts
}

/// The processors of a list such as `0-3,8`.
fn processors(list: &str) -> BTreeSet<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use collrules_record::allocation::BatchSystem;
    use collrules_record::units::{Ranks, Seconds};

    use super::super::finding::FindingState;
    use super::*;

    /// Ranks by host and processors, on hosts with 4 processors.
    fn survey(ranks: &[(&str, &str)]) -> Survey {
        let place = |(_, processors): &(&str, &str)| Binding {
            processors: (*processors).to_owned(),
            online: 4,
            lockable: Some(65536),
            governor: Some("powersave".to_owned()),
        };
        Survey {
            library: "Open MPI v4.1.4".to_owned(),
            version: "4.1.4".parse().expect("known"),
            hosts: ranks.iter().map(|(host, _)| (*host).to_owned()).collect(),
            places: ranks.iter().map(place).collect(),
            algorithms: BTreeMap::new(),
            preset: BTreeMap::new(),
            components: BTreeMap::new(),
            not_switchable: Default::default(),
            transport: None,
            eager: BTreeMap::new(),
            clock_step: Seconds(1e-9),
        }
    }

    #[test]
    fn slots_and_binding_are_judged() {
        for (ranks, slots_state, binding_state) in [
            (&[("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")][..], FindingState::Ok, FindingState::Ok),
            (&[("a", "0"), ("a", "1"), ("b", "0")], FindingState::Note, FindingState::Ok),
            (&[("a", "0"), ("a", "0")], FindingState::Warning, FindingState::Warning),
            (&[("a", "0-3"), ("a", "0-3")], FindingState::Ok, FindingState::Note),
            (&[("a", "0-1"), ("a", "0-1"), ("a", "0,1")], FindingState::Warning, FindingState::Ok),
            (&[("a", "0-3")], FindingState::Problem, FindingState::Note),
        ] {
            let survey = survey(ranks);
            assert_eq!(slots(&survey).state, slots_state, "{ranks:?}");
            assert_eq!(binding(&survey).expect("known").state, binding_state, "{ranks:?}");
        }
        assert!(memory(&survey(&[("a", "0"), ("a", "1")])).is_none(), "one host needs no network");
        assert!(memory(&survey(&[("a", "0"), ("b", "1")])).is_some());
        assert_eq!(governor(&survey(&[("a", "0")])).expect("known").state, FindingState::Note);
    }

    /// `LSB_MCPU_HOSTS` of two nodes, and "can measure here" on one of them.
    #[test]
    fn hosts_that_the_job_has_and_mpirun_does_not_reach_are_a_problem() {
        let survey = survey(&[("a", "0"), ("a", "1"), ("b", "0")]);
        let allocation = |nodes| Allocation {
            system: BatchSystem::Lsf,
            job: "31".to_owned(),
            partition: None,
            nodes,
            slots: Ranks(84),
            left: None,
        };
        for (nodes, state) in [(0, None), (1, None), (2, None), (3, Some(FindingState::Problem))] {
            assert_eq!(compare_allocation(&survey, &allocation(nodes)).map(|it| it.state), state, "{nodes}");
        }
    }

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(processors("0-2,5").len(), 4);
        assert!(processors("").is_empty());
    }
}
