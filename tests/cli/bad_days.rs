//! Failures of clusters, caused in the jobs of a real Slurm: nothing is lost, and the messages are clear. They take
//! minutes, and are run by hand: see CONTRIBUTING.

use std::fs;
use std::path::Path;
use std::process::Command;

use collrules_record::rundir::RunDir;

use crate::support::{Ran, alone, skip};
use crate::virtual_slurm::{in_slurm, is_possible};

/// For all of them: the last job of a run, and waiting for the end of a launch.
const HEAD: &str = "N=$COLLRULES_VIRTUAL_CLUSTER; ST=/run/collrules-virtual-cluster/$N\n\
    job() { grep -o '\"job\": \"[0-9]*' $1/submission.json | tail -n 1 | grep -o '[0-9]*$'; }\n\
    begun() { until grep -q ended $1/launches.jsonl 2>/dev/null; do sleep 0.2; done; }\n\
    rows() { wc -l < $1/samples.csv; }\n\
    gone() { while squeue -h -j $1 | grep -q .; do sleep 0.5; done; }\n";

/// Runs lines of a shell; says nothing where there can be no Slurm.
fn played(hosts: &str, out: &Path, lines: &str) -> Option<Ran> {
    is_possible().then(|| alone(|| in_slurm(hosts, None, out, &format!("{HEAD}{lines}")).exits(0)))
}

/// Returns true if a program is installed; says aloud if not.
fn is_here(program: &str, package: &str) -> bool {
    let here = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !here {
        skip(&format!("no {program} (apt-get install {package})"));
    }
    here
}

fn is_proven(run: &Path) -> bool {
    RunDir::open(run).unwrap().file("rules.conf").exists()
}

/// A job of a minute ends with proven rules before its limit; one whose limit strikes in the middle is gone on with by a
/// shorter one, which ends before its own.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_time_limits() {
    let scratch = tempfile::tempdir().unwrap();
    let lines = "O='--ops bcast,allreduce,allgather --np 2,4 --sizes 1K:256K'\n\
        $C submit --nodes 2 --ppn 2 --time 1m --out $OUT/whole -- tune $O; gone $(job $OUT/whole)\n\
        scontrol show job $(job $OUT/whole) | grep -o 'JobState=[A-Z]*'\n\
        $C submit --nodes 2 --ppn 2 --time 4m --out $OUT/run -- tune $O; begun $OUT/run\n\
        scontrol update jobid=$(job $OUT/run) TimeLimit=1; $C status --follow --every 1s --lag 3s $OUT/run\n\
        scontrol show job $(job $OUT/run) | grep -o 'JobState=[A-Z]*'; rows $OUT/run > $OUT/before\n\
        $C submit --nodes 2 --ppn 2 --time 1m --out $OUT/run -- tune $O; gone $(job $OUT/run)\n\
        scontrol show job $(job $OUT/run) | grep -o 'JobState=[A-Z]*'; rows $OUT/run > $OUT/after; tail -n 99 $OUT/*/job-*.log";
    let Some(ran) = played("--hosts 2 --slots 2", scratch.path(), lines) else { return };
    let states: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("JobState=")).collect();
    assert_eq!(states, ["COMPLETED", "TIMEOUT", "COMPLETED"], "{}", ran.stdout);
    assert!(is_proven(&scratch.path().join("whole")) && is_proven(&scratch.path().join("run")), "{}", ran.stdout);
    let number = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap().trim().parse::<u32>().unwrap();
    assert!(number("before") > 2 && number("after") > number("before"), "{}", ran.stdout);
    ran.says("submit the script in it again to resume the run");
    ran.says("the job ends in");
}

/// Two runs in one allocation have each other in their times, and say so; a run is measured into by one at a time.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_two_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let lines = "cat > $OUT/job.sh <<X\n#!/bin/bash\n$C tune $OPTIONS --budget 25s --out $OUT/one > $OUT/one.log 2>&1 &\n\
        sleep 3; $C tune $OPTIONS --budget 40s --out $OUT/two > $OUT/two.log 2>&1 &\n\
        until [ -s $OUT/one/samples.csv ]; do sleep 0.2; done\n\
        $C tune --resume $OUT/one > $OUT/three.log 2>&1; echo \"exit \\$?\" >> $OUT/three.log; wait\nX\n\
        sbatch --wait -N2 --ntasks-per-node=2 --time 3 -o $OUT/log $OUT/job.sh; cat $OUT/*.log";
    let Some(ran) = played("--hosts 2 --slots 4", scratch.path(), lines) else { return };
    assert!(is_proven(&scratch.path().join("one")) && is_proven(&scratch.path().join("two")), "{}", ran.stdout);
    let log = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap().replace("\ncollrules:   ", " ");
    for name in ["one.log", "two.log"] {
        assert!(log(name).contains("other steps run in this job"), "{name}: {}", log(name));
    }
    let refused = log("three.log");
    assert!(refused.contains("another collrules is measuring into") && refused.ends_with("exit 6\n"), "{refused}");
}

/// Two users and one directory: the second is told of the job in the queue, and a job that is started nevertheless of the run
/// under way; who may not write is told so.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_two_users() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let lines = "nob() { setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/tmp \"$@\"; }\n\
        hand_in() { \"$@\" $C submit --nodes 2 --ppn 2 --time 2m --out $OUT/run -- tune $OPTIONS --budget 40s; }\n\
        hand_in env; begun $OUT/run; chmod -R a+rwX $OUT/run; hand_in nob || echo \"exit $?\"\n\
        printf \"#!/bin/bash\\n$C tune --resume $OUT/run; echo exit \\$?\\n\" > $OUT/nob.sh; mkdir -m 777 $OUT/nob\n\
        nob sbatch --wait -N2 --ntasks-per-node=2 --time 1 -o $OUT/nob/log $OUT/nob.sh; gone $(job $OUT/run)\n\
        chmod -R go-w $OUT/run; hand_in nob || echo \"exit $?\"; cat $OUT/nob/log $OUT/run/job-*.log";
    let Some(ran) = played("--hosts 2 --slots 4", scratch.path(), lines) else { return };
    ran.complains("job.sh: Permission denied");
    ran.complains("tunes into");
    assert!(ran.stdout.matches("exit 6").count() == 3, "{}{}", ran.stdout, ran.stderr);
    ran.says("another collrules is measuring into");
    assert!(is_proven(&scratch.path().join("run")), "{}", ran.stdout);
}

/// A node dies in the middle of a launch: Slurm queues the job again, and the run goes on on other nodes.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_a_node_dies() {
    let scratch = tempfile::tempdir().unwrap();
    let lines = "member() { awk -v h=$1 '$1 == h { print $2 }' $ST/members; }\n\
        kill_node() { $ST/agent $1 'ip link set eth0 down' < /dev/null; M=$(member $1); NS=$(readlink /proc/$M/ns/net)\n\
        for P in /proc/[0-9]*; do if [ \"$(readlink $P/ns/net)\" = \"$NS\" ] && [ ${P#/proc/} != $M ]; then \
        kill -9 ${P#/proc/}; fi; done 2> /dev/null || true; }\n\
        O='--ops bcast,allreduce,allgather --np 4 --sizes 1K:256K --no-validate --refine 0 --budget 60s'\n\
        $C submit --nodes 2 --ppn 2 --time 4m --directive=--exclude=${N}1 --out $OUT/run -- tune $O\n\
        begun $OUT/run; J=$(job $OUT/run); sleep 5; V=$(scontrol show hostnames $(squeue -h -j $J -o %N) | tail -n 1)\n\
        kill_node $V; while squeue -h -j $J -o %T | grep -q RUNNING; do sleep 0.5; done; rows $OUT/run > $OUT/before\n\
        until scontrol update jobid=$J StartTime=now 2> /dev/null; do sleep 0.5; done\n\
        until squeue -h -j $J -o %T | grep -q RUNNING; do sleep 0.5; done; echo \"$V died; on $(squeue -h -j $J -o %N)\"\n\
        $ST/agent $V 'ip link set eth0 up' < /dev/null; $ST/agent $V \"exec slurmd -N $V -f $SLURM_CONF\" < /dev/null\n\
        $C status --follow --every 1 s --lag 3 s $OUT/run; rows $OUT/run > $OUT/after; cat $OUT/run/job-*.log";
    let Some(ran) = played("--hosts 4 --slots 2", scratch.path(), lines) else { return };
    assert!(is_proven(&scratch.path().join("run")), "{}", ran.stdout);
    let number = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap().trim().parse::<u32>().unwrap();
    assert!(number("before") > 2 && number("after") > number("before"), "{}", ran.stdout);
    ran.says("DUE TO NODE FAILURE");
    ran.says("has other nodes than at the start of the run");
}

/// Clocks of nodes that are seconds apart, and one that runs 200 ppm faster, do not matter to times; nor does it matter to
/// those who look on.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_clocks_differ() {
    if !is_here("faketime", "faketime") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let lines = "for W in '+7s' '-3s x1.0002'; do printf '#!/bin/sh\\ncase $(hostname) in *2) exec faketime -f \"%s\" \"$@\";; \
        *) exec \"$@\";; esac\\n' \"$W\" > $OUT/skew; chmod 755 $OUT/skew\n\
        D=$OUT/${W%s*}; cat > $OUT/job.sh <<X\n#!/bin/bash\n\
        $C tune $OPTIONS --budget 20s --launcher \"mpirun -n {np} $OUT/skew {program}\" --out $D\nX\n\
        sbatch --wait -N2 --ntasks-per-node=2 --time 1 -o $OUT/log $OUT/job.sh; cat $OUT/log; ls $D/rules.conf; done\n\
        for F in -12s +30s; do FAKETIME=$F LD_PRELOAD=/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 \
        $C status $OUT/+7; done";
    let Some(ran) = played("--hosts 2 --slots 2", scratch.path(), lines) else { return };
    assert_eq!(ran.stdout.matches("/rules.conf\n").count(), 2, "{}", ran.stdout);
}

/// A login node that sees files late: `status --follow` does not say that the job is lost before its last files can be there.
#[test]
#[ignore = "by hand: see CONTRIBUTING"]
fn bad_days_files_come_late() {
    if !is_here("bindfs", "bindfs") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let lines = "mkdir -p $OUT/real $OUT/shared; for H in 2 3; do \
        $ST/agent $N$H \"mount --bind $OUT/real $OUT/shared\" < /dev/null; done\n\
        bindfs -o attr_timeout=25,entry_timeout=25,negative_timeout=25 $OUT/real $OUT/shared\n\
        $C submit --nodes 2 --ppn 2 --time 2m --directive=--exclude=${N}1 --out $OUT/shared/run -- tune $OPTIONS --budget 25s\n\
        $C status --follow --every 1 s $OUT/shared/run; umount $OUT/shared";
    let Some(ran) = played("--hosts 3 --slots 2", scratch.path(), lines) else { return };
    assert!(is_proven(&scratch.path().join("real/run")), "{}", ran.stdout);
    ran.says("it has left the queue; its last files may take up to 60 s to appear");
    assert!(!ran.stdout.contains("again to go on"), "{}", ran.stdout);
    ran.says("rules checked and written");
}
